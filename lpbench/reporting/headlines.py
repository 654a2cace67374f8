"""Median distance of our numbers from the printed ones by paper and unit, and gains over the best other method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.rates import student_half_width
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.summary import CONSTANTS, REFERENCES
from lpbench.analysis.variants import bare_name
from lpbench.analysis.verdicts import claims_of
from lpbench.analysis.verdicts import in_words as claims_in_words
from lpbench.experiments import catalogue
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.comparison import one_row_each
from lpbench.reporting.development_sets import sets_by_kind
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.figures.comparisons import gain, printed_gain
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.printed_names import card_of, in_print, method_title

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
#: Draws of the bootstrap over data sets.
DRAWS = 1000


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
    low, high = _over_sets(apart, met["dataset"].map(bare_name)) if kind == "tables" else (np.nan, np.nan)
    return Headline(paper, kind, unit, names, len(rows), len(met), distance, absent, low, high)


def _over_sets(apart: pd.Series, datasets: pd.Series) -> tuple[float, float]:
    """Percentile bootstrap interval of the median distance: data sets are drawn with all their cells."""
    codes, names = pd.factorize(datasets, sort=True)
    if len(names) < 2:
        return np.nan, np.nan
    drawn = np.random.default_rng(0).integers(len(names), size=(DRAWS, len(names)))
    times, order = (drawn[..., None] == np.arange(len(names))).sum(axis=1), np.argsort(apart.to_numpy(), kind="stable")
    # up to each distance, in their order: how many of a draw
    upto = times[:, codes[order]].cumsum(axis=1)
    middle = [(upto <= place[:, None]).sum(axis=1) for place in ((upto[:, -1] - 1) // 2, upto[:, -1] // 2)]
    low, high = np.quantile(apart.to_numpy()[order][np.stack(middle)].mean(axis=0), [0.025, 0.975])
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


GAIN_COLUMNS = [
    *("method", "experiment", "kind", "panel", "mask", "epsilon", "sets", "rival", "unit", "gain", "low", "high"),
]


def headline_gains(entries: Sequence[ReportEntry], cards: Mapping[str, Method]) -> pd.DataFrame:
    """Gain of every compared method over the best other column by oracle selection, ``headline_gains.csv``.

    A method is compared in the experiment that has the most published methods, all on their papers' full grids. The
    constant and other baselines are compared too; methods without privacy are not. ``gain`` is in percentage points, or
    per cent of the error that are saved (geometric mean over data sets), with Student's 95 % interval over data sets.
    """
    found: dict[str, tuple[int, ReportEntry]] = {}
    for entry in entries:
        compared = entry.experiment.settings.get("compared")
        if compared and entry.kind == "table" and entry.was_run:
            rivals = published_methods(entry)
            if len(rivals) > found.get(compared, (0, entry))[0] and not cut_grids(entry.experiment, rivals, cards):
                found[compared] = (len(rivals), entry)
    rows = [
        {"method": compared, "experiment": entry.name} | row
        for compared, (_, entry) in sorted(found.items(), reverse=True)
        for row in gains(entry, compared)
    ]
    return pd.DataFrame(rows, columns=GAIN_COLUMNS)


def published_methods(entry: ReportEntry) -> list[str]:
    """Columns of an experiment that are methods of the papers."""
    published = {m for p in papers() if p.claims for m in p.methods} - {*CONSTANTS, *REFERENCES}
    methods = [] if entry.summary is None else sorted(set(entry.summary["method"]))
    return [m for m in methods if bare_name(m) in published]


def cut_grids(experiment: Experiment, methods: Sequence[str], cards: Mapping[str, Method]) -> list[str]:
    """Those of some methods that an experiment searches over less than their own grid."""
    return [
        method
        for group in experiment.groups
        for method in methods
        if method in group.method and (card := card_of(method, cards)) is not None
        if any({*map(str, card.grid.get(name, ()))} - {*map(str, values)} for name, values in group.grid.items())
    ]


def gains(entry: ReportEntry, compared: str) -> list[dict[str, Any]]:
    """Gain over the best of the other methods on the same data sets, by kind of data sets, panel, mask and budget."""
    if entry.summary is None:
        return []
    table = entry.summary.dropna(subset=["mean"])
    rivals = [m for m in sorted(set(table["method"])) if bare_name(m) not in (compared, *REFERENCES)]
    keys = ["panel", "dataset", "mask", "method", "epsilon"]
    means = {s: part.set_index(keys)["mean"].to_dict() for s, part in table.groupby("selection")}
    oracle = means.get("oracle", {})
    own = oracle | means.get("tuning_free", {})
    kinds = sets_by_kind(entry.experiment) or {"all": []}
    rows = []
    for (panel, mask, epsilon), part in table[table["method"] == compared].groupby(["panel", "mask", "epsilon"]):
        metric = part["metric"].iloc[0]
        for kind, names in kinds.items():
            sets = sorted(d for d in set(part["dataset"]) if not names or bare_name(d) in names)
            best: tuple[float, str, np.ndarray] | None = None
            for rival in rivals:
                pairs = [(own[panel, d, mask, compared, epsilon], oracle.get((panel, d, mask, rival, epsilon)))
                         for d in sets]  # fmt: skip
                if not pairs or any(b is None for _, b in pairs):
                    continue
                mine, theirs = np.array(pairs, dtype=float).T
                won = gain(mine, theirs, metric)
                if best is None or won.mean() < best[0]:
                    best = float(won.mean()), rival, won
            if best is None:
                continue
            mean, rival, won = best
            half = student_half_width(won)
            ends = [printed_gain(v, metric) for v in (mean, mean - half, mean + half)]
            unit = "points" if LARGER_IS_BETTER[metric] else "per cent"
            rows.append({"kind": kind, "panel": panel, "mask": mask, "epsilon": epsilon, "sets": won.size,
                         "rival": rival, "unit": unit, "gain": ends[0], "low": ends[1], "high": ends[2]})  # fmt: skip
    return rows


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
