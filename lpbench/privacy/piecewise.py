"""Piecewise mechanism: unbiased reports of a number in [-1, 1] on a finite public list; and its hybrid with two points.

Source: Wang et al. (2019), Collecting and analyzing multidimensional data with local differential privacy. The
two-point mechanism is that of Duchi, Jordan and Wainwright (2018). Their piecewise reports fill an interval; the
low-order bits of such a report, computed in doubles, exclude one of two numbers in half of all cases. Here the interval
is a list of :data:`CELLS` points, whose probabilities are whole numbers over one denominator.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from lpbench.privacy.domain import Interval
from lpbench.privacy.exact import UNITS, weight_pair, whole_epsilon
from lpbench.privacy.mechanism import Mechanism, check_epsilon, registered

#: Budget up to which the two-point mechanism alone has the least worst-case variance.
TWO_POINT_BUDGET = 0.61
#: Points that a piecewise report can be.
CELLS = 1024


@dataclass(frozen=True)
class _UnitMechanism(Mechanism):
    """Base of mechanisms that report a number in [-1, 1] by one of finitely many points, without bias."""

    discrete = True

    budget: float

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")

    @property
    def domain(self) -> Interval:
        """Numbers in [-1, 1]."""
        return Interval(by_entry=True)

    def estimate(self, reports: np.ndarray) -> np.ndarray:
        """Unbiased estimate of the numbers: the reports themselves."""
        return np.asarray(reports)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return values if math.isinf(self.budget) else self._draw_points(values, rng)

    @abstractmethod
    def _draw_points(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports at a finite budget, shape of ``values``."""

    def _loss(self, value: ArrayLike, second: ArrayLike) -> float:
        return math.inf if math.isinf(self.budget) else self._largest_ratio(value, second)

    @abstractmethod
    def _largest_ratio(self, value: ArrayLike, second: ArrayLike) -> float:
        """Largest log-ratio of a point's chances under two users' numbers, over all points, at a finite budget."""


@registered(lambda epsilon: Piecewise(epsilon))
@dataclass(frozen=True)
class Piecewise(_UnitMechanism):
    """Report a point near the own number e^epsilon times as often as any point farther off.

    The number is rounded at random to one of the positions of a window of ``width`` neighboring points, so that its
    expectation stays; a point of the window has ``weights[0]`` units of probability, any other point ``weights[1]``.
    A mixture of two positions loses no more than either, whatever the rounding of its weights.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf reports the number itself.

    Examples
    --------
    >>> from lpbench.privacy import Piecewise
    >>> mechanism = Piecewise(1.0)
    >>> round(mechanism.bound, 3)
    4.079
    >>> mechanism.noise_variance([0.0, 1.0]).round(3).tolist()
    [3.682, 5.221]
    """

    @cached_property
    def width(self) -> int:
        """Points of a window: the share (C - 1) / (2 C) of the published mechanism, 1 / (1 + e^(budget/2)), of them."""
        half = math.exp(-self.budget / 2.0)
        return max(1, round(CELLS * half / (1.0 + half)))

    @cached_property
    def weights(self) -> tuple[int, int]:
        """Weights of a point inside and outside the window; over :attr:`total` they are probabilities."""
        return weight_pair(self.budget, self.width, CELLS - self.width)

    @property
    def total(self) -> int:
        """Sum of the weights of all points: the denominator of their probabilities."""
        near, far = self.weights
        return self.width * near + (CELLS - self.width) * far

    @cached_property
    def step(self) -> float:
        """Distance of neighboring points: the mean of a report is the position of its window, -1 to 1."""
        near, far = self.weights
        return 2.0 * (self.total / self.width / (near - far)) / (CELLS - self.width)

    @cached_property
    def points(self) -> np.ndarray:
        """Numbers that can be reported, in increasing order."""
        return self.step * (np.arange(CELLS) - (CELLS - 1) / 2.0)

    @property
    def bound(self) -> float:
        """Largest absolute value of a report."""
        return float(self.points[-1])

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two numbers of different windows."""
        if math.isinf(self.budget):
            return math.inf
        return whole_epsilon(np.array([self.weights, self.weights[::-1]]))

    def noise_variance(self, values: ArrayLike) -> np.ndarray:
        """Variance of the reports of users who hold the given numbers, that of the rounding included.

        Parameters
        ----------
        values : array_like
            Numbers in [-1, 1].

        Returns
        -------
        ndarray
            Variance of a report of each number, of the same shape.
        """
        values = np.asarray(values, dtype=np.float64)
        if math.isinf(self.budget):
            return np.zeros(values.shape)
        near, far = self.weights
        squares = np.concatenate([[0.0], np.cumsum(self.points**2)])
        inside = squares[self.width :] - squares[: -self.width]
        second = (far * squares[-1] + (near - far) * inside) / self.total
        first, fraction = self._place(values)
        after = np.minimum(first + 1, second.size - 1)
        return (1.0 - fraction) * second[first] + fraction * second[after] - np.square(values)

    def _place(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each number the first point of the window below it, and the fraction of the way to the next window."""
        position = (np.asarray(values, dtype=np.float64) + 1.0) / 2.0 * (CELLS - self.width)
        first = np.clip(np.floor(position), 0, CELLS - self.width - 1).astype(np.int64)
        return first, np.clip(position - first, 0.0, 1.0)

    def _draw_points(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Reported points, shape of ``values``: in the window at the number with high probability, else outside."""
        first, fraction = self._place(values)
        first = first + (rng.random(values.shape) < fraction)
        near, far = self.weights
        deciding = rng.integers(self.total, size=values.shape)
        # Units of the window come first; then those of the points below it, and above.
        beyond = deciding - self.width * near
        outside = np.maximum(beyond, 0) // far
        outside += self.width * (outside >= first)
        return self.points[np.where(beyond < 0, first + deciding // near, outside)]

    def chances(self, values: ArrayLike) -> np.ndarray:
        """Probabilities of all points given numbers, shape (n, CELLS) (needs a finite budget).

        Parameters
        ----------
        values : array_like of shape (n,)
            Numbers in [-1, 1], one a user.

        Returns
        -------
        ndarray of shape (n, CELLS)
            Probability of each point; rows sum to 1.
        """
        first, fraction = self._place(np.ravel(values))
        return self._mixed(np.arange(CELLS) - first[:, None], fraction[:, None])

    def _mixed(self, offset: np.ndarray, fraction: np.ndarray) -> np.ndarray:
        """Probabilities of points for a number between two windows: (1 - fraction) of the first, fraction of the next.

        ``offset`` is the point's position in the first window (outside of 0, ..., width - 1: not in it); shapes
        broadcast.
        """
        near, far = self.weights
        before, after = (np.where((offset >= k) & (offset < k + self.width), near, far) / self.total for k in (0, 1))
        return (1.0 - fraction) * before + fraction * after

    def _influence(self) -> float:
        return self.bound

    def _largest_ratio(self, value: ArrayLike, second: ArrayLike) -> float:
        return float(np.log(self.chances(value) / self.chances(second)).max())


@registered(lambda epsilon: Hybrid(epsilon))
@dataclass(frozen=True)
class Hybrid(_UnitMechanism):
    """Piecewise reports with probability 1 - e^(-budget/2), else one of two points; two points alone up to 0.61.

    For the two points the number is rounded at random to -1 or 1, and that point is reported e^epsilon times as often
    as the other.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf reports the number itself.

    Examples
    --------
    >>> from lpbench.privacy import Hybrid
    >>> mechanism = Hybrid(1.0)
    >>> mechanism.noise_variance([0.0, 1.0]).round(3).tolist()
    [4.289, 4.288]
    """

    @cached_property
    def piecewise(self) -> Piecewise:
        """The mixture's component that reports one of many points."""
        return Piecewise(self.budget)

    @property
    def share(self) -> float:
        """Probability that a report is that of the piecewise component."""
        return -math.expm1(-self.budget / 2.0) if self.budget > TWO_POINT_BUDGET else 0.0

    @cached_property
    def weights(self) -> tuple[int, int]:
        """Units of probability of the true and of the other point."""
        return weight_pair(self.budget, 1, 1)

    @property
    def point(self) -> float:
        """The points are plus and minus (e^budget + 1) / (e^budget - 1)."""
        if math.isinf(self.budget):
            return 1.0
        true, false = self.weights
        return (true + false) / (true - false)

    @property
    def epsilon(self) -> float:
        """Exact epsilon between -1 and 1."""
        if math.isinf(self.budget):
            return math.inf
        two = whole_epsilon(np.array([self.weights, self.weights[::-1]]))
        return max(two, self.piecewise.epsilon) if self.share > 0 else two

    def noise_variance(self, values: ArrayLike) -> np.ndarray:
        """Variance of the reports of users who hold the given numbers.

        Parameters
        ----------
        values : array_like
            Numbers in [-1, 1].

        Returns
        -------
        ndarray
            Variance of a report of each number, of the same shape.
        """
        two = self.point**2 - np.square(values)
        return self.share * self.piecewise.noise_variance(values) + (1.0 - self.share) * two

    def _two(self, sign: ArrayLike, values: ArrayLike) -> np.ndarray:
        """Probability that the two-point mechanism reports the point of ``sign`` (-1 or 1), given ``values``."""
        true, false = self.weights
        along = (1.0 + np.multiply(sign, values)) / 2.0
        return (along * true + (1.0 - along) * false) / (true + false)

    def _draw_points(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Reported points, shape of ``values``: Piecewise's with a fixed probability, else one of two."""
        many = self.piecewise.randomize(values, rng)
        chosen = rng.integers(UNITS, size=values.shape) < int(self.share * UNITS)
        up = rng.random(values.shape) < (1.0 + values) / 2.0
        true, false = self.weights
        is_true = rng.integers(true + false, size=values.shape) < true
        return np.where(chosen, many, np.where(up == is_true, self.point, -self.point))

    def _influence(self) -> float:
        return max(self.point, self.piecewise.bound if self.share else 0.0)

    def _largest_ratio(self, value: ArrayLike, second: ArrayLike) -> float:
        signs = np.array([-1.0, 1.0])
        two = float(np.log(self._two(signs, value) / self._two(signs, second)).max())
        return max(two, self.piecewise._largest_ratio(value, second)) if self.share > 0 else two
