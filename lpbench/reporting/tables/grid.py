"""Entries of result tables: published and reproduced numbers side by side, marks, rank sums."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, rank_sums
from lpbench.analysis.scores import costs
from lpbench.analysis.summary import barred
from lpbench.experiments.method import Method
from lpbench.members import bare_name
from lpbench.reporting.comparison import ratio_errors
from lpbench.reporting.numbers import print_number
from lpbench.reporting.paper import Paper
from lpbench.reporting.published import published_cells, published_rank_sums
from lpbench.reporting.tables.layouts import Layout, TableColumn, layouts, marked

#: Lines of rank sums below a table.
RANK_SUM_PRINTED, RANK_SUM_OURS = "Rank sum, published", "Rank sum, reproduced, average ties"


@dataclass(frozen=True)
class Cell:
    """Printed texts of one table cell: the paper's number, ours, its standard error and stars.

    ``value`` is our number as printed (NaN: nothing to rank).
    """

    published: str = ""
    reproduced: str = ""
    se: str = ""
    mark: str = ""
    bold: bool = False
    value: float = math.nan


@dataclass(frozen=True)
class Grid:
    """Table as it is printed: its layout, cells and footer, and the reasons for empty or barred entries.

    ``cells`` has a row for each data set, ``footer`` lines (name, texts by column), ``barred`` the reasons why methods
    are not ranked.
    """

    layout: Layout
    cells: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[str, tuple[str, ...]], ...]
    reasons: tuple[str, ...]
    barred: tuple[str, ...] = ()  # why methods have neither rank nor star


def build(
    experiment: str, paper: Paper, summary: Summary, cards: Mapping[str, Method], selection: str = "oracle"
) -> list[Grid]:
    """Lay out all tables of an experiment for one selection."""
    table = summary.table.assign(holm=summary.marked_holm, error=summary.table["se"])
    if (table["metric"] == "mse").any():
        table["ratio_error"] = ratio_errors(table, summary.chosen)
    table = table[table["selection"] == selection]
    published, sums = published_cells(experiment, paper), published_rank_sums(experiment, paper)
    published = {(r.dataset, r.mask, r.method, r.epsilon): r.published for r in published.itertuples() if r.panel == ""}
    grids = []
    for layout in layouts(experiment, paper, table, marked(cards, table)):
        rows = table[(table["panel"] == layout.panel) & (table["epsilon"] == layout.epsilon)]
        grids.append(_grid(layout, rows, published, sums, summary.reasons))
    return grids


def _grid(layout: Layout, rows: pd.DataFrame, published: Mapping, sums: pd.DataFrame, reasons: pd.DataFrame) -> Grid:
    """Lay a panel's rows out as its paper does, with printed numbers, rank sums and reasons for missing cells.

    ``published`` maps (data set, mask, method, ε) to printed numbers, ``sums`` are printed rank sums, and ``reasons``
    says for each missing cell why.
    """
    by_cell = {(r["dataset"], r["mask"], r["method"]): r for r in rows.to_dict("records")}
    reference = {r["dataset"]: r["mean"] for r in by_cell.values() if bare_name(r["method"]) == "ct_w"}
    cells = tuple(
        tuple(_cell(layout, column, dataset, by_cell, published, reference) for column in layout.columns)
        for _, dataset in layout.datasets
    )
    metrics = sorted(set(rows["metric"]) - {""})
    footer = _footer(sums, layout, cells, metrics[0]) if len(metrics) == 1 else ()
    same = (reasons["panel"] == layout.panel) & (reasons["epsilon"] == layout.epsilon)
    lines = []
    for reason, group in reasons[same & (reasons["selection"] == "oracle")].groupby("reason"):
        where = sorted({f"{r.dataset} {r.method}" for r in group.itertuples()})
        places = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
        lines.append(f"{places}: {reason}")
    return Grid(layout, cells, footer, tuple(lines), tuple(barred(rows).values()))


def _cell(layout: Layout, column: TableColumn, dataset: str, by_cell: Mapping, published: Mapping, reference) -> Cell:
    """Return a cell: the printed number and ours, with its standard error and stars; "-" for a missing one.

    ``by_cell`` has our rows by (data set, mask, method), ``reference`` the seconds of CT-W by data set.
    """
    key = (bare_name(dataset), column.paper_mask, column.paper_method, layout.epsilon)
    printed = ""
    if column.paper_method and key in published:
        printed = print_number(published[key], layout.style) or "-"
    row = by_cell.get((dataset, column.mask, column.method))
    if row is None or math.isnan(row["mean"]):
        return Cell(published=printed, reproduced="-")
    value, error = row["mean"], row["error"]
    if layout.value == "ratio":
        value, error = row["ratio"], row["ratio_error"]
    elif layout.value == "seconds":
        base = reference.get(dataset, math.nan)
        value, error = value / base, error / base
    text = print_number(value, layout.style)
    scored = layout.value != "seconds"
    mark = "**" if row["holm"] else "*" if row["marked"] else ""
    spread = print_number(error, layout.style) if error and scored else ""
    best = bool(row["best"]) and scored
    return Cell(printed, text, spread, mark if scored else "", best, float(text or "nan"))


def _footer(sums: pd.DataFrame, layout: Layout, cells, metric: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Footer lines (label, text by column): rank sums as the paper prints them (``sums``), then ours from ``cells``.

    Ours rank each row's cells within a group of columns, at printed precision, so that equals share their mean rank.
    There is no line for seconds, and no printed one where the paper has none.
    """
    if layout.value == "seconds":
        return ()
    values = np.array([[c.value for c in row] for row in cells], dtype=float).reshape(len(cells), len(layout.columns))
    ours = (RANK_SUM_OURS, _sums(layout, costs(values, metric)))
    if sums.empty:
        return (ours,)
    rank_sums = sums[sums["epsilon"] == layout.epsilon].set_index(["mask", "method"])["rank_sum"].to_dict()
    printed = (rank_sums.get((c.paper_mask, c.paper_method), math.nan) for c in layout.columns)
    return (RANK_SUM_PRINTED, tuple("" if math.isnan(v) else f"{v:g}" for v in printed)), ours


def _sums(layout: Layout, values: np.ndarray) -> tuple[str, ...]:
    """Rank sum of each column over the rows of ``values`` (data sets, columns; smaller is better), as text.

    Columns are ranked within their group; empty for unranked ones.
    """
    text = [""] * len(layout.columns)
    for group in dict.fromkeys(c.group for c in layout.columns):
        index = [k for k, c in enumerate(layout.columns) if c.group == group and c.ranked]
        if len(index) > 1 and values.shape[0]:
            for k, value in zip(index, rank_sums(values[:, index], larger_is_better=False), strict=True):
                text[k] = f"{value:g}"
    return tuple(text)
