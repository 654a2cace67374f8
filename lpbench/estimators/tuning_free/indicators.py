"""Classification by regression of class indicators on the private users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from lpbench.estimators.base import LocalClassifier, Task, grouped
from lpbench.privacy import Users
from lpbench.seeds import Streams


class IndicatorClassifier(LocalClassifier):
    """Base of classifiers that regress indicators of classes: of two the second's, else each."""

    uses_mask = True
    uses_public = True

    models_: Any

    #: Parameters that points of a sweep may vary without the public sample being read anew.
    _cheap: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _asked(self, users: Users, public: Any, streams: Streams) -> Self:
        """Ask the users and keep a model of the second of two classes, else of each, in ``models_``."""

    @abstractmethod
    def _estimate(self, k: int, X: np.ndarray, model: Any, public: Any) -> np.ndarray:
        """Probability of class k at rows X, before it is bounded."""

    def _learn_public(self, users: Users, streams: Streams) -> Any:
        """What is known before any user is asked; shared by all budgets."""
        return None

    def _public_at(self, X: np.ndarray) -> Any:
        """What was learned from the public sample, at rows X; shared by all budgets."""
        return None

    def learn(self, users: Users) -> Self:
        """Learn from the public sample and ask the users."""
        streams = self._streams()
        return self._asked(users, self._learn_public(users, streams), streams)

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

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> np.ndarray:
        """Score all budgets and points; what the public sample teaches is shared."""
        values = np.empty((len(budgets), len(points)))
        for common, members in grouped(points, self._cheap):
            model = clone(self).set_params(random_state=task.streams, **common)
            model._meet(task.users)
            public, at_test = model._learn_public(task.users, task.streams), None
            X = model._to_unit_cube(task.X_test)
            for b, epsilon in enumerate(budgets):
                for g in members:
                    model.set_params(**points[g], epsilon=epsilon)
                    model._asked(task.users.fresh(), public, task.streams)
                    at_test = model._public_at(X) if at_test is None else at_test
                    values[b, g] = task.score(model.classes_[model._decide(model._probabilities(X, at_test))])
        return values
