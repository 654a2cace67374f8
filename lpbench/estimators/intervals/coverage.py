"""The least threshold that enough users' scores stay below, searched by one randomised bit of each user.

A user answers whether her score (a residual, or one minus the probability of her class) is at most a broadcast
threshold, by randomised response. Groups of users are asked in rounds: the first about thresholds over the whole reach,
each later one about those between which the wanted coverage lies for all that is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from sklearn.isotonic import IsotonicRegression

from lpbench.privacy import Device, RandomizedResponse, Records, Users

#: Shares of the users in the rounds, thresholds of the first round and of every later one, at most.
ROUNDS, _FIRST, _LATER = (0.25, 0.25, 0.25, 0.25), 8, 5
#: Fewest users, in users who answer truthfully, that are asked about one threshold.
_PER_THRESHOLD = 6
#: Standard errors by which the next round looks beyond where the wanted coverage seems to lie.
_DOUBT = 1.5
#: Name -> score of records under a model.
SCORES: Mapping[str, Callable[[Any, np.ndarray, np.ndarray], np.ndarray]] = {
    "residual": lambda model, X, y: np.abs(y - model.predict(X)),
    "class": lambda model, X, y: 1.0 - model.predict_proba(X)[np.arange(len(y)), y],
}


@dataclass(frozen=True, eq=False)
class ThresholdQuestion:
    """What a user is asked about a model, which is public by then.

    Attributes
    ----------
    model : fitted estimator
    score : str
        A key of :data:`SCORES`.
    threshold : float
    mechanism : RandomizedResponse
    """

    model: Any
    score: str
    threshold: float
    mechanism: RandomizedResponse


class ThresholdDevice(Device[ThresholdQuestion]):
    """Answer whether the own score is at most the threshold."""

    purpose = "calibration report"

    def mechanism(self, question: ThresholdQuestion) -> RandomizedResponse:
        """Randomised response on the bit."""
        return question.mechanism

    def inputs(self, records: Records, question: ThresholdQuestion) -> np.ndarray:
        """The bits."""
        return SCORES[question.score](question.model, records.X, records.y) <= question.threshold


THRESHOLD = ThresholdDevice()


def safe_level(level: float, deviation: float) -> float:
    """Return a such that a true coverage with mean a and the given standard error, cut at 1, has the mean ``level``.

    An error above 1 does not make up for one below: E min(1, a + s Z) = level.
    """
    if deviation <= 0.0 or level >= 1.0:
        return min(level, 1.0)
    lost = (1.0 - level) / deviation

    def excess(d: float) -> float:
        return float(d * ndtr(d) + math.exp(-0.5 * d * d) / math.sqrt(2.0 * math.pi) - lost)

    return 1.0 - deviation * float(brentq(excess, -30.0, lost + 1.0)) if excess(-30.0) < 0 else math.inf


class CoverageCurve:
    """Estimated share of users whose score is at most a threshold.

    Parameters
    ----------
    reach : float
        No score is larger.
    mechanism : RandomizedResponse

    Attributes
    ----------
    thresholds, estimates, users : ndarrays
        Asked so far, in increasing order: unbiased estimates of the coverage, and how many users each is from.
    """

    def __init__(self, reach: float, mechanism: RandomizedResponse) -> None:
        self.reach, self._mechanism = reach, mechanism
        self.thresholds, self.estimates, self.users = np.empty(0), np.empty(0), np.empty(0)

    def add(self, threshold: float, reports: np.ndarray) -> None:
        """Enter the reports of a group about one threshold."""
        estimate = float(self._mechanism.estimate(reports.sum(), reports.size)) / reports.size
        place = int(np.searchsorted(self.thresholds, threshold))
        self.thresholds = np.insert(self.thresholds, place, threshold)
        self.estimates = np.insert(self.estimates, place, estimate)
        self.users = np.insert(self.users, place, float(reports.size))

    def fitted(self) -> tuple[np.ndarray, np.ndarray]:
        """Monotone estimates of the coverage at the thresholds, and their standard errors."""
        law = IsotonicRegression(y_min=0.0, y_max=1.0).fit(self.thresholds, self.estimates, self.users)
        curve = law.predict(self.thresholds)
        _, block = np.unique(curve, return_inverse=True)
        pooled = np.bincount(block, self.users)[block]
        slope = self._mechanism.keep - self._mechanism.flip
        # As if one more user had answered either way: a small group that agrees is not certain.
        shown = ((self._mechanism.flip + slope * curve) * pooled + 1.0) / (pooled + 2.0)
        return (shown - self._mechanism.flip) / slope, np.sqrt(shown * (1.0 - shown) / pooled) / slope

    def next_thresholds(self, coverage: float, n_users: int) -> np.ndarray:
        """Thresholds to ask so many users about, in increasing order; fewer where answers tell little."""
        told = n_users * (self._mechanism.keep - self._mechanism.flip) ** 2
        most = max(1, int(told / _PER_THRESHOLD))
        if self.thresholds.size == 0:
            return np.geomspace(self.reach / 2.0 ** (_FIRST + 1), self.reach, min(most, _FIRST) + 2)[1:-1]
        curve, deviation = self.fitted()
        below, above = curve + _DOUBT * deviation < coverage, curve - _DOUBT * deviation > coverage
        low = float(self.thresholds[below].max(initial=0.0))
        high = float(self.thresholds[above].min(initial=self.reach))
        return np.linspace(low, high, min(most, _LATER) + 2)[1:-1] if high > low else np.array([high])

    def threshold(self, coverage: float) -> float:
        """Least threshold whose coverage is ``coverage`` on average over users and reports; the reach if none is known.

        Between two thresholds the coverage is taken for linear.
        """
        n = float(self.users.sum())
        level = coverage * (1.0 + 1.0 / n) if n else 1.0
        if level >= 1.0:
            return self.reach
        curve, deviation = self.fitted()
        enough = curve - np.array([safe_level(level, float(d)) for d in deviation])
        if not (enough >= 0.0).any():
            return self.reach
        k = int(np.argmax(enough >= 0.0))
        if k == 0:
            return float(self.thresholds[0])
        share = enough[k] / (enough[k] - max(enough[k - 1], -1.0))
        return float(self.thresholds[k] - share * (self.thresholds[k] - self.thresholds[k - 1]))


def calibrate(users: Users, order: np.ndarray, curve: CoverageCurve, question: ThresholdQuestion, level: float) -> None:
    """Ask users, in the given order, round by round; nobody is asked twice."""
    ends = np.round(np.cumsum(ROUNDS) * order.size).astype(int)
    for number, some in enumerate(np.split(order, ends[:-1])):
        thresholds = curve.next_thresholds(level, some.size)
        for part, threshold in enumerate(thresholds):
            group = some[part :: thresholds.size]
            if group.size:
                asked = ThresholdQuestion(question.model, question.score, float(threshold), question.mechanism)
                answering = users.take(group, "calibration", round=number, part=part)
                curve.add(float(threshold), answering.ask(THRESHOLD, asked))
