"""Subset selection: a category hidden in a random subset of w categories, of which w = 1 is randomized response.

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
from lpbench.privacy.exact import UNITS, blocks, check_words, truthful_units, words
from lpbench.privacy.mechanism import CategoryMechanism, check_epsilon, registered
from lpbench.privacy.payload import Field, Integers
from lpbench.privacy.randomized_response import grr_reports, grr_told

#: Subsets up to this number are enumerated.
MOST_SUBSETS = 10_000
#: Categories whose keys have 16 bits.
_FEW = 2**13


def subset_probabilities(m: ArrayLike, size: ArrayLike, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return p and q, the probabilities that a report contains the true category and any other given one.

    ``m`` and ``size`` broadcast. A subset with the truth is e^eps times as probable as one without.
    """
    m, size = np.asarray(m, dtype=np.float64), np.asarray(size, dtype=np.float64)
    keep = size / (size + (m - size) * math.exp(-epsilon))
    stray = (size - keep) / np.maximum(m - 1, 1)
    return keep, stray


def best_size(m: int, epsilon: float) -> int:
    """Size w of the subsets whose unbiased estimate of a rare category has the least variance; 1 is GRR."""
    sizes = np.arange(1, max(m // 2, 1) + 1)
    if m == 1 or math.isinf(epsilon):
        return 1
    keep, stray = subset_probabilities(m, sizes, epsilon)
    return int(sizes[np.argmin(stray * (1.0 - stray) / (keep - stray) ** 2)])


def subset_reports(
    truth: np.ndarray, m: int, size: int, epsilon: float, keep: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Client: a subset of ``size`` of the ``m`` categories for each user.

    Parameters
    ----------
    truth : int ndarray of shape (n,)
        Category of each user, 0, ..., m - 1.
    m, size : int
        Number of categories, and of members of a subset.
    epsilon : float
        Budget of the report, > 0.
    keep : int ndarray of shape (n,)
        Even whole numbers below 2^62: a share of them puts the truth into the subset, rounded towards more privacy, the
        others draw one from all subsets. Budgets may share them.
    rng : numpy.random.Generator
        Chooses the other members.

    Returns
    -------
    int64 ndarray of shape (n, size)
        The members, in increasing order.
    """
    truth, keep = np.asarray(truth, dtype=np.int64), check_words(keep)
    if size == 1:
        return grr_reports(truth, m, epsilon, keep, words(rng, truth.size))[:, None]
    is_truthful = keep < subset_told(m, size, epsilon)
    kind = np.uint16 if m <= _FEW else np.uint32  # the shortest keys that are seldom tied
    members = np.zeros((truth.size, size), dtype=np.int64)
    undecided: np.ndarray = np.arange(truth.size)
    while undecided.size:  # a tie at the size leaves open which category is a member: such users draw anew, at the end
        tied = []
        for block in blocks((undecided.size, m)):
            users = undecided[block]
            keys = rng.integers(np.iinfo(kind).max, size=(users.size, m), dtype=kind, endpoint=True)
            keys[is_truthful[users], truth[users][is_truthful[users]]] = 0
            inside = keys <= np.partition(keys, size - 1, axis=1)[:, size - 1 : size]
            fits = np.count_nonzero(inside, axis=1) == size
            positions = np.flatnonzero(inside[fits]).reshape(-1, size)
            members[users[fits]] = positions - m * np.arange(len(positions))[:, None]
            tied.append(users[~fits])
        undecided = np.concatenate(tied)
    return members


def subset_told(m: int, size: int, epsilon: float) -> int:
    """Return how many of the 2^62 random words put the true category into the subset; the others draw any subset."""
    return int(truthful_units(epsilon, size / m))


@registered(lambda epsilon: SubsetSelection(epsilon, 5, 2))
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

    Examples
    --------
    >>> from lpbench.privacy import SubsetSelection
    >>> mechanism = SubsetSelection.least_variance(1.0, 20)
    >>> mechanism.size
    5
    >>> [round(p, 3) for p in mechanism.probabilities]
    [0.475, 0.238]
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
        """Return the mechanism with the size that suits the budget and the number of categories.

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        n_categories : int
            Number of categories m.

        Returns
        -------
        SubsetSelection
            With subsets of :func:`best_size`.
        """
        return cls(epsilon, n_categories, best_size(n_categories, check_epsilon(epsilon)))

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: the members of the subset."""
        return (Integers(self.n_categories, self.size * columns),)

    @property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q of :func:`subset_probabilities`."""
        keep, stray = subset_probabilities(self.n_categories, self.size, self.budget)
        return float(keep), float(stray)

    @property
    def noise_variance(self) -> float:
        """Variance that one user adds to the unbiased estimate of the count of a category that nobody is in."""
        keep, stray = self.probabilities
        return stray * (1.0 - stray) / (keep - stray) ** 2

    def _losses(self, values: np.ndarray) -> np.ndarray:
        if math.comb(self.n_categories, self.size) <= MOST_SUBSETS:
            return super()._losses(values)
        # Some subset holds the one category and not the other, and none has a larger ratio.
        return self.epsilon * (1.0 - np.eye(len(values)))

    def _influence(self) -> float:
        keep, stray = self.probabilities
        return 1.0 / (keep - stray)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Members of the subsets, shape (n, size)."""
        return subset_reports(values, self.n_categories, self.size, self.budget, words(rng, values.shape), rng)

    def estimate(self, counts: np.ndarray, n: int = 1) -> np.ndarray:
        """Unbiased counts of ``n`` users from how many subsets contain each category.

        Parameters
        ----------
        counts : array_like of shape (..., n_categories)
            Subsets that contain each category.
        n : int or array_like
            Users behind each count; 1: a single report.

        Returns
        -------
        ndarray of shape (..., n_categories)
            Unbiased counts; they may be negative.
        """
        keep, stray = self.probabilities
        return (np.asarray(counts) - np.asarray(n) * stray) / (keep - stray)

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
        truthful = subset_told(m, size, self.budget) if size > 1 else int(grr_told(m, self.budget))
        any_subset = (UNITS - truthful) / UNITS / math.comb(m, size)
        with np.errstate(divide="ignore"):
            return np.log(truthful / UNITS / math.comb(m - 1, size - 1) * inside + any_subset)
