"""The whole grid of HistOfTree in one pass over what its points share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lpbench.estimators.grid_stack import GridStack
from lpbench.estimators.two_rounds import Rounds, Setting, Split, predict_cells
from lpbench.estimators.user_cells import GridCells, Query
from lpbench.partitions import TreePartition, repeated

K = TypeVar("K", bound=Hashable)

#: Users of all grids in a stack.
_STACKED_USERS = 16_000


@dataclass(frozen=True)
class Job:
    """One grid point to be run: indices of its budget and point, and its setting."""

    budget: int
    point: int
    setting: Setting


def sweep_cells(
    rounds: Rounds, order: np.ndarray, X_test: np.ndarray, budgets: Sequence[float], jobs: Sequence[Job]
) -> Iterator[tuple[int, list[list[int]], np.ndarray]]:
    """Predict the test rows under every job.

    The split of the features is shared by all jobs with the same ``n_private``; grid cells by those with the same
    ``bins``, which are stacked; one tree by all depths, bins and mechanisms of a budget and label share.

    Parameters
    ----------
    rounds : Rounds
    order : int ndarray of shape (d,)
        Features, most protected first.
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
    for n_private, in_split in _group(jobs, lambda j: j.setting.n_private):
        split = rounds.split(order, n_private)
        reader = _Reader(rounds, split, X_test)
        for (rule, score), in_forest in _group(in_split, lambda j: (j.setting.rule, j.setting.split_score)):
            sources = _group(in_forest, lambda j: (j.budget, j.setting.label_share))
            shares = [same[0].setting.budgets(budgets[b]) for (b, _), same in sources]
            labels = [rounds.labels(label_budget) for label_budget, _ in shares]
            forests = split.forests(rule, score, labels, sorted({j.setting.depth for j in in_forest}))
            for ((b, _), same), (_, cell_budget), y, trees in zip(sources, shares, labels, forests, strict=True):
                for tree, depths in trees:
                    for points, predictions in reader.read(tree, depths, rule, same, y, cell_budget):
                        yield b, points, predictions


class _Reader:
    """Second round and prediction on one split of the features."""

    def __init__(self, rounds: Rounds, split: Split, X_test: np.ndarray):
        self._rounds, self._split = rounds, split
        self._X_grid, self._X_tree = X_test[:, split.grid_columns], X_test[:, split.tree_columns]
        self._stacks: dict[tuple[int, ...], tuple[GridCells, Query]] = {}

    def read(
        self, tree: TreePartition, depths: Sequence[int], rule: str, jobs: Sequence[Job], labels, budget: float
    ) -> Iterator[tuple[list[list[int]], np.ndarray]]:
        """Predict under those of ``jobs`` whose depth the tree serves; ``budget`` is that of the cell reports."""
        by_depth = dict(_group(jobs, lambda j: j.setting.depth))
        depths = [depth for depth in depths if depth in by_depth]
        if not depths:
            return
        nodes = tree.apply_levels(self._X_tree, depths[-1])
        for depth, leaves in zip(depths, self._split.leaves(tree, depths, rule), strict=True):
            test_leaves, means = leaves.index.take(nodes[depth]), leaves.means(labels)
            for mechanism, bins, points in _report_groups(by_depth[depth], labels.size):
                k, (grid, query) = len(bins), self._stack(bins)
                reports = self._rounds.collect(grid, leaves.copies(k), repeated(labels, k), mechanism, budget)
                yield points, predict_cells(reports, query, repeated(test_leaves, k), means).reshape(k, -1)

    def _stack(self, bins: tuple[int, ...]) -> tuple[GridCells, Query]:
        """The users' and the test rows' grid cells with several numbers of bins, side by side."""
        if bins not in self._stacks:
            grids = [self._split.grid(t) for t in bins]
            queries = [grid.locate(self._X_grid) for grid in grids]
            if len(grids) == 1:
                self._stacks[bins] = grids[0], queries[0]
            else:
                stack = GridStack(grids)
                self._stacks[bins] = stack, stack.query(queries)
        return self._stacks[bins]


def _report_groups(jobs: Sequence[Job], n: int) -> Iterator[tuple[str, tuple[int, ...], list[list[int]]]]:
    """Group jobs of one tree and depth by what reports depend on: mechanism, bins of a stack of grids, points of each.

    A stack is as high as the processor's cache allows for n users; bits of randomised response are not stacked.
    """
    for mechanism, same in _group(jobs, lambda j: j.setting.mechanism):
        by_bins = _group(same, lambda j: j.setting.bins)
        height = max(1, _STACKED_USERS // n) if mechanism == "grr" else 1
        for start in range(0, len(by_bins), height):
            part = by_bins[start : start + height]
            yield mechanism, tuple(bins for bins, _ in part), [[job.point for job in members] for _, members in part]


def _group(jobs: Sequence[Job], key: Callable[[Job], K]) -> list[tuple[K, list[Job]]]:
    """Group jobs by a key, in order of appearance."""
    groups: dict[K, list[Job]] = {}
    for job in jobs:
        groups.setdefault(key(job), []).append(job)
    return list(groups.items())
