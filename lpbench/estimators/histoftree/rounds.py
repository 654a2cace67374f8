"""The curator's part of HistOfTree's two rounds: a partition from privatized labels, then sums of reported cells."""

from collections.abc import Iterator, Sequence

import numpy as np

from lpbench.estimators.histoftree.cell_device import TREE_CELL, CellQuestion
from lpbench.estimators.histoftree.cell_reports import CategorySums, WrittenSums, bit_indicators
from lpbench.estimators.histoftree.cell_shortcut import asked_at_once
from lpbench.estimators.histoftree.user_cells import UserCells, UserGrid, UserLeaves
from lpbench.partitions import (
    SampleGroups,
    TreePartition,
    grow_cart,
    grow_max_edge,
    grow_max_edges,
    grow_personalized_carts,
)
from lpbench.privacy import Users
from lpbench.seeds import Streams

#: Depth of the deepest tree of the paper's grid (C.1), to which scikit-learn's trees are grown at least.
DEEPEST = 6


def public_features(users: Users) -> np.ndarray:
    """Features that users show, shape (n, d); 0 stands where they are protected."""
    return np.where(users.mask, 0.0, users.public_features)


class Split:
    """Division of the features: the most protected ones form an equal-width grid, the others are cut by a tree."""

    def __init__(
        self,
        X: np.ndarray,  # in [0, 1], (n, d); protected entries are never read
        mask: np.ndarray,
        order: np.ndarray,  # features, most protected first; the first n_grid_features of them form the grid
        n_grid_features: int,
        streams: Streams,  # the curator's
    ) -> None:
        """Divide the features: the most protected ones form the grid, all others are cut by the tree.

        ``X`` (n, d) has the public features, ``mask`` (n, d) the protected ones, and ``order`` (d,) the features, the
        most protected first.
        """
        self.grid_columns, self.tree_columns = order[:n_grid_features], np.sort(order[n_grid_features:])
        self._grid, self._streams = (X[:, self.grid_columns], mask[:, self.grid_columns]), streams
        self._X, self._mask = X[:, self.tree_columns], mask[:, self.tree_columns]
        self._views: dict[int, SampleGroups] = {}

    def grid(self, bins: int) -> UserGrid:
        """The users' compatible bins of a grid with ``bins`` bins per feature."""
        return UserGrid(*self._grid, bins)

    def views(self, depth: int) -> SampleGroups:
        """Groups of users whom no midpoint cut above ``depth`` tells apart by the tree features that they show."""
        if depth not in self._views:
            mask = self._mask if self._mask.any() else None
            self._views[depth] = SampleGroups.for_depth(depth, self._X, mask)
        return self._views[depth]

    def forests(
        self, rule: str, score: str, labels: Sequence[np.ndarray], depths: Sequence[int], least: int = 1
    ) -> list[list[tuple[TreePartition, list[int]]]]:
        """Grow the partition of the tree features from each of several vectors of labels, ``least`` users in a cell.

        ``random`` uses neither labels nor features nor the mask, which need not be released then (HistOfTree section
        3.4 (ii)), so it is a full tree of random max-edge cuts. scikit-learn's trees, used where nothing in the tree is
        protected, are grown to ``DEEPEST`` and read at each depth, as is explained at ``GROWN_DEPTH`` of CART. Hence a
        vector of labels has a list of partitions, each with the increasing truncation depths that it serves.
        """
        depths = sorted(depths)
        if rule == "random":
            nobody = np.empty((0, self.tree_columns.size))
            tree = grow_max_edge(nobody, np.empty(0), depths[-1], rule="random", rng=self._streams.generator("tree"))
            return [[(tree, depths)] for _ in labels]
        if rule == "max_edge":
            views = self.views(depths[-1])
            trees = grow_max_edges(
                self._X, labels, depths[-1], mask=self._mask, score=score, groups=views, min_samples_leaf=least
            )
            return [[(tree, depths)] for tree in trees]
        if self._mask.any():
            all_columns = np.ones((1, self.tree_columns.size), dtype=bool)
            [trees] = grow_personalized_carts(
                self._X, labels, depths[-1], self._mask, all_columns, min_samples_leaf=least
            )
            return [[(tree, depths)] for tree in trees]
        return [self._truncations(y, depths, least) for y in labels]

    def _truncations(
        self, labels: np.ndarray, depths: Sequence[int], least: int
    ) -> list[tuple[TreePartition, list[int]]]:
        """CART trees of privatized ``labels`` that serve several depths: pairs (tree, the depths that it serves).

        A tree is grown at least to ``DEEPEST`` and cut; ``least`` is the fewest users of a leaf.
        """
        served: dict[int, list[int]] = {}
        for depth in depths:
            served.setdefault(max(DEEPEST, depth), []).append(depth)
        seed = self._streams.integer("tree")
        return [
            (grow_cart(self._X, labels, limit, min_samples_leaf=least, seed=seed).truncate(of[-1]), of)
            for limit, of in served.items()
        ]

    def leaves(self, trees: Sequence[TreePartition], depths: Sequence[int], rule: str = "cart") -> Iterator[UserLeaves]:
        """The users' compatible leaves at each of the increasing ``depths`` of trees that were grown by ``rule``."""
        views = SampleGroups.singletons(len(self._X)) if rule == "cart" else self.views(depths[-1])
        return UserLeaves.at_depths(trees, depths, self._X, self._mask, views)


def ask_cells(users: Users, question: CellQuestion, cells: UserCells, labels: np.ndarray) -> CategorySums | WrittenSums:
    """Round 2: ask all users for their cells and add the reports up."""
    cells.check_budget(question.budget)
    if question.mechanism == "rr":
        return _ask_bits(users, question, cells, labels)
    reports = users.ask(TREE_CELL, question).astype(np.int64, copy=False)
    return CategorySums.of_reports(reports[:, :-1], reports[:, -1], cells, labels, question.budget)


def _ask_bits(users: Users, question: CellQuestion, cells: UserCells, labels: np.ndarray) -> WrittenSums:
    """Ask each user for one bit a cell, and sum unbiased indicators and their products with the noisy ``labels`` (n,).

    Users are asked in blocks where all bits would be too many to hold. ``cells`` are those compatible with each user.
    """
    TREE_CELL.check(question)
    n_cells, sums = question.n_cells, np.zeros((2, question.n_cells))
    for block in asked_at_once(users.n, n_cells):
        who = np.arange(block.start, block.stop)
        bits = users.ask(TREE_CELL, question, who)
        user, cell = np.nonzero(cells.possible(block))
        of_all = block.start + user
        value = bit_indicators(bits[user, cell] > 0, cells.choices[of_all], question.budget)
        sums[0] += np.bincount(cell, weights=value, minlength=n_cells)
        sums[1] += np.bincount(cell, weights=value * labels[of_all], minlength=n_cells)
    return WrittenSums(cells.grid.bins, cells.leaves.n_leaves, *sums)
