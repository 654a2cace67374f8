"""Subset selection: a category hidden in a random subset of w categories, of which w = 1 is randomised response.

Source: Ye and Barg (2018), Optimal schemes for discrete distribution estimation under locally differential privacy. For
w near m / (1 + e^eps) no mechanism has asymptotically less variance; w = 1 (GRR) is best where m is small beside e^eps.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lpbench.errors import ConfigurationError
from lpbench.privacy.exact import grid_keep
from lpbench.privacy.mechanism import CategoryMechanism, check_epsilon
from lpbench.privacy.payload import Field, Integers
from lpbench.privacy.randomized_response import grr_reports

#: Random numbers held at once: they fit the cache of a processor.
_BLOCK = 2**15


def subset_probabilities(m: ArrayLike, size: ArrayLike, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return p and q, the probabilities that a report contains the true category and any other given one.

    ``m`` and ``size`` broadcast. A subset with the truth is e^eps times as probable as one without.
    """
    m, size = np.asarray(m, dtype=np.float64), np.asarray(size, dtype=np.float64)
    keep = size / (size + (m - size) * math.exp(-epsilon))
    other = (size - keep) / np.maximum(m - 1, 1)
    return keep, other


def best_size(m: int, epsilon: float) -> int:
    """Size w of the subsets whose unbiased estimate of a rare category has the least variance; 1 is GRR."""
    sizes = np.arange(1, max(m // 2, 1) + 1)
    if m == 1 or math.isinf(epsilon):
        return 1
    keep, other = subset_probabilities(m, sizes, epsilon)
    return int(sizes[np.argmin(other * (1.0 - other) / (keep - other) ** 2)])


def subset_reports(
    truth: np.ndarray, m: int, size: int, epsilon: float, u_keep: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Client: a subset of ``size`` of the ``m`` categories for each user.

    Parameters
    ----------
    truth : int ndarray of shape (n,)
    u_keep : ndarray of shape (n,)
        Uniforms on [0, 1); the subset contains the truth iff u < p, rounded down to a multiple of 2^-53. Budgets may
        share them.
    rng : numpy.random.Generator
        Chooses the other members.

    Returns
    -------
    int64 ndarray of shape (n, size)
        The members, in increasing order.
    """
    truth = np.asarray(truth, dtype=np.int64)
    if size == 1:
        return grr_reports(truth, m, epsilon, u_keep, rng.random(truth.size))[:, None]
    odds = (m - size) / size * max(math.exp(-epsilon), 1e-300)
    keep = grid_keep(odds / (1.0 + odds) if math.isfinite(epsilon) else 0.0)
    # The truth comes first or last; the order of the others is random.
    rank = np.where(u_keep < keep, -1.0, 2.0)
    members = np.empty((truth.size, size), dtype=np.int64)
    for rows in np.array_split(np.arange(truth.size), math.ceil(truth.size * m / _BLOCK)):
        keys = rng.random((rows.size, m))
        np.put_along_axis(keys, truth[rows, None], rank[rows, None], axis=1)
        members[rows] = np.argpartition(keys, size - 1, axis=1)[:, :size]
    # The order must not tell which member came first.
    return np.sort(members, axis=1)


@dataclass(frozen=True)
class SubsetSelection(CategoryMechanism):
    """Report a random subset of categories that contains the true one more often than others.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories m.
    size : int
        Members w of a subset, 1 <= w < m (or m = w = 1, where there is nothing to hide).
    """

    size: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.size < max(self.n_categories, 2):
            raise ConfigurationError(
                f"size={self.size!r} must be at least 1 and below n_categories={self.n_categories!r}"
            )

    @classmethod
    def least_variance(cls, epsilon: float, n_categories: int) -> SubsetSelection:
        """Return the mechanism with the size that suits the budget and the number of categories."""
        return cls(epsilon, n_categories, best_size(n_categories, check_epsilon(epsilon)))

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """The members."""
        return (Integers(self.n_categories, self.size * columns),)

    @property
    def bits(self) -> float:
        """log2 of the number of subsets."""
        return math.log2(math.comb(self.n_categories, self.size))

    @property
    def probabilities(self) -> tuple[float, float]:
        """p and q of :func:`subset_probabilities`."""
        keep, other = subset_probabilities(self.n_categories, self.size, self.budget)
        return float(keep), float(other)

    @property
    def noise_variance(self) -> float:
        """Variance that one user adds to the unbiased estimate of the count of a category that nobody is in."""
        keep, other = self.probabilities
        return other * (1.0 - other) / (keep - other) ** 2

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the members of the subsets, shape (n, size), for categories of shape (n,)."""
        values = self.check_values(values)
        return subset_reports(values, self.n_categories, self.size, self.budget, rng.random(values.shape), rng)

    def estimate(self, counts: np.ndarray, n: int = 1) -> np.ndarray:
        """Unbiased counts of ``n`` users from how many subsets contain each category."""
        keep, other = self.probabilities
        return (np.asarray(counts) - np.asarray(n) * other) / (keep - other)

    def log_channel(self) -> np.ndarray:
        """Channel of shape (m, number of subsets), subsets in the order of itertools.combinations."""
        m, size = self.n_categories, self.size
        if math.comb(m, size) > 100_000:
            raise ConfigurationError(
                f"the channel of n_categories={m} and size={size} has {math.comb(m, size)} reports"
            )
        subsets = list(itertools.combinations(range(m), size))
        inside = np.zeros((m, len(subsets)), dtype=bool)
        inside[np.array(subsets).T, np.arange(len(subsets))] = True
        keep, _ = self.probabilities
        log_with = math.log(keep) - math.log(math.comb(m - 1, size - 1))
        return np.where(inside, log_with, log_with - self.budget)
