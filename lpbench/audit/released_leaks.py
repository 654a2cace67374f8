"""Minimal re-implementations of privacy errors found in released code: randomizers, and one learner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lpbench.audit.randomizers import Randomizer, message
from lpbench.privacy import Channel


def unary_keeps_other_bit(epsilon: float) -> Randomizer:
    """Symmetric unary encoding that flips every bit and then sets the value's own with probability p on top.

    P(bit = 1) is p + (1 - p) q for the value's bit in the place of p; the two bits that differ are the report.
    """
    p = 1.0 / (1.0 + math.exp(-epsilon / 2.0))
    return _two_bits(epsilon, own=p + (1.0 - p) * (1.0 - p), other=1.0 - p)


def rappor_never_clears(epsilon: float) -> Randomizer:
    """RAPPOR with one hash function whose bits are set with probability f / 2 and never cleared."""
    f = 2.0 / (1.0 + math.exp(epsilon / 2.0))
    return _two_bits(epsilon, own=1.0, other=f / 2.0)


def subset_in_order(epsilon: float, k: int = 8) -> Randomizer:
    """Subset selection sent as an array whose first entry is the value whenever the subset holds it.

    The first two entries are the report: with the subset's inclusion probability the value and another category, else
    two others. A category in second place is not the value.
    """
    size = max(2, round(k / (math.exp(epsilon) + 1.0)))
    p = size * math.exp(epsilon) / (size * math.exp(epsilon) + k - size)
    value, first, second = np.ogrid[:k, :k, :k]
    others = (first != value) & (second != value)
    table = np.where(first == value, p / (k - 1), others * (1.0 - p) / ((k - 1) * (k - 2))) * (first != second)
    return _channel(epsilon, table.reshape(k, -1))


def _two_bits(epsilon: float, own: float, other: float) -> Randomizer:
    first, second = np.array([1.0 - own, own]), np.array([1.0 - other, other])
    return _channel(epsilon, np.stack([np.kron(first, second), np.kron(second, first)]))


def _channel(epsilon: float, table: np.ndarray) -> Randomizer:
    return Randomizer("", "ldp", epsilon, [message(Channel(table), np.arange(len(table)), "report")], len(table))


def noisy_labels(y: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Laplace reports of labels, ndarray of shape (n,)."""
    return y + rng.laplace(scale=scale, size=np.shape(y))


class PriorOfTrueLabels:
    """Predicts a constant within an interval whose "private" prior holds the true labels beside the last batch's noise.

    Parameters
    ----------
    epsilon : float
        A third of it is meant for the prior.
    """

    def __init__(self, epsilon: float = 1.0, random_state: int = 0) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> PriorOfTrueLabels:
        """Fit; ``reports`` of the prior enter, and so do the labels."""
        rng = np.random.default_rng(self.random_state)
        batches = np.array_split(np.asarray(y, dtype=np.float64), 4)
        reports = [noisy_labels(batch, 3.0 / self.epsilon, rng) for batch in batches]
        prior = np.clip(np.concatenate([*batches, reports[-1]]), 0.0, 1.0)
        self.value_ = float(prior.mean())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the middle of the interval, shape (n,)."""
        return np.full(len(X), self.value_)


class PriorOfReports(PriorOfTrueLabels):
    """The valid counterpart: the prior is that of the reports."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> PriorOfReports:
        """Fit on reports alone."""
        rng = np.random.default_rng(self.random_state)
        batches = np.array_split(np.asarray(y, dtype=np.float64), 4)
        reports = [noisy_labels(batch, 3.0 / self.epsilon, rng) for batch in batches]
        self.value_ = float(np.clip(np.concatenate(reports), 0.0, 1.0).mean())
        return self


#: Name -> function of epsilon.
RANDOMIZERS: dict[str, Callable[[float], Randomizer]] = {
    f.__name__: f for f in (unary_keeps_other_bit, rappor_never_clears, subset_in_order)
}
#: Name -> (class, where it makes its reports).
LEARNERS: dict[str, tuple[Callable[..., Any], str]] = {
    "PriorOfTrueLabels": (PriorOfTrueLabels, "lpbench.audit.released_leaks.noisy_labels"),
}
