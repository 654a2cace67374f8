"""Gaussian processes and a forest on indicators of classes that devices send by randomised response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.estimators.private_classes import CLASS, ClassQuestion
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments, Spreads
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.residual_gp import Fitted
from lpbench.estimators.tuning_free.rounds import Enrolled
from lpbench.privacy import GRR, Users

#: One over the standard deviation of an indicator whose mean lies between a tenth and nine tenths.
_INDICATOR = Spreads(np.array([2.0, 2.2, 2.6, 3.4]), np.full(4, 0.25))
#: The same of what a public score leaves of an indicator.
_REMAINDER = Spreads(np.array([2.0, 2.3, 2.8, 3.5, 4.5]), np.full(5, 0.2))
#: Variance of the public score about what follows from the features that are shown, as it is taken to be.
_ROUGH = 1e-3


@dataclass(eq=False)
class Reports:
    """What a curator keeps of one question to everybody; see :class:`.rounds.Curator`.

    ``known`` is the part of a public score that follows from what users show, subtracted from the targets.
    """

    enrolled: Enrolled
    targets: np.ndarray
    noise: np.ndarray
    seen: np.ndarray
    model: GaussianAverage

    known: np.ndarray | None

    @property
    def effects(self) -> dict[int, np.ndarray]:
        """Protected features are not asked for."""
        return {}

    def result(self) -> GaussianAverage:
        """Return the model fitted to the reports."""
        return self.model


def fit_indicators(
    users: Users, n_classes: int, epsilon: float, enrolled: Enrolled, public: PublicScore | None
) -> list[Fitted]:
    """Regress indicators of classes on what users show; every user sends its class by randomised response.

    Of two classes the second is regressed, else each. Of an indicator no other report has less noise, and its variance
    follows from its mean, so that the prior variances are those of indicators. From a public score the curator
    subtracts the part that follows from the features that are shown; the prediction is then to be added to the score
    of the complete record.
    """
    if n_classes == 1:
        return []
    mechanism = GRR(float(epsilon), n_classes)
    seen, reports = users.ask_present(CLASS, ClassQuestion(mechanism, "class report"))
    truth, other = mechanism.channel()[0, :2]
    # The noise of an indicator that is one in a class's share of the users, here one over the number of classes.
    variance = (truth * (1.0 - truth) + (n_classes - 1) * other * (1.0 - other)) / n_classes / (truth - other) ** 2
    noise, found = np.full(users.n, variance), []
    for k in range(n_classes) if n_classes > 2 else [1]:
        targets, known = np.zeros(users.n), None
        targets[seen] = ((reports == k) - other) / (truth - other)
        moments = Moments((0.0, 1.0), _INDICATOR)
        if public is not None and users.public is not None:
            known = _of_shown(enrolled, users.public.X, public.out_of_bag[:, k])
            targets, moments = targets - known, Moments((-0.5, 0.5), _REMAINDER)
        for some, features in enrolled.blocks(seen):
            moments.add(features, targets[some], noise[some])
        answers = Reports(enrolled, targets, noise, seen, GaussianAverage(moments), known)
        found.append(Fitted.to(answers, ("gp", "forest")))
    return found


def _of_shown(enrolled: Enrolled, X_public: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The public score that is expected of users from what they show."""
    moments = Moments((0.0, 1.0))
    moments.add(enrolled.kernels.transform(enrolled.shown.transform(X_public)), scores, np.full(scores.size, _ROUGH))
    expected, found = GaussianAverage(moments), np.empty(enrolled.order.size)
    for some, features in enrolled.blocks(np.arange(found.size)):
        found[some] = expected.predict(features)
    return np.clip(found, 0.0, 1.0)
