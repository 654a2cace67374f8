"""Privacy claims (pure, (epsilon, delta) or Renyi), and the test of each from how often one event occurs."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from lpbench.errors import ConfigurationError


@dataclass(frozen=True)
class PrivacyClaim:
    """Bound that a randomizer states for any two values: pure, (epsilon, delta) or Renyi."""

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


def clopper_pearson(hits: ArrayLike, n: int, failure: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided exact confidence limits of a probability, lower and upper; each fails with probability ``failure``."""
    hits = np.asarray(hits, dtype=np.float64)
    lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1.0), n - hits + 1.0, failure), 0.0)
    upper = np.where(hits < n, betaincinv(hits + 1.0, np.maximum(n - hits, 1.0), 1.0 - failure), 1.0)
    return lower, upper


def epsilon_from_counts(hits: ArrayLike, other_hits: ArrayLike, n: int, delta: float, failure: float) -> np.ndarray:
    """Lower bound log((p - delta) / q) from the counts of an event; each limit fails with ``failure`` / 2."""
    lower, _ = clopper_pearson(hits, n, failure / 2.0)
    _, upper = clopper_pearson(other_hits, n, failure / 2.0)
    return np.maximum(np.log(np.maximum(lower - delta, 1e-300)) - np.log(upper), 0.0)
