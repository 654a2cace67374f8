"""PrivateMajority: the majority class of randomised labels, a feature-free baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalClassifier, check_epsilon
from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.privacy import GRR, Users


@dataclass(eq=False, repr=False)
class PrivateMajority(LocalClassifier):
    """Predict the most frequent class of labels privatised by randomised response.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    shares_ : ndarray of shape (n_classes,)
        Unbiased estimates of the class shares; they sum to 1 and may be negative.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device. Of a single class nothing is spent.
    """

    costs = (0, 0.012, 440)

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Count the randomised labels."""
        mechanism = GRR(check_epsilon(self.epsilon), self.classes_.size)
        reports = users.ask(CLASS, ClassQuestion(mechanism, "report"))
        counts = np.bincount(reports, minlength=self.classes_.size)
        self.shares_ = mechanism.estimate(counts, users.n) / users.n
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the estimated class shares, clipped at 0 and normalised, for each row of X: (m, n_classes)."""
        X = self._check_predict(X)
        shares = np.maximum(self.shares_, 0.0)
        return np.tile(shares / shares.sum(), (X.shape[0], 1))
