"""Win probabilities (bootstrap over data sets and splits) and rank sums (Student's interval over data sets)."""

from __future__ import annotations

import numpy as np

from lpbench.analysis.ranks import rank_intervals
from lpbench.analysis.rates import Interval

DRAWS = 500


def wins_over(costs: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return 1 where a cost is below that of the reference on the same split, 0 where above, 1/2 where equal."""
    gain = reference - costs
    return np.where(np.isnan(gain), np.nan, 0.5 * (1.0 + np.sign(gain)))


def win_probability(costs: np.ndarray, reference: np.ndarray, rng: np.random.Generator) -> Interval:
    """Estimate the probability that a method beats a reference on a random split of a random data set.

    Costs have one row a data set and one column a split; the splits are paired. Rows with a missing one are left out.
    """
    won = wins_over(costs, reference)
    won = won[~np.isnan(won).any(axis=1)]
    if won.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    # data sets are drawn with replacement, and splits within each
    n_sets, n_splits = won.shape
    sets = rng.integers(n_sets, size=(DRAWS, n_sets, 1))
    drawn = won[sets, rng.integers(n_splits, size=(DRAWS, n_sets, n_splits))].mean(axis=(1, 2))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(float(won.mean()), float(low), float(high))


def rank_sum_intervals(costs: np.ndarray) -> list[Interval]:
    """Estimate the rank sum of every method, with Student's interval over the data sets.

    Costs have shape (data sets, methods, splits). A method without any on a data set ranks last there.
    """
    found = rank_intervals(costs.mean(axis=2), larger_is_better=False)
    return [Interval(*map(float, row)) for row in len(costs) * np.stack(found, axis=1)]
