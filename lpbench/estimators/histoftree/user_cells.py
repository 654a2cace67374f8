"""The cells that public features allow each user to lie in: what curator and device both know.

The space is cut into cells, a grid on some features times a tree on the others (HistOfTree sections 3.2, 3.3). A user's
public features determine the set V of compatible cells, and V is a product: every bin of a protected grid feature, one
bin of a public one, times the compatible leaves. Protected entries of X are never read here. No array is as large as
users x cells, and users whom no cut tells apart are walked down the tree together
(:class:`lpbench.partitions.SampleGroups`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.partitions import (
    CellSums,
    Forest,
    GridCells,
    KeyIndex,
    SampleGroups,
    TreePartition,
    cell_keys,
    grid_digits,
)
from lpbench.privacy.exact import below


class UserGrid:
    """The bins of a grid that are compatible with each user's public features."""

    def __init__(self, X: np.ndarray, mask: np.ndarray, bins: int) -> None:
        """Number the users' public bins and masks, which together decide the grid cells compatible with a user.

        ``X`` and ``mask`` (n, s) have the grid features alone, each cut into ``bins``.
        """
        # With one bin there is nothing to hide.
        mask = mask if bins > 1 else np.zeros_like(mask)
        self.bins, self.s = bins, X.shape[1]
        #: Protected grid features of each user, and the possible numbers of compatible grid cells by that; floats, they
        #: may be huge.
        self.hidden = mask.sum(axis=1)
        self.sizes = float(bins) ** np.arange(self.hidden.max(initial=0) + 1)
        # The extra digit `bins` stands for "protected".
        shown_key = cell_keys(np.where(mask, bins, grid_digits(X, bins)), bins + 1)
        self._index = KeyIndex(shown_key, (bins + 1) ** self.s)
        #: Code of the bins of each user's public grid features; below, code of the set of these features.
        self.shown, self.n_shown = self._index.find(shown_key), self._index.size
        patterns = SampleGroups.by_key(cell_keys(mask, 2), 2**self.s)
        self.pattern, self.patterns = patterns.number, patterns.one_of_each(mask)
        self._seen: tuple[SampleGroups, SampleGroups] | None = None

    @property
    def choices(self) -> np.ndarray:
        """Number of compatible grid cells of each user, t^(number of protected grid features): (n,)."""
        return self.sizes.take(self.hidden)

    @property
    def size(self) -> int:
        """Number of cells, t^s."""
        return int(self.bins) ** self.s

    def seen_with(self, views: SampleGroups) -> SampleGroups:
        """Refine groups of users: a group shares what ``views`` shares, and the bins of its public grid features."""
        if views.member is None:
            return views
        if self._seen is None or self._seen[0] is not views:
            self._seen = views, SampleGroups.by_key(self.shown * views.size + views.number, self.n_shown * views.size)
        return self._seen[1]

    def repeated(self, times: int) -> UserGrid:
        """Repeat the users ``times`` times, one copy for each tree of a sweep."""
        twin = copy(self)
        twin.hidden, twin.shown, twin.pattern = (np.tile(a, times) for a in (self.hidden, self.shown, self.pattern))
        return twin

    def without_users(self) -> UserGrid:
        """Return a copy without the users' arrays: enough for :meth:`locate`, and small in a pickled model."""
        twin = copy(self)
        del twin.hidden, twin.shown, twin.pattern, twin._seen
        return twin

    def locate(self, X: np.ndarray) -> CellQuery:
        """Look up the grid cells of the points X of shape (m, s)."""
        digits = grid_digits(X, self.bins)
        return CellQuery(digits, cell_keys(digits, self.bins), [self.shown_of(digits, p) for p in self.patterns])

    def shown_of(self, digits: np.ndarray, pattern: np.ndarray) -> np.ndarray:
        """Code of what a user in grid cells ``digits`` (m, s) shows if she protects the features ``pattern`` (s,).

        The code is one that no user has if nobody with this pattern shows these bins.
        """
        return self._index.find(cell_keys(np.where(pattern, self.bins, digits), self.bins + 1))


@dataclass(frozen=True)
class CellQuery:
    """Grid cells whose counts are looked up, given by their bins, and the codes of users who may lie in them.

    ``digits`` (m, s) are bins, ``codes`` (m,) cell numbers, and ``shown[k]`` (m,) the cells' codes restricted to the
    features that users of mask pattern k show: equal codes mean that the user may lie in the cell.
    """

    digits: np.ndarray  # (m, s)
    codes: np.ndarray  # keys of the cells (m,), or their numbers in another numbering
    shown: list[np.ndarray]  # for each pattern of protected features, the code that compatible users show, (m,)

    def repeated(self, times: int) -> CellQuery:
        """Repeat the cells ``times`` times, one copy for each tree of a sweep."""
        tiled = [np.tile(codes, times) for codes in self.shown]
        return CellQuery(np.tile(self.digits, (times, 1)), np.tile(self.codes, times), tiled)


class UserLeaves:
    """Leaves of one or several trees, at one depth, in which each user may lie given the features that she shows.

    Arrays over users and trees are flat: entry k n + i is user i at tree k.
    """

    def __init__(
        self,
        views: SampleGroups,  # of users whose public features allow the same leaves
        view: np.ndarray,  # with ``leaf``: the compatible pairs (group, leaf), ordered by group
        leaf: np.ndarray,
        index: np.ndarray,  # leaf of each node of the trees, -1 for inner nodes
        of_trees: np.ndarray,  # leaves of each tree
    ) -> None:
        """Count each group's compatible leaves, whose pairs are stored group by group."""
        self.index, self.n_leaves, self._of_trees = index, int(of_trees.sum()), of_trees
        self.views, self._view, self._leaf = views, view, leaf
        self._n_leaves = np.bincount(view, minlength=views.size)
        self.most = int(self._n_leaves.max(initial=1))
        self._first = np.cumsum(self._n_leaves) - self._n_leaves
        self.choices = views.to_samples(self._n_leaves)

    @classmethod
    def at_depths(
        cls, trees: Sequence[TreePartition], depths: Sequence[int], X: np.ndarray, mask: np.ndarray, views: SampleGroups
    ) -> Iterator[UserLeaves]:
        """Leaves at each of the increasing ``depths``; ``views`` groups users whom no tree tells apart."""
        forest, of_all = Forest(trees), views.repeated(len(trees))
        pairs = forest.spread(views.one_of_each(X), views.one_of_each(mask), max(depths))
        for depth, (view, nodes) in enumerate(pairs):
            if depth in depths:
                index, of_trees = forest.leaf_index(depth)
                yield cls(of_all, view, index.take(nodes), index, of_trees)

    def choose(self, drawn: np.ndarray) -> np.ndarray:
        """Choose one of each user's compatible leaves by a whole number below 2^62: int ndarray of shape (n,)."""
        return self._leaf[self.views.to_samples(self._first) + below(drawn, self.choices)]

    def spread(self, views: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the leaves that groups of users are compatible with: pairs (position in ``views``, index of a leaf)."""
        copies = self._n_leaves[views]
        position = np.repeat(np.arange(views.size), copies)
        skipped = np.cumsum(copies) - copies
        return position, self._leaf[np.arange(position.size) + (self._first[views] - skipped)[position]]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return (self._view, self._leaf) if self.views.member is None else self.spread(self.views.number)

    @property
    def users(self) -> np.ndarray:
        """Users of the compatible pairs (user, leaf), ordered by user."""
        return self._pairs[0]

    @property
    def leaves(self) -> np.ndarray:
        """Return the compatible leaves, one entry for each pair of user and leaf, in the order of :attr:`users`."""
        return self._pairs[1]

    def means(self, labels: np.ndarray) -> np.ndarray:
        """Mean privatized label of each leaf, users shared evenly among those possible; if empty, of all users."""
        counts, totals = self.views.counts / self._n_leaves, self.views.sums(labels) / self._n_leaves
        weight = np.bincount(self._leaf, weights=counts[self._view], minlength=self.n_leaves)
        total = np.bincount(self._leaf, weights=totals[self._view], minlength=self.n_leaves)
        overall = labels.reshape(len(self._of_trees), -1).mean(axis=1).repeat(self._of_trees)
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), overall)


@dataclass(frozen=True, eq=False)
class UserCells:
    """The cells of grid x tree that are compatible with each user's public features, V."""

    grid: UserGrid
    leaves: UserLeaves

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct sizes that V, a user's set of possible cells, may have, and the index of each user's size, (n,)."""
        grid, most = self.grid, self.leaves.most
        if most == 1:
            return grid.sizes, grid.hidden
        sizes = grid.sizes[:, None] * np.arange(1, most + 1)
        return sizes.ravel(), grid.hidden * most + self.leaves.choices - 1

    @cached_property
    def _place(self) -> np.ndarray:
        """Index of each user's number of compatible cells in the table :attr:`sizes`, repeated for T trees: (T n,)."""
        (sizes, index), times = self.sizes, len(self.leaves._of_trees)
        return index if times == 1 else (index.reshape(times, -1) + sizes.size * np.arange(times)[:, None]).ravel()

    def read(self, tables: np.ndarray) -> np.ndarray:
        """Look up a quantity that depends on |V| alone, for every user, in ``tables`` (n_trees, sizes)."""
        return tables.take(self._place)

    @cached_property
    def choices(self) -> np.ndarray:
        """Number of cells that each user may lie in, |V|: ndarray of shape (n,)."""
        sizes, index = self.sizes
        return sizes.take(index)

    def check_budget(self, budget: float) -> None:
        """Raise a ConfigurationError if a cell must be randomized and no budget is left for it."""
        if budget == 0 and self.choices.max() > 1:
            raise ConfigurationError(
                "label_share=1 leaves no budget for the cell reports, and some users' cells must be randomized; use "
                "label_share < 1 (label_share=1 needs bins=1 and public features in the tree)"
            )

    def possible(self, users: slice = slice(None)) -> np.ndarray:
        """Return the cells in which each of some users may lie, in the order of (grid cell, leaf).

        Boolean (k, cells).
        """
        grid, leaves = self.grid, self.leaves
        start, stop, _ = users.indices(self.choices.size)
        digits, pattern = GridCells(grid.bins, grid.s).digits(), grid.pattern[users]
        in_grid = np.empty((stop - start, len(digits)), dtype=bool)
        for p in np.flatnonzero(np.bincount(pattern)):
            alike = pattern == p
            in_grid[alike] = grid.shown_of(digits, grid.patterns[p]) == grid.shown[users][alike, None]
        in_tree = np.zeros((stop - start, leaves.n_leaves), dtype=bool)
        first, last = np.searchsorted(leaves.users, [start, stop])
        in_tree[leaves.users[first:last] - start, leaves.leaves[first:last]] = True
        return (in_grid[:, :, None] & in_tree[:, None, :]).reshape(stop - start, -1)

    def sums(self, labels: np.ndarray) -> CellSums:
        """Number of users and label sum of each pair (code of the shown grid bins, leaf) in which users may lie."""
        grid, leaves = self.grid, self.leaves
        seen = grid.seen_with(leaves.views)
        codes, counts, totals = seen.one_of_each(grid.shown), seen.counts, seen.sums(labels)
        alone = seen.member is None
        position, leaf = leaves._pairs if alone else leaves.spread(seen.one_of_each(leaves.views.number))
        return CellSums(codes[position], leaf, grid.n_shown, leaves.n_leaves, counts[position], totals[position])
