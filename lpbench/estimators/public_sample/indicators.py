"""Classification by regression of class indicators on the private users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import Grid, LocalClassifier, LocalRegressor, Rows, SweepResult, check_mask, expand_grid
from lpbench.estimators.public_sample.public_rows import NOTE
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked arguments of ``fit``, and what was learned from the public sample.

    Attributes
    ----------
    X, codes, mask : ndarrays of shapes (n, d), (n,), (n, d)
    X_public, public_codes : ndarrays of shapes (q, d), (q,), or None
    public : object
        Result of :meth:`IndicatorClassifier._learn_public`.
    """

    X: np.ndarray
    codes: np.ndarray
    mask: np.ndarray
    X_public: np.ndarray | None
    public_codes: np.ndarray | None
    public: Any = None


class IndicatorClassifier(LocalClassifier):
    """Base of classifiers that regress indicators of classes.

    Of two classes the second's indicator is regressed on all users. Of more, the users are divided evenly at random,
    and each group is asked about one class, so that every user answers for one class at the whole budget.
    """

    uses_mask = True
    uses_public = True

    @abstractmethod
    def _regress(self, sample: Sample, k: int, users: np.ndarray, streams: Streams) -> LocalRegressor:
        """Return a regressor fitted to the users' indicators of class k."""

    @abstractmethod
    def _estimate(self, k: int, X: np.ndarray, model: LocalRegressor, public: Any) -> np.ndarray:
        """Probability of class k at rows X, before it is bounded."""

    def _learn_public(self, sample: Sample) -> Any:
        """What the public sample alone teaches; shared by all budgets."""
        return None

    def _public_at(self, X: np.ndarray) -> Any:
        """What was learned from the public sample, at rows X; shared by all budgets."""
        return None

    def _reads(self, sample: Sample) -> bool:
        """Whether a public sample is read."""
        return sample.X_public is not None

    def _public_bits(self) -> float:
        """Bits of what is broadcast of the public sample."""
        return 0.0

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit on the public sample and ask the users.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Class labels.
        mask : boolean ndarray of shape (n, d), optional
            True where a user protects a feature. None: all features are protected.
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        return self._fit(self._sample(X, y, mask, X_public, y_public))

    def _sample(self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows) -> Sample:
        X, codes, X_public, public_codes = self._check_fit(X, y, mask, X_public, y_public)
        sample = Sample(X, codes, check_mask(mask, X.shape), X_public, public_codes)
        self.public_ = self._learn_public(sample)
        return replace(sample, public=self.public_)

    def _fit(self, sample: Sample) -> Self:
        self.public_, n_classes, streams = sample.public, self.classes_.size, self._streams()
        asked = [1] if n_classes == 2 else list(range(n_classes)) if n_classes > 2 else []
        order = np.arange(sample.codes.size)
        if len(asked) > 1:
            order = streams.generator("class groups").permutation(order)
        groups = np.array_split(order, max(len(asked), 1))
        own = [streams if len(asked) == 1 else streams.child("class", number=k) for k in asked]
        fitted = [self._regress(sample, *each) for each in zip(asked, groups, own, strict=False)]
        # The seeds of the users' noise do not stay in the models.
        self.models_ = [model.set_params(random_state=None) for model in fitted]
        self.guarantee_ = self._spent(sample)
        return self

    def _spent(self, sample: Sample) -> Guarantee:
        note = self._noted(NOTE if self._reads(sample) else "")
        if not self.models_:
            return Guarantee("semi_feature_ldp", 0.0, rounds=0, bits_up=0.0, note=note)
        spent = max((model.guarantee_ for model in self.models_), key=lambda g: g.epsilon)
        return replace(spent, bits_down=spent.bits_down + self._public_bits(), note=note)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for complete X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        return self._probabilities(X, self._public_at(X))

    def _probabilities(self, X: np.ndarray, public: Any) -> np.ndarray:
        if not self.models_:
            return np.ones((len(X), 1))
        if len(self.models_) == 1:
            second = np.clip(self._estimate(1, X, self.models_[0], public), 0.0, 1.0)
            return np.column_stack([1.0 - second, second])
        found = [self._estimate(k, X, model, public) for k, model in enumerate(self.models_)]
        scores = np.clip(np.column_stack(found), 0.0, 1.0)
        total = scores.sum(axis=1, keepdims=True)
        return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / len(self.models_))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score all budgets and points; what the public sample teaches is shared."""
        points = expand_grid(grid)
        model = clone(self).set_params(random_state=streams)
        sample = model._sample(problem.X_train, problem.y_train, **problem.fit_arguments)
        X = model._prepare(problem.X_test)
        public, values = model._public_at(X), np.empty((len(budgets), len(points)))
        for b, epsilon in enumerate(budgets):
            for g, point in enumerate(points):
                model.set_params(**point, epsilon=epsilon)._fit(sample)
                values[b, g] = problem.score(model.classes_[model._decide(model._probabilities(X, public))])
        return SweepResult(values)
