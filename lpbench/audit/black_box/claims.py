"""Privacy claims (pure, (epsilon, delta) or Renyi), and the test of each from how often one event occurs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lpbench.audit.empirical import clopper_pearson, epsilon_from_counts
from lpbench.errors import ConfigurationError


@dataclass(frozen=True)
class PrivacyClaim:
    """What a randomizer promises for any two values."""

    epsilon: float  # bound on the loss
    delta: float = 0.0  # P(A | v) <= e^epsilon P(A | w) + delta for every event A
    order: float = math.inf  # of the Renyi divergence that ``epsilon`` bounds; inf for differential privacy

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < math.inf:
            raise ConfigurationError(f"epsilon={self.epsilon!r} must be a finite number >= 0")
        if not 0 <= self.delta < 1:
            raise ConfigurationError(f"delta={self.delta!r} must be in [0, 1)")
        if not self.order > 1:
            raise ConfigurationError(f"renyi={self.order!r} must be a number > 1, the order of the divergence")
        if self.delta and math.isfinite(self.order):
            raise ConfigurationError(f"delta={self.delta!r} and renyi={self.order!r}: a Renyi claim has no delta")

    def proven(self, hits: ArrayLike, others: ArrayLike, n: int, failure: float) -> np.ndarray:
        """Lower bounds on the loss from the counts of events under two values, the first the likelier.

        For a Renyi claim, the divergence between the two Bernoulli laws of the event, which is at most that between the
        laws of the reports (data processing).
        """
        if math.isinf(self.order):
            return epsilon_from_counts(hits, others, n, self.delta, failure)
        p, _ = clopper_pearson(hits, n, failure / 2.0)
        _, q = clopper_pearson(others, n, failure / 2.0)
        a = self.order
        with np.errstate(divide="ignore"):
            logs = a * np.log(p) + (1 - a) * np.log(q), a * np.log1p(-p) + (1 - a) * np.log1p(-q)
        return np.where(p > q, np.maximum(np.logaddexp(*logs) / (a - 1), 0.0), 0.0)

    def __str__(self) -> str:
        if math.isfinite(self.order):
            return f"Renyi divergence {self.epsilon:g} of order {self.order:g}"
        return f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
