"""Reports of a protected cell, by a user and as the curator reads them (HistOfTree sections 3.2, 3.3 and A.1).

On the device: :func:`category_reports` and :func:`bit_reports` randomise the true cell over V, the set of the cells
that are compatible with the user's public features. At the curator: :class:`CategorySums` and :class:`BitSums`, which
see reports, privatised labels and public features, never the true cells, and need only sums over users.
"""

from __future__ import annotations

from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import numpy as np

from lpbench.estimators.histoftree.user_cells import Query, UserGrid, UserLeaves
from lpbench.partitions import CellSums, GridCells, cell_keys
from lpbench.privacy import RandomizedResponse, grr_weights, hashed_uniforms, rr_reports

#: (user, cell) pairs whose bits are simulated at once.
_CHUNK = 1 << 21
#: Largest table of estimates that a pickle holds.
MOST_CELLS = 1 << 20


def category_reports(
    grid: UserGrid, leaves: UserLeaves, budget: float, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Report one cell per user by generalised randomised response over V (HistOfTree eq. (17)).

    Reporting the truth with probability p and each other cell with probability q is the same law as reporting the
    truth with probability p - q and otherwise a cell drawn evenly from V, the truth included; the latter needs one draw
    per factor of V.

    Parameters
    ----------
    grid, leaves : UserGrid, UserLeaves
    budget : float
        Epsilon of the report; 0 only if nobody has a choice.
    keep : ndarray of shape (n,)
        Uniforms that choose between the two.

    Returns
    -------
    codes, leaf : int ndarrays of shape (n,)
    """
    if budget == 0:
        return grid.truth, leaves.truth
    slope, _ = grr_weights(grid.choices * leaves.choices, budget)
    honest = keep * slope < 1  # p - q = 1 / slope
    leaf = leaves.truth if leaves.blind is leaves.truth else np.where(honest, leaves.truth, leaves.blind)
    return np.where(honest, grid.truth, grid.blind), leaf


class CategorySums:
    """Sums of the reports of :func:`category_reports`, weighted so that they are unbiased for the cell counts.

    With m = |V| and b = 1 / (e^budget - 1), the unbiased indicator of cell j is (1 + m b) 1{report = j} - b 1{j in V}
    (HistOfTree below (17)). The first term is a sum over reports, the second a sum over the cells compatible with
    public features.

    Parameters
    ----------
    reports : pair of int ndarrays of shape (n,)
    grid, leaves : UserGrid, UserLeaves
        Only their public attributes are read.
    labels : ndarray of shape (n,)
        Privatised labels.
    budget : float
    """

    def __init__(self, reports: Any, grid: UserGrid, leaves: UserLeaves, labels: np.ndarray, budget: float) -> None:
        self._offset = 0.0
        weights: tuple[np.ndarray | None, np.ndarray] = None, labels
        if budget > 0:
            slope, offset = grr_weights(grid.choices * leaves.choices, budget)
            self._offset = float(offset)
            weights = slope, slope * labels
        if self._offset > 0:
            self._possible = leaves.possible(grid, labels)
        codes, leaf = reports
        self._reported = CellSums(codes, leaf, grid.n_codes, leaves.n_leaves, *weights)

    def estimate(self, query: Query, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the number of users and the sum of their privatised labels in each cell (query, leaf)."""
        count, total = self._reported.at(query.codes, leaves)
        if self._offset == 0:
            return count, total
        for shown in query.shown:
            possible, possible_total = self._possible.at(shown, leaves)
            count, total = count - self._offset * possible, total - self._offset * possible_total
        return count, total


@dataclass(frozen=True, eq=False)
class WrittenSums:
    """Estimates of all cells, in the order of (grid cell, leaf): what is left of :class:`BitSums` in a pickle.

    Attributes
    ----------
    bins, n_leaves : int
    counts, totals : ndarrays of shape (bins^s * n_leaves,)
    """

    bins: int
    n_leaves: int
    counts: np.ndarray
    totals: np.ndarray

    def estimate(self, query: Query, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look up the number of users and the sum of their privatised labels in each cell (query, leaf)."""
        cell = cell_keys(query.digits, self.bins) * self.n_leaves + leaves
        return self.counts[cell], self.totals[cell]


def bit_reports(truth: np.ndarray, budget: float, seed: int, users: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Report bits of users' one-hot vectors over V by randomised response (HistOfTree eq. (8)).

    Two cells differ in two bits, so each bit gets half the ``budget`` (the paper: eps/4 of eps/2).

    Parameters
    ----------
    truth : boolean ndarray of shape (k,)
        The bits: whether the cell is the true one.
    budget : float
        Epsilon of a user's whole vector.
    seed : int
        Seed of the bits' noise.
    users : int ndarray of shape (k,)
    cells : int ndarray of shape (k, c)
        User and cell of each bit; the noise is a function of (seed, user, cell), so that a bit is the same in every
        query.

    Returns
    -------
    boolean ndarray of shape (k,)
    """
    return rr_reports(truth, budget / 2, hashed_uniforms(seed, np.column_stack([users, cells]))[0])


class BitSums:
    """Sums of the reports of :func:`bit_reports` in the cells that are asked for.

    A user sends |V| bits. Only those of the cells that are looked up are simulated, which changes nothing: bits are
    independent of one another and repeat from query to query. Parameters are those of :class:`CategorySums`, with the
    seed of the bits in the place of the reports.
    """

    def __init__(self, seed: int, grid: UserGrid, leaves: UserLeaves, labels: np.ndarray, budget: float) -> None:
        self._seed, self._grid, self._leaves, self._labels, self._budget = seed, grid, leaves, labels, budget
        self._fixed = grid.choices * leaves.choices == 1

    def __reduce__(self) -> tuple[type[WrittenSums], tuple]:
        """Pickle the estimates of all cells: nothing of a user's own cell."""
        grid, n_leaves = self._grid, self._leaves.n_leaves
        cells = GridCells(grid.bins, grid.s)
        if cells.size * n_leaves > MOST_CELLS:
            raise PicklingError(
                f"the partition has {grid.bins}^{grid.s} x {n_leaves} cells, more than {MOST_CELLS}: sums of bits are "
                "simulated from the users' true cells when they are looked up, and cannot be pickled or "
                "copied; use fewer bins or mechanism='grr'"
            )
        return WrittenSums, (grid.bins, n_leaves, *self.of_all_cells())

    def of_all_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Estimates of all cells in the order of (grid cell, leaf), see :meth:`estimate`."""
        grid, n_leaves = self._grid, self._leaves.n_leaves
        centres = GridCells(grid.bins, grid.s).centres()
        query = grid.locate(np.repeat(centres, n_leaves, axis=0))
        return self.estimate(query, np.tile(np.arange(n_leaves), len(centres)))

    def estimate(self, query: Query, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the number of users and the sum of their privatised labels in each cell (query, leaf)."""
        key = np.concatenate([leaves[:, None], query.digits], axis=1)
        _, first, inverse = np.unique(
            cell_keys(key, max(self._grid.bins, self._leaves.n_leaves)), return_index=True, return_inverse=True
        )
        first = first[np.argsort(leaves[first], kind="stable")]
        rank = np.empty(first.size, dtype=np.intp)
        rank[inverse[first]] = np.arange(first.size)
        cells = Query(query.digits[first], query.codes[first], [shown[first] for shown in query.shown])
        sums = self._sum_unique(cells, leaves[first])
        return sums[0][rank[inverse]], sums[1][rank[inverse]]

    def _sum_unique(self, query: Query, leaves: np.ndarray) -> np.ndarray:
        """Sums over distinct cells ordered by leaf: ndarray of shape (2, m)."""
        n_cells = np.bincount(leaves, minlength=self._leaves.n_leaves)
        first = np.cumsum(n_cells) - n_cells
        shown = np.stack(query.shown)
        sums = np.zeros((2, leaves.size))
        step = max(1, _CHUNK // max(1, n_cells.max(initial=0)))
        for start in range(0, self._leaves.users.size, step):
            user = self._leaves.users[start : start + step]
            leaf = self._leaves.leaves[start : start + step]
            copies = n_cells[leaf]
            user = np.repeat(user, copies)
            skipped = np.cumsum(copies) - copies
            cell = np.arange(user.size) + np.repeat(first[leaf] - skipped, copies)
            possible = self._grid.shown[user] == shown[self._grid.pattern[user], cell]
            user, cell = user[possible], cell[possible]
            value = self._indicators(user, query, leaves, cell)
            sums[0] += np.bincount(cell, weights=value, minlength=leaves.size)
            sums[1] += np.bincount(cell, weights=value * self._labels[user], minlength=leaves.size)
        return sums

    def _indicators(self, user: np.ndarray, query: Query, leaves: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Unbiased indicators that the users lie in the cells, one per pair, from the reported bits."""
        truth = (self._grid.truth[user] == query.codes[cell]) & (self._leaves.truth[user] == leaves[cell])
        if self._budget == 0:
            return truth.astype(float)
        names = np.concatenate([leaves[cell][:, None], query.digits[cell]], axis=1)
        bits = bit_reports(truth, self._budget, self._seed, user, names)
        return np.where(self._fixed[user], truth, RandomizedResponse(self._budget / 2, 2).estimate(bits))
