"""Base class of LPCT and LPCT-prune: parameter checks, features, fitted leaves, prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_domain
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import Grid, LocalClassifier, SweepResult
from lpbench.estimators.lpct.partition import CRITERIA, RULES, SEARCHES
from lpbench.estimators.lpct.tables import Samples, grown_at_once
from lpbench.estimators.lpct.votes import decide, probabilities
from lpbench.partitions.tree import TreePartition
from lpbench.problem import Problem
from lpbench.seeds import Streams

OUTSIDE = ("zero", "route")


def with_parameters(model: Any, **parameters: Any) -> Any:
    """Copy an estimator that was not fitted, with other parameters; much cheaper than scikit-learn's ``clone``."""
    twin = object.__new__(type(model))
    vars(twin).update(vars(model))
    for name, value in parameters.items():
        if not hasattr(twin, name):
            raise ConfigurationError(f"{type(model).__name__} has no parameter {name!r}")
        setattr(twin, name, value)
    return twin


class LPCTBase(LocalClassifier):
    """Base of LPCT and LPCT-prune: features, partition, the curator's table of leaves, prediction."""

    uses_public = True
    _clips = False

    def _prepare(self, X: np.ndarray) -> np.ndarray:
        """Map the declared domain to the unit cube; points outside stay outside and are routed by comparison."""
        if self.domain is None:
            return X
        lo, hi = check_domain(self.domain, X.shape[1])
        return (X - lo) / (hi - lo)

    def _check_partition(self) -> None:
        check_choice("rule", self.rule, RULES)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("search", self.search, SEARCHES)
        check_choice("outside", self.outside, OUTSIDE)
        if self.search == "released" and self.rule == "random":
            raise ConfigurationError("search='released' looks for cuts; rule='random' draws them: leave search='all'")

    def _check_samples(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        mask: np.ndarray | None = None,
        X_public: np.ndarray | None = None,
        y_public: np.ndarray | None = None,
    ) -> Samples:
        return Samples(*self._check_fit(X, y, mask, X_public, y_public))

    def _outside(self, X: np.ndarray) -> np.ndarray:
        """Tell which points lie outside the unit cube and are predicted 0 by ``outside="zero"`` (LPCT Theorem 5)."""
        if self.outside == "route":
            return np.zeros(X.shape[0], dtype=bool)
        return np.any((X < 0) | (X > 1), axis=1)

    def _bits_down(self, n_leaves: int) -> float:
        """Bits of the broadcast partition: feature and threshold of each cut."""
        return (n_leaves - 1) * (64.0 + math.ceil(math.log2(max(self.n_features_in_, 2))))

    def replications_per_batch(self, problem: Problem) -> int:
        """How many replications to grow partitions for at once."""
        return grown_at_once(problem)

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score a grid with one growth, one routing and one count; see :meth:`sweep_many`."""
        return self.sweep_many([problem], budgets, grid, [streams])[0]

    def _refit(self, problem: Problem, budgets: Sequence[float], points: Sequence, streams: Streams) -> np.ndarray:
        """Score points by the loop over fits."""
        return super().sweep(problem, budgets, points, streams).values

    def _store_leaves(self, tree: TreePartition, eta: np.ndarray) -> None:
        """Keep the fitted partition and the predictions of its leaves, in increasing order."""
        self.tree_ = tree
        self.leaf_probability_, self.leaf_class_ = probabilities(eta), decide(eta)
        self._leaf_index = tree.leaf_index()

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, n_features): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        result = self.leaf_probability_[self._leaf_index[self.tree_.apply(X)]]
        result[self._outside(X)] = np.arange(self.classes_.size) == 0
        return result

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict class labels for X of shape (m, n_features)."""
        X = self._check_predict(X)
        result = self.leaf_class_[self._leaf_index[self.tree_.apply(X)]]
        result[self._outside(X)] = 0
        return self.classes_[result]
