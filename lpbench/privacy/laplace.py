"""Laplace mechanism, the law of a sum of Laplace draws, and discrete Laplace noise on a stated grid.

Source: Dwork, McSherry, Nissim & Smith (2006), HistOfTree eq. (4). The sum of n iid Laplace(b) draws is b (G1 - G2)
with G1, G2 iid Gamma(n, 1), because one Laplace draw is the difference of two exponential ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv
from scipy.stats import nbinom

from lpbench.errors import ConfigurationError, DataError
from lpbench.privacy.counter import hashed_uniforms
from lpbench.privacy.domain import Numbers
from lpbench.privacy.exact import quotient_up
from lpbench.privacy.mechanism import AdditiveMechanism, check_epsilon, check_scale, check_sensitivity, registered
from lpbench.privacy.payload import Field, GridPoints, grid_reach
from lpbench.privacy.rounded import LAPLACE, NoiseLaw, rounded_sum

#: Least step / scale: numbers of steps beyond blur in doubles.
_LEAST_RATE = 2.0**-46


@registered(lambda epsilon: Laplace.for_budget(epsilon, 2.0))
@dataclass(frozen=True)
class Laplace(AdditiveMechanism):
    """Add independent Laplace(scale) noise to every entry of a user's vector, rounded to a grid that is far finer.

    Parameters
    ----------
    scale : float
        Scale b of the noise, in the units of the values (standard deviation b sqrt(2)); 0 means no noise.
    sensitivity : float
        Largest L1 distance between the vectors of two users; public.

    Examples
    --------
    >>> from lpbench.privacy import Laplace
    >>> mechanism = Laplace.for_budget(0.5, sensitivity=2.0)
    >>> mechanism.scale, mechanism.variance
    (4.0, 32.0)
    >>> mechanism.epsilon
    0.5
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_sensitivity(self.sensitivity)

    @classmethod
    def for_budget(cls, epsilon: float, sensitivity: float = 1.0) -> Laplace:
        """Return the mechanism that spends exactly ``epsilon``: scale = sensitivity / epsilon, rounded up.

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        sensitivity : float
            Largest L1 distance of two users' vectors; public.

        Returns
        -------
        Laplace
            With the least noise that spends no more.
        """
        return cls(quotient_up(check_sensitivity(sensitivity), check_epsilon(epsilon)), sensitivity)

    def privacy_map(self, distance: float) -> float:
        """Exact epsilon between two inputs at L1 distance ``distance``: distance / scale, rounded up."""
        if self.scale == 0:
            return math.inf if distance > 0 else 0.0
        return quotient_up(distance, self.scale)

    @property
    def variance(self) -> float:
        """Variance of one entry's noise, 2 scale^2."""
        return 2.0 * self.scale * self.scale

    @property
    def noise(self) -> tuple[float, NoiseLaw]:
        """The scale and the law of Laplace noise."""
        return self.scale, LAPLACE


def cell_noise(seed: int, keys: np.ndarray, n: Any, scale: Any) -> np.ndarray:
    """Noise of the sum of n users' Laplace(scale) draws in the cells that are looked up, as a function of the cell.

    A histogram may have more cells than any memory holds; only those that a test row falls into matter. The noise of a
    cell is a pure function of (seed, key): repeated and reordered queries see the same noise.

    Parameters
    ----------
    seed : int
        Seed of this histogram; two statistics of one cell need two seeds (or an extra key column).
    keys : int ndarray of shape (m,) or (m, k)
        Cell coordinates.
    n : int or ndarray of shape (m,)
        Number of users whose noise adds up, >= 0.
    scale : float or ndarray of shape (m,)
        Scale of one user's noise.

    Returns
    -------
    ndarray of shape (m,)
        Noise of each cell, in the units of ``scale``.
    """
    u = hashed_uniforms(seed, keys, n_draws=2)
    n = np.asarray(n, dtype=np.float64)
    if (n < 0).any():
        raise DataError("n must be >= 0 users")
    gamma = gammaincinv(np.maximum(n, 1.0), u)
    return scale * np.where(n > 0, gamma[0] - gamma[1], 0.0)


def discrete_cell_noise(seed: int, keys: np.ndarray, n: int, mechanism: DiscreteLaplace) -> np.ndarray:
    """As :func:`cell_noise`, for noise on a grid: a difference of two negative binomials, by inverting their laws.

    Parameters
    ----------
    seed, keys
        See :func:`cell_noise`.
    n : int
        Number of users whose noise adds up, >= 1.
    mechanism : DiscreteLaplace
        Noise of one user.

    Returns
    -------
    ndarray of shape (m,)
        Noise of each cell, multiples of ``mechanism.step``.
    """
    u = hashed_uniforms(seed, keys, n_draws=2)
    if mechanism.scale == 0:
        return np.zeros(u.shape[1])
    first, second = nbinom.ppf(u, n, -math.expm1(-mechanism.step / mechanism.scale))
    return (first - second) * mechanism.step


def _beyond(rate: float, p: np.ndarray) -> np.ndarray:
    peak = rate / 2.0 + math.log1p(math.exp(-rate)) - math.log(2.0)  # log cosh(rate / 2)
    return np.maximum(-np.log(p) - peak, 0.0)


def _beyond_half(step: float, scale: float, size: Any) -> Any:
    from mpmath import cosh, exp, mpf

    return exp(-size) / cosh(mpf(step) / scale / 2) if size > 0 else mpf(1)


@registered(lambda epsilon: DiscreteLaplace.for_budget(epsilon, 0.25, 2.0))
@dataclass(frozen=True)
class DiscreteLaplace(AdditiveMechanism):
    """Round values to the grid ``step * Z`` and add discrete Laplace noise on it (Ghosh et al. 2009).

    Every report lies on the grid whatever the value. P(noise = k step) is proportional to ``exp(-|k| step / scale)``.
    Rounding shifts a value by at most step / 2, deterministically: reports are unbiased for the *rounded* value.

    Parameters
    ----------
    scale : float
        Scale of the noise in the units of the values; 0 means no noise.
    step : float
        Distance of neighboring grid points, a power of two so that grid arithmetic is exact; public.
    sensitivity : float
        Largest distance of two users' values; public.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import DiscreteLaplace
    >>> mechanism = DiscreteLaplace.for_budget(1.0, step=0.25, sensitivity=2.0)
    >>> mechanism.scale, mechanism.epsilon
    (2.0, 1.0)
    >>> report = mechanism.randomize([0.3], np.random.default_rng(0))
    >>> bool(report[0] % 0.25 == 0)
    True
    """

    never_repeats = False

    scale: float
    step: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.scale)
        if math.frexp(check_sensitivity(self.step, "step"))[0] != 0.5:
            raise ConfigurationError(
                f"step={self.step!r} must be a power of two (2.0**-10, say), so that grid sums are exact"
            )
        check_sensitivity(self.sensitivity)

    @classmethod
    def for_budget(cls, epsilon: float, step: float, sensitivity: float = 1.0) -> DiscreteLaplace:
        """Return the mechanism that spends exactly ``epsilon``, the rounding included.

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        step : float
            Distance of neighboring grid points, a power of two.
        sensitivity : float
            Largest distance of two users' values; public.

        Returns
        -------
        DiscreteLaplace
            With the least noise that spends no more.

        Raises
        ------
        ConfigurationError
            If the noise is so much wider than a step that grid points blur.
        """
        steps = cls(0.0, step, sensitivity).grid_distance(sensitivity)
        mechanism = cls(quotient_up(steps * step, check_epsilon(epsilon)), step, sensitivity)
        mechanism._check_rate()
        return mechanism

    def _check_rate(self) -> float:
        """Return step / scale (inf without noise); ConfigurationError where points of the grid would blur."""
        rate = self.step / self.scale if self.scale > 0 else math.inf
        if rate < _LEAST_RATE:
            raise ConfigurationError(
                f"step / scale={rate:g} must be at least {_LEAST_RATE:g}, below which points of the grid blur: take a "
                "larger budget or a longer step"
            )
        return rate

    def grid_distance(self, distance: float) -> int:
        """Largest number of steps between the roundings of two values at most ``distance`` apart.

        Parameters
        ----------
        distance : float
            Distance of two values, in their units.

        Returns
        -------
        int
            Steps of the grid.
        """
        return math.ceil(distance / self.step)

    def privacy_map(self, distance: float) -> float:
        """Epsilon between values at most ``distance`` apart: ceil(distance / step) * step / scale, rounded up."""
        steps = self.grid_distance(distance)
        return quotient_up(steps * self.step, self.scale) if self.scale > 0 else (math.inf if steps else 0.0)

    def check_inputs(self, inputs: np.ndarray) -> None:
        """Check that two users' numbers differ by at most the sensitivity after rounding to the grid.

        Rounding may move each by up to a step.
        """
        Numbers(self.grid_distance(self.sensitivity)).check_users(self.round(self.domain.check(inputs)))

    def fields(self, columns: int = 1, largest: float = 1.0) -> tuple[Field, ...]:
        """Points of the grid, for values of size at most ``largest``."""
        return (GridPoints(self.step, grid_reach(largest, self.scale, self.step), columns),)

    @property
    def variance(self) -> float:
        """Variance of one entry's noise, 2 q step^2 / (1 - q)^2 with q = exp(-step / scale)."""
        rate = self.step / self.scale if self.scale > 0 else math.inf
        return 2.0 * math.exp(-rate) * (self.step / math.expm1(-rate)) ** 2

    def round(self, values: ArrayLike) -> np.ndarray:
        """Index of the nearest grid point, halves upwards, without rounding error.

        Parameters
        ----------
        values : array_like
            Values, in their units.

        Returns
        -------
        ndarray
            Whole numbers of steps, as floats, of the same shape.
        """
        # Halves to even would not commute with shifts by whole steps, and floor(x + 1/2) rounds x + 1/2 first: either
        # can put two values one step further apart than grid_distance says.
        steps = np.asarray(values, dtype=np.float64) / self.step
        below = np.floor(steps)
        return below + (steps - below >= 0.5)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Grid points: the rounded values plus noise, shape of ``values``."""
        rounded = self.round(values) * self.step
        return rounded_sum(rounded, self.scale, self.sensitivity, self._law, rng, self.step)

    @property
    def noise(self) -> tuple[float, NoiseLaw]:
        """Scale and law of real noise that becomes discrete Laplace noise by rounding.

        P(size > t) = e^(-t) / cosh(rate / 2).
        """
        return self.scale, self._law

    @cached_property
    def _law(self) -> NoiseLaw:
        return NoiseLaw(partial(_beyond, self._check_rate()), partial(_beyond_half, self.step, self.scale))

    def sum_of_reports(self, totals: ArrayLike, n: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw the sums of ``n`` users' reports whose rounded values add up to ``totals`` (multiples of ``step``).

        The sum of n geometric variables is negative binomial; ``totals`` and ``n`` broadcast.

        Parameters
        ----------
        totals : array_like
            Sums of the users' rounded values.
        n : int or array_like
            Users behind each sum.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        ndarray
            Sums of their reports, of the broadcast shape.
        """
        totals, n = np.broadcast_arrays(np.asarray(totals, dtype=np.float64), n)
        if self.scale == 0:
            return totals.copy()
        success = -math.expm1(-self.step / self.scale)
        # numpy wants at least one summand; a sum over nobody has no noise.
        users = np.maximum(n, 1)
        noise = rng.negative_binomial(users, success) - rng.negative_binomial(users, success)
        return totals + np.where(n > 0, noise, 0) * self.step

    def _loss(self, value: np.ndarray, second: np.ndarray) -> float:
        """Exact loss between two users' inputs ``value`` and ``second``, attained by reports beyond both."""
        return self.privacy_map(float(np.abs(self.round(value) - self.round(second)).sum()) * self.step)

    def tail(self, probability: float) -> float:
        """Return the size that an entry's noise exceeds with a probability, plus a step for rounding."""
        return super().tail(probability) + self.step
