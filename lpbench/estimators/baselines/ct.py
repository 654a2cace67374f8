"""CT-W and CT-Q: a classification tree without protection, and one on public data alone (LPCT sec. 7.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import Grid, LocalClassifier, Rows, SweepResult, expand_grid
from lpbench.estimators.baselines.ct_growth import CutClasses, cut_class_trees
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

SAMPLES = ("whole", "public")


class CT(LocalClassifier):
    """Classification tree on private and public rows together (CT-W), or on the public rows alone (CT-Q).

    Parameters
    ----------
    sample : {"whole", "public"}
        ``whole``: no protection, an upper bound. ``public``: nothing is asked of the private users.
    max_depth : int or None
        As in scikit-learn; its other settings stay at their defaults.
    domain : (float, float) or None
        Public range of the features, clipped and mapped to [0, 1]. None: features are used as they are.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the private and the public sample.
    tree_ : CutClasses
        scikit-learn's tree on class numbers, indices into ``classes_``.
    guarantee_ : Guarantee
        ``none``, or ``ldp`` with epsilon = 0 for the public tree.
    """

    uses_epsilon = False
    uses_public = True

    def __init__(
        self,
        sample: str = "whole",
        max_depth: int | None = None,
        domain: tuple[float, float] | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.sample = sample
        self.max_depth = max_depth
        self.domain = domain
        self.random_state = random_state

    def _collect(
        self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that the tree may see, in single precision as scikit-learn uses them."""
        check_choice("sample", self.sample, SAMPLES)
        X, codes, X_public, public_codes = self._check_fit(X, y, mask, X_public, y_public)
        if self.sample == "public":
            if X_public is None:
                raise ConfigurationError("sample='public' needs a public sample: pass X_public and y_public")
            X, codes = X_public, public_codes
            self.guarantee_ = Guarantee("ldp", 0.0, rounds=0, bits_up=0.0, note="reads the public sample alone")
        else:
            if X_public is not None:
                X, codes = np.concatenate([X, X_public]), np.concatenate([codes, public_codes])
            self.guarantee_ = Guarantee("none", math.inf, bits_up=REAL_BITS * (X.shape[1] + 1))
        return np.ascontiguousarray(X, dtype=np.float32), codes

    def _grow(self, inputs: np.ndarray, codes: np.ndarray, depths: Sequence[int | None]) -> list[CutClasses]:
        return cut_class_trees(inputs, codes, depths, self._streams().integer("tree"))

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
        mask : ignored
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        inputs, codes = self._collect(X, y, mask, X_public, y_public)
        (self.tree_,) = self._grow(inputs, codes, [self.max_depth])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the class shares of the leaves for X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = np.ascontiguousarray(self._check_predict(X), dtype=np.float32)
        probability = np.zeros((X.shape[0], self.classes_.size))
        probability[:, self.tree_.grown.classes] = self.tree_.shares(X)
        return probability

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; depths are read from few trees, and nothing depends on the budget."""
        points = expand_grid(grid)
        scores = np.full(len(points), np.nan)
        for sample in dict.fromkeys(point.get("sample", self.sample) for point in points):
            members = [g for g, point in enumerate(points) if point.get("sample", self.sample) == sample]
            model = clone(self).set_params(sample=sample, random_state=streams)
            inputs, codes = model._collect(problem.X_train, problem.y_train, **problem.fit_arguments)
            test = np.ascontiguousarray(model._prepare(problem.X_test), dtype=np.float32)
            trees = model._grow(inputs, codes, [points[g].get("max_depth", self.max_depth) for g in members])
            scores[members] = [problem.score(model.classes_[tree.predict(test)]) for tree in trees]
        return SweepResult(np.tile(scores, (len(budgets), 1)))
