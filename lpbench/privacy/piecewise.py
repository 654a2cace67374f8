"""Bounded unbiased reports of a number in [-1, 1]: the piecewise mechanism, and its mixture with two points.

Source: Wang et al. (2019), Collecting and analyzing multidimensional data with local differential privacy. The
two-point mechanism is that of Duchi, Jordan and Wainwright (2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lpbench.errors import DataError
from lpbench.privacy.mechanism import ContinuousMechanism, check_epsilon

#: Budget up to which the two-point mechanism alone has the least worst-case variance.
TWO_POINT_BUDGET = 0.61


@dataclass(frozen=True)
class Piecewise(ContinuousMechanism):
    """Report a number near the own one with a density e^epsilon times that of the numbers farther off.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf reports the number itself.
    """

    budget: float

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")

    @property
    def excess(self) -> float:
        """C - 1, by which reports exceed the range of the numbers: 2 / (e^(budget/2) - 1)."""
        half = math.exp(-self.budget / 2.0)
        return 2.0 * half / -math.expm1(-self.budget / 2.0)

    @property
    def bound(self) -> float:
        """C: reports lie in [-C, C]."""
        return 1.0 + self.excess

    @property
    def near(self) -> float:
        """Probability that a report lies in the interval of length C - 1 about the number."""
        return float(expit(self.budget / 2.0))

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two different numbers."""
        return float(self.budget)

    @property
    def bits(self) -> float:
        """One real number."""
        return 64.0

    def noise_variance(self, values: ArrayLike) -> np.ndarray:
        """Variance of the reports of users who hold the given numbers."""
        half = math.exp(-self.budget / 2.0)
        rest = -math.expm1(-self.budget / 2.0)
        return np.square(values) * half / rest + (half + 3.0 * half**2) / (3.0 * rest**2)

    def _left(self, values: np.ndarray) -> np.ndarray:
        """Lower end of the interval about each number."""
        return values + self.excess * (values - 1.0) / 2.0

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the reports of users who hold numbers in [-1, 1]; shape of ``values``."""
        values = check_unit(values)
        left, excess = self._left(values), self.excess
        near = rng.random(values.shape) < self.near
        u = rng.random(values.shape)
        # Outside the interval: first the part below it, then the part above.
        far = -self.bound + (self.bound + 1.0) * u
        return np.where(near, left + excess * u, np.where(far < left, far, far + excess))

    def log_density(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Log-density of reports in [-C, C] given numbers (needs a finite budget)."""
        left = self._left(np.asarray(values, dtype=np.float64))
        inside = (np.asarray(reports) >= left) & (np.asarray(reports) <= left + self.excess)
        log_near = -np.logaddexp(0.0, -self.budget / 2.0) - _log_excess(self.budget)
        return np.where(inside, log_near, log_near - self.budget)

    def log_density_ratio_sup(self, value: ArrayLike, other: ArrayLike) -> float:
        """The whole budget between any two different numbers."""
        return float(self.budget) if np.any(np.not_equal(value, other)) else 0.0


@dataclass(frozen=True)
class Hybrid(ContinuousMechanism):
    """Piecewise reports with probability 1 - e^(-budget/2), else one of two points; two points alone up to 0.61.

    Densities are with respect to length plus one unit of mass on each of the two points.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf reports the number itself.
    """

    budget: float

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")

    @property
    def piecewise(self) -> Piecewise:
        """The continuous part."""
        return Piecewise(self.budget)

    @property
    def share(self) -> float:
        """Probability of a piecewise report."""
        return -math.expm1(-self.budget / 2.0) if self.budget > TWO_POINT_BUDGET else 0.0

    @property
    def point(self) -> float:
        """The points are plus and minus (e^budget + 1) / (e^budget - 1)."""
        return 1.0 / math.tanh(self.budget / 2.0)

    @property
    def epsilon(self) -> float:
        """Exact epsilon between -1 and 1."""
        return float(self.budget)

    @property
    def bits(self) -> float:
        """One real number."""
        return 64.0

    def noise_variance(self, values: ArrayLike) -> np.ndarray:
        """Variance of the reports of users who hold the given numbers."""
        two = self.point**2 - np.square(values)
        return self.share * self.piecewise.noise_variance(values) + (1.0 - self.share) * two

    def _log_two(self, sign: ArrayLike, values: ArrayLike) -> np.ndarray:
        """Log-probability of a point given the number: (1 + sign y tanh(budget / 2)) / 2."""
        # In terms of e^-budget, so that the rarer point of an end of the range keeps its digits.
        along = np.multiply(sign, values)
        b = math.exp(-self.budget)
        return np.log((1.0 + along) / 2.0 + b * (1.0 - along) / 2.0) - math.log1p(b)

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the reports of users who hold numbers in [-1, 1]; shape of ``values``."""
        values = check_unit(values)
        smooth = self.piecewise.randomize(values, rng)
        chosen, up = rng.random(values.shape), rng.random(values.shape)
        points = np.where(up < (1.0 + values * math.tanh(self.budget / 2.0)) / 2.0, self.point, -self.point)
        return np.where(chosen < self.share, smooth, points)

    def log_density(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Log-density of reports given numbers (needs a finite budget); -inf where impossible."""
        reports, values = np.broadcast_arrays(np.asarray(reports, dtype=np.float64), values)
        at_point = np.abs(reports) == self.point
        found = np.full(reports.shape, -math.inf)
        if self.share > 0:
            found = np.where(at_point, found, math.log(self.share) + self.piecewise.log_density(reports, values))
        if at_point.any():
            log_rest = -self.budget / 2.0 if self.share > 0 else 0.0
            found[at_point] = log_rest + self._log_two(np.sign(reports[at_point]), values[at_point])
        return found

    def log_density_ratio_sup(self, value: ArrayLike, other: ArrayLike) -> float:
        """The whole budget where piecewise reports occur, else what the points tell."""
        if not np.any(np.not_equal(value, other)):
            return 0.0
        if self.share > 0:
            return float(self.budget)
        signs = np.array([-1.0, 1.0])
        return float((self._log_two(signs, value) - self._log_two(signs, other)).max())


def check_unit(values: ArrayLike) -> np.ndarray:
    """Return numbers in [-1, 1] as floats."""
    values = np.asarray(values, dtype=np.float64)
    if values.size and not (values.min() >= -1.0 and values.max() <= 1.0):
        raise DataError(f"values lie in [{values.min():g}, {values.max():g}], outside [-1, 1]; clip or rescale them")
    return values


def _log_excess(budget: float) -> float:
    return math.log(2.0) - budget / 2.0 - math.log(-math.expm1(-budget / 2.0))
