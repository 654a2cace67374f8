"""Gaussian mechanism with its exact privacy profile (Balle & Wang 2018, "analytic Gaussian mechanism").

With mu = sensitivity / sigma, noise N(0, sigma^2) on every coordinate is (epsilon, delta)-private iff
delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)   (their Theorem 8, an equality at the worst pair).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from lpbench.checks import check_number
from lpbench.privacy.domain import Numbers
from lpbench.privacy.mechanism import AdditiveMechanism, check_epsilon, check_scale, check_sensitivity, registered
from lpbench.privacy.rounded import GAUSSIAN, NoiseLaw

#: Distance in standard deviations whose square doubles can still tell from infinity.
_MOST_MU = 1e150


def check_delta(delta: Any, name: str = "delta") -> float:
    """Return delta as a float, which lies strictly between 0 and 1."""
    return check_number(name, delta, above=0, below=1)


def gaussian_delta(epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Exact delta(epsilon) of Gaussian noise: the smallest delta for which it is (epsilon, delta)-private.

    Parameters
    ----------
    epsilon : float
        >= 0.
    sigma : float
        Standard deviation of the noise per coordinate, > 0.
    sensitivity : float
        Largest L2 distance of two users' vectors.

    Returns
    -------
    float
        delta(epsilon), in [0, 1].

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML, 2018, Theorem 8.
    """
    mu = sensitivity / sigma
    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    # e^epsilon phi(far) = phi(near), so the e^epsilon of the textbook formula, which overflows, cancels against erfc.
    half_peak = 0.5 * math.exp(-(near**2) / 2.0)
    if near < 0:
        return float(ndtr(-near) - half_peak * erfcx(far / math.sqrt(2.0)))
    return float(half_peak * (erfcx(near / math.sqrt(2.0)) - erfcx(far / math.sqrt(2.0))))


def gaussian_epsilon(delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """Exact epsilon of Gaussian noise at ``delta``: the smallest epsilon with delta(epsilon) <= delta, rounded up.

    Parameters
    ----------
    delta : float
        Failure probability, strictly between 0 and 1.
    sigma : float
        Standard deviation of the noise per coordinate, in the units of the values.
    sensitivity : float
        Largest L2 distance of two users' vectors; public.

    Returns
    -------
    float
        Epsilon; inf without noise.

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML, 2018, Theorem 8.
    """
    check_delta(delta)
    if sigma == 0:
        return math.inf
    if _exact_delta(0.0, sigma, sensitivity) <= delta:
        return 0.0
    mu = sensitivity / sigma
    if mu > _MOST_MU:
        return math.inf
    # Phi(-z) <= exp(-z^2 / 2) puts delta(upper) below delta.
    upper = mu**2 / 2.0 + mu * math.sqrt(-2.0 * math.log(delta))
    root = brentq(lambda e: _log_delta(e, mu) - math.log(delta), 0.0, upper, xtol=1e-15 * upper, rtol=1e-14)
    return _upwards(root, lambda e: _exact_delta(e, sigma, sensitivity) <= delta)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Smallest standard deviation that is (epsilon, delta)-private, to a relative 1e-6, rounded up.

    Parameters
    ----------
    epsilon : float
        Budget, > 0; inf: no privacy.
    delta : float
        Failure probability, strictly between 0 and 1.
    sensitivity : float
        Largest L2 distance of two users' vectors; public.

    Returns
    -------
    float
        Standard deviation, in the units of the values; 0 for an infinite budget.

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang. Improving the Gaussian mechanism for differential privacy. ICML, 2018, Theorem 8.
    """
    check_delta(delta)
    if math.isinf(check_epsilon(epsilon)):
        return 0.0
    z = math.sqrt(-2.0 * math.log(delta))
    lower = 2.0 * epsilon / (z + math.sqrt(z**2 + 2.0 * epsilon))
    upper = 2.0 * lower
    while gaussian_delta(epsilon, 1.0 / upper) < delta:
        upper *= 2.0
    log_mu = brentq(
        lambda t: _log_delta(epsilon, math.exp(t)) - math.log(delta), math.log(lower), math.log(upper), xtol=1e-14
    )
    root = check_sensitivity(sensitivity) / math.exp(log_mu)
    return _upwards(root, lambda sigma: _exact_delta(epsilon, sigma, sensitivity) <= delta)


def _upwards(start: float, holds: Callable[[float], bool]) -> float:
    """Return a number >= ``start`` for which a monotone condition holds, close to the least such number."""
    number, step = start, 2.0**-53
    while not holds(number):
        step *= 4.0
        number = start * (1.0 + step)
    return number


@lru_cache(1024)  # fits with one budget ask for the same few numbers, each of which takes as long as a small fit
def _exact_delta(epsilon: float, sigma: float, sensitivity: float) -> Any:
    """delta(epsilon) of Gaussian noise of standard deviation ``sigma`` at an L2 ``sensitivity``, in high precision."""
    from mpmath import exp, mpf, ncdf, workprec

    with workprec(400):
        mu = mpf(sensitivity) / mpf(sigma)
        return ncdf(mu / 2 - epsilon / mu) - exp(epsilon) * ncdf(-mu / 2 - epsilon / mu)


def _log_delta(epsilon: float, mu: float) -> float:
    return math.log(max(gaussian_delta(epsilon, 1.0 / mu), 1e-300))


@registered(lambda epsilon: Gaussian.for_budget(epsilon, 1e-6))
@dataclass(frozen=True)
class Gaussian(AdditiveMechanism):
    """Add independent N(0, sigma^2) noise to every coordinate of a user's vector, rounded to a grid that is far finer.

    Parameters
    ----------
    sigma : float
        Standard deviation, in the units of the values; 0 means no noise.
    delta : float
        Failure probability at which ``epsilon`` is stated.
    sensitivity : float
        Largest L2 distance between the vectors of two users; public.

    Examples
    --------
    >>> from lpbench.privacy import Gaussian
    >>> mechanism = Gaussian.for_budget(1.0, delta=1e-6)
    >>> round(mechanism.sigma, 3)
    4.225
    >>> mechanism.epsilon <= 1.0
    True
    """

    sigma: float
    delta: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check_scale(self.sigma, "sigma")
        check_delta(self.delta)
        check_sensitivity(self.sensitivity)

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, sensitivity: float = 1.0) -> Gaussian:
        """Return the mechanism with the least noise that is (epsilon, delta)-private.

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        delta : float
            Failure probability, strictly between 0 and 1.
        sensitivity : float
            Largest L2 distance of two users' vectors; public.

        Returns
        -------
        Gaussian
            With the least standard deviation.
        """
        return cls(gaussian_sigma(epsilon, delta, sensitivity), delta, sensitivity)

    def privacy_map(self, distance: float) -> float:
        """Exact epsilon, at ``delta``, between two inputs at L2 distance ``distance``."""
        return gaussian_epsilon(self.delta, self.sigma, distance) if distance > 0 else 0.0

    def profile(self, epsilon: float) -> float:
        """Exact delta at another ``epsilon`` >= 0, between any two users.

        Parameters
        ----------
        epsilon : float
            >= 0.

        Returns
        -------
        float
            delta(epsilon); 1 without noise.
        """
        return gaussian_delta(epsilon, self.sigma, self.sensitivity) if self.sigma > 0 else 1.0

    @property
    def domain(self) -> Numbers:
        """Numbers; the vectors of two users are at most ``sensitivity`` apart, in L2."""
        return Numbers(self.sensitivity, lambda rows: np.linalg.norm(rows, axis=1))

    @property
    def noise(self) -> tuple[float, NoiseLaw]:
        """The standard deviation and the law of Gaussian noise."""
        return self.sigma, GAUSSIAN

    def _loss(self, value: np.ndarray, second: np.ndarray) -> float:
        return self.privacy_map(float(np.linalg.norm(np.ravel(value - second))))
