"""The two rounds of HistOfTree: privatised labels and a partition, then reports of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_device import CELL, MECHANISMS, Places
from lpbench.estimators.histoftree.cell_reports import BitSums, CategorySums
from lpbench.estimators.histoftree.user_cells import Query, ReportDraws, UserGrid, UserLeaves
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import (
    SampleGroups,
    SortedFeatures,
    TreePartition,
    grow_cart,
    grow_max_edge,
    grow_max_edges,
    grow_personalized_cart,
)
from lpbench.partitions.criteria import SCORES
from lpbench.privacy import Records
from lpbench.seeds import Streams

RULES = ("max_edge", "cart", "random")

#: Depth of the deepest tree of the paper's grid (C.1), to which scikit-learn's trees are grown at least.
DEEPEST = 6

#: log2 of the number of cells beyond which a user's number of choices is no longer a float.
MAX_LOG2_CELLS = 1000


class TooManyCellsError(ConfigurationError):
    """The partition has more cells than numbers can count."""


def sensitive_count(n_features: int) -> int:
    """Return s* = ceil(ln sqrt(d)), the number of sensitive features of HistOfTree section 5.2 (at least 1)."""
    return max(1, math.ceil(math.log(math.sqrt(n_features))))


@dataclass(frozen=True)
class Setting:
    """One point of the methods' grid, with nothing left to resolve.

    Attributes
    ----------
    n_grid_features : int
        s, number of features in the grid.
    depth : int
        p, depth of the tree.
    bins : int
        t, bins per grid feature.
    label_share : float
        rho, share of the budget that is spent on the label, in (0, 1].
    rule : {"max_edge", "cart", "random"}
    mechanism : {"grr", "rr"}
    split_score : {"weighted", "algorithm1"}
    min_samples_leaf : int
        Fewest users in a cell of the tree; ``random`` looks at none.
    """

    n_grid_features: int
    depth: int
    bins: int
    label_share: float
    rule: str
    mechanism: str
    split_score: str
    min_samples_leaf: int = 1

    def __post_init__(self) -> None:
        check_whole("depth", self.depth)
        check_whole("bins", self.bins, least=1)
        check_number("label_share", self.label_share, above=0, most=1)
        check_choice("rule", self.rule, RULES)
        check_choice("mechanism", self.mechanism, MECHANISMS)
        check_choice("split_score", self.split_score, SCORES)
        check_whole("min_samples_leaf", self.min_samples_leaf, least=1)
        log2_cells = self.n_grid_features * math.log2(self.bins) + self.depth
        if log2_cells > MAX_LOG2_CELLS:
            raise TooManyCellsError(
                f"bins={self.bins} on n_grid_features={self.n_grid_features} features and a tree of depth={self.depth} "
                f"are up to 2^{log2_cells:.0f} cells, more than 2^{MAX_LOG2_CELLS}; use fewer bins or a smaller "
                "n_grid_features"
            )

    def budgets(self, epsilon: float) -> tuple[float, float]:
        """Budgets of the label and of the cell report, which add up to ``epsilon``."""
        return self.label_share * epsilon, (1 - self.label_share) * epsilon if self.label_share < 1 else 0.0


class Rounds:
    """The users of one sample, their public features and mask, and their unit-scale randomness.

    Parameters
    ----------
    X : ndarray of shape (n, d) in [0, 1]
    y : ndarray of shape (n,)
    mask : boolean ndarray of shape (n, d)
    streams : Streams
    draws : ReportDraws, optional
        The users' randomness; None: drawn from ``streams``.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        mask: np.ndarray,
        streams: Streams,
        draws: ReportDraws | None = None,
    ) -> None:
        self.X, self.y, self.mask, self.streams = X, y, mask, streams
        self.draws = ReportDraws(streams, y.size) if draws is None else draws

    def labels(self, question: LabelQuestion) -> np.ndarray:
        """Round 1: ask all devices for their labels (HistOfTree eq. (4) with M = R / 2)."""
        return LABEL.report(Records(self.X, self.y, self.mask), question, self.draws.label)

    def split(self, order: np.ndarray, n_grid_features: int) -> Split:
        """Divide the features: the first ``n_grid_features`` of ``order`` to the grid, the others to the tree."""
        return Split(self, order[:n_grid_features], np.sort(order[n_grid_features:]))

    def grid(self, columns: Any, bins: int) -> UserGrid:
        """The users' cells of a grid with ``bins`` bins on each of the features ``columns``."""
        return UserGrid(self.X[:, columns], self.mask[:, columns], bins, self.draws.bins(columns))

    def collect(
        self, grid: UserGrid, leaves: UserLeaves, labels: np.ndarray, mechanism: str, budget: float
    ) -> CategorySums | BitSums:
        """Round 2: ask all devices for their cells at ``budget`` and add the reports up; see :meth:`close`."""
        places = Places(grid, leaves)
        if mechanism == "rr":
            places.check_budget(budget)
            return BitSums(self.draws.bits_seed, grid, leaves, labels, budget)
        return CategorySums(CELL.categories(places, budget, self.draws), grid, leaves, labels, budget)

    def close(
        self, grid: UserGrid, leaves: UserLeaves, labels: np.ndarray, mechanism: str, budget: float
    ) -> tuple[UserGrid, CategorySums | BitSums]:
        """As :meth:`collect`, for a model that is kept; returns the curator's grid with it.

        Cells are numbered by the reports, not by where the users are.

        Raises
        ------
        ConfigurationError
            If a cell must be randomised and no budget is left for it.
        """
        if mechanism == "rr":
            return grid, self.collect(grid, leaves, labels, mechanism, budget)
        codes, leaf = CELL.categories(Places(grid, leaves), budget, self.draws)
        grid, codes = grid.reported(codes)
        return grid, CategorySums((codes, leaf), grid, leaves, labels, budget)


class Split:
    """Grid features and tree features.

    Attributes
    ----------
    grid_columns, tree_columns : int ndarrays
    """

    def __init__(self, rounds: Rounds, grid_columns: np.ndarray, tree_columns: np.ndarray) -> None:
        self.grid_columns, self.tree_columns = grid_columns, tree_columns
        self._rounds = rounds
        self._X, self._mask = rounds.X[:, tree_columns], rounds.mask[:, tree_columns]
        self._groups: dict[int, tuple[SampleGroups, SampleGroups]] = {}

    def grid(self, bins: int) -> UserGrid:
        """The users' grid cells with ``bins`` bins per feature."""
        return self._rounds.grid(self.grid_columns, bins)

    def groups(self, depth: int) -> tuple[SampleGroups, SampleGroups]:
        """Users whom no midpoint cut above ``depth`` tells apart, by all tree features and by those that they show."""
        if depth not in self._groups:
            places = SampleGroups.for_depth(depth, self._X)
            views = SampleGroups.for_depth(depth, self._X, self._mask) if self._mask.any() else places
            self._groups[depth] = places, views
        return self._groups[depth]

    @cached_property
    def _sorted(self) -> SortedFeatures:
        return SortedFeatures(self._X, self._mask)

    def trees(
        self, rule: str, score: str, labels: np.ndarray, depths: Sequence[int], least: int = 1
    ) -> list[tuple[TreePartition, list[int]]]:
        """Grow the partition of the tree features from one vector of labels, see :meth:`forests`."""
        return self.forests(rule, score, [labels], depths, least)[0]

    def forests(
        self, rule: str, score: str, labels: Sequence[np.ndarray], depths: Sequence[int], least: int = 1
    ) -> list[list[tuple[TreePartition, list[int]]]]:
        """Grow the partition of the tree features from each of several vectors of labels, ``least`` users in a cell.

        ``random`` uses neither labels nor features nor the mask, which need not be released then (HistOfTree section
        3.4 (ii)), so it is a full tree of random max-edge cuts. scikit-learn's trees, used where nothing in the tree is
        protected, are grown to ``DEEPEST`` and read at each depth, as is explained at ``GROWN_DEPTH`` of CART.

        Returns
        -------
        list of one list per vector of labels
            Pairs of a partition and the truncation depths, in increasing order, that it serves.
        """
        depths = sorted(depths)
        streams, masked = self._rounds.streams, self._mask.any()
        if rule == "random":
            nobody = np.empty((0, self.tree_columns.size))
            tree = grow_max_edge(nobody, np.empty(0), depths[-1], rule="random", rng=streams.generator("tree"))
            return [[(tree, depths)] for _ in labels]
        if rule == "max_edge":
            _, views = self.groups(depths[-1])
            trees = grow_max_edges(
                self._X, labels, depths[-1], mask=self._mask, score=score, groups=views, min_samples_leaf=least
            )
            return [[(tree, depths)] for tree in trees]
        if masked:
            trees = [
                grow_personalized_cart(
                    self._X, y, depths[-1], self._mask, min_samples_leaf=least, presorted=self._sorted
                )
                for y in labels
            ]
            return [[(tree, depths)] for tree in trees]
        return [self._truncations(y, depths, least) for y in labels]

    def _truncations(
        self, labels: np.ndarray, depths: Sequence[int], least: int
    ) -> list[tuple[TreePartition, list[int]]]:
        served: dict[int, list[int]] = {}
        for depth in depths:
            served.setdefault(max(DEEPEST, depth), []).append(depth)
        seed = self._rounds.streams.integer("tree")
        return [
            (grow_cart(self._X, labels, limit, min_samples_leaf=least, seed=seed).truncate(of[-1]), of)
            for limit, of in served.items()
        ]

    def leaves(self, tree: TreePartition, depths: Sequence[int], rule: str = "cart") -> Iterator[UserLeaves]:
        """The users' leaves at each of the increasing ``depths`` of a tree that was grown by ``rule``."""
        groups = None if rule == "cart" else self.groups(depths[-1])
        return UserLeaves.at_depths(tree, depths, self._X, self._mask, self._rounds.draws.leaf, groups)


def predict_cells(reports: Any, query: Query, leaves: np.ndarray, leaf_means: np.ndarray) -> np.ndarray:
    """Predict the ratio of label sum and count in each cell (HistOfTree eqs. (6), (9)).

    A cell whose estimated count is not positive predicts the mean of its leaf. (The paper is silent on empty cells.)

    Parameters
    ----------
    reports : CategorySums or BitSums
    query : Query of m grid cells
    leaves : int ndarray of shape (m,)
    leaf_means : ndarray of shape (n_leaves,)

    Returns
    -------
    ndarray of shape (m,)
    """
    count, total = reports.estimate(query, leaves)
    filled = count > 0
    return np.where(filled, total / np.where(filled, count, 1.0), leaf_means[leaves])
