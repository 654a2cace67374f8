"""Exponents that theorems state: label-DP Table I, minimax orders of HistOfTree Theorem 4.2 and LPCT Theorem 3.

Exponents are positive: a risk falls like (effective sample)^(-e). Orders are known up to a constant, so they serve as
reference slopes beside measured curves, never as values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

TASKS = ("classification", "regression")
MODELS = ("label_ldp", "ldp", "label_cdp", "cdp", "none")


@dataclass(frozen=True)
class Rate:
    """Rate of one row of label-DP Table I."""

    sampling: float  # exponent of N in the term without privacy; inf where the row has no such term of its own
    privacy: float  # exponent of the effective sample in the term that privacy adds; inf without privacy
    effective: str  # the effective sample of the privacy term

    def leading(self) -> float:
        """Exponent of N for N to infinity at a fixed budget: the slower of the two terms."""
        return min(self.sampling, self.privacy)


def table_i(task: str, model: str, *, beta: float, d: int, margin: float = 1.0, moment: float | None = None) -> Rate:
    """Return the rate of a task under a privacy model (label-DP Table I; (28) and (31) for heavy tails).

    ``ldp`` is full LDP, ``cdp`` full CDP; ``beta`` is the Hölder exponent, ``margin`` gamma (classification),
    ``moment`` p for labels with a bounded p-th moment (regression; None: bounded labels).
    """
    if task not in TASKS or model not in MODELS:
        raise ValueError(f"task={task!r} must be one of {TASKS} and model={model!r} one of {MODELS}")
    # Classification squares nothing and gains the margin; regression is squared: factors beta (gamma + 1) and 2 beta.
    gain = beta * (margin + 1) if task == "classification" else 2 * beta
    r = 1.0 if moment is None or task == "classification" else (moment - 1) / moment
    sampling = gain / (2 * beta + d)
    if model == "none":
        return Rate(sampling, math.inf, "")
    if model == "label_ldp":
        private = gain * r / (2 * beta + d * r)
        return Rate(sampling if r < 1 else math.inf, private, "N eps^2")
    if model == "ldp":
        return Rate(math.inf, gain * r / (2 * beta + 2 * d * r), "N eps^2")
    return Rate(sampling, gain * r / (beta + d * r), "N eps")


def semi_feature_exponent(alpha: float, d: int, n_protected: int) -> float:
    """Exponent of n (e^eps - 1)^2 in HistOfTree Theorem 4.2, (10): 2 alpha / (2 alpha + d + s*)."""
    return 2 * alpha / (2 * alpha + d + n_protected)


def public_data_exponents(alpha: float, d: int, margin: float, gamma: float) -> tuple[float, float]:
    """Exponents of LPCT Theorem 3 in n_P (where private data dominate) and in n_Q (where public data do).

    The order is (n_P (e^eps - 1)^2 + n_Q^((2 alpha + 2d) / (2 gamma alpha + d)))^-e, e = alpha (margin + 1) /
    (2 alpha + 2d).
    """
    gain = alpha * (margin + 1)
    return gain / (2 * alpha + 2 * d), gain / (2 * gamma * alpha + d)


def reference_line(x: ArrayLike, y: ArrayLike, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """End points of the line of slope ``-exponent`` on log-log axes through the geometric middle of a curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    ends = np.array([x.min(), x.max()])
    centre = math.exp(np.mean(np.log(x))), math.exp(np.mean(np.log(y)))
    return ends, centre[1] * (ends / centre[0]) ** -exponent
