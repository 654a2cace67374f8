"""PrivateMean: the mean of privatised labels, a feature-free baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalRegressor
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateMean(LocalRegressor):
    """Predict the mean of Laplace-privatised labels everywhere.

    A method that does not beat it has learned nothing from the features. It is the corner p = 0, t = 1, rho = 1 of
    HistOfTree's grid, which the paper's grid leaves out.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.

    Attributes
    ----------
    mean_ : float
        Unbiased estimate of the mean label, before clipping; its variance is 2 (hi - lo)^2 / (n epsilon^2) above that
        of the sample mean.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device.
    """

    costs = (410, 0.0062, 260)

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Average the privatised labels."""
        self.mean_ = float(users.ask(LABEL, LabelQuestion(self.y_range_, self.epsilon)).mean())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d): a constant vector of shape (m,)."""
        return self._finish(np.full(self._check_predict(X).shape[0], self.mean_))
