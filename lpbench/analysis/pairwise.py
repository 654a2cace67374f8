"""Every pair of methods compared: p-values and effect sizes on each data set, and over data sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lpbench.analysis.scores import CELL, LARGER_IS_BETTER
from lpbench.analysis.significance import DIGITS, holm, two_sided
from lpbench.analysis.summary import COMPARISON, Summary, is_ranked
from lpbench.analysis.variants import bare_name

#: Name in the column ``dataset`` of a comparison over data sets.
OVER = "all data sets"
#: Fewer data sets cannot be told apart from chance by any outcome.
LEAST_DATASETS = 5
PAIRWISE_COLUMNS = [
    *("panel", "mask", "epsilon", "x", "selection", "metric", "dataset", "method", "other"),
    *("mean", "other_mean", "difference", "n", "better", "worse", "effect_size", "p_two_sided", "p_holm"),
]


def pairwise(summary: Summary) -> pd.DataFrame:
    """Compare every two methods of a study.

    The methods of a comparison share panel, data set, mask, budget and selection, and are paired by replication. Where
    they share :data:`LEAST_DATASETS` data sets, a comparison :data:`OVER` them pairs their means by data set; errors,
    whose scale is that of the data set, enter by their logarithm.

    The method with the better mean comes first. ``difference`` is mean - other_mean; over data sets, means of errors
    are geometric. ``better`` and ``worse`` count pairs that ``method`` wins and loses, of ``n``; ``effect_size`` is the
    matched-pairs rank-biserial correlation, 1 if it wins all of them; ``p_two_sided`` is Wilcoxon's signed-rank test,
    ``p_holm`` adjusted over all pairs of the comparison.
    """
    table = summary.table[summary.table["method"].map(is_ranked) & summary.table["mean"].notna()]
    chosen = summary.chosen.merge(table[[*CELL, "selection"]], on=[*CELL, "selection"])
    rows: list[dict[str, Any]] = []
    for key, part in chosen.groupby(COMPARISON, dropna=False):
        place = dict(zip(COMPARISON, key, strict=True))
        wide = part.pivot(index="replication", columns="method", values="value").dropna(axis="columns")
        rows += _rows(place, wide, LARGER_IS_BETTER[place["metric"]])
    across = [k for k in COMPARISON if k not in ("dataset", "experiment")]
    for key, part in table.groupby(across, dropna=False):
        place = {**dict(zip(across, key, strict=True)), "dataset": OVER}
        wide = part.pivot(index="dataset", columns="method", values="mean").dropna(axis="columns")
        larger = LARGER_IS_BETTER[place["metric"]]
        # variants of one data set are no independent evidence
        several = len({bare_name(dataset) for dataset in wide.index}) == len(wide) >= LEAST_DATASETS
        if several and (larger or (wide > 0).all(axis=None)):
            rows += _rows(place, wide if larger else np.log(wide), larger, logarithms=not larger)
    return pd.DataFrame(rows, columns=PAIRWISE_COLUMNS)


def _rows(
    place: dict[str, Any], compared: pd.DataFrame, larger: bool, *, logarithms: bool = False
) -> list[dict[str, Any]]:
    """Rows of one comparison: a row a pair of columns."""
    if len(compared) < 2 or compared.shape[1] < 2:
        return []
    sign = 1.0 if larger else -1.0
    order = (sign * compared.mean()).round(DIGITS).sort_values(ascending=False, kind="stable").index
    pairs = list(combinations(order, 2))
    gains = np.column_stack([sign * (compared[a] - compared[b]) for a, b in pairs])
    tests = two_sided(gains)
    means = compared.mean()
    means = np.exp(means) if logarithms else means
    columns = zip(pairs, gains.T, tests, holm(tests), strict=True)
    return [{**place, **row} for row in _described(columns, means)]


def _described(columns: Any, means: pd.Series) -> Iterator[dict[str, Any]]:
    for (one, other), gain, p, adjusted in columns:
        gain = np.round(gain, DIGITS)
        yield {
            "method": one,
            "other": other,
            "mean": means[one],
            "other_mean": means[other],
            "difference": means[one] - means[other],
            "n": len(gain),
            "better": int((gain > 0).sum()),
            "worse": int((gain < 0).sum()),
            "effect_size": rank_biserial(gain),
            "p_two_sided": p,
            "p_holm": adjusted,
        }


def rank_biserial(differences: np.ndarray) -> float:
    """Matched-pairs rank-biserial correlation: (sum of ranks of positive - of negative differences) / sum of all.

    Zeros are dropped; NaN if nothing is left (Kerby, Comprehensive Psychology 2014).
    """
    differences = np.round(np.asarray(differences, dtype=float), DIGITS)
    known = differences[differences != 0]
    if not known.size:
        return math.nan
    ranks = stats.rankdata(np.abs(known))
    return float((np.sign(known) * ranks).sum() / ranks.sum())
