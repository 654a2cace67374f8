"""Classification by regression of class indicators on the private users."""

from abc import abstractmethod
from typing import Any

import numpy as np

from lpbench.estimators.base import LocalClassifier


class IndicatorClassifier(LocalClassifier):
    """Base of classifiers that regress class indicators: one regression for two classes, else one for each class."""

    uses_mask = True
    uses_public = True

    models_: Any

    @abstractmethod
    def _estimate(self, k: int, X: np.ndarray, model: Any) -> np.ndarray:
        """Probability (m,) of class code k at rows X (m, d) by ``model``, before it is clipped to [0, 1]."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for complete X of shape (m, d): ndarray of shape (m, n_classes)."""
        return self._probabilities(self._check_predict(X))

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities (m, n_classes) at rows X (m, d), clipped and scaled to sum 1; equal where all are 0."""
        if not self.models_:
            return np.ones((len(X), 1))
        if len(self.models_) == 1:
            second = np.clip(self._estimate(1, X, self.models_[0]), 0.0, 1.0)
            return np.column_stack([1.0 - second, second])
        estimates = [self._estimate(k, X, model) for k, model in enumerate(self.models_)]
        scores = np.clip(np.column_stack(estimates), 0.0, 1.0)
        total = scores.sum(axis=1, keepdims=True)
        return np.where(total > 0, scores / np.where(total > 0, total, 1.0), 1.0 / len(self.models_))
