"""HistOfTree's curator on streams (its sections 3.2, 3.3): each step keeps sums over finitely many kinds of users.

1. :class:`MaskCounts` counts how many users protect each feature, which settles grid and tree features.
2. :class:`LabelStream` adds up the privatised labels of the users whom no cut of the max-edge tree can tell apart: the
   cells of a dyadic grid on the tree features. The tree is then grown from these sums.
3. :class:`CellStream` adds up the reported cells, and what public features say about the cells that were possible.

Labels are rounded to multiples of ``Design.label_step`` (post-processing), so that sums are whole numbers: the order of
the users, their chunks and merging do not change a bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_range
from lpbench.deployment.histoftree import UserDraws
from lpbench.deployment.streams.exact import ExactSums
from lpbench.errors import ConfigurationError
from lpbench.estimators import HistOfTree
from lpbench.estimators.histoftree.cell_device import CELL, MOST_CELLS, Places
from lpbench.estimators.histoftree.histoftree import CellRegressor
from lpbench.estimators.histoftree.rounds import Rounds, Setting, Split
from lpbench.estimators.histoftree.user_cells import Query, ReportDraws, UserGrid, UserLeaves
from lpbench.estimators.private_labels import LabelQuestion
from lpbench.partitions import SampleGroups, TreePartition, cell_keys, grid_digits, grow_max_edge
from lpbench.privacy import grr_weights
from lpbench.seeds import Streams

#: Kinds of users (cells of the dyadic grid on the tree features) beyond which a curator's table would be too large.
MOST_KINDS = 1 << 22
#: Largest label in steps, 2,000 times the range: labels beyond it (there are none to speak of) are moved to it.
_LARGEST_LABEL = 2.0**31
#: Users added at once: sums of as many labels are exact in floating point.
_MOST_USERS = 1 << 18


class MaskCounts:
    """How many users protect each feature.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features: int):
        self.counts, self.n = np.zeros(n_features, dtype=np.int64), 0

    def add(self, mask: np.ndarray) -> None:
        """Take the masks of some users: boolean ndarray of shape (m, d)."""
        self.counts += np.count_nonzero(mask, axis=0)
        self.n += len(mask)

    def merge(self, other: MaskCounts) -> None:
        """Add what another curator has counted."""
        self.counts += other.counts
        self.n += other.n


@dataclass(frozen=True)
class Design:
    """What is settled before labels are collected.

    Attributes
    ----------
    model : HistOfTree
    setting : Setting
    grid_columns, tree_columns : int ndarrays
    """

    model: HistOfTree
    setting: Setting
    grid_columns: np.ndarray
    tree_columns: np.ndarray

    @classmethod
    def of(cls, model: HistOfTree, masks: MaskCounts) -> Design:
        """Settle grid and tree features.

        Raises
        ------
        ConfigurationError
            If the model's curator needs more than sums: CART's cuts, other mechanisms and scores than the default, a
            range that is taken from labels, or too many cells.
        """
        if model.y_range is None:
            raise ConfigurationError("y_range=None: a curator cannot take the range from labels; pass y_range=(lo, hi)")
        streamed = {"rule": ("max_edge", "random"), "mechanism": ("grr",), "split_score": ("weighted",)}
        for name, values in streamed.items():
            if getattr(model, name) not in values:
                raise ConfigurationError(
                    f"{name}={getattr(model, name)!r} cannot be streamed; use {' or '.join(values)}"
                )
        order = np.argsort(-masks.counts, kind="stable")
        everybody = (masks.counts == masks.n)[None]
        setting = model._setting(model.get_params(deep=False), everybody, model.epsilon)
        s = setting.n_grid_features
        design = cls(clone(model), setting, order[:s], np.sort(order[s:]))
        shown = (setting.bins + 1) ** s
        if max(setting.bins**s * 2**setting.depth, shown) > MOST_CELLS or design.n_kinds > MOST_KINDS:
            raise ConfigurationError(
                f"bins={setting.bins}, n_grid_features={s} and depth={setting.depth} on {order.size} features need "
                f"more than {MOST_CELLS} cells or {MOST_KINDS} kinds of users; use fewer bins, or a "
                "smaller n_grid_features or depth"
            )
        return design

    @property
    def label_range(self) -> float:
        """Width of the public range of the labels."""
        lo, hi = self.y_range
        return hi - lo

    @property
    def y_range(self) -> tuple[float, float]:
        """Public range of the labels."""
        return check_range("y_range", self.model.y_range)

    @property
    def label_step(self) -> float:
        """Labels are rounded to multiples of this: a power of two about a millionth of their range."""
        return 2.0 ** math.floor(math.log2(self.label_range) - 20)

    def steps(self, labels: np.ndarray) -> np.ndarray:
        """Labels in whole steps, as int64; ValueError if one is not a finite number."""
        if not np.isfinite(labels).all():
            raise ValueError("labels must be finite numbers")
        return np.clip(np.rint(labels / self.label_step), -_LARGEST_LABEL, _LARGEST_LABEL).astype(np.int64)

    @property
    def halvings(self) -> int:
        """How often an edge is halved at most above the depth of the tree."""
        return -(-self.setting.depth // self.tree_columns.size) if self.tree_columns.size else 0

    @property
    def n_kinds(self) -> int:
        """Kinds of users that no cut of the tree tells apart; a protected feature counts as a bin of its own."""
        return (2**self.halvings + 1) ** self.tree_columns.size

    def kinds(self, X: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Kind of each user: int ndarray of shape (m,)."""
        bins, X, mask = 2**self.halvings, X[:, self.tree_columns], mask[:, self.tree_columns]
        return cell_keys(np.where(mask, bins, grid_digits(np.where(mask, 0.0, X), bins)), bins + 1)

    def typical(self, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A user of each kind: tree features and mask, ndarrays of shape (k, number of tree features)."""
        bins, width = 2**self.halvings, self.tree_columns.size
        digits = kinds[:, None] // (bins + 1) ** np.arange(width)[::-1] % (bins + 1)
        return np.where(digits == bins, 0.0, (digits + 0.5) / bins), digits == bins

    def simulate(self, X: np.ndarray, y: np.ndarray, mask: np.ndarray, draws: ReportDraws) -> Users:
        """Simulate some users: their privatised labels now, their cells when a tree is there."""
        return Users(self, X, y, mask, draws)


class Users:
    """Some simulated devices, and what they send."""

    def __init__(self, design: Design, X: np.ndarray, y: np.ndarray, mask: np.ndarray, draws: ReportDraws):
        self._design, self.mask = design, mask
        self._rounds = Rounds(X, y, mask, Streams(0), draws)
        self.shown = np.where(mask, 0.0, X)

    def labels(self) -> np.ndarray:
        """Round 1: privatised labels, shape (m,)."""
        model = self._design.model
        budget, _ = self._design.setting.budgets(model.epsilon)
        return self._rounds.labels(LabelQuestion(self._design.y_range, budget, noise=model.noise))

    def cells(self, tree: TreePartition) -> np.ndarray:
        """Round 2: numbers of the reported cells, shape (m,)."""
        setting = self._design.setting
        split = Split(self._rounds, self._design.grid_columns, self._design.tree_columns)
        (leaves,) = split.leaves(tree, [setting.depth], setting.rule)
        budget = setting.budgets(self._design.model.epsilon)[1]
        places = Places(split.grid(setting.bins), leaves)
        codes, leaf = CELL.categories(places, budget, self._rounds.draws)
        return codes * leaves.n_leaves + leaf


class LabelStream:
    """Sums of the privatised labels over the kinds of users.

    Parameters
    ----------
    design : Design
    """

    def __init__(self, design: Design):
        self.design = design
        self._counts, self._totals = ExactSums(design.n_kinds), ExactSums(design.n_kinds)

    def add(self, labels: np.ndarray, X: np.ndarray, mask: np.ndarray) -> None:
        """Take reports of round 1: labels (m,), features (m, d) of which protected ones are not read, masks (m, d)."""
        kinds = self.design.kinds(X, mask)
        self._counts.add(kinds)
        self._totals.add(kinds, self.design.steps(labels))

    def merge(self, other: LabelStream) -> None:
        """Add what another curator has collected."""
        self._counts.merge(other._counts)
        self._totals.merge(other._totals)

    def grow(self) -> TreePartition:
        """Grow the tree: that of ``HistOfTree.fit`` from the same reports, up to ties within rounding error."""
        setting, streams = self.design.setting, self.design.model._streams()
        width = self.design.tree_columns.size
        if setting.rule == "random":
            nobody = np.empty((0, width))
            return grow_max_edge(nobody, np.empty(0), setting.depth, rule="random", rng=streams.generator("tree"))
        counts, totals = self._counts.floats(), self._totals.floats() * self.design.label_step
        kinds = np.flatnonzero(counts)
        if kinds.size == 0:
            raise ConfigurationError("nobody has reported a label")
        counts, totals = counts[kinds], totals[kinds] - counts[kinds] * (totals.sum() / counts.sum())
        X, mask = self.design.typical(kinds)
        return grow_max_edge(
            X, totals / counts, setting.depth, mask=mask, score=setting.split_score, groups=_Weighted(counts)
        )

    @property
    def nbytes(self) -> int:
        """Bytes held, whatever the number of users."""
        return self._counts.nbytes + self._totals.nbytes


class _Weighted(SampleGroups):
    """Groups that are known by the numbers of their members and the members' mean."""

    def __init__(self, counts: np.ndarray):
        super().__init__(None, None, counts.size)
        self._counts = counts

    def sums(self, values: np.ndarray) -> np.ndarray:
        return values * self._counts

    @property
    def counts(self) -> np.ndarray:
        return self._counts


class CellStream:
    """Sums of the reported cells.

    Parameters
    ----------
    design : Design
    tree : TreePartition
    """

    def __init__(self, design: Design, tree: TreePartition):
        self.design, self.tree = design, tree
        setting = design.setting
        self.n_leaves, self._n_codes = tree.n_leaves(setting.depth), setting.bins**setting.n_grid_features
        self._n_shown = (setting.bins + 1) ** setting.n_grid_features
        cells = self._n_codes * self.n_leaves
        #: Of the cells reported: users, labels, choices, choices times labels.
        self._reported = [ExactSums(cells) for _ in range(4)]
        #: Of the cells possible (what is shown of the grid, leaf): users, labels.
        self._possible = [ExactSums(self._n_shown * self.n_leaves) for _ in range(2)]
        #: Of the leaves possible, by the number of possible leaves: users, labels.
        self._shared = [ExactSums(self.n_leaves * (self.n_leaves + 1)) for _ in range(2)]
        self._patterns = np.zeros(2**setting.n_grid_features, dtype=bool)

    def add(self, cells: np.ndarray, labels: np.ndarray, X: np.ndarray, mask: np.ndarray) -> None:
        """Take reports of round 2 together with those of round 1 of the same users; all of m rows.

        Raises
        ------
        ValueError
            If a cell has no such number.
        """
        if cells.size and not (0 <= cells.min() and cells.max() < self._reported[0].n_cells):
            raise ValueError(f"cells must be numbers from 0 to {self._reported[0].n_cells - 1}")
        for start in range(0, cells.size, _MOST_USERS):
            part = slice(start, start + _MOST_USERS)
            self._add(cells[part].astype(np.int64), self.design.steps(labels[part]), X[part], mask[part])

    def _add(self, cells: np.ndarray, steps: np.ndarray, X: np.ndarray, mask: np.ndarray) -> None:
        grid, leaves = self._public(np.where(mask, 0.0, X), mask)
        self._patterns[cell_keys(grid.patterns, 2)] = True
        choices = (grid.choices * leaves.choices).astype(np.int64)
        for sums, weights in zip(self._reported, (None, steps, choices, choices * steps), strict=True):
            sums.add(cells, weights)
        # as floats these are whole numbers below 2^53: exact in whatever way they are grouped
        labels = steps.astype(np.float64)
        everywhere = np.divmod(np.arange(self._possible[0].n_cells), self.n_leaves)
        for sums, totals in zip(self._possible, leaves.possible(grid, labels).at(*everywhere), strict=True):
            sums.add(np.arange(totals.size), totals.astype(np.int64))
        view, leaf = leaves.spread(np.arange(leaves.views.size))
        shared = leaf * (self.n_leaves + 1) + np.bincount(view)[view]
        for sums, totals in zip(self._shared, (leaves.views.counts, leaves.views.sums(labels)), strict=True):
            sums.add(shared, totals[view].astype(np.int64))

    def _public(self, X: np.ndarray, mask: np.ndarray) -> tuple[UserGrid, UserLeaves]:
        """What public features tell about the cells of some users."""
        m, d = X.shape
        rounds = Rounds(X, np.zeros(m), mask, Streams(0), UserDraws.none(m, d))
        split = Split(rounds, self.design.grid_columns, self.design.tree_columns)
        (leaves,) = split.leaves(self.tree, [self.design.setting.depth], self.design.setting.rule)
        return split.grid(self.design.setting.bins), leaves

    def merge(self, other: CellStream) -> None:
        """Add what another curator has collected."""
        for mine, its in zip(self._all, other._all, strict=True):
            mine.merge(its)
        self._patterns |= other._patterns

    @property
    def _all(self) -> list[ExactSums]:
        return [*self._reported, *self._possible, *self._shared]

    @property
    def nbytes(self) -> int:
        """Bytes held, whatever the number of users."""
        return sum(sums.nbytes for sums in self._all)

    @property
    def accepted(self) -> int:
        """Number of users who have reported."""
        return int(self._reported[0].floats().sum())

    def estimate(self, query: Query, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the number of users and the sum of their labels in each cell, as ``CategorySums`` does."""
        cells = query.codes * self.n_leaves + leaves
        users, labels, choices, scaled = (sums[cells] for sums in self._floats[0])
        if self._offset == 0:
            return users, labels
        count, total = users + self._offset * choices, labels + self._offset * scaled
        for shown in query.shown:
            possible, possible_labels = (sums[shown * self.n_leaves + leaves] for sums in self._floats[1])
            count, total = count - self._offset * possible, total - self._offset * possible_labels
        return count, total

    @property
    def _offset(self) -> float:
        budget = self.design.setting.budgets(self.design.model.epsilon)[1]
        return float(grr_weights(1, budget)[1]) if budget > 0 else 0.0

    @cached_property
    def _floats(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        scale, step = (1.0, self.design.label_step), self.design.label_step
        reported = [s.floats() * f for s, f in zip(self._reported, (1.0, step, 1.0, step), strict=True)]
        return reported, [s.floats() * f for s, f in zip(self._possible, scale, strict=True)]

    def means(self, labels: np.ndarray | None = None) -> np.ndarray:
        """Mean label of every leaf, each user shared evenly among the leaves it may lie in; ``labels`` is ignored."""
        users, totals = (s.floats().reshape(self.n_leaves, -1)[:, 1:] for s in self._shared)
        choices = np.arange(1, self.n_leaves + 1)
        weight, total = (users / choices).sum(axis=1), (totals / choices).sum(axis=1) * self.design.label_step
        reported = self._floats[0]
        overall = reported[1].sum() / reported[0].sum()
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), overall)

    def fit(self) -> CellRegressor:
        """Return the fitted model."""
        if self.accepted == 0:
            raise ConfigurationError("nobody has reported a cell")
        frozen = CellStream(self.design, self.tree)
        frozen.merge(self)
        setting, s = self.design.setting, self.design.setting.n_grid_features
        patterns = np.flatnonzero(self._patterns)[:, None] >> np.arange(s)[::-1] & 1 > 0
        zeros = np.zeros(patterns.shape)
        model = clone(self.design.model)
        model.y_range_ = (float(model.y_range[0]), float(model.y_range[1]))
        model.n_features_in_ = self.design.grid_columns.size + self.design.tree_columns.size
        grid = UserGrid(zeros, patterns, setting.bins, zeros)
        model._assemble(setting, self.design, self.tree, (grid, frozen), None, frozen)
        return model
