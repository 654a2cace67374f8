"""The whole grid of HistOfTree in one pass over what its points share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeVar

import numpy as np

from lpbench.estimators.two_rounds import Rounds, Setting, Split, predict_cells
from lpbench.estimators.user_cells import GridCells, GridStack, Query

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
        X_grid, X_tree = X_test[:, split.grid_columns], X_test[:, split.tree_columns]
        stacked = cache(partial(_stack, split, X_grid))
        for (b, _, rule, score), in_tree in _group(in_split, _tree_key):
            label_budget, cell_budget = in_tree[0].setting.budgets(budgets[b])
            labels = rounds.labels(label_budget)
            tiled = cache(partial(np.tile, labels))
            by_depth = dict(_group(in_tree, lambda j: j.setting.depth))
            for tree, depths in split.trees(rule, score, labels, list(by_depth)):
                nodes = tree.apply_levels(X_tree, depths[-1])
                for depth, leaves in zip(depths, split.leaves(tree, depths, rule), strict=True):
                    test_leaves, means = tree.leaf_index(depth)[nodes[depth]], leaves.means(labels)
                    for mechanism, bins, points in _report_groups(by_depth[depth], labels.size):
                        k, (grid, query) = len(bins), stacked(bins)
                        reports = rounds.collect(grid, leaves.copies(k), tiled(k), mechanism, cell_budget)
                        predictions = predict_cells(reports, query, np.tile(test_leaves, k), means)
                        yield b, points, predictions.reshape(k, -1)


def _stack(split: Split, X_grid: np.ndarray, bins: tuple[int, ...]) -> tuple[GridCells, Query]:
    """The users' and the test rows' grid cells with several numbers of bins, side by side."""
    grids = [split.grid(t) for t in bins]
    if len(grids) == 1:
        return grids[0], grids[0].locate(X_grid)
    stack = GridStack(grids)
    return stack, stack.query([grid.locate(X_grid) for grid in grids])


def _tree_key(job: Job) -> tuple[int, float, str, str]:
    """What a tree depends on, its depth apart."""
    return job.budget, job.setting.label_share, job.setting.rule, job.setting.split_score


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
