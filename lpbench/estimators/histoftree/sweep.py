"""The whole grid of HistOfTree in one pass over what its points share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lpbench.estimators.histoftree.grid_stack import GridStack
from lpbench.estimators.histoftree.public_mask import PublicMask
from lpbench.estimators.histoftree.rounds import Rounds, Setting, Split, predict_cells
from lpbench.estimators.histoftree.user_cells import GridCells, Query, UserGrid, UserLeaves
from lpbench.partitions import TreePartition, repeated

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Users of all grids in a stack.
_STACKED_USERS = 16_000


@dataclass(frozen=True)
class Job:
    """One grid point to be run: indices of its budget and point, and its setting."""

    budget: int
    point: int
    setting: Setting


def sweep_cells(
    rounds: Rounds, mask: PublicMask, X_test: np.ndarray, budgets: Sequence[float], jobs: Sequence[Job]
) -> Iterator[tuple[int, list[list[int]], np.ndarray]]:
    """Predict the test rows under every job.

    One tree serves all depths, grids and mechanisms of a budget and label share; the second rounds of several depths
    and grids are stacked.

    Parameters
    ----------
    rounds : Rounds
    mask : PublicMask
    X_test : ndarray of shape (m, d) in [0, 1]
    budgets : sequence of float
    jobs : sequence of Job

    Yields
    ------
    budget : int
    points : list of k lists of int
        The points that share each row of the predictions.
    predictions : ndarray of shape (k, m), not yet clipped
    """
    grids = _Grids(rounds, mask.order, X_test)
    for start, in_split in _group(jobs, lambda j: _tree_start(j.setting, mask)):
        split = rounds.split(mask.order, start)
        X_tree = X_test[:, split.tree_columns]
        for (rule, score), in_forest in _group(in_split, lambda j: (j.setting.rule, j.setting.split_score)):
            sources = _group(in_forest, lambda j: (j.budget, j.setting.label_share))
            shares = [same[0].setting.budgets(budgets[b]) for (b, _), same in sources]
            labels = [rounds.labels(label_budget) for label_budget, _ in shares]
            forests = split.forests(rule, score, labels, sorted({j.setting.depth for j in in_forest}))
            for ((b, _), same), (_, cell_budget), y, trees in zip(sources, shares, labels, forests, strict=True):
                for tree, depths in trees:
                    second_round = _SecondRound(rounds, split, tree, depths, rule, X_tree)
                    for points, predictions in second_round.predict(same, grids, y, cell_budget):
                        yield b, points, predictions


def _tree_start(setting: Setting, mask: PublicMask) -> int:
    """Number of the most protected features without which the setting's tree is the same.

    CART never cuts a feature that everybody protects. One such feature is left to the tree if nothing else in it is
    protected: the personalised rule and scikit-learn's break ties differently.
    """
    if setting.rule != "cart":
        return setting.n_grid_features
    never_cut = mask.protected_by_all if mask.partly_protected else mask.protected_by_all - 1
    return max(setting.n_grid_features, never_cut)


class _SecondRound:
    """Second round and prediction with the leaves of one tree at several depths."""

    def __init__(self, rounds: Rounds, split: Split, tree: TreePartition, depths: Sequence[int], rule: str, X_tree):
        self._rounds, self._split, self._tree, self._depths, self._rule = rounds, split, tree, depths, rule
        self._X_tree = X_tree

    def predict(
        self, jobs: Sequence[Job], grids: _Grids, labels: np.ndarray, budget: float
    ) -> Iterator[tuple[list[list[int]], np.ndarray]]:
        """Predict under those of ``jobs`` whose depth the tree serves; ``budget`` is that of the cell reports."""
        asked = {job.setting.depth for job in jobs}
        depths = [depth for depth in self._depths if depth in asked]
        if not depths:
            return
        nodes = self._tree.apply_levels(self._X_tree, depths[-1])
        found = zip(depths, self._split.leaves(self._tree, depths, self._rule), strict=True)
        at_depth = {depth: (leaves, leaves.index.take(nodes[depth]), leaves.means(labels)) for depth, leaves in found}
        for mechanism, stack, points in _stacks([j for j in jobs if j.setting.depth in depths], depths, labels.size):
            leaves, test_leaves, means = zip(*(at_depth[depth] for depth in stack.depths), strict=True)
            k, (grid, query) = len(stack.grids), grids.stack(stack)
            together = UserLeaves.join([part.copies(k) for part in leaves])
            starts = np.cumsum([0] + [part.n_leaves for part in leaves])
            rows = [repeated(leaf + start, k) for leaf, start in zip(test_leaves, starts[:-1], strict=True)]
            copies = repeated(labels, k * len(leaves))
            reports = self._rounds.collect(grid, together, copies, mechanism, budget)
            predictions = predict_cells(reports, query, np.concatenate(rows), np.concatenate(means))
            yield points, predictions.reshape(len(points), -1)


@dataclass(frozen=True)
class _Stack:
    """Depths of a tree and grids (n_grid_features, bins) whose second rounds run together."""

    depths: tuple[int, ...]
    grids: tuple[tuple[int, int], ...]


def _stacks(jobs: Sequence[Job], depths: Sequence[int], n: int) -> Iterator[tuple[str, _Stack, list[list[int]]]]:
    """Group the jobs of one tree by mechanism and stack, with the points of each depth and grid of the stack.

    A stack is as high as the processor's cache allows for n users; bits of randomised response are not stacked.
    """
    for mechanism, same in _group(jobs, lambda j: j.setting.mechanism):
        members = dict(_group(same, lambda j: (j.setting.depth, _grid_of(j.setting))))
        grids_at = {depth: tuple(grid for at, grid in members if at == depth) for depth in depths}
        height = max(1, _STACKED_USERS // n) if mechanism == "grr" else 1
        for grids, alike in _group([depth for depth in depths if grids_at[depth]], grids_at.__getitem__):
            wide = max(1, height // len(grids))
            for i in range(0, len(alike), wide):
                for j in range(0, len(grids), height):
                    stack = _Stack(tuple(alike[i : i + wide]), grids[j : j + height])
                    pairs = [(depth, grid) for depth in stack.depths for grid in stack.grids]
                    yield mechanism, stack, [[job.point for job in members[pair]] for pair in pairs]


def _grid_of(setting: Setting) -> tuple[int, int]:
    """n_grid_features and bins; one cell is one cell, but the bits of randomised response are keyed by its digits."""
    one_cell = setting.n_grid_features == 0 or (setting.bins == 1 and setting.mechanism == "grr")
    return (0, 1) if one_cell else (setting.n_grid_features, setting.bins)


class _Grids:
    """The users' and the test rows' grid cells of every stack."""

    def __init__(self, rounds: Rounds, order: np.ndarray, X_test: np.ndarray):
        self._rounds, self._order, self._X_test = rounds, order, X_test
        self._one: dict[tuple[int, int], tuple[UserGrid, Query]] = {}
        self._stacks: dict[tuple, tuple[GridCells, Query]] = {}

    def stack(self, stack: _Stack) -> tuple[GridCells, Query]:
        """The grids of the stack side by side, repeated for every depth."""
        key = stack.grids, len(stack.depths)
        if key not in self._stacks:
            grids, queries = zip(*(self._grid(*grid) for grid in stack.grids), strict=True)
            together: tuple[GridCells, Query] = grids[0], queries[0]
            if len(grids) > 1:
                side_by_side = GridStack(grids)
                together = side_by_side, side_by_side.query(queries)
            self._stacks[key] = together[0].copies(key[1]), together[1].copies(key[1])
        return self._stacks[key]

    def _grid(self, n_grid_features: int, bins: int) -> tuple[UserGrid, Query]:
        if (n_grid_features, bins) not in self._one:
            columns = self._order[:n_grid_features]
            grid = self._rounds.grid(columns, bins)
            self._one[n_grid_features, bins] = grid, grid.locate(self._X_test[:, columns])
        return self._one[n_grid_features, bins]


def _group(items: Sequence[V], key: Callable[[V], K]) -> list[tuple[K, list[V]]]:
    """Group jobs, or whatever, by a key, in order of appearance."""
    groups: dict[K, list[V]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())
