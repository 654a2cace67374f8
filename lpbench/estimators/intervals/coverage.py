"""Private search for a quantile of users' scores, by one randomized bit of each user.

A user answers whether her score (a residual, or one minus the probability of her class) is at most a broadcast
threshold, by randomized response. Groups of users are asked in rounds, each about thresholds between which the wanted
quantile lies for all that is known: a noisy bisection [1]_.

References
----------
.. [1] R. Waeber, P. I. Frazier, S. G. Henderson, "Bisection search with noisy responses", SIAM Journal on Control and
   Optimization 51, 2013.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit, xlog1py, xlogy

from lpbench.privacy import Device, RandomizedResponse, Records, Users
from lpbench.privacy.users import Broadcast

#: Rounds of as many users, and thresholds of the first and of every later one.
ROUNDS, _FIRST, _LATER = 8, 6, 3
#: Grid of the law of scores: the wanted quantile in reaches, the exponent, and the mass at zero in wanted coverages.
_QUANTILES, _EXPONENTS, _AT_ZERO = np.geomspace(1e-3, 1.0, 64), np.geomspace(0.4, 8.0, 7), (0.0, 1 / 3, 2 / 3, 8 / 9)
#: Thresholds among which the answer lies, in reaches.
_THRESHOLDS = np.geomspace(_QUANTILES[0] / 4, 1.0, 100)
#: How far from a level, in log-odds of coverage, answers count for it, and as how many noiseless ones all others may.
_NEAR, _FAR = 1.0, 100.0
#: A law of scores is never more certain than this.
_DOUBT = 1e-9
#: Name -> score of records under a model.
SCORES: Mapping[str, Callable[[Any, np.ndarray, np.ndarray], np.ndarray]] = {
    "residual": lambda model, X, y: np.abs(y - model.predict(X)),
    "scaled residual": lambda model, X, y: model.score(X, y),
    "class": lambda model, X, y: 1.0 - model.predict_proba(X)[np.arange(len(y)), y],
}


@dataclass(frozen=True, eq=False)
class ThresholdQuestion:
    """Ask if the model's score of the own record is at most the threshold; model and threshold are public by then."""

    model: Broadcast
    score: str  # a key of SCORES
    threshold: float
    mechanism: RandomizedResponse


class ThresholdDevice(Device[ThresholdQuestion]):
    """Answer whether the own score is at most the threshold."""

    def inputs(self, records: Records, question: ThresholdQuestion) -> np.ndarray:
        """Return True for records whose score is at most the threshold: boolean (n,)."""
        return SCORES[question.score](question.model.content, records.X, records.y) <= question.threshold


THRESHOLD = ThresholdDevice()


class CoverageCurve:
    """Posterior of the share of users whose score is at most a threshold, near one wanted coverage.

    Near its wanted quantile q a law of scores is F(t) = 1 - (1 - a) exp(-c (t / q)^k), with a mass a at zero. Before
    anybody has answered, the density of q grows as its square root up to the reach: where answers tell little the
    threshold is large rather than too small. Later rounds ask near q, where the law has to fit; elsewhere it says
    little, and another coverage needs a curve of its own. No score is larger than ``reach``.
    """

    told: float  # users asked so far, as the number of users without noise that would tell as much

    def __init__(self, reach: float, mechanism: RandomizedResponse, coverage: float) -> None:
        self.reach, self._mechanism, self.coverage, self.told = reach, mechanism, coverage, 0.0
        grid = np.meshgrid(_QUANTILES, _EXPONENTS, coverage * np.array(_AT_ZERO), indexing="ij")
        self._quantile, self._exponent, self._zero = (axis.ravel() for axis in grid)
        self._log_weight = 1.5 * np.log(self._quantile)  # one power is the grid's, of equal factors

    def _law(self, threshold: np.ndarray) -> np.ndarray:
        """Coverage, in (0, 1), of ``threshold`` under every law of the prior, along the last axis.

        Thresholds are a column, in units of the reach; a law is a combination of quantile, exponent and mass at zero.
        """
        scale = np.log((1.0 - self.coverage) / (1.0 - self._zero))
        inside = 1.0 - (1.0 - self._zero) * np.exp(scale * (threshold / self._quantile) ** self._exponent)
        return np.clip(np.where(threshold >= 1.0, 1.0, inside), _DOUBT, 1.0 - _DOUBT)

    def add(self, threshold: float, reports: np.ndarray) -> None:
        """Update the posterior by the randomized yes/no answers of one round, all about the same threshold."""
        flip, slope = self._mechanism.flip, self._mechanism.keep - self._mechanism.flip
        yes = flip + slope * self._law(np.array(threshold / self.reach))
        ones = float(np.sum(reports))
        self._log_weight = self._log_weight + xlogy(ones, yes) + xlog1py(reports.size - ones, -yes)
        self.told += reports.size * slope**2

    def likelihood(self, threshold: float, reports: np.ndarray) -> np.ndarray:
        """Log-probability of randomized answers about a threshold, under every law of the prior."""
        flip, slope = self._mechanism.flip, self._mechanism.keep - self._mechanism.flip
        yes, ones = flip + slope * self._law(np.array(threshold / self.reach)), float(np.sum(reports))
        return np.asarray(xlogy(ones, yes) + xlog1py(reports.size - ones, -yes))

    def read(self, thresholds: np.ndarray, sizes: np.ndarray, likelihoods: np.ndarray) -> None:
        """Put the answers to all levels in place of those that the posterior holds.

        Answers about ``thresholds`` (t,) of ``sizes`` (t,) users have the log-probabilities ``likelihoods``, shape
        (t, number of laws). Taken together they say which coverage a threshold has; then those whose coverage is
        far from the wanted one, where the law need not fit, count for less the more is told.
        """
        prior, told = 1.5 * np.log(self._quantile), sizes * (self._mechanism.keep - self._mechanism.flip) ** 2
        self._log_weight = prior + likelihoods.sum(axis=0)
        covered = self._law(thresholds[:, None] / self.reach) @ self._weights()
        near = np.exp(-0.5 * ((logit(np.clip(covered, 1e-3, 1 - 1e-3)) - logit(self.coverage)) / _NEAR) ** 2)
        weights = near + (1.0 - near) * min(1.0, _FAR / told.sum())
        self._log_weight, self.told = prior + weights @ likelihoods, float(weights @ told)

    def _weights(self) -> np.ndarray:
        weights = np.exp(self._log_weight - self._log_weight.max())
        return np.asarray(weights / weights.sum())

    def next_thresholds(self, number: int) -> np.ndarray:
        """Thresholds to ask about, in increasing order: quantiles of what is known of the wanted one."""
        distribution = np.cumsum(self._weights().reshape(_QUANTILES.size, -1).sum(axis=1))
        shares = (np.arange(number) + 0.5) / number
        return np.asarray(self.reach * np.exp(np.interp(shares, distribution, np.log(_QUANTILES))))

    def threshold(self) -> float:
        """Least threshold that covers enough in expectation, one more user reckoned with; else the reach."""
        level = self.coverage * (1.0 + 1.0 / self.told) if self.told else 1.0
        covered = self._law(_THRESHOLDS[:, None]) @ self._weights()
        return self.reach * float(np.interp(level, covered, _THRESHOLDS))


def calibrate(users: Users, order: np.ndarray, curve: CoverageCurve, question: ThresholdQuestion) -> None:
    """Update a curve by users' yes/no answers whether their score is below a threshold.

    Users answer in the given order, in rounds whose thresholds come from the answers before; nobody is asked twice.
    """
    for number, members in enumerate(np.array_split(order, ROUNDS)):
        thresholds = curve.next_thresholds(min(_LATER if number else _FIRST, members.size))
        for number_of, threshold in enumerate(thresholds):
            group = members[number_of :: thresholds.size]
            at_threshold = ThresholdQuestion(question.model, question.score, float(threshold), question.mechanism)
            curve.add(float(threshold), users.ask(THRESHOLD, at_threshold, group))


def calibrate_levels(
    users: Users, order: np.ndarray, curves: Sequence[CoverageCurve], question: ThresholdQuestion
) -> None:
    """Update the curves of several levels by the answers of the same users: each serves all levels.

    A round's users are divided among the levels, and asked about thresholds near theirs; nobody is asked twice.
    """
    thresholds: list[float] = []
    sizes: list[int] = []
    likelihoods: list[list[np.ndarray]] = [[] for _ in curves]
    for number, members in enumerate(np.array_split(order, ROUNDS)):
        for place, curve in enumerate(curves):
            part = members[place :: len(curves)]
            asked = curve.next_thresholds(min(_LATER if number else _FIRST, part.size))
            for number_of, threshold in enumerate(asked):
                group = part[number_of :: asked.size]
                at_threshold = ThresholdQuestion(question.model, question.score, float(threshold), question.mechanism)
                reports = users.ask(THRESHOLD, at_threshold, group)
                thresholds.append(float(threshold))
                sizes.append(reports.size)
                for reader, held in zip(curves, likelihoods, strict=True):
                    held.append(reader.likelihood(float(threshold), reports))
        for curve, held in zip(curves, likelihoods, strict=True):
            if held:
                curve.read(np.array(thresholds), np.array(sizes), np.array(held))
