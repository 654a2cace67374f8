"""Feature-free baselines, and oracle versus tuning-free scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import ALPHA, Summary, better
from lpbench.analysis.scores import LARGER_IS_BETTER, costs
from lpbench.analysis.summary import CONSTANTS, REFERENCES
from lpbench.experiments.method import Method
from lpbench.reporting.comparison import ratio_errors
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.paper import paper_of, papers
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.published import published_cells

#: Change of the constant's error under which wins are counted again.
MOVED = 0.05


@dataclass(frozen=True)
class Baseline:
    """The better constant of one data set, mask and budget: a private prediction that uses no feature."""

    method: str
    metric: str
    mask: str
    mean: float
    se: float
    ratio: float  # mean over that of the non-private tree; NaN for accuracies
    ratio_se: float
    n: int
    samples: np.ndarray  # the replications, in order

    def beats(self, value: float) -> bool:
        """Whether a score is no better than the constant."""
        return value <= self.mean if LARGER_IS_BETTER[self.metric] else value >= self.mean


#: (data set, mask, budget) -> constant.
Baselines = Mapping[tuple[str, str, float], Baseline]


def collect_baselines(entries: Iterable[ReportEntry]) -> dict[tuple[str, str, float], Baseline]:
    """Collect the constants from the experiments of :attr:`lpbench.reporting.paper.Paper.baselines`."""
    found: dict[tuple[str, str, float], Baseline] = {}
    by_name = {e.name: e for e in entries}
    for name in (experiment for paper in papers() for experiment in paper.baselines):
        summary = by_name[name].full if name in by_name else None
        if summary is not None:
            found |= baselines_within(summary)
    return found


def baselines_within(summary: Summary) -> dict[tuple[str, str, float], Baseline]:
    """The constant of an experiment that ran it among its own columns; empty for others."""
    rows = summary.table[(summary.table["selection"] == "oracle") & summary.table["method"].isin(CONSTANTS)]
    if rows.empty:
        return {}
    # The best of a cell's constants comes last, and is kept.
    rows = rows.sort_values("rank", ascending=False, kind="stable")
    rows = rows.assign(ratio_error=ratio_errors(rows, summary.chosen))
    samples = summary.samples("oracle")
    return {
        (r["dataset"], r["mask"], r["epsilon"]): Baseline(
            r["method"], r["metric"], r["mask"], r["mean"], r["se"], r["ratio"], r["ratio_error"], int(r["n"]),
            samples.get((r["panel"], r["dataset"], r["mask"], r["method"], r["epsilon"]), np.empty(0)),
        )
        for r in rows.to_dict("records") if r["mean"] == r["mean"]
    }  # fmt: skip


def published_wins(name: str, baselines: Baselines) -> list[dict]:
    """Count published cells that are no better than our constant, for each mask and budget of a table.

    A win is the best published value of a data set among the methods that compete; the paper's marks are its stars
    or bold numbers. Published errors are relative to the paper's non-private tree, the constant's to ours.
    """
    paper = paper_of(name)
    layout = paper.tables.get(name)
    if layout is None or layout.value == "seconds":
        return []
    cells = published_cells(name)
    left_out = cells["method"].isin([*REFERENCES, *paper.uncounted]) | cells["dataset"].isin(paper.uncounted)
    cells = cells[~left_out].dropna(subset=["published"])
    rows = []
    for (mask, epsilon), part in cells.groupby(["mask", "epsilon"]):
        found = {
            name: [_below(layout.value, r, baselines, factor) for r in part.to_dict("records")]
            for name, factor in (("below", 1.0), ("least", 1 + MOVED), ("most", 1 - MOVED))
        }
        part = part.assign(**found).dropna(subset=["below"])
        known = None if part.empty else baseline_of(baselines, part["dataset"].iloc[0], mask, epsilon)
        if known is None:
            continue
        cost = costs(part["published"], known.metric)
        wins = part[cost == cost.groupby(part["dataset"]).transform("min")]
        proposed = wins[wins["method"].str.startswith(paper.proposed)]
        rows.append(
            {"artefact": name, "mask": mask, "epsilon": epsilon, "datasets": part["dataset"].nunique()}
            | _count("wins", wins.groupby("dataset")["below"].max())
            | {f"wins_{end}": int(wins.groupby("dataset")[end].max().sum()) for end in ("least", "most")}
            | _count("proposed", proposed.groupby("dataset")["below"].max())
            | _count("marks", part.loc[part["starred"], "below"])
            | _count("cells", part["below"])
            | {"by_set": {d: (len(b), int(b.sum())) for d, b in part.groupby("dataset")["below"]}}
        )
    return rows


def _count(what: str, below: pd.Series) -> dict[str, int]:
    return {what: len(below), f"{what}_below": int(below.astype(bool).sum())}


def _below(value: str, cell: Mapping, baselines: Baselines, factor: float = 1.0) -> bool | None:
    """Whether a published cell is no better than the constant with its error times a factor; None if unknown."""
    found = baseline_of(baselines, cell["dataset"], cell["mask"], cell["epsilon"])
    if found is None:
        return None
    if value == "ratio":
        return bool(cell["published"] >= factor * found.ratio)
    error = (1 - found.mean if LARGER_IS_BETTER[found.metric] else found.mean) * factor
    return replace(found, mean=1 - error if LARGER_IS_BETTER[found.metric] else error).beats(cell["published"])


def baseline_of(baselines: Baselines, dataset: str, mask: str, epsilon: float) -> Baseline | None:
    """The constant of a data set and budget; of another mask where that is the only one (it uses no mask)."""
    exact = baselines.get((dataset, mask, epsilon))
    if exact is not None:
        return exact
    return next((f for (d, _, e), f in baselines.items() if d == dataset and e == epsilon), None)


def by_selection(summary: Summary, baselines: Baselines, cards: Mapping[str, Method]) -> list[dict]:
    """Compare each method of a table with the constant, by oracle and by tuning-free selection.

    ``oracle``, ``tuning_free`` count the data sets on which it beats the constant, ``_significant`` those of them where
    it does by the one-sided Wilcoxon test over replications; ``cost`` is the median over data sets of what is lost
    without oracle selection (ratio of errors, or difference of accuracies).
    """
    table = summary.table.dropna(subset=["mean", "epsilon"])
    table = table[~table["method"].isin([*CONSTANTS, *REFERENCES])]
    keys = ["panel", "mask", "epsilon", "method"]
    samples = {s: summary.samples(s) for s in ("oracle", "tuning_free")}
    groups: dict[tuple, dict[str, dict[str, float]]] = {}
    for *key, dataset, selection, mean in table[[*keys, "dataset", "selection", "mean"]].itertuples(index=False):
        groups.setdefault(tuple(key), {}).setdefault(selection, {})[dataset] = mean
    metrics = dict(zip(zip(*(table[k] for k in keys), strict=True), table["metric"], strict=True))
    rows = []
    for key, means in groups.items():
        panel, mask, epsilon, method = key
        both = sorted(set.intersection(*map(set, means.values()))) if "tuning_free" in means else []
        known = {d: f for d in both if (f := baseline_of(baselines, d, mask, epsilon)) is not None}
        if not known:
            continue
        larger = LARGER_IS_BETTER[metrics[key]]
        fixed, best = (np.array([means[s][d] for d in known]) for s in ("tuning_free", "oracle"))
        counts: dict[str, Any] = {}
        for selection in samples:
            won = [d for d, f in known.items() if not f.beats(means[selection][d])]
            clear = [d for d in won if _clearly(samples[selection][panel, d, mask, method, epsilon], known[d])]
            counts |= {selection: len(won), f"{selection}_significant": len(clear)}
        where = dict(zip(keys, key, strict=True))
        cost = {"datasets": len(known), "cost": float(np.median(fixed - best if larger else fixed / best)),
                "larger": larger}  # fmt: skip
        rows.append(where | {"title": method_title(method, cards)} | counts | cost)
    return rows


def _clearly(samples: np.ndarray, baseline: Baseline) -> bool:
    if len(samples) != len(baseline.samples) or len(samples) < 2:
        return False
    return better(samples, baseline.samples, larger_is_better=LARGER_IS_BETTER[baseline.metric]) < ALPHA


def print_cost(row: Mapping) -> str:
    """What is lost without oracle selection, in words: a factor of the error, or points of accuracy."""
    if math.isnan(row["cost"]):
        return ""
    return f"{100 * row['cost']:+.1f} pp" if row["larger"] else f"error × {row['cost']:.2f}"
