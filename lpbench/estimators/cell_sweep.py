"""The whole grid of HistOfTree in one pass over what its points share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from lpbench.estimators.two_rounds import Rounds, Setting, predict_cells

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Job:
    """One grid point to be run: indices of its budget and point, and its setting."""

    budget: int
    point: int
    setting: Setting


def sweep_cells(
    rounds: Rounds, order: np.ndarray, X_test: np.ndarray, budgets: Sequence[float], jobs: Sequence[Job]
) -> Iterator[tuple[int, list[int], np.ndarray]]:
    """Predict the test rows under every job.

    The split of the features is shared by all jobs with the same ``n_private``; grid cells by those with the same
    ``bins``; one tree by all depths, bins and mechanisms of a budget and label share.

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
    points : list of int
        The points that share the predictions.
    predictions : ndarray of shape (m,), not yet clipped
    """
    for n_private, in_split in _group(jobs, lambda j: j.setting.n_private):
        split = rounds.split(order, n_private)
        X_grid, X_tree = X_test[:, split.grid_columns], X_test[:, split.tree_columns]
        queries = {bins: split.grid(bins).locate(X_grid) for bins, _ in _group(in_split, lambda j: j.setting.bins)}
        for (b, _, rule, score), in_tree in _group(in_split, _tree_key):
            label_budget, cell_budget = in_tree[0].setting.budgets(budgets[b])
            labels = rounds.labels(label_budget)
            by_depth = dict(_group(in_tree, lambda j: j.setting.depth))
            for tree, depths in split.trees(rule, score, labels, list(by_depth)):
                nodes = tree.apply_levels(X_tree, depths[-1])
                for depth, leaves in zip(depths, split.leaves(tree, depths, rule), strict=True):
                    test_leaves, means = tree.leaf_index(depth)[nodes[depth]], leaves.means(labels)
                    for (bins, mechanism), same in _group(by_depth[depth], _report_key):
                        reports = rounds.collect(split.grid(bins), leaves, labels, mechanism, cell_budget)
                        predictions = predict_cells(reports, queries[bins], test_leaves, means)
                        yield b, [job.point for job in same], predictions


def _tree_key(job: Job) -> tuple[int, float, str, str]:
    """What a tree depends on, its depth apart."""
    return job.budget, job.setting.label_share, job.setting.rule, job.setting.split_score


def _report_key(job: Job) -> tuple[int, str]:
    """What reports depend on, given the leaves."""
    return job.setting.bins, job.setting.mechanism


def _group(jobs: Sequence[Job], key: Callable[[Job], K]) -> list[tuple[K, list[Job]]]:
    """Group jobs by a key, in order of appearance."""
    groups: dict[K, list[Job]] = {}
    for job in jobs:
        groups.setdefault(key(job), []).append(job)
    return list(groups.items())
