"""Paired tests between methods and the marks that the papers print.

Both papers use the Wilcoxon signed-rank test over replications at level 0.05, without saying which variant. Scipy
changed its defaults between versions, so ours is written down: one-sided, differences rounded to
:data:`LOSS_DIGITS` digits, zero differences dropped, and the exact null law given the sizes of the differences, so also
where some tie (accuracies on few test rows often do).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

ALPHA = 0.05
#: Differences are rounded to this many decimal digits, so that the order of a floating-point sum decides no test.
LOSS_DIGITS = 12


def signed_ranks(differences: np.ndarray) -> np.ndarray:
    """One-sided p-values of Wilcoxon's test that differences (replications, tests) are positive; 1 if all are 0."""
    differences = np.round(np.asarray(differences, dtype=float), LOSS_DIGITS)
    # doubled, so that average ranks of ties are whole numbers; zeros rank below all others and are taken off
    zeros = (differences == 0).sum(axis=0)
    doubled = np.rint(2 * (scipy.stats.rankdata(np.abs(differences), axis=0) - zeros)).astype(int)
    doubled[differences == 0] = 0
    sums = np.where(differences > 0, doubled, 0).sum(axis=0)
    ranked = np.sort(doubled, axis=0)
    return np.array([_upper_tail(ranked[z:, k].tobytes())[sums[k]] for k, z in enumerate(zeros)])


@lru_cache(maxsize=4096)
def _upper_tail(ranks: bytes) -> np.ndarray:
    """Null law of a sum of doubled ranks whose signs are fair coins: chance that it is at least 0, 1, 2, ...

    ``ranks`` are the bytes of an int array.
    """
    numbers = np.frombuffer(ranks, dtype=int)
    law, end = np.zeros(numbers.sum() + 1), 1
    law[0] = 1.0
    for rank in numbers:
        law[rank : rank + end] += law[:end].copy()
        end += rank
        law[:end] *= 0.5
    return np.minimum(np.cumsum(law[::-1])[::-1], 1.0)


def signed_rank(difference: np.ndarray) -> float:
    """The test of :func:`signed_ranks` for one column of shape (R,).

    Parameters
    ----------
    difference : array_like of shape (R,)
        Paired differences, one a replication.

    Returns
    -------
    float
        One-sided p-value of the hypothesis that differences are positive.
    """
    return float(signed_ranks(np.asarray(difference, dtype=float)[:, None])[0])


def better(a: np.ndarray, b: np.ndarray, *, larger_is_better: bool) -> float:
    """One-sided p-value that scores ``a`` are better than ``b``, paired by replication.

    Parameters
    ----------
    a, b : array_like of shape (R,)
        Scores of two methods, one a replication.
    larger_is_better : bool
        True for accuracy, False for errors.

    Returns
    -------
    float
        p-value of Wilcoxon's signed-rank test.
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    return signed_rank(difference if larger_is_better else -difference)


def two_sided(differences: np.ndarray) -> np.ndarray:
    """Two-sided p-values of the signed-rank test, of shape (k,), for differences of shape (R, k)."""
    differences = np.asarray(differences, dtype=float)
    return np.minimum(1.0, 2.0 * np.minimum(signed_ranks(differences), signed_ranks(-differences)))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values of one family by Holm's step-down method.

    Parameters
    ----------
    p_values : array_like of shape (m,)
        p-values of the family; NaN is not tested.

    Returns
    -------
    ndarray of shape (m,)
        Adjusted p-values, at most 1; NaN stays NaN.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (np.count_nonzero(~np.isnan(p)) - np.arange(p.size)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


@dataclass(frozen=True)
class Marks:
    """Columns that a paper's rule would mark as best in one comparison, with the tests behind them.

    ``best`` is an index; the arrays (k,) have the p-value that the best is better than each column, and the marks
    without and with Holm's correction.
    """

    best: int  #: Column with the best mean (the first of equals).
    #: One-sided p-values that the best column beats each, shape (m,); NaN for the best column itself.
    p_value: np.ndarray
    marked: np.ndarray  #: Columns marked by the raw tests: booleans of shape (m,).
    marked_holm: np.ndarray  #: Columns marked after Holm's correction: booleans of shape (m,).


def _against(scores: np.ndarray, column: int, larger_is_better: bool) -> np.ndarray:
    """One-sided p-values (k,) that ``column`` beats each other column of scores (R, k); NaN for itself."""
    sign = 1.0 if larger_is_better else -1.0
    p = signed_ranks(sign * (scores[:, [column]] - scores))
    p[column] = np.nan
    return p


def _best_column(scores: np.ndarray, larger_is_better: bool) -> int:
    mean = np.round(scores.mean(axis=0), LOSS_DIGITS)
    return int(np.argmax(mean) if larger_is_better else np.argmin(mean))


def stars(scores: np.ndarray, *, larger_is_better: bool) -> Marks:
    """Mark the columns that HistOfTree's tables star: the best and its equals, if each of them beats all the rest.

    The equals are the columns that the best does not beat. If nothing is left outside, nothing is marked. That a row
    may carry several stars is read off these tables (19 of 60 rows do); the caption says only "towards the rest".

    Parameters
    ----------
    scores : ndarray of shape (R, m)
        One row per replication, one column per method.
    larger_is_better : bool
        True for accuracy, False for errors.

    Returns
    -------
    Marks
        Best column, p-values against it, and marks without and with Holm's correction.
    """
    best = _best_column(scores, larger_is_better)
    raw = {best: _against(scores, best, larger_is_better)}
    marked = []
    for correct in (lambda p: p, holm):
        equals = ~(correct(raw[best]) < ALPHA)
        for column in map(int, np.flatnonzero(equals)):
            if column not in raw:
                raw[column] = _against(scores, column, larger_is_better)
        beats = all((correct(raw[int(c)])[~equals] < ALPHA).all() for c in np.flatnonzero(equals))
        marked.append(equals & bool(beats and not equals.all()))
    return Marks(best, raw[best], marked[0], marked[1])


def bolds(scores: np.ndarray, *, larger_is_better: bool) -> Marks:
    """Mark LPCT's bold columns: those not significantly worse than the best.

    Parameters
    ----------
    scores : ndarray of shape (R, m)
        One row per replication, one column per method.
    larger_is_better : bool
        True for accuracy, False for errors.

    Returns
    -------
    Marks
        Best column, p-values against it, and marks without and with Holm's correction.
    """
    best = _best_column(scores, larger_is_better)
    p = _against(scores, best, larger_is_better)
    return Marks(best, p, ~(p < ALPHA), ~(holm(p) < ALPHA))


RULES = {"star": stars, "bold": bolds}
#: The rules in words.
RULE_WORDS = {
    "star": "the best method and those it does not beat, if each of them beats all others (one-sided Wilcoxon tests)",
    "bold": "methods that the best one does not beat (one-sided Wilcoxon tests)",
}
