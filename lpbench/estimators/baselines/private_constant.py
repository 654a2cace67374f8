"""PrivateConstant: the best constant that one report of the label per user gives, a feature-free baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lpbench.estimators.base import LocalRegressor, check_epsilon
from lpbench.estimators.privatised_labels.numbers import NUMBER, NumberQuestion, best_unbiased
from lpbench.estimators.tuning_free.gaussian_average import LEVEL, typical_variance
from lpbench.privacy import Users


@dataclass(eq=False, repr=False)
class PrivateConstant(LocalRegressor):
    """Predict the mean of unbiased reports, shrunk to the middle of the range by its known noise.

    Reports are those of the unbiased randomizer of least variance for a typical label; PrivateMean's Laplace noise has
    up to several times their variance. The mean label is taken for normal about the middle of the range with a
    standard deviation of a quarter of its width, so that n users with reports of variance v are worth
    n / (n + v / (width / 4)^2) of the prediction.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`.

    Attributes
    ----------
    mean_ : float
        Estimate of the mean label, before clipping.
    guarantee_ : Guarantee
        ``ldp``: features never leave the device.
    """

    costs = (410, 0.02, 400)

    epsilon: float = 1.0

    def learn(self, users: Users) -> Self:
        """Average the reports and shrink."""
        mechanism = best_unbiased(check_epsilon(self.epsilon))
        question = NumberQuestion(self.y_range_, mechanism)
        reports = question.readings(users.ask(NUMBER, question))
        middle, width = sum(self.y_range_) / 2.0, 2.0 * question.half
        typical = typical_variance(width)
        noise = question.half**2 * float(mechanism.noise_variance(np.zeros(1))[0])
        known = (LEVEL * width) ** 2
        share = known / (known + (typical + noise) / users.n) if width > 0 else 1.0
        self.mean_ = middle + share * (float(reports.mean()) - middle)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d): a constant vector of shape (m,)."""
        return self._finish(np.full(self._check_predict(X).shape[0], self.mean_))
