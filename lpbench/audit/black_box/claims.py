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

    def of_frequencies(self, p: np.ndarray, q: np.ndarray) -> float:
        """Loss between two laws on finitely many reports, both directions; exact if the frequencies are."""
        return max(self._one_way(p, q), self._one_way(q, p))

    def _one_way(self, p: np.ndarray, q: np.ndarray) -> float:
        seen = p > 0
        with np.errstate(divide="ignore"):
            ratios = np.log(p[seen]) - np.log(q[seen])
        if math.isfinite(self.order):
            a = self.order
            return max(float(np.logaddexp.reduce(np.log(p[seen]) + (a - 1) * ratios)) / (a - 1), 0.0)
        if self.delta == 0:
            return max(float(ratios.max()), 0.0)
        # The hockey-stick divergence is linear in e^epsilon between the ratios: on the k largest of them it is
        # P_k - e^epsilon Q_k, and the loss is the largest epsilon at which one of these reaches delta.
        order = np.argsort(-ratios)
        mass, other = np.cumsum(p[seen][order]) - self.delta, np.cumsum(q[seen][order])
        with np.errstate(divide="ignore"):
            return float(max((np.log(mass[mass > 0]) - np.log(other[mass > 0])).max(initial=0.0), 0.0))

    def __str__(self) -> str:
        if math.isfinite(self.order):
            return f"Renyi divergence {self.epsilon:g} of order {self.order:g}"
        return f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
