"""ClassProcess: Gaussian processes and a forest on class indicators that devices send by randomised response."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Spreads
from lpbench.estimators.tuning_free.residual_gp import Enrolled, ResidualGP
from lpbench.privacy import GRR, Users

#: One over the standard deviation of an indicator whose mean lies between a tenth and nine tenths.
_INDICATOR = Spreads(np.array([2.0, 2.2, 2.6, 3.4]), np.full(4, 0.25))
#: The same of what a public score leaves of an indicator.
_REMAINDER = Spreads(np.array([2.0, 2.3, 2.8, 3.5, 4.5]), np.full(5, 0.2))
#: Variance of the public score about what follows from the features that are shown, as it is taken to be.
_ROUGH = 1e-3


@dataclass(eq=False)
class Reports:
    """What the curator of an interview keeps, of one question to everybody."""

    targets: np.ndarray
    noise: np.ndarray
    seen: np.ndarray
    model: GaussianAverage
    effects: dict[int, np.ndarray] = field(default_factory=dict)

    def result(self) -> GaussianAverage:
        """Return the model fitted to the reports."""
        return self.model


class ClassProcess(ResidualGP):
    """Regress the indicator of a class on what users show; every user sends it by randomised response.

    Of an indicator no other report has less noise, and its variance follows from its mean, so that the prior variances
    are those of indicators. From a public score the curator subtracts the part that follows from the features that are
    shown; the prediction is then to be added to the score of the complete record.

    Parameters and attributes are those of ResidualGP.
    """

    def learn(self, users: Users) -> Self:
        """Ask every user for its indicator, once; ``users.public`` are public rows and their scores, if any."""
        enrolled, mechanism = Enrolled.of(users, self._streams()), GRR(float(self.epsilon), 2)
        reports = users.ask(CLASS, ClassQuestion(mechanism, "class report"))
        truth, other = mechanism.channel()[0]
        targets, spreads, y_range = (reports - other) / (truth - other), _INDICATOR, (0.0, 1.0)
        if users.public is not None:
            targets, spreads, y_range = targets - self._of_shown(enrolled, *users.public), _REMAINDER, (-0.5, 0.5)
        noise = np.full(users.n, truth * other / (truth - other) ** 2)
        model = GaussianAverage(enrolled.features, targets, noise, y_range, spreads)
        return self._learned(enrolled, Reports(targets, noise, np.arange(users.n), model))

    @staticmethod
    def _of_shown(enrolled: Enrolled, X_public: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The public score that is expected of users from what they show."""
        features = enrolled.kernels.transform(enrolled.shown.transform(X_public))
        expected = GaussianAverage(features, scores, np.full(scores.size, _ROUGH), (0.0, 1.0))
        return np.clip(expected.predict(enrolled.features), 0.0, 1.0)
