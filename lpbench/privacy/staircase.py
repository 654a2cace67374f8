"""Staircase noise, the additive noise of least variance for a pure budget.

Source: Geng and Viswanath (2015), The optimal noise-adding mechanism in differential privacy. The density is constant
on steps of the length of the sensitivity; one step down costs the whole budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from lpbench.privacy.domain import Numbers
from lpbench.privacy.mechanism import AdditiveMechanism, check_epsilon, check_sensitivity, registered
from lpbench.privacy.rounded import LAPLACE, NoiseLaw

#: Relative error of a distance below which it counts as a whole number of steps.
_ROUNDING = 1e-12
#: Largest budget: beyond it the share of a step before the fall is 0 in doubles.
MOST_BUDGET = 2000.0


@registered(lambda epsilon: Staircase(epsilon, 2.0))
@dataclass(frozen=True)
class Staircase(AdditiveMechanism):
    """Add staircase noise to a number; the place of the steps minimizes the variance.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    sensitivity : float
        Largest distance of two users' numbers; public.

    Examples
    --------
    >>> from lpbench.privacy import Staircase
    >>> mechanism = Staircase(1.0)
    >>> round(mechanism.variance, 3)
    1.918
    >>> mechanism.epsilon
    1.0
    """

    budget: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget", most=MOST_BUDGET)
        check_sensitivity(self.sensitivity)

    @classmethod
    def for_budget(cls, epsilon: float, sensitivity: float = 1.0) -> Staircase:
        """Return the mechanism that spends exactly ``epsilon``.

        Parameters
        ----------
        epsilon : float
            Budget of the report, at most :data:`MOST_BUDGET`; inf: no privacy.
        sensitivity : float
            Largest distance of two users' numbers; public.

        Returns
        -------
        Staircase
            With the steps of least variance.
        """
        return cls(epsilon, sensitivity)

    @cached_property
    def high_share(self) -> float:
        """Share gamma of a stair (of width ``sensitivity``) that has the higher density; chosen for least variance."""
        b = math.exp(-self.budget)
        root = math.exp(-self.budget / 3.0) * ((1.0 + b) / 2.0) ** (1.0 / 3.0)
        return (root - b) / -math.expm1(-self.budget)

    def privacy_map(self, distance: float) -> float:
        """Exact epsilon between two inputs at the given distance: the budget for each step begun."""
        return math.ceil(distance / self.sensitivity - _ROUNDING) * self.budget if distance > 0 else 0.0

    @property
    def domain(self) -> Numbers:
        """Domain of single numbers, one a user: several different ones would cost the budget each."""
        return Numbers(self.sensitivity, alone=True)

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        if math.isinf(self.budget):
            return 0.0
        return self.sensitivity * self.sensitivity * noise_variance(self.budget, self.high_share)

    @cached_property
    def noise(self) -> tuple[float, NoiseLaw]:
        """The sensitivity, and the law of noise in units of it."""
        if math.isinf(self.budget):
            return 0.0, LAPLACE
        parameters = self.budget, self.high_share
        high = -math.expm1(-self.budget) / (self.high_share + (1.0 - self.high_share) * math.exp(-self.budget))
        steepness = 1.0 + 1.0 / high
        return self.sensitivity, NoiseLaw(
            partial(_exceeded, *parameters), partial(_survival, *parameters), steepness, 2.0**-46
        )


# At its begin a step has all of what is left, at its end the share b = e^-budget. It falls by ``high`` per length up to
# gamma, and by b times as much beyond.


def _exceeded(budget: float, gamma: float, p: np.ndarray) -> np.ndarray:
    """Size that staircase noise of unit sensitivity exceeds with probability p, entry by entry.

    ``gamma`` in (0, 1) is the place of the steps.
    """
    b = math.exp(-budget)
    high = -math.expm1(-budget) / (gamma + (1.0 - gamma) * b)
    step = np.floor(np.log(p) / -budget)
    remaining = p * np.exp(budget * step)
    beyond = 1.0 - (remaining - b) / max(high * b, np.finfo(float).tiny)
    at_gamma = b + high * b * (1.0 - gamma)
    return step + np.where(remaining >= at_gamma, (1.0 - remaining) / high, np.maximum(beyond, gamma))


def _survival(budget: float, gamma: Any, size: Any) -> Any:
    from mpmath import exp, floor, mpf

    b, gamma, step = exp(-mpf(budget)), mpf(gamma), floor(size)
    high, position = (1 - b) / (gamma + (1 - gamma) * b), size - step
    sums = b * (1 + high * (1 - max(position, gamma)))  # sums alone: the survival of far numbers keeps all its digits
    return b**step * (sums + high * max(gamma - position, 0))


def noise_variance(epsilon: float, high_share: float) -> float:
    """Variance of staircase noise at sensitivity 1 for any share of a step before the fall."""
    b, gamma = math.exp(-epsilon), high_share
    complement = -math.expm1(-epsilon)
    mean, second = b / complement, b * (1.0 + b) / complement**2
    high = second + gamma * mean + gamma**2 / 3.0
    low = second + (1.0 + gamma) * mean + (1.0 + gamma + gamma**2) / 3.0
    weight = (1.0 - gamma) * b
    return (gamma * high + weight * low) / (gamma + weight)
