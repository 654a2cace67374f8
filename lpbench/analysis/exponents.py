"""Exponents that theorems state and the inequalities under which they do: HistOfTree, LPCT, label DP.

Exponents are positive: a risk falls like (effective sample)^(-e). Orders are known up to a constant, so they serve as
reference slopes beside measured curves, never as values; inequalities are taken with the constant 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

THEOREM_TASKS = ("classification", "regression")
MODELS = ("label_ldp", "ldp", "label_cdp", "cdp", "none")
#: Regimes: the term that rules a theorem's order at a point, or that its own inequality does not hold there.
PRIVATE_TERM, SAMPLING, OUTSIDE_RANGE = "private term", "sampling term", "outside"


@dataclass(frozen=True)
class Rate:
    """Exponents of a minimax rate: of the sampling term in N, and of the privacy term in its effective sample."""

    sampling: float  # exponent of N in the term without privacy; inf where the row has no such term of its own
    privacy: float  # exponent of the effective sample in the term that privacy adds; inf without privacy
    effective: str  # the effective sample of the privacy term


def table_i(task: str, model: str, *, beta: float, d: int, margin: float = 1.0, moment: float | None = None) -> Rate:
    """Return the rate of a task under a privacy model (label-DP Table I; (28) and (31) for heavy tails).

    ``ldp`` is full LDP, ``cdp`` full CDP; ``beta`` is the Hölder exponent, ``margin`` gamma (classification),
    ``moment`` p for labels with a bounded p-th moment (regression; None: bounded labels).
    """
    if task not in THEOREM_TASKS or model not in MODELS:
        raise ValueError(f"task={task!r} must be one of {THEOREM_TASKS} and model={model!r} one of {MODELS}")
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


def semi_feature_regime(n: float, epsilon: float, *, alpha: float, d: int, n_protected: int) -> str:
    """Regime of HistOfTree Theorems 4.2 and 4.3 at a point.

    Theorem 4.3 asks for eps <= (n / log n)^(s / (alpha + d - s)); in Theorem 4.2 the private term is the larger one
    while e^eps - 1 <= n^(s / (4 alpha + 2d)).
    """
    if epsilon > (n / math.log(n)) ** (n_protected / (alpha + d - n_protected)):
        return OUTSIDE_RANGE
    return PRIVATE_TERM if math.expm1(epsilon) <= n ** (n_protected / (4 * alpha + 2 * d)) else SAMPLING


def public_data_regime(
    n_private: float, n_public: float, epsilon: float, *, alpha: float, d: int, gamma: float, alpha_range: float = 0.0
) -> str:
    """Regime of LPCT Theorems 4 and 7 at a point: private data rule (private term), or public data (sampling term).

    They ask for n_P^(-alpha / (2 alpha + 2d)) <= eps <= n_P^(d / (4 a + 2d)), a being alpha in Theorem 4 and 1 in
    Theorem 7 (``alpha_range``; 0: alpha).
    """
    most = n_private ** (d / (4 * (alpha_range or alpha) + 2 * d))
    if not n_private ** (-alpha / (2 * alpha + 2 * d)) <= epsilon <= most:
        return OUTSIDE_RANGE
    log_n = math.log(n_private + n_public)
    public = (n_public / log_n) ** ((2 * alpha + 2 * d) / (2 * gamma * alpha + d))
    return PRIVATE_TERM if n_private * epsilon**2 / log_n >= public else SAMPLING


def label_dp_regime(model: str, n: float, epsilon: float, rate: Rate) -> str:
    """Regime of a row of Table I at a point: N (eps^2 and 1) under local models, the larger term under central ones."""
    if model in ("label_cdp", "cdp"):
        private = (n * epsilon) ** -rate.privacy >= n**-rate.sampling
    else:
        private = model != "none" and epsilon <= 1
    return PRIVATE_TERM if private else SAMPLING


def reference_line(x: ArrayLike, y: ArrayLike, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """End points of the line of slope ``-exponent`` on log-log axes through the geometric middle of a curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    ends = np.array([x.min(), x.max()])
    center = math.exp(np.mean(np.log(x))), math.exp(np.mean(np.log(y)))
    return ends, center[1] * (ends / center[0]) ** -exponent
