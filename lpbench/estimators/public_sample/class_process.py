"""ClassProcess: Gaussian processes and a forest on class indicators that devices send by randomised response."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from lpbench.estimators.any_learner.classes import CodeQuestion, ask_classes
from lpbench.estimators.base import Rows
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Spreads
from lpbench.estimators.tuning_free.residual_gp import ResidualGP, Sample
from lpbench.privacy import GRR

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

    def ask(
        self, X: np.ndarray, indicators: np.ndarray, mask: np.ndarray, public: tuple[np.ndarray, np.ndarray] | None
    ) -> Self:
        """Ask every user for its indicator, and fit.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        indicators : ndarray of shape (n,)
            Zeros and ones.
        mask : boolean ndarray of shape (n, d)
        public : (X_public, scores) or None
            Rows of the public sample and the score of the class at them.

        Returns
        -------
        self
        """
        return self._answered(self._sample(X, indicators, mask), public)

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Ask without a public score."""
        return self._answered(self._sample(X, y, mask), None)

    def _answered(self, sample: Sample, public: tuple[np.ndarray, np.ndarray] | None) -> Self:
        mechanism = GRR(float(self.epsilon), 2)
        question = CodeQuestion(mechanism, mechanism.n_categories)
        everybody = np.arange(sample.y.size)
        reports = ask_classes(sample.y.astype(np.int64), everybody, question, sample.streams)
        truth, other = mechanism.channel()[0]
        targets, spreads, y_range = (reports - other) / (truth - other), _INDICATOR, (0.0, 1.0)
        if public is not None:
            targets, spreads, y_range = targets - self._of_shown(sample, *public), _REMAINDER, (-0.5, 0.5)
        noise = np.full(everybody.size, truth * other / (truth - other) ** 2)
        model = GaussianAverage(sample.features, targets, noise, y_range, spreads)
        self._learned(sample, Reports(targets, noise, everybody, model), ())
        bits = self.guarantee_.bits_up + mechanism.bits
        self.guarantee_ = replace(self.guarantee_, bits_up=bits)
        return self

    @staticmethod
    def _of_shown(sample: Sample, X_public: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """The public score that is expected of users from what they show."""
        features = sample.kernels.transform(sample.shown.transform(X_public))
        expected = GaussianAverage(features, scores, np.full(scores.size, _ROUGH), (0.0, 1.0))
        return np.clip(expected.predict(sample.features), 0.0, 1.0)
