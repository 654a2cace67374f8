"""PrivUnitG: an unbiased private report of a unit vector (Asi, Feldman & Talwar 2022).

The report is a standard Gaussian vector whose component along the user's vector v is pushed above a threshold gamma
with probability p, and kept below it otherwise. With q = P(N(0, 1) >= gamma) its density relative to the standard
Gaussian is p/q above and (1 - p)/(1 - q) below, so that epsilon = log p(1 - q)/(q(1 - p)) exactly: epsilon splits into
logit(p) and logit(1 - q), and the split with the smallest variance is taken. Dividing by the mean of the component
along v makes the report unbiased.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, ndtri_exp

from lpbench.checks import check_whole
from lpbench.errors import DataError
from lpbench.privacy.domain import Directions
from lpbench.privacy.mechanism import Mechanism, check_epsilon, registered

_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


def _threshold_and_mean(keep_logit: float, epsilon: float) -> tuple[float, float]:
    """Return the threshold gamma and the mean of the component alpha along the vector, for unit-scale noise.

    p, the probability that alpha lies above gamma, is given by its natural logit, and q is that of pure Gaussian noise:
    E[alpha] = phi(gamma) (p/q - (1 - p)/(1 - q)).
    """
    log_q = log_expit(keep_logit - epsilon)
    gamma = -float(ndtri_exp(log_q))
    # p/q - (1 - p)/(1 - q) = (1 - e^-eps) p/q, free of cancellation at small and of overflow at large budgets.
    log_mean = -(gamma**2) / 2.0 - _LOG_SQRT_2PI + log_expit(keep_logit) - log_q
    return gamma, -math.expm1(-epsilon) * math.exp(log_mean)


def _second_moment(keep_logit: float, epsilon: float, dimension: int) -> float:
    """Mean squared length of a report: (E[alpha^2] + d - 1) / E[alpha]^2 with E[alpha^2] = 1 + gamma E[alpha].

    alpha is the component along the vector, d the ``dimension``.
    """
    gamma, mean = _threshold_and_mean(keep_logit, epsilon)
    return (gamma * mean + dimension) / mean**2


@lru_cache(maxsize=4096)
def _best_keep_logit(epsilon: float, dimension: int) -> float:
    """Logit of the p in [1/2, 1) of smallest variance; every p is private and unbiased, so it need not be exact."""
    result = minimize_scalar(
        lambda t: math.log(_second_moment(t, epsilon, dimension)), bounds=(0.0, epsilon), options={"xatol": 1e-9}
    )
    return float(result.x)


def unit_vectors(vectors: np.ndarray, u_sign: np.ndarray, fallback: np.ndarray) -> np.ndarray:
    """Turn vectors into random unit vectors whose mean is the vector clipped to length 1.

    A clipped g becomes ``+-g/|g|`` with probability ``(1 +- |g|)/2`` each; a zero vector becomes a uniform direction.
    PrivUnitG proves nothing for short vectors; this step happens on the device, before it, and costs nothing.

    Parameters
    ----------
    vectors : ndarray of shape (..., d)
        Gradients, finite. Lengths below 1e-154, whose squares underflow, count as zero.
    u_sign : ndarray of shape (...)
        Uniforms on [0, 1) that choose the sign.
    fallback : ndarray of shape (..., d)
        Standard Gaussian vectors for the directions of zero vectors; not those that are used for the report.

    Returns
    -------
    ndarray of shape (..., d)
        Vectors of length 1.
    """
    length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
    if not np.isfinite(length).all():
        raise DataError("vectors must be finite; has the gradient recursion diverged?")
    positive = np.asarray(u_sign) < (1.0 + np.minimum(length, 1.0)) / 2.0
    if (length == 0).any():
        vectors = np.where(length[..., None] > 0, vectors, fallback)
        length = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
    return vectors * (np.where(positive, 1.0, -1.0) / length)[..., None]


def privunit_reports(
    vectors: np.ndarray, along: np.ndarray, spread: np.ndarray | float, normals: np.ndarray
) -> np.ndarray:
    """Assemble reports from unit vectors and draws; all arguments broadcast over users, budgets, replications, ...

    For a recursion in which each step needs one report of many parallel runs, draw ``along`` for all steps first
    (:meth:`PrivUnitG.along`); each step costs one inner product and two multiply-adds.

    Parameters
    ----------
    vectors : ndarray of shape (..., d)
        Unit vectors.
    along : ndarray of shape (...)
        Component along the vector, from :meth:`PrivUnitG.along` (mean 1).
    spread : float or ndarray of shape (...)
        :attr:`PrivUnitG.spread` of the budgets.
    normals : ndarray of shape (..., d)
        Standard Gaussian vectors, of which the part across the vector is used.

    Returns
    -------
    ndarray of shape (..., d)
        Reports, unbiased for the unit vectors.
    """
    inner = np.einsum("...i,...i->...", vectors, normals)
    return (along - spread * inner)[..., None] * vectors + np.asarray(spread)[..., None] * normals


def report_coefficients(
    slope: np.ndarray,
    norm: np.ndarray,
    inner: np.ndarray,
    along: np.ndarray,
    spread: np.ndarray | float,
    u_sign: np.ndarray,
) -> np.ndarray:
    """Report gradients ``slope * v`` whose vectors v are never formed: the report is ``coefficient * v + spread * z``.

    :func:`unit_vectors` followed by :func:`privunit_reports`, for gradients with a short description (a scalar times
    the features, or products of a layer's inputs and outputs). A zero gradient becomes v with a random sign instead of
    a uniform direction, which has mean zero and length 1 as well.

    Parameters
    ----------
    slope : ndarray
        Signed factor of the gradient.
    norm, inner : ndarray
        Length of v, > 0, and its inner product with the standard Gaussian vector z.
    along, spread : float or ndarray
        Of :class:`PrivUnitG`, as in :func:`privunit_reports`.
    u_sign : float or ndarray
        Uniforms on [0, 1), as in :func:`unit_vectors`.

    Returns
    -------
    ndarray
        Coefficients of v, of the broadcast shape.
    """
    positive = u_sign < (1.0 + np.minimum(np.abs(slope) * norm, 1.0)) / 2.0
    sign = np.where(positive, 1.0, -1.0) * np.copysign(1.0, slope)
    return (sign * along - spread * inner / norm) / norm


@registered(lambda epsilon: PrivUnitG(epsilon, 3))
@dataclass(frozen=True)
class PrivUnitG(Mechanism):
    """Unbiased report of a unit vector of d coordinates; unbounded, of least mean squared length.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf returns the vector itself. Large budgets are *not* noiseless: the mean squared
        length falls to 1 only as d / (2 epsilon).
    dimension : int
        Number of coordinates d >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import PrivUnitG
    >>> mechanism = PrivUnitG(1.0, 3)
    >>> mechanism.epsilon
    1.0
    >>> mechanism.randomize(np.eye(3), np.random.default_rng(0)).shape
    (3, 3)
    """

    never_repeats = True

    budget: float
    dimension: int

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")
        check_whole("dimension", self.dimension, least=1)

    @cached_property
    def keep_logit(self) -> float:
        """Share of epsilon spent on p, the probability to stay above the threshold: logit(p)."""
        return math.inf if math.isinf(self.budget) else _best_keep_logit(float(self.budget), int(self.dimension))

    @property
    def keep(self) -> float:
        """Probability p that the component along the vector lies above the threshold."""
        return float(expit(self.keep_logit))

    @cached_property
    def _threshold_and_mean(self) -> tuple[float, float]:
        return _threshold_and_mean(self.keep_logit, float(self.budget))

    @property
    def threshold(self) -> float:
        """Threshold gamma of the component along the vector, in standard deviations."""
        return self._threshold_and_mean[0]

    @property
    def spread(self) -> float:
        """Standard deviation of a report across the vector, 1 / E[alpha] (0 if the budget is inf)."""
        return 0.0 if math.isinf(self.budget) else 1.0 / self._threshold_and_mean[1]

    @property
    def epsilon(self) -> float:
        """Exact epsilon between two different unit vectors: the budget, however close they are."""
        return float(self.budget)

    @property
    def bits(self) -> float:
        """Bits of a report: 64 for each coordinate."""
        return 64.0 * self.dimension

    def along(self, u_side: np.ndarray, u_tail: np.ndarray) -> np.ndarray:
        """Component of reports along the users' vectors, mean exactly 1.

        Parameters
        ----------
        u_side, u_tail : ndarray
            Uniforms on [0, 1): the side of the threshold (above iff u_side < p) and the place on that side.

        Returns
        -------
        ndarray
            Components, of the shape of ``u_side``.
        """
        if math.isinf(self.budget):
            return np.ones(np.shape(u_side))
        log_tail = np.log1p(-np.asarray(u_tail))
        log_q, log_below = (log_expit(s * (self.keep_logit - self.budget)) for s in (1.0, -1.0))
        above = np.asarray(u_side) < self.keep
        quantile = ndtri_exp(log_tail + np.where(above, log_q, log_below))
        # Below a threshold so high that P(below) rounds to 1, the last quantile would be infinite.
        return np.where(above, -quantile, np.minimum(quantile, self.threshold)) * self.spread

    @property
    def domain(self) -> Directions:
        """Domain of unit vectors; :func:`unit_vectors` maps shorter vectors to them."""
        return Directions(self.dimension)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        along = self.along(rng.random(len(values)), rng.random(len(values)))
        return privunit_reports(values, along, self.spread, rng.standard_normal(values.shape))

    def log_density(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Log-density, relative to N(0, spread^2 I), of reports (..., d) given unit vectors (finite budget).

        Parameters
        ----------
        reports : ndarray of shape (..., d)
            Reports.
        values : ndarray of shape (..., d)
            Unit vectors of the users.

        Returns
        -------
        ndarray of shape (...)
            Log-densities.
        """
        beyond = np.einsum("...i,...i->...", reports, values) >= self.threshold * self.spread
        tail_logit = self.budget - self.keep_logit
        above = log_expit(self.keep_logit) - log_expit(-tail_logit)
        return np.where(beyond, above, above - self.budget)

    def _loss(self, value: np.ndarray, second: np.ndarray) -> float:
        """Loss between two users' inputs, unit vectors ``value`` and ``second``: epsilon, whatever they are."""
        return self.epsilon

    def _influence(self) -> float:
        return math.inf


@registered(lambda epsilon: SignedPrivUnitG(epsilon, 3))
@dataclass(frozen=True)
class SignedPrivUnitG(PrivUnitG):
    """PrivUnitG of a clipped gradient g: of ``+-g/|g|`` with probability ``(1 +- |g|)/2``.

    Inputs are gradients, not zero, of any length.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import SignedPrivUnitG
    >>> mechanism = SignedPrivUnitG(1.0, 3)
    >>> mechanism.epsilon
    1.0
    >>> mechanism.randomize(0.5 * np.eye(3), np.random.default_rng(0)).shape
    (3, 3)
    """

    @property
    def domain(self) -> Directions:
        """Domain of vectors of any length but 0."""
        return Directions(self.dimension, unit=False)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return super()._draw(unit_vectors(values, rng.random(len(values)), rng.standard_normal(values.shape)), rng)

    def _loss(self, value: np.ndarray, second_value: np.ndarray) -> float:
        """Largest log-ratio of two users' mixtures over the regions that the thresholds of both cut out.

        The users' inputs are gradients. The density (relative to a Gaussian) takes one value where g z is above
        ``|gamma|``, one below ``-|gamma|``, one between. All nine pairs of regions exist unless the gradients are
        parallel; then there are three.
        """
        first, second = self._levels(value), self._levels(second_value)
        cosine = float(np.dot(value, second_value) / (np.linalg.norm(value) * np.linalg.norm(second_value)))
        if math.isclose(abs(cosine), 1.0, rel_tol=1e-12):
            second = second if cosine > 0 else second[::-1]
            return max(a - b for a, b in zip(first, second, strict=True))
        return max(first) - min(second)

    def _levels(self, gradient: ArrayLike) -> list[float]:
        """Log-densities, relative to a Gaussian, where g z is above, between and below the thresholds +-|gamma|."""
        along = (1.0 + min(float(np.linalg.norm(gradient)), 1.0)) / 2.0
        unit = np.eye(1, self.dimension)
        # Ends and middle of the first axis stand for the three regions.
        far = 2.0 * abs(self.threshold) * self.spread + 1.0
        points = np.array([[far], [0.0], [-far]]) * unit
        with np.errstate(divide="ignore"):
            weights = np.log([[along], [1.0 - along]])
        return list(np.logaddexp(*(weights + np.array([self.log_density(points, sign * unit) for sign in (1, -1)]))))
