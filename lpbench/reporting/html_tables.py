"""Laid-out tables as the pages show them: both numbers in a cell, and how far they are apart."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.analysis import read_csv
from lpbench.naming import parse_selector
from lpbench.reporting.artefact import summarise_experiment
from lpbench.reporting.entries import Entry
from lpbench.reporting.layouts import Column
from lpbench.reporting.tables import Cell, Grid, build

#: Standard errors up to which two numbers agree, and up to which they are close.
AGREE, CLOSE = 1.0, 3.0
SELECTIONS = {
    "oracle": "best grid point with hindsight, as in the papers",
    "tuning_free": "one setting fixed without test rows; published numbers are the best of a grid",
}


@dataclass(frozen=True)
class ShownCell:
    """One cell: the laid-out content, its distance from the published number, and where it comes from."""

    cell: Cell
    level: str = ""
    cue: str = ""
    detail: str = ""


@dataclass(frozen=True)
class ShownTable:
    """One table: two lines of heads, rows of cells, rank sums below."""

    caption: str
    selection: str
    groups: tuple[tuple[str, int], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ShownCell, ...]], ...]
    footer: tuple[tuple[str, tuple[str, ...]], ...]
    reasons: tuple[str, ...]
    compared: bool


def shown_tables(entry: Entry, cards: Mapping[str, Mapping]) -> list[ShownTable]:
    """Lay out an experiment's tables from its scores, oracle first; empty if it has none."""
    path = entry.folder / "scores.parquet"
    if entry.summary is None or entry.kind not in ("table", "timing") or not path.is_file():
        return []
    if not (entry.folder / f"{entry.leaf}.tex").is_file():
        return []
    summary = summarise_experiment(entry.experiment, pd.read_parquet(path), cards)
    apart = differences(entry.comparison)
    found = []
    for selection in SELECTIONS:
        if selection == "oracle" or (entry.folder / f"{entry.leaf}_{selection}.tex").is_file():
            rows = summary.table[summary.table["selection"] == selection].to_dict("records")
            ours = {(r["panel"], r["dataset"], r["mask"], r["method"], r["epsilon"]): r for r in rows}
            for grid in build(entry.name, summary, cards, selection):
                found.append(_shown(grid, selection, ours, apart if selection == "oracle" else {}))
    return found


def differences(comparison: pd.DataFrame | None) -> dict[tuple, float]:
    """Difference of each cell in its standard errors; the papers print none: theirs are taken to be ours."""
    if comparison is None:
        return {}
    rows = comparison.dropna(subset=["published", "reproduced"])
    return {(r.panel, r.dataset, r.mask, r.method, r.epsilon): in_errors(r.difference, r.se) for r in rows.itertuples()}


def in_errors(difference: float, se: float) -> float:
    """A difference in standard errors of the difference of two equally precise means."""
    if math.isnan(se):
        return math.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.float64(difference) / (np.sqrt(2) * se), nan=0.0, posinf=99.0, neginf=-99.0))


def distance(z: float) -> tuple[str, str]:
    """Class (for the colour) and words (for everybody) of a difference in standard errors."""
    if math.isnan(z):
        return "", ""
    size = abs(z)
    if size <= AGREE:
        return "agree", f"≈ {z:+.1f} se"
    side = "above" if z > 0 else "below"
    sign = "▲" if z > 0 else "▼"
    number = f"{min(size, 99):.0f}" if size >= 10 else f"{size:.1f}"
    return f"{'close' if size <= CLOSE else 'far'} {side}", f"{sign} {number} se"


def command(dataset: str, mask: str, method: str, epsilon: float) -> str:
    """The command that prints what stands behind a cell."""
    words = ["lpbench", "explain", dataset, method, f"{epsilon:g}"]
    return shlex.join([*words, "--mask", mask] if mask else words)


def _shown(grid: Grid, selection: str, ours: Mapping, apart: Mapping) -> ShownTable:
    layout = grid.layout
    cells = [
        [_cell(cell, ours, apart, (layout.panel, dataset, c.mask, c.method, layout.epsilon))
         for cell, c in zip(row, layout.columns, strict=True)]
        for (_, dataset), row in zip(layout.datasets, grid.cells, strict=True)
    ]  # fmt: skip
    labels = [label for label, _ in layout.datasets]
    if len(labels) == 1:
        # one data set reads better from top to bottom; rank sums over it say nothing
        names = [f"{c.group} {c.label}".strip() for c in layout.columns]
        rows = tuple((name, (cell,)) for name, cell in zip(names, cells[0], strict=True))
        groups, heads, footer = (), (labels[0],), ()
    else:
        rows = tuple((label, tuple(row)) for label, row in zip(labels, cells, strict=True))
        groups, heads, footer = _groups(layout.columns), tuple(c.label for c in layout.columns), grid.footer
    compared = any(c.level for row in cells for c in row)
    return ShownTable(layout.caption, selection, groups, heads, rows, footer, grid.reasons, compared)


def _groups(columns: Sequence[Column]) -> tuple[tuple[str, int], ...]:
    if not any(c.group for c in columns):
        return ()
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return tuple(found)


def _cell(cell: Cell, ours: Mapping, apart: Mapping, key: tuple) -> ShownCell:
    row = ours.get(key)
    if row is None or math.isnan(row["mean"]):
        return ShownCell(cell)
    z = apart.get(key, math.nan)
    level, cue = distance(z)
    _, dataset, mask, method, epsilon = key
    lines = [
        f"{dataset}, {mask}, {method}, ε = {epsilon:g}".replace(", ,", ","),
        f"published {cell.published}" if cell.published else "",
        f"reproduced {cell.reproduced}" + (f" ± {cell.se}" if cell.se else ""),
        f"difference {z:+.1f} standard errors" if cue else "",
        f"{row['metric']} {row['mean']:.6g}, se {row['se']:.3g}, {row['n']:g} replications",
        f"setting {_setting(row['params'])}",
        command(dataset, mask, method, epsilon),
    ]
    return ShownCell(cell, level, cue, "\n".join(line for line in lines if line))


def _setting(params: str) -> str:
    return ", ".join(f"{k} = {v}" for k, v in json.loads(params or "{}").items()) or "(none to choose)"


def points(entry: Entry, limit: int = 400) -> list[dict]:
    """Published cells of a figure beside ours, as rows of text."""
    table = entry.comparison
    if table is None or table.empty or entry.kind != "figure":
        return []
    rows = []
    for r in table.head(limit).to_dict("records"):
        z = math.nan if math.isnan(r["reproduced"]) else in_errors(r["difference"], r["se"])
        level, cue = distance(z)
        where = {k: "" if r[k] != r[k] else f"{r[k]:g}" for k in ("epsilon", "x", "published")}
        ours = "-" if math.isnan(r["reproduced"]) else f"{r['reproduced']:.4g} ± {r['se']:.2g}"
        shown = command(parse_selector(r["dataset"])[0], r["mask"], r["method"], r["epsilon"]) if level else ""
        rows.append({**{k: r[k] for k in ("panel", "dataset", "method")}, **where, "ours": ours, "level": level,
                     "cue": cue, "command": shown})  # fmt: skip
    return rows


def csv_table(path) -> tuple[list[str], list[list[str]]] | None:
    """Heads and rows of a CSV file, numbers shortened; None if there is no file."""
    if not path.is_file():
        return None
    table = read_csv(path)
    rows = [[_short(v) for v in row] for row in table.itertuples(index=False)]
    return [str(c).replace("_", " ") for c in table.columns], rows


def _short(value) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)
