"""Sweep of LPCT: all depths, leaf sizes, weights and budgets on one problem in one pass.

The leaves of all partitions are laid side by side in flat arrays, so that a handful of array operations scores the
whole grid.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lpbench.estimators.base import Task
from lpbench.estimators.lpct.family import VoteFamily
from lpbench.estimators.lpct.tables import ScoredRows, Tables, hits_of
from lpbench.estimators.lpct.votes import VOTE, decide, regression_function

#: Parameters over which one growth of the partition is shared.
CHEAP = ("depth", "public_weight", "min_samples_leaf")


class Sweep:
    """The points of a grid on one replication that share all but depth, weight and leaf size."""

    def __init__(
        self, model: Any, task: Task, budgets: Sequence[float], axes: Sequence[tuple[list, np.ndarray]]
    ) -> None:
        """Check the grid, and collect the distinct trees that its points need at any budget.

        ``axes`` has, for weights and for pairs (depth, leaf size), the distinct values and each point's position among
        them.
        """
        self.model, self.task, self.budgets = model, task, list(budgets)
        (self.weights, self.weight_index), (settings, setting_index) = axes
        model._check_fixed()
        model._check_swept(self.budgets, *map(set, zip(*settings, strict=True)), self.weights)
        model._meet(task.users)
        trees_of = [
            [(model._resolved_depth(depth, task.users, epsilon), size) for depth, size in settings]
            for epsilon in self.budgets
        ]
        self.trees = sorted(set().union(*trees_of))
        position = {tree: t for t, tree in enumerate(self.trees)}
        self.tree_index = np.array([[position[tree] for tree in row] for row in trees_of])[:, setting_index]
        deepest, smallest = max(p for p, _ in self.trees), min(m for _, m in self.trees)
        self.tables = Tables(model, task.users.public, model._streams(), deepest, smallest)

    def scores(self) -> np.ndarray:
        """Test scores of all budgets and grid points, shape (n_budgets, n_points)."""
        rows = self.tables.rows = ScoredRows(self.model, self.task)
        family, public, hits = self._family()
        decisions = self._decisions(family, public)
        if rows.are_counted:
            scores = (family.total(hits_of(decisions, hits)) + rows.outside_hits) / rows.n
        else:
            trees = [table.tree for table, settings in self.tables.of_all(self.trees) for _ in settings]
            nodes = np.concatenate([nodes for _, nodes in family.leaves])
            each = zip(trees, family.partitions, strict=True)
            scores = np.stack(
                [rows.scores(tree, nodes[leaves], decisions[..., leaves]) for tree, (_, leaves) in each], axis=-1
            )
        return scores[np.arange(len(self.budgets))[:, None], self.weight_index, self.tree_index]

    def _family(self) -> tuple[VoteFamily, np.ndarray, np.ndarray]:
        """Grow the partitions, where that was not done before, and line up their leaves.

        Returned are the questions, and public votes and test rows of each class in every leaf, (n_classes, n_leaves)
        each.
        """
        leaves, parts, sizes = [], [], []
        for table, settings in self.tables.of_all(self.trees):
            of, node = np.nonzero(table.tree.is_leaf(*zip(*settings, strict=True)))
            sizes.append(np.bincount(of, minlength=len(settings)))
            leaves.append((table.tree, node))
            parts.append([votes[:, node] for votes in (table.public, table.hits)])
        start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
        mechanisms = [self.model._mechanism(epsilon) for epsilon in self.budgets]
        axes = [{"depth": depth} for depth, _ in self.trees]
        family = VoteFamily(leaves, start, axes, mechanisms, self.model.classes_.size)
        public, hits = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
        return family, public, hits

    def _decisions(self, family: VoteFamily, public: np.ndarray) -> np.ndarray:
        """Predicted class of each leaf by budget and weight, shape (n_budgets, n_weights, n_leaves).

        ``public`` (n_classes, n_leaves) are public votes; the private ones are simulated once for all weights.
        """
        sizes = np.diff(family.start)
        weights = np.empty((len(self.budgets), len(self.weights), 1, sizes.size))
        for b, mechanism in enumerate(family.mechanisms):
            for w, weight in enumerate(self.weights):
                weights[b, w] = self.model._weight(weight, sizes, mechanism)
        if self.model.source == "public":
            private = np.zeros((len(self.budgets), *public.shape))
        else:
            private = self.task.simulate(VOTE, family)
        return decide(regression_function(private[:, None], public, np.repeat(weights, sizes, axis=-1)))


def axes_of(model: Any, points: Sequence[Mapping]) -> list[tuple[list, np.ndarray]]:
    """Distinct weights and pairs (depth, min_samples_leaf), and which of them each point has: for all replications."""
    depths, weights, sizes = ([p.get(name, getattr(model, name)) for p in points] for name in CHEAP)
    return [_distinct(weights), _distinct(list(zip(depths, sizes, strict=True)))]


def _distinct(values: Sequence) -> tuple[list, np.ndarray]:
    """Return the distinct values in order of appearance and the position of each entry among them."""
    position = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return list(position), np.array(list(map(position.__getitem__, values)))
