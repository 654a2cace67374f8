"""Result tables of the pages: the published and the reproduced number in a cell, and their distance."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pandas as pd

from lpbench.analysis import read_csv
from lpbench.analysis.alternatives import DIFFERENT, EQUIVALENT, NOT_COMPARABLE
from lpbench.analysis.significance import LOSS_DIGITS
from lpbench.analysis.standings import view
from lpbench.analysis.variants import one_variant_each
from lpbench.experiments import catalog
from lpbench.experiments.method import Method
from lpbench.members import bare_name, member
from lpbench.reporting.baselines import Constants
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.number_table import cell_name
from lpbench.reporting.numbers import print_number, print_value
from lpbench.reporting.paper import mark_words
from lpbench.reporting.render import in_symbols
from lpbench.reporting.tables.grid import RANK_SUM_OURS, RANK_SUM_PRINTED, Cell, Grid, build
from lpbench.reporting.tables.layouts import Layout, TableColumn

#: What tells the cells of an experiment's tables apart.
TABLE_KEYS = ("panel", "dataset", "mask", "method", "epsilon")


@dataclass(frozen=True)
class ShownCell(Cell):
    """Cell of a page's table: the laid-out content, its distance from the printed number, and its link."""

    level: str = ""  # distance from the published number: class of the color
    cue: str = ""  # and in words
    ours: bool = False  # whether a score of ours stands behind it
    below: bool = False  # whether the score is no better than the constant baseline


@dataclass(frozen=True)
class Head:
    """Head of a row or column: its label, and the selectors of the cells below or beside it."""

    label: str
    aside: bool = False  # a development set beside held-out ones
    dataset: str = ""
    method: str = ""
    mask: str = ""


def shown_tables(
    entry: ReportEntry,
    cards: Mapping[str, Method],
    constants: Constants,
    standings: pd.DataFrame | None = None,
    numbers: pd.DataFrame | None = None,
) -> list[dict[str, Any]]:
    """Lay out an experiment's tables of best grid points from its summary, standings and numbers; empty without any."""
    summary = entry.shown
    if entry.kind not in ("table", "timing") or summary is None or entry.paper.output_of(entry.name).in_place:
        return []
    compared = (
        []
        if numbers is None
        else numbers[(numbers["class"] != "") & (numbers["interpretation"] == "")].to_dict("records")
    )
    apart = {r["cell"]: distance(r["class"], r["distance"], r["unit"]) for r in compared}
    oracle = summary.table[(summary.table["selection"] == "oracle") & summary.table["mean"].notna()]
    ours = {tuple(r[k] for k in TABLE_KEYS): cell_name(r) for r in oracle.to_dict("records")}
    rows = [] if standings is None else view(standings, "oracle").to_dict("records")
    below = {tuple(r[k] for k in TABLE_KEYS) for r in rows if round(r["over_constant"], LOSS_DIGITS) >= 1}
    tables = [
        _shown(grid, mark_words(entry.name, entry.paper), ours, apart, below, constants)
        for grid in build(entry.name, entry.paper, summary, cards, "oracle")
    ]
    kinds = entry.experiment.settings.get("data_sets", {})
    return [_held_out_first(table, kinds.get("development", ())) for table in tables] if kinds else tables


def _held_out_first(table: dict[str, Any], development: Collection[str]) -> dict[str, Any]:
    """Return a comparison's table with ``development`` sets last and gray, and without marks of significance.

    Such marks would cross inputs or pool both kinds of data sets.
    """
    rows = [(replace(head, aside=bare_name(head.dataset) in development), cells) for head, cells in table["rows"]]
    rows = [(head, [replace(c, bold=False, mark="") for c in cells]) for head, cells in rows]
    legend = "best grid points on the test rows; development sets in gray; ⊥: no better than the constant"
    caption = f"{table['caption']}; {legend}"
    rows = sorted(rows, key=lambda row: row[0].aside)
    return {**table, "caption": caption, "rows": rows, "footer": (), "marked": ""}


def distance(of: str, apart: float, unit: str) -> tuple[str, str]:
    """Class (for the color) and words (for everybody) of a number's distance from print, by its class."""
    words = f"{100 * apart:+.0f} %" if unit == "ratio" else f"{100 * apart:+.1f} pp"
    if of == EQUIVALENT:
        return "agree", f"≈ {words}"
    if of != DIFFERENT:
        return ("apart", f"⊘ {words}") if of == NOT_COMPARABLE else ("close", f"? {words}")
    side, sign = ("above", "▲") if apart > 0 else ("below", "▼")
    return f"far {side}", f"{sign} {words}"


def _shown(
    grid: Grid, marks: str, ours: Mapping, apart: Mapping, below: Collection, constants: Constants
) -> dict[str, Any]:
    """Convert a laid-out table for the template: two header lines, rows of cells, a line of rank sums.

    Keyed by cell, ``ours`` maps to the number's name, and ``apart`` maps that to (level, cue), how far it is from
    print; cells in ``below`` are no better than the constant. ``marks`` explains the stars, and ``constants`` are
    baselines.
    """
    layout = grid.layout

    def shown(cell: Cell, column: TableColumn, dataset: str) -> ShownCell:
        cell_key = (layout.panel, dataset, column.mask, column.method, layout.epsilon)
        level, cue = apart.get(ours.get(cell_key), ("", ""))
        one = member(column.method)
        is_below = cell_key in below and not (one.is_constant or one.is_reference)
        return ShownCell(**vars(cell), level=level, cue=cue, ours=cell_key in ours, below=is_below)

    cells = [
        [shown(cell, column, dataset) for cell, column in zip(row, layout.columns, strict=True)]
        for (_, dataset), row in zip(layout.datasets, grid.cells, strict=True)
    ]
    heads = [Head(c.label, method=c.method, mask=c.mask) for c in layout.columns]
    spans, footer = _spans([c.group for c in layout.columns]), grid.footer
    beside = _constants_beside(layout, constants)
    if beside is not None:
        heads.append(beside[0])
        spans += [("constant", 1)] if spans else []
        footer = tuple((label, (*values, "")) for label, values in footer)
        cells = [[*row, cell] for row, cell in zip(cells, beside[1], strict=True)]
    names = [Head(label, dataset=dataset) for label, dataset in layout.datasets]
    if len(names) == 1:
        # one data set reads better from top to bottom; rank sums over it say nothing
        groups = [c.group for c in layout.columns] + [""]
        heads = [
            replace(head, label=f"{group} {head.label}".strip()) for group, head in zip(groups, heads, strict=False)
        ]
        cells, names, heads, spans, footer = [[cell] for cell in cells[0]], heads, names, [], ()
    return {
        "caption": in_symbols(layout.caption.replace("_", " ")),
        "panel": layout.panel,
        "epsilon": layout.epsilon,
        "groups": spans,
        "heads": heads,
        "rows": list(zip(names, cells, strict=True)),
        "footer": _rank_line(footer),
        "reasons": grid.reasons,
        "barred": grid.barred,
        "compared": any(c.level for row in cells for c in row),
        "published": any(c.published for row in cells for c in row),
        "marked": marks if layout.value != "seconds" else "",
    }


def _spans(labels: Sequence[str]) -> list[tuple[str, int]]:
    """Merge equal neighboring labels to (label, number of columns) for a second header line; empty without labels."""
    return [(label, len(list(same))) for label, same in groupby(labels)] if any(labels) else []


def under_configurations(
    table: Mapping[str, Any], configurations: Mapping[str, Sequence[str]]
) -> list[tuple[str, dict[str, Any]]]:
    """A table once a configuration: the variant that stands for each method, beside the printed number."""
    tables: dict[tuple[int, ...], tuple[str, dict[str, Any]]] = {}
    base = [(head.mask, bare_name(head.method)) for head in table["heads"]]
    labels = [label for label, span in table["groups"] for _ in range(span)]

    def beside(cells: Sequence[ShownCell], k: int) -> ShownCell:
        printed = (c.published for c, b in zip(cells, base, strict=True) if b == base[k] and c.published)
        return replace(cells[k], published=next(printed, ""))

    for name, variants in configurations.items():
        chosen = one_variant_each((head.method for head in table["heads"]), variants)
        of_it = [k for k, head in enumerate(table["heads"]) if head.method in chosen]
        # a method's place is that of its first variant
        indices = tuple(sorted(of_it, key=lambda k: base.index(base[k])))
        content = {
            "groups": _spans([labels[k] for k in indices]) if labels else [],
            "heads": [table["heads"][k] for k in indices],
            "rows": [(head, [beside(cells, k) for k in indices]) for head, cells in table["rows"]],
            "footer": [(label, [values[k] for k in indices]) for label, values in table["footer"]],
        }
        tables.setdefault(indices, (name, {**table, **content}))
    return list(tables.values())


def _rank_line(footer: Sequence[tuple[str, tuple[str, ...]]]) -> tuple:
    """Return a table's last line, ((label, values),): rank sums with averaged ties, printed ones before ours.

    It is () without rank sums; ``footer`` is a grid's, pairs of name and values.
    """
    lines = dict(footer)
    ours = lines.get(RANK_SUM_OURS, ())
    if not any(ours):
        return ()
    printed = lines.get(RANK_SUM_PRINTED, ("",) * len(ours))
    values = tuple(f"{a} / {b}" if a else b for a, b in zip(printed, ours, strict=True))
    return (("Rank sum (published / ours)" if any(printed) else "Rank sum", values),)


def _constants_beside(layout: Layout, constants: Constants) -> tuple[Head, list[ShownCell]] | None:
    """Return head and cells of a column of constant baselines, by data set; None if the table has one or needs none."""
    of_sets = [constants.get((dataset, layout.epsilon)) for _, dataset in layout.datasets]
    first, ratio = next(filter(None, of_sets), None), layout.value == "ratio"
    if first is None or layout.value == "seconds" or any(member(c.method).is_constant for c in layout.columns):
        return None
    if ratio and math.isnan(first.ratio):
        return None
    pairs = [(math.nan, math.nan) if f is None else (f.ratio, f.ratio_se) if ratio else (f.mean, f.se) for f in of_sets]
    texts = [[print_number(v, layout.style) for v in pair] for pair in pairs]
    cells = [
        ShownCell(reproduced=text or "-", se=se, value=float(text or "nan"), ours=bool(text)) for text, se in texts
    ]
    return Head(catalog.method(first.method).title, method=first.method, mask=first.mask), cells


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
