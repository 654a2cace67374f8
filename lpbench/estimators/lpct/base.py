"""Base class of LPCT and LPCT-prune: parameter checks, features, fitted leaves, prediction."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import Grid, LocalClassifier, SweepResult, Task, expand_grid
from lpbench.estimators.lpct.partition import CRITERIA, RULES, SEARCHES
from lpbench.estimators.lpct.tables import Tables, grown_at_once
from lpbench.estimators.lpct.votes import decide, probabilities
from lpbench.partitions.tree import TreePartition
from lpbench.problem import Problem

OUTSIDE = ("zero", "route")


def with_parameters(model: Any, **parameters: Any) -> Any:
    """Copy an estimator that was not fitted, with other parameters; much cheaper than scikit-learn's ``clone``."""
    twin = copy(model)
    for name, value in parameters.items():
        if not hasattr(twin, name):
            raise ConfigurationError(f"{type(model).__name__} has no parameter {name!r}")
        setattr(twin, name, value)
    return twin


class LPCTBase(LocalClassifier):
    """Base of LPCT and LPCT-prune: features, partition, the curator's table of leaves, prediction."""

    uses_public = True
    _clips = False  # points outside stay outside and are routed by comparison

    rule: str
    criterion: str
    search: str
    outside: str

    def _check_partition(self) -> None:
        """Check the parameters of the partition; ConfigurationError for unknown values and combinations."""
        check_choice("rule", self.rule, RULES)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("search", self.search, SEARCHES)
        check_choice("outside", self.outside, OUTSIDE)
        if self.search == "released" and self.rule == "random":
            raise ConfigurationError("search='released' looks for cuts; rule='random' draws them: leave search='all'")

    def _outside(self, X: np.ndarray) -> np.ndarray:
        """Mark rows of X (m, d) outside the unit cube, (m,): ``outside="zero"`` predicts class 0 (LPCT Theorem 5).

        With ``outside="route"`` none is marked.
        """
        if self.outside == "route":
            return np.zeros(X.shape[0], dtype=bool)
        return np.any((X < 0) | (X > 1), axis=1)

    def replications_per_batch(self, problem: Problem) -> int:
        """Return the number of replications for which to grow partitions at once."""
        return grown_at_once(problem)

    @abstractmethod
    def _sweeps(
        self, points: Sequence[dict], budgets: Sequence[float]
    ) -> Iterator[tuple[Sequence[int], Callable[[Task], Any] | None]]:
        """Group grid points that one sweep can score: yield pairs (indices of the points, function of a task).

        The function returns an object with their scores on that task; None where separate fits must do it.
        """

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Sweep several replications, whose partitions are grown together."""
        return self.learn_grids([(self, tasks, grid)], budgets)[0]

    def learn_grids(
        self, sealed: Sequence[tuple[Self, Sequence[Task], Grid]], budgets: Sequence[float]
    ) -> list[list[SweepResult]]:
        """Sweep in one pass over the settings, where fits need not do it."""
        results, sweeps = [], []
        for model, tasks, grid in sealed:
            points = expand_grid(grid)
            values = np.empty((len(tasks), len(budgets), len(points)))
            results.append([SweepResult(scores) for scores in values])
            for members, build in model._sweeps(points, budgets):
                for scores, task in zip(values, tasks, strict=True):
                    if build is None:
                        scores[:, members] = model.refitted(task, budgets, [points[g] for g in members]).values
                    else:
                        sweeps.append((scores, members, build(task)))
        Tables.grow_together([sweep.tables for _, _, sweep in sweeps])
        while sweeps:  # each is let go once it is scored
            scores, members, sweep = sweeps.pop()
            scores[:, members] = sweep.scores()
        return results

    def _store_leaves(self, tree: TreePartition, eta: np.ndarray) -> None:
        """Keep the fitted partition, and class probabilities and decisions of its leaves, in increasing order of nodes.

        ``eta`` (n_classes - 1, n_leaves) are the estimated shares of the classes k >= 1.
        """
        self.tree_ = tree
        self.leaf_probability_, self.leaf_class_ = probabilities(eta), decide(eta)
        self._leaf_index = tree.leaf_index()

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for complete X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        result = self.leaf_probability_[self._leaf_index[self.tree_.apply(X)]]
        result[self._outside(X)] = np.arange(self.classes_.size) == 0
        return result

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the class of each row's leaf; with ``outside="zero"``, the first class outside the unit cube."""
        X = self._check_predict(X)
        result = self.leaf_class_[self._leaf_index[self.tree_.apply(X)]]
        result[self._outside(X)] = 0
        return self.classes_[result]
