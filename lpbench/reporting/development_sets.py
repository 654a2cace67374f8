"""Results on development and on held-out data sets, each with ranks and tests of its own.

An experiment names the two in ``settings.data_sets``, the seed of the development in ``settings.development_seed``, and
in ``settings.compared`` the method that is compared with every other one, within a mask and a budget.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpbench.analysis import ALPHA, Summary, holm, is_ranked, rank_sums
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.significance import two_sided
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures.comparisons import Part, gain, parts
from lpbench.selectors import parse_selector

if TYPE_CHECKING:
    from lpbench.reporting.entries import ReportEntry

FILE = "development_sets.csv"
#: Name of all data sets together, and what a page says of each kind.
ALL = "all"
TITLES = {
    ALL: "All data sets",
    "development": "Development sets",
    "conclusions": "Held-out data sets",
}


def sets_by_kind(experiment: Experiment) -> dict[str, list[str]]:
    """Kind of data sets -> their names, all of them first; empty where an experiment has one kind."""
    named = experiment.settings.get("data_sets", {})
    kinds = {kind: list(names) for kind, names in named.items()}
    return {ALL: [name for names in kinds.values() for name in names], **kinds} if kinds else {}


def compare_by_kind(experiment: Experiment, summary: Summary, cards: Mapping[str, Method]) -> pd.DataFrame:
    """Compare one method with every other one, for each kind of data sets, mask and budget.

    ``rank_sum`` is among all methods shown; ``effect`` the geometric mean over data sets and replications of a method's
    error over that of the compared method, or the mean of the latter's accuracy minus its own; ``p`` the two-sided
    Wilcoxon test over replications of that mean, after Holm over the methods; ``better``, ``worse`` on how many data
    sets the compared method is so, by such tests after Holm over the data sets. Empty if an experiment has one kind.
    """
    kinds = sets_by_kind(experiment)
    if not kinds:
        return pd.DataFrame()
    compared = parse_selector(experiment.settings["compared"])
    rows: list[dict] = []
    for part in parts(experiment, summary, cards, "oracle"):
        part = part.only([k for k, c in enumerate(part.columns) if is_ranked(c.method)])
        own = [k for k, c in enumerate(part.columns) if parse_selector(c.method) == compared]
        if own:
            gains = _gains(part, own[0])
            tests = _two_sided(gains)
            for kind, names in kinds.items():
                kept = [d for d, (_, s) in enumerate(part.datasets) if parse_selector(s)[0] in names]
                rows += _rows(part, own[0], gains[kept], tests[kept], part.costs[kept], kind) if kept else []
    return pd.DataFrame(rows)


def _gains(part: Part, own: int) -> np.ndarray:
    """Gain of the compared method over each other one in each replication: shape (data sets, columns, R).

    Differences of accuracies, logarithms of the ratio of errors; NaN where one of the two has no number.
    """
    longest = max(s.size for s in part.samples.values())
    found = np.full((len(part.datasets), len(part.columns), longest), math.nan)
    for (d, c), theirs in part.samples.items():
        mine = part.samples.get((d, own))
        if c != own and mine is not None and mine.size == theirs.size == longest:
            found[d, c] = gain(mine, theirs, part.metric)
    return found


def _two_sided(gains: np.ndarray) -> np.ndarray:
    """p-values of gains of shape (..., R); NaN where a gain is missing."""
    flat = gains.reshape(-1, gains.shape[-1])
    known = ~np.isnan(flat).any(axis=1)
    result = np.full(len(flat), math.nan)
    if known.any():
        result[known] = two_sided(flat[known].T)
    return result.reshape(gains.shape[:-1])


def _rows(part: Part, own: int, gains: np.ndarray, tests: np.ndarray, costs: np.ndarray, kind: str) -> list[dict]:
    """Rows of one kind of data sets, to which the arrays belong."""
    sums = rank_sums(costs, larger_is_better=False)
    known = ~np.isnan(tests)
    over = np.array([gains[known[:, c], c].mean(axis=0) if known[:, c].any() else np.full(gains.shape[2], math.nan)
                     for c in range(len(part.columns))])  # fmt: skip
    p_values, effect = _holm(_two_sided(over)), over.mean(axis=1)
    sides = gains.mean(axis=2)
    differ = np.array([_holm(tests[:, c]) < ALPHA for c in range(len(part.columns))]).T
    effect = effect if LARGER_IS_BETTER[part.metric] else np.exp(effect)
    return [
        {"kind": kind, "mask": part.group, "epsilon": part.epsilon, "method": column.label, "datasets": len(costs),
         "rank_sum": sums[c], "effect": effect[c], "p": p_values[c],
         "better": int((differ[:, c] & (sides[:, c] > 0)).sum()),
         "worse": int((differ[:, c] & (sides[:, c] < 0)).sum()), "compared": c == own}
        for c, column in enumerate(part.columns)
    ]  # fmt: skip


def _holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's adjustment of the tests that there are; NaN stays."""
    adjusted, known = np.full(p_values.shape, math.nan), ~np.isnan(p_values)
    adjusted[known] = holm(p_values[known])
    return adjusted


def tables_by_kind(table: pd.DataFrame, accuracy: bool) -> list[tuple[str, list[str], list[list[str]]]]:
    """Lay out :func:`compare_by_kind` for print: title, heads and rows of each kind, the compared method on top."""
    table = table.assign(mask=table["mask"].fillna(""))
    lowest = table.groupby(["kind", "mask", "epsilon"], dropna=False)["rank_sum"].transform("min")
    table = table.assign(smallest=table["rank_sum"] == lowest).sort_values("compared", ascending=False, kind="stable")
    found = []
    for kind in dict.fromkeys(k for k in TITLES if (table["kind"] == k).any()):
        rows = table[table["kind"] == kind]
        places = sorted({(r.mask, r.epsilon) for r in rows.itertuples()})
        heads = [", ".join(filter(None, [mask, f"ε = {epsilon:g}"])) for mask, epsilon in places]
        cells: dict[str, dict[tuple, str]] = {}
        for row in rows.itertuples():
            cells.setdefault(row.method, {})[row.mask, row.epsilon] = _cell(row, accuracy)
        lines = [[method, *(line.get(place, "") for place in places)] for method, line in cells.items()]
        found.append((f"{TITLES[kind]} ({rows['datasets'].max()})", ["Method", *heads], lines))
    return found


def shown_by_kind(entry: ReportEntry) -> dict:
    """Legend and tables for a page, from the file in the experiment's folder; empty without one."""
    path = entry.folder / FILE
    if not path.is_file() or entry.summary is None:
        return {}
    table = pd.read_csv(path)
    accuracy = (entry.summary["metric"] == "accuracy").any()
    seed = entry.record.get("config", {}).get("seed", "of the run")
    legend = legend_by_kind(table, entry.experiment, accuracy, f"seed {seed}")
    return {"legend": legend, "tables": tables_by_kind(table, accuracy)}


def _cell(row, accuracy: bool) -> str:
    text = f"{row.rank_sum:g}" + (" ◂" if row.smallest else "")
    if row.compared or math.isnan(row.effect):
        return text
    effect = f"{100 * row.effect:+.1f}" if accuracy else f"×{row.effect:.2f}"
    return f"{text}; {effect}{'†' if row.p < ALPHA else ''}; {row.better}:{row.worse}"


def legend_by_kind(table: pd.DataFrame, experiment: Experiment, accuracy: bool, seed: str) -> str:
    """What the tables of :func:`tables_by_kind` say, in words."""
    name = table.loc[table["compared"].astype(bool), "method"].iloc[0]
    settings = experiment.settings
    what = (
        f"accuracy of {name} minus that of the row's method, in percentage points, mean over data sets"
        if accuracy
        else f"error of the row's method over that of {name}, geometric mean over data sets"
    )
    return (
        f"{name} against every other method. It was developed on the development sets with seed "
        f"{settings.get('development_seed', '?')}; the numbers here are from {seed}. A cell: rank sum of the row's "
        f"method (◂: the smallest); {what} († where it differs: two-sided Wilcoxon test over replications of the mean "
        f"over data sets, level 0.05 after Holm over the methods); on how many data sets {name} is better : worse "
        "(two-sided Wilcoxon tests over replications, level 0.05 after Holm over the data sets). Columns of published "
        "methods are their best grid points on the test rows unless the notes say otherwise."
    )
