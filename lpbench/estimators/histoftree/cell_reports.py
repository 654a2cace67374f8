"""Reports of the cell of a user's protected features, and the curator's estimates (HistOfTree 3.2, 3.3 and A.1).

:func:`reports_truth` and :func:`bit_reports` randomize on the device. The curator's :class:`CategorySums` and
:class:`WrittenSums` see reports, privatized labels and public features, and need only sums over users.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.histoftree.user_cells import CellQuery, UserCells
from lpbench.partitions import CellSums, KeyIndex, cell_keys
from lpbench.privacy import RandomizedResponse, grr_weights, rr_reports
from lpbench.privacy.counter import hashed_words
from lpbench.privacy.exact import UNITS, check_words, truthful_units


def truthful_words(choices: np.ndarray, budget: float | np.ndarray) -> np.ndarray:
    """Return the number of the 2^62 words at which a report is the truth.

    At the others it is uniform on V, truth included.

    Truth with probability p - q and a uniform cell otherwise is the law of generalized randomized response (HistOfTree
    eq. (17)), and needs one draw for each factor of V. ``choices`` is |V|, and ``budget`` > 0.
    """
    # Of 2^62 words, a number below b has at least 2^62 / b - 1: each factor b of V is uneven by b in 2^62 at most. The
    # factors add up to at most 2 |V|, and to less than 2^41 of whatever features and leaves.
    uneven = np.minimum(2.0 * choices, 2.0**41) / UNITS
    return truthful_units(budget, (1.0 - uneven) / choices)


def reports_truth(choices: np.ndarray, budget: float, keep: np.ndarray) -> np.ndarray:
    """Return True for users who report the truth: boolean (n,); ``keep`` are even whole numbers below 2^62, (n,)."""
    return check_words(keep) < truthful_words(choices, budget)


def bit_reports(truth: np.ndarray, budget: float, seed: int, users: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Report bits of users' one-hot vectors over V by randomized response (HistOfTree eq. (8)).

    Two cells differ in two bits, so each bit gets half the ``budget`` of a user's vector (the paper: eps/4 of eps/2).
    The noise is a function of (seed, user, cell), so that a bit is the same in every query. ``truth`` and ``users``
    have shape (k,), ``cells`` (k, c).
    """
    return rr_reports(truth, budget / 2, hashed_words(seed, np.vstack([users, cells.T]).T))


class CategorySums:
    """Sums of reported categories, weighted so that they are unbiased for the cell counts.

    With m = |V| and b = 1 / (e^budget - 1), the unbiased indicator of cell j is (1 + m b) 1{report = j} - b 1{j in V}
    (HistOfTree below (17)). The first term is a sum over reports, the second a sum over the cells compatible with
    public features.
    """

    def __init__(
        self,
        codes: np.ndarray,  # reported grid cells (n,), numbered 0, ..., n_codes - 1
        leaf: np.ndarray,  # reported leaves (n,)
        n_codes: int,
        cells: UserCells,
        labels: np.ndarray,  # privatized, (n,)
        budgets: Sequence[float],  # of each tree, which as many users meet; all or none of them are 0
        index: KeyIndex | None = None,  # numbers the cells of queries as codes; None: their numbers are those
    ) -> None:
        """Weigh the reports so that their sums over cells are unbiased, and add them up by cell and leaf.

        ``codes`` and ``leaf`` are the reported cell and leaf of each report, tree by tree, ``labels`` the noisy labels,
        ``cells`` those compatible with each user, and ``budgets`` one for each tree.
        """
        self._offsets, self._index = np.zeros(len(budgets)), index
        weights: tuple[np.ndarray | None, np.ndarray] = None, labels
        if budgets[0] > 0:
            slopes, offsets = grr_weights(cells.sizes[0], np.array(budgets)[:, None])
            slope, self._offsets = cells.read(slopes), offsets[:, 0]
            weights = slope, slope * labels
        self._possible = cells.sums(labels) if self._offsets.any() else None
        self._reported = CellSums(codes, leaf, n_codes, cells.leaves.n_leaves, *weights)

    @classmethod
    def of_reports(
        cls, digits: np.ndarray, leaf: np.ndarray, cells: UserCells, labels: np.ndarray, budget: float
    ) -> Self:
        """Number the grid cells, given by their bins (n, s), by the reports alone."""
        keys = cell_keys(digits, cells.grid.bins)
        index = KeyIndex(keys, cells.grid.size)
        return cls(index.find(keys), leaf, index.size, cells, labels, [budget], index)

    def estimate(self, query: CellQuery, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the number of users and the sum of their privatized labels in each cell (query, leaf)."""
        codes = query.codes if self._index is None else self._index.find(query.codes)
        count, total = self._reported.at(codes, leaves)
        if self._possible is None:
            return count, total
        offset = self._offsets if self._offsets.size == 1 else self._offsets.repeat(leaves.size // self._offsets.size)
        for pattern in query.shown:
            possible, possible_total = self._possible.at(pattern, leaves)
            count, total = count - offset * possible, total - offset * possible_total
        return count, total


@dataclass(frozen=True, eq=False)
class WrittenSums:
    """Estimates of all cells, in the order of (grid cell, leaf)."""

    bins: int
    n_leaves: int
    counts: np.ndarray  # (bins^s * n_leaves,), like the label sums
    totals: np.ndarray

    def estimate(self, query: CellQuery, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look up the number of users and the sum of their privatized labels in each cell (query, leaf)."""
        cell = cell_keys(query.digits, self.bins) * self.n_leaves + leaves
        return self.counts[cell], self.totals[cell]


def bit_indicators(bits: np.ndarray, choices: np.ndarray, budget: float) -> np.ndarray:
    """Unbiased indicators of cells from one bit a pair; with one choice (of the user's |V|) it is the truth."""
    if budget == 0:
        return bits.astype(float)
    return np.where(choices == 1, bits, RandomizedResponse(budget / 2, 2).estimate(bits))


def predict_cells(sums: tuple[np.ndarray, np.ndarray], leaves: np.ndarray, leaf_means: np.ndarray) -> np.ndarray:
    """Ratio of label sum and count of each cell (HistOfTree eqs. (6), (9)); the leaf's mean without a count."""
    count, total = sums
    filled = count > 0
    return np.where(filled, total / np.where(filled, count, 1.0), leaf_means[leaves])
