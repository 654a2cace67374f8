"""Result tables of the pages: the published and the reproduced number in a cell, and their distance."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import pandas as pd

from lpbench.analysis import read_csv
from lpbench.analysis.numbers import NEAR, SAME
from lpbench.analysis.significance import DIGITS
from lpbench.analysis.standings import view
from lpbench.analysis.summary import CONSTANTS, REFERENCES
from lpbench.analysis.variants import bare_name, one_variant_each
from lpbench.experiments import catalogue
from lpbench.experiments.method import Method
from lpbench.reporting.baselines import Constant, Constants
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.comparisons import is_constant
from lpbench.reporting.number_table import cell_name
from lpbench.reporting.numbers import print_number, print_value
from lpbench.reporting.paper import mark_words, paper_of
from lpbench.reporting.render import in_symbols
from lpbench.reporting.tables.grid import OURS, PRINTED, Cell, Grid, build
from lpbench.reporting.tables.layouts import Layout, TableColumn


@dataclass(frozen=True)
class ShownCell:
    """One cell: the laid-out content, its distance from the published number, and where it comes from."""

    cell: Cell
    level: str = ""  # distance from the published number: class of the colour
    cue: str = ""  # and in words
    ours: bool = False  # whether a score of ours stands behind it
    below: bool = False  # whether the score is no better than the constant baseline


@dataclass(frozen=True)
class Head:
    """Head of a row or column: its label, and the selectors of the cells below or beside it."""

    label: str
    dataset: str = ""
    method: str = ""
    mask: str = ""


@dataclass(frozen=True)
class ShownTable:
    """One table: two lines of heads, rows of cells, a line of rank sums below."""

    caption: str
    panel: str
    epsilon: float
    groups: tuple[tuple[str, int], ...]
    heads: tuple[Head, ...]
    rows: tuple[tuple[Head, tuple[ShownCell, ...]], ...]
    footer: tuple[tuple[str, tuple[str, ...]], ...]
    reasons: tuple[str, ...]
    compared: bool
    published: bool
    marked: str


def shown_tables(
    entry: ReportEntry, cards: Mapping[str, Method], constants: Constants,
    standings: pd.DataFrame | None = None, numbers: pd.DataFrame | None = None,
) -> list[ShownTable]:  # fmt: skip
    """Lay out an experiment's tables of best grid points from its summary, standings and numbers; empty without any."""
    further, summary = paper_of(entry.name).outputs.get(entry.name), entry.shown
    if entry.kind not in ("table", "timing") or summary is None or (further is not None and further.replaces):
        return []
    apart = {} if numbers is None else distances(numbers)
    rows = summary.table[summary.table["selection"] == "oracle"].to_dict("records")
    ours = {(r["panel"], r["dataset"], r["mask"], r["method"], r["epsilon"]): r for r in rows}
    below = {} if standings is None else _below(view(standings, "oracle"))
    marks = mark_words(entry.name)
    return [_shown(grid, marks, ours, apart, below, constants) for grid in build(entry.name, summary, cards, "oracle")]


def _below(rows: pd.DataFrame) -> dict[tuple, bool]:
    """Whether each score is no better than the constant, by its place."""
    keys = zip(*(rows[k] for k in ("panel", "dataset", "mask", "method", "epsilon")), strict=True)
    return dict(zip(keys, rows["over_constant"].round(DIGITS) >= 1, strict=True))


def distances(numbers: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Class (for the colour) and words (for everybody) of each cell's distance from print."""
    rows = numbers[(numbers["met"] != "") & (numbers["reading"] == "")]
    return {r.cell: distance(r.met, r.distance, r.unit) for r in rows.itertuples()}


def distance(met: str, apart: float, unit: str) -> tuple[str, str]:
    """The same of one number, by what it is among met numbers."""
    words = f"{100 * apart:+.0f} %" if unit == "ratio" else f"{100 * apart:+.1f} pp"
    if met == SAME:
        return "agree", f"≈ {words}"
    side, sign = ("above", "▲") if apart > 0 else ("below", "▼")
    return f"{'close' if met == NEAR else 'far'} {side}", f"{sign} {words}"


def _shown(grid: Grid, marks: str, ours: Mapping, apart: Mapping, below: Mapping, constants: Constants) -> ShownTable:
    layout = grid.layout
    cells = [
        [_cell(cell, ours, apart, below, (layout.panel, dataset, c.mask, c.method, layout.epsilon))
         for cell, c in zip(row, layout.columns, strict=True)]
        for (_, dataset), row in zip(layout.datasets, grid.cells, strict=True)
    ]  # fmt: skip
    heads = [Head(c.label, method=c.method, mask=c.mask) for c in layout.columns]
    groups, footer = list(_groups(layout.columns)), grid.footer
    beside = _baseline_column(layout, constants)
    if beside:
        heads.append(beside[0])
        groups += [("constant", 1)] if groups else []
        footer = tuple((label, (*values, "")) for label, values in footer)
        cells = [[*row, cell] for row, cell in zip(cells, beside[1], strict=True)]
    names = [Head(label, dataset=dataset) for label, dataset in layout.datasets]
    if len(names) == 1:
        # one data set reads better from top to bottom; rank sums over it say nothing
        kept = [c.group for c in layout.columns] + [""] * len(beside[1:])
        labels = [f"{group} {head.label}".strip() for group, head in zip(kept, heads, strict=True)]
        heads = [replace(head, label=label) for head, label in zip(heads, labels, strict=True)]
        cells = [[cell] for cell in cells[0]]
        names, heads = heads, names
        groups, footer = [], ()
    shown = _rank_line(footer)
    rows = tuple((head, tuple(row)) for head, row in zip(names, cells, strict=True))
    compared = any(c.level for row in cells for c in row)
    published = any(c.cell.published for row in cells for c in row)
    above = (layout.panel, layout.epsilon, tuple(groups), tuple(heads))
    marked = marks if layout.value != "seconds" else ""
    caption = in_symbols(layout.caption.replace("_", " "))
    return ShownTable(caption, *above, rows, shown, grid.reasons, compared, published, marked)


def under_configurations(
    table: ShownTable, configurations: Mapping[str, Sequence[str]]
) -> list[tuple[str, ShownTable]]:
    """A table once a configuration: the variant that stands for each method, beside the printed number."""
    found: dict[tuple[int, ...], tuple[str, ShownTable]] = {}
    base = [(head.mask, bare_name(head.method)) for head in table.heads]
    labels = [label for label, span in table.groups for _ in range(span)]

    def beside(cells: Sequence[ShownCell], k: int) -> ShownCell:
        printed = next(
            (c.cell.published for c, b in zip(cells, base, strict=True) if b == base[k] and c.cell.published), ""
        )
        return replace(cells[k], cell=replace(cells[k].cell, published=printed))

    for name, variants in configurations.items():
        chosen = one_variant_each((head.method for head in table.heads), variants)
        kept = tuple(k for k, head in enumerate(table.heads) if head.method in chosen)
        groups = tuple((label, len(list(same))) for label, same in groupby(labels[k] for k in kept)) if labels else ()
        rows = tuple((head, tuple(beside(cells, k) for k in kept)) for head, cells in table.rows)
        footer = tuple((label, tuple(values[k] for k in kept)) for label, values in table.footer)
        heads = tuple(table.heads[k] for k in kept)
        found.setdefault(kept, (name, replace(table, groups=groups, heads=heads, rows=rows, footer=footer)))
    return list(found.values())


def _rank_line(footer: Sequence[tuple[str, tuple[str, ...]]]) -> tuple:
    """One line of rank sums, ties averaged, the printed ones before ours."""
    lines = dict(footer)
    ours = lines.get(OURS, ())
    if not any(ours):
        return ()
    printed = lines.get(PRINTED, ("",) * len(ours))
    values = tuple(f"{a} / {b}" if a else b for a, b in zip(printed, ours, strict=True))
    return (("Rank sum (published / ours)" if any(printed) else "Rank sum", values),)


def _baseline_column(layout: Layout, constants: Constants) -> tuple[Head, list[ShownCell]] | tuple[()]:
    """The constant baseline beside a table that does not have it among its own columns."""
    if layout.value == "seconds" or any(is_constant(c.method) for c in layout.columns):
        return ()
    found = [constants.get((dataset, layout.epsilon)) for _, dataset in layout.datasets]
    known = [f for f in found if f is not None]
    if not known or (layout.value == "ratio" and math.isnan(known[0].ratio)):
        return ()
    head = Head(catalogue.method(known[0].method).title, method=known[0].method, mask=known[0].mask)
    return head, [_baseline_cell(layout, f) for f in found]


def _baseline_cell(layout: Layout, found: Constant | None) -> ShownCell:
    if found is None:
        return ShownCell(Cell(reproduced="-"))
    value, error = (found.ratio, found.ratio_se) if layout.value == "ratio" else (found.mean, found.se)
    text = print_number(value, layout.style)
    cell = Cell(reproduced=text, se=print_number(error, layout.style), value=float(text or "nan"))
    return ShownCell(cell, ours=True)


def _groups(columns: Sequence[TableColumn]) -> tuple[tuple[str, int], ...]:
    if not any(c.group for c in columns):
        return ()
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return tuple(found)


def _cell(cell: Cell, ours: Mapping, apart: Mapping, below: Mapping, key: tuple) -> ShownCell:
    row = ours.get(key)
    if row is None or math.isnan(row["mean"]):
        return ShownCell(cell)
    level, cue = apart.get(cell_name(row), ("", ""))
    ranked = bare_name(row["method"]) not in (*CONSTANTS, *REFERENCES)
    return ShownCell(cell, level, cue, True, ranked and below.get(key, False))


def csv_table(path) -> tuple[list[str], list[list[str]]] | None:
    """Heads and rows of a CSV file, numbers shortened; None if there is no file."""
    if not path.is_file():
        return None
    table = read_csv(path)
    # numbers of files that are not ours to type end in .0
    rows = [
        ["" if v != v else re.sub(r"^(-?\d+)\.0$", r"\1", print_value(v, ".4g")) for v in row]
        for row in table.itertuples(index=False)
    ]
    return [str(c).replace("_", " ") for c in table.columns], rows
