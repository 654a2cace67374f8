"""Base of the binary classifiers (linear and neural baselines), and the constant feature of their intercept."""

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import expit

from lpbench.errors import DataError
from lpbench.estimators.base import LocalClassifier
from lpbench.privacy import Users


class BinaryClassifier(LocalClassifier):
    """Base of classifiers that know two classes only, and predict the second iff a score is positive."""

    scale_: float = 1.0  # logits per unit of the score

    @abstractmethod
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return scores of X of shape (m, d): ndarray of shape (m,), positive for the second class."""
        raise NotImplementedError

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d): ndarray of shape (m, 2)."""
        positive = expit(self.scale_ * self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the second of ``classes_`` where the decision function is positive, else the first."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def _meet(self, users: Users) -> None:
        """Note the users' classes; DataError unless there are exactly two."""
        super()._meet(users)
        n_classes = self.classes_.size
        if n_classes > 2:
            raise DataError(
                f"Only binary classification is supported. The type of the target is multiclass: {n_classes} classes; "
                "use LPCT, PHIST or CT for more than two"
            )
        if n_classes < 2:
            raise DataError("two classes are needed, the labels hold one class only; pass classes=[...] with both")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def with_constant(X: np.ndarray) -> np.ndarray:
    """Append a column of ones: (n, d) -> (n, d + 1)."""
    return np.column_stack([X, np.ones(X.shape[0])])
