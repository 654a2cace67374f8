"""Win probabilities (bootstrap over data sets and splits) and rank sums (Student's interval over data sets)."""

from __future__ import annotations

import numpy as np

from lpbench.analysis.ranks import rank_intervals
from lpbench.analysis.rates import Interval

#: Resamples, and the two-sided level of the intervals.
DRAWS, LEVEL = 500, 0.05


def wins_over(scores: np.ndarray, reference: np.ndarray, *, larger_is_better: bool) -> np.ndarray:
    """Return 1 where a score is better than the reference of the same split, 0 where worse, 1/2 where equal.

    Parameters
    ----------
    scores, reference : ndarrays that broadcast
    larger_is_better : bool

    Returns
    -------
    ndarray, NaN where one of the two is missing
    """
    gain = (scores - reference) * (1.0 if larger_is_better else -1.0)
    return np.where(np.isnan(gain), np.nan, 0.5 * (1.0 + np.sign(gain)))


def win_probability(
    scores: np.ndarray, reference: np.ndarray, rng: np.random.Generator, *, larger_is_better: bool
) -> Interval:
    """Estimate the probability that a method beats a reference on a random split of a random data set.

    Parameters
    ----------
    scores, reference : ndarrays of shape (S, R)
        One row a data set, one column a split; the splits are paired. Rows with a missing score are left out.
    rng : numpy.random.Generator
    larger_is_better : bool
    """
    won = wins_over(scores, reference, larger_is_better=larger_is_better)
    won = won[~np.isnan(won).any(axis=1)]
    if won.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    drawn = _resampled(won, rng).mean(axis=(1, 2))
    return Interval(float(won.mean()), *_ends(drawn))


def rank_sum_intervals(scores: np.ndarray, *, larger_is_better: bool) -> list[Interval]:
    """Estimate the rank sum of every method, with Student's interval over the data sets.

    Parameters
    ----------
    scores : ndarray of shape (S, M, R)
        Data sets, methods, splits. A method without scores on a data set ranks last there.
    larger_is_better : bool
    """
    found = rank_intervals(scores.mean(axis=2), larger_is_better=larger_is_better)
    return [Interval(*map(float, row)) for row in len(scores) * np.stack(found, axis=1)]


def _resampled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Data sets drawn with replacement, and splits within each: shape (DRAWS, S, R)."""
    n_sets, n_splits = values.shape
    sets = rng.integers(n_sets, size=(DRAWS, n_sets, 1))
    return values[sets, rng.integers(n_splits, size=(DRAWS, n_sets, n_splits))]


def _ends(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)
