"""Win probabilities and rank sums over data sets, with bootstrap intervals over data sets and splits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.analysis.ranks import ranks

#: Resamples, and the two-sided level of the intervals.
DRAWS, LEVEL = 500, 0.05


@dataclass(frozen=True)
class Interval:
    """An estimate and its bootstrap interval."""

    value: float
    low: float
    high: float


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


def rank_sum_intervals(scores: np.ndarray, rng: np.random.Generator, *, larger_is_better: bool) -> list[Interval]:
    """Estimate the rank sum of every method.

    Parameters
    ----------
    scores : ndarray of shape (S, M, R)
        Data sets, methods, splits. A method without scores on a data set ranks last there.
    rng : numpy.random.Generator
    larger_is_better : bool

    Returns
    -------
    list of Interval
        One a method; the ends are those of rank sums over as many resampled data sets.
    """
    sums = ranks(scores.mean(axis=2), larger_is_better=larger_is_better).sum(axis=0)
    n_sets, _, n_splits = scores.shape
    drawn = np.empty((DRAWS, scores.shape[1]))
    for b in range(DRAWS):
        sets = rng.integers(n_sets, size=n_sets)
        splits = rng.integers(n_splits, size=(n_sets, 1, n_splits))
        means = np.take_along_axis(scores[sets], splits, axis=2).mean(axis=2)
        drawn[b] = ranks(means, larger_is_better=larger_is_better).sum(axis=0)
    return [Interval(float(s), *_ends(column)) for s, column in zip(sums, drawn.T, strict=True)]


def _resampled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Data sets drawn with replacement, and splits within each: shape (DRAWS, S, R)."""
    n_sets, n_splits = values.shape
    sets = rng.integers(n_sets, size=(DRAWS, n_sets, 1))
    return values[sets, rng.integers(n_splits, size=(DRAWS, n_sets, n_splits))]


def _ends(drawn: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
    return float(low), float(high)
