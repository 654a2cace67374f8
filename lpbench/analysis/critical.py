"""Critical differences of average ranks over data sets (Demšar, JMLR 2006).

Friedman's test, in the F form of Iman and Davenport, asks whether the methods differ at all; Nemenyi's test tells which
average ranks are far enough apart. Data sets are the blocks: replications of one data set are no independent evidence
about others, they only make its mean precise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from lpbench.analysis.ranks import ranks
from lpbench.analysis.significance import ALPHA

#: Fewer data sets or methods than these say nothing in a diagram of average ranks.
LEAST_DATASETS, LEAST_METHODS = 5, 3


@dataclass(frozen=True)
class CriticalDifference:
    """Average ranks and what tells them apart.

    Attributes
    ----------
    mean_ranks : ndarray of shape (m,)
        In the order of the columns given.
    n_datasets : int
    p_value : float
        Of Friedman's test that all methods rank alike.
    width : float
        Nemenyi's critical difference at level :data:`lpbench.analysis.significance.ALPHA`.
    groups : tuple of tuple of int
        Columns, best first, of each largest set of methods whose average ranks lie within ``width``; sets of one are
        left out.
    """

    mean_ranks: np.ndarray
    n_datasets: int
    p_value: float
    width: float
    groups: tuple[tuple[int, ...], ...]


def critical_difference(values: np.ndarray, *, larger_is_better: bool, alpha: float = ALPHA) -> CriticalDifference:
    """Compare methods over data sets by their average ranks.

    Parameters
    ----------
    values : ndarray of shape (datasets, methods)
        Mean scores. A data set without any value is left out; a method without a value on a data set ranks last there.
    larger_is_better : bool
    alpha : float

    Raises
    ------
    ValueError
        Fewer than :data:`LEAST_DATASETS` data sets with values or :data:`LEAST_METHODS` methods.
    """
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values).all(axis=1)]
    n, k = values.shape
    if n < LEAST_DATASETS or k < LEAST_METHODS:
        raise ValueError(
            f"average ranks need at least {LEAST_DATASETS} data sets and {LEAST_METHODS} methods, got {n} and {k}"
        )
    placed = ranks(values, larger_is_better=larger_is_better)
    mean = placed.mean(axis=0)
    # the studentised range with infinite degrees of freedom, for differences of two means
    width = float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2) * math.sqrt(k * (k + 1) / (6 * n))
    return CriticalDifference(mean, n, _friedman(placed), width, _groups(mean, width))


def _friedman(placed: np.ndarray) -> float:
    """p-value of Iman and Davenport's F from ranks of shape (n, k), ties averaged."""
    n, k = placed.shape
    spread = ((placed.mean(axis=0) - (k + 1) / 2) ** 2).sum() * n
    within = ((placed - (k + 1) / 2) ** 2).sum() / (n * (k - 1))
    if within == 0:
        return 1.0
    chi2 = spread / within
    rest = n * (k - 1) - chi2
    if rest <= 0:
        return 0.0
    return float(stats.f.sf((n - 1) * chi2 / rest, k - 1, (k - 1) * (n - 1)))


def _groups(mean: np.ndarray, width: float) -> tuple[tuple[int, ...], ...]:
    order = np.argsort(mean, kind="stable")
    found: list[tuple[int, ...]] = []
    end = 0
    for start in range(len(order)):
        reach = start
        while reach + 1 < len(order) and mean[order[reach + 1]] - mean[order[start]] <= width:
            reach += 1
        if reach > max(end, start):
            found.append(tuple(int(c) for c in order[start : reach + 1]))
        end = max(end, reach)
    return tuple(found)
