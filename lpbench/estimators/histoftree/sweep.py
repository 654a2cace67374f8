"""Sweep of HistOfTree's grid in one pass: points share labels, trees and cells."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import numpy as np

from lpbench.estimators.histoftree.public_mask import PublicMask
from lpbench.estimators.histoftree.rounds import Rounds, Setting, Split, predict_cells
from lpbench.estimators.histoftree.user_cells import Query, UserGrid
from lpbench.estimators.private_labels import LabelQuestion
from lpbench.partitions import TreePartition

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True)
class Job:
    """One grid point to be run: indices of its budget and point, and its setting."""

    budget: int
    point: int
    setting: Setting


def sweep_cells(
    rounds: Rounds,
    mask: PublicMask,
    X_test: np.ndarray,
    budgets: Sequence[float],
    jobs: Sequence[Job],
    ask_label: Callable[[float], LabelQuestion],
) -> Iterator[tuple[list[Job], np.ndarray]]:
    """Predict the test rows under every job.

    One tree serves all depths, bins and mechanisms of a budget and label share.

    Parameters
    ----------
    rounds : Rounds
    mask : PublicMask
    X_test : ndarray of shape (m, d) in [0, 1]
    budgets : sequence of float
    jobs : sequence of Job
    ask_label : callable (budget) -> LabelQuestion
        What round 1 asks at a budget.

    Yields
    ------
    jobs : list of Job
        Those with the same cells and reports.
    predictions : ndarray of shape (m,), not yet clipped
    """
    for n_grid_features, in_split in _group(jobs, lambda j: j.setting.n_grid_features):
        split = rounds.split(mask.order, n_grid_features)
        second_rounds = _SecondRounds(rounds, split, X_test)
        for (rule, score, least), in_forest in _group(in_split, _grown):
            sources = _group(in_forest, lambda j: (j.budget, j.setting.label_share))
            shares = [same[0].setting.budgets(budgets[b]) for (b, _), same in sources]
            labels = [rounds.labels(ask_label(label_budget)) for label_budget, _ in shares]
            forests = split.forests(rule, score, labels, sorted({j.setting.depth for j in in_forest}), least)
            for (_, same), (_, cell_budget), y, trees in zip(sources, shares, labels, forests, strict=True):
                for tree, depths in trees:
                    yield from second_rounds.predict(tree, depths, same, y, cell_budget)


class _SecondRounds:
    """Second rounds and predictions for one division of the features into grid and tree.

    Parameters
    ----------
    rounds : Rounds
    split : Split
    X_test : ndarray of shape (m, d)
    """

    def __init__(self, rounds: Rounds, split: Split, X_test: np.ndarray) -> None:
        self._rounds, self._split = rounds, split
        self._X_tree = X_test[:, split.tree_columns]

        @cache
        def grid(bins: int) -> tuple[UserGrid, Query]:
            cells = split.grid(bins)
            return cells, cells.locate(X_test[:, split.grid_columns])

        self._grid = grid

    def predict(
        self, tree: TreePartition, depths: Sequence[int], jobs: Sequence[Job], labels: np.ndarray, budget: float
    ) -> Iterator[tuple[list[Job], np.ndarray]]:
        """Predict under those of ``jobs`` whose depth the tree serves; ``budget`` is that of the cell reports."""
        at_depth = dict(_group(jobs, lambda j: j.setting.depth))
        depths = [depth for depth in depths if depth in at_depth]
        if not depths:
            return
        nodes = tree.apply_levels(self._X_tree, depths[-1])
        rule = jobs[0].setting.rule
        for depth, leaves in zip(depths, self._split.leaves(tree, depths, rule), strict=True):
            test_leaves, means = leaves.index.take(nodes[depth]), leaves.means(labels)
            for (bins, mechanism), same in _group(at_depth[depth], lambda j: (_bins(j.setting), j.setting.mechanism)):
                grid, query = self._grid(bins)
                reports = self._rounds.collect(grid, leaves, labels, mechanism, budget)
                yield same, predict_cells(reports, query, test_leaves, means)


def _grown(job: Job) -> tuple[str, str, int]:
    """What jobs whose trees are grown together share."""
    return job.setting.rule, job.setting.split_score, job.setting.min_samples_leaf


def _bins(setting: Setting) -> int:
    """Bins per grid feature; a grid on no feature is one cell, whatever their number."""
    return setting.bins if setting.n_grid_features else 1


def _group(items: Sequence[V], key: Callable[[V], K]) -> list[tuple[K, list[V]]]:
    """Group jobs by a key, in order of appearance."""
    groups: dict[K, list[V]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())
