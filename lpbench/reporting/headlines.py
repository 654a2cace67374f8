"""Median distance of our numbers from the printed ones by paper and unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis.variants import bare_name
from lpbench.analysis.verdicts import claims_of
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.experiments import catalogue
from lpbench.reporting.comparison import one_row_each
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.printed_names import in_print, method_title

#: Unit of a distance -> what half of the printed numbers are within (sizes: how many differ), to be filled in.
UNITS = {
    "ratio": "{:.1f} % of the printed ratio",
    "accuracy": "{:.1f} percentage points of accuracy",
    "seconds": "a factor {:.2g} of the printed seconds, both as multiples of CT-W's",
    "sizes": "{:.0f}",
}
KINDS = {"table": "tables", "figure": "curves", "timing": "times", "drawing": "sizes"}
#: How many methods that have no number are named for a data set that has others.
NAMED = 4
#: Draws of the bootstrap over data sets, and how many are held at once.
DRAWS, AT_ONCE = 100_000, 2000


@dataclass(frozen=True)
class Headline:
    """The distance of one paper's tables, or curves, of one unit."""

    paper: str
    kind: str
    unit: str
    experiments: tuple[str, ...]
    cells: int  # printed numbers
    compared: int  # those that have a counterpart
    distance: float  # half of the compared numbers are within it; of sizes, how many differ
    absent: tuple[str, ...]  # what has no counterpart: data sets, and methods on a data set
    low: float = np.nan  # 95 % bootstrap interval of the distance over data sets; NaN where there is one or none
    high: float = np.nan

    @property
    def title(self) -> str:
        """The paper's short name, and what of it: "LPCT, curves"."""
        return titled(self.paper, self.kind)

    def __str__(self) -> str:
        count = f"{self.compared} of {self.cells} printed numbers" if self.absent else f"{self.cells} printed numbers"
        if not self.compared:
            return f"none of {self.cells} printed numbers has a counterpart"
        amount = UNITS[self.unit].format(self.distance)
        near = (
            f"{amount} of {self.compared} compared numbers differ from print"
            if self.unit == "sizes"
            else f"for half of {count} ours is within {amount}"
        )
        if self.low == self.low:
            near += f" (95 % interval over data sets: {self.low:.1f} to {self.high:.1f})"
        return near + (f"; not run: {', '.join(self.absent)}" if self.absent else "")


def titled(paper: str, kind: str) -> str:
    """Name the headline of a paper and kind."""
    return f"{next((p.short for p in papers() if p.name == paper), paper)}, {kind}"


def headlines(entries: Sequence[ReportEntry]) -> list[Headline]:
    """One headline for the tables and one for the curves of each paper and unit; drawings without numbers have none."""
    groups: dict[tuple[str, str, str], list[tuple[str, pd.DataFrame]]] = {}
    for entry in entries:
        if entry.comparison is not None and len(entry.comparison):
            key = (entry.paper, KINDS.get(entry.kind, entry.kind), _unit(entry))
            groups.setdefault(key, []).append((entry.name, one_row_each(entry.comparison)))
    return [_headline(*key, parts) for key, parts in groups.items()]


def _unit(entry: ReportEntry) -> str:
    layout = paper_of(entry.name).tables.get(entry.name)
    if layout is not None and layout.value == "ratio":
        return "ratio"
    if entry.kind == "drawing":
        return "sizes"
    return "seconds" if entry.kind == "timing" else "accuracy"


def _headline(paper: str, kind: str, unit: str, parts: Sequence[tuple[str, pd.DataFrame]]) -> Headline:
    names, tables = zip(*parts, strict=True)
    rows = pd.concat(tables)
    met = rows.dropna(subset=["reproduced"])
    apart = distances(met, unit)
    distance = float((apart > 0).sum() if unit == "sizes" else apart.median()) if len(met) else float("nan")
    # whole data sets first
    found = sorted(dict.fromkeys(pair for table in tables for pair in _absent(table)), key=itemgetter(0))
    absent = tuple(text for _, text in found)
    low, high = over_sets(apart, met["dataset"].map(bare_name)) if kind == "tables" else (np.nan, np.nan)
    return Headline(paper, kind, unit, names, len(rows), len(met), distance, absent, low, high)


def over_sets(apart: pd.Series, datasets: pd.Series) -> tuple[float, float]:
    """Percentile bootstrap interval of the median distance: data sets are drawn with all their cells."""
    codes, names = pd.factorize(datasets, sort=True)
    if len(names) < 2:
        return np.nan, np.nan
    rng, order, medians = np.random.default_rng(0), np.argsort(apart.to_numpy(), kind="stable"), []
    for _ in range(DRAWS // AT_ONCE):
        times = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=AT_ONCE)
        # up to each distance, in their order: how many of a draw
        upto = times[:, codes[order]].cumsum(axis=1)
        middle = [(upto <= place[:, None]).sum(axis=1) for place in ((upto[:, -1] - 1) // 2, upto[:, -1] // 2)]
        medians.append(apart.to_numpy()[order][np.stack(middle)].mean(axis=0))
    low, high = np.quantile(np.concatenate(medians), [0.025, 0.975])
    return float(low), float(high)


def distances(rows: pd.DataFrame, unit: str) -> pd.Series:
    """Distance of each cell in a unit."""
    if unit == "accuracy":
        return 100 * rows["difference"].abs()
    if unit == "seconds":
        return np.exp(np.log(rows["reproduced"] / rows["published"]).abs())
    return 100 * rows["relative_difference"].abs()


def _absent(rows: pd.DataFrame) -> list[tuple[bool, str]]:
    """What of one artefact has no counterpart: whole data sets, else (True) methods on one."""
    found = []
    for dataset, part in rows.groupby(rows["dataset"].map(bare_name), sort=False):
        methods = dict.fromkeys(part.loc[part["reproduced"].isna(), "method"].map(bare_name))
        if methods and part["reproduced"].isna().all():
            found.append((False, in_print(dataset) or "all"))
        elif methods:
            titles = [method_title(m, catalogue.methods()) for m in list(methods)[:NAMED] if m]
            shown = ", ".join(titles) + (f" and {len(methods) - NAMED} more" * (len(methods) > NAMED))
            where = in_print(dataset)
            found.append((True, f"{shown} on {where}" if where and shown else shown or f"a part of {where}"))
    return found


def table_of(found: Sequence[Headline]) -> pd.DataFrame:
    """Headlines as a table, ``headlines.csv``."""
    columns = ["paper", "kind", "unit", "experiments", "cells", "compared", "distance", "low", "high", "absent"]
    rows = [
        {column: getattr(h, column) for column in columns}
        | {"experiments": " ".join(h.experiments), "absent": "; ".join(h.absent), "sentence": str(h)}
        for h in found
    ]
    return pd.DataFrame(rows, columns=[*columns, "sentence"])


def in_words(folder: Path) -> str:
    """The numbers of a committed report as the README states them, from ``verdicts.csv`` and ``headlines.csv``."""
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    near = pd.read_csv(folder / "headlines.csv")
    lines = [f"- {titled(str(row.paper), str(row.kind))}: {row.sentence}." for row in near.itertuples()]
    return "\n".join([f"{claims_in_words(claims)}.", "", *lines])
