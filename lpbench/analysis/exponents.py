"""Exponents that theorems state and the inequalities under which they do: HistOfTree, LPCT, label DP.

Exponents are positive: a risk falls like (effective sample)^(-e). Orders are known up to a constant, so they serve as
reference slopes beside measured curves, never as values; inequalities are taken with the constant 1. Lower bounds have
a value, on the hard family of their proofs: :func:`two_point` is the least mean risk that any method can have there.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.datasets.label_dp import three_point

TASKS = ("classification", "regression")
MODELS = ("label_ldp", "ldp", "label_cdp", "cdp", "none")
#: Regimes: the term that rules a theorem's order at a point, or that its own inequality does not hold there.
PRIVATE, SAMPLING, OUTSIDE = "private term", "sampling term", "outside"


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


def semi_feature_regime(n: float, epsilon: float, *, alpha: float, d: int, n_protected: int) -> str:
    """Regime of HistOfTree Theorems 4.2 and 4.3 at a point.

    Theorem 4.3 asks for eps <= (n / log n)^(s / (alpha + d - s)); in Theorem 4.2 the private term is the larger one
    while e^eps - 1 <= n^(s / (4 alpha + 2d)).
    """
    if epsilon > (n / math.log(n)) ** (n_protected / (alpha + d - n_protected)):
        return OUTSIDE
    return PRIVATE if math.expm1(epsilon) <= n ** (n_protected / (4 * alpha + 2 * d)) else SAMPLING


def public_data_regime(
    n_private: float, n_public: float, epsilon: float, *, alpha: float, d: int, gamma: float, alpha_range: float = 0.0
) -> str:
    """Regime of LPCT Theorems 4 and 7 at a point: private data rule (private term), or public data (sampling term).

    They ask for n_P^(-alpha / (2 alpha + 2d)) <= eps <= n_P^(d / (4 a + 2d)), a being alpha in Theorem 4 and 1 in
    Theorem 7 (``alpha_range``; 0: alpha).
    """
    most = n_private ** (d / (4 * (alpha_range or alpha) + 2 * d))
    if not n_private ** (-alpha / (2 * alpha + 2 * d)) <= epsilon <= most:
        return OUTSIDE
    log_n = math.log(n_private + n_public)
    public = (n_public / log_n) ** ((2 * alpha + 2 * d) / (2 * gamma * alpha + d))
    return PRIVATE if n_private * epsilon**2 / log_n >= public else SAMPLING


def label_dp_regime(model: str, n: float, epsilon: float, rate: Rate) -> str:
    """Regime of a row of Table I at a point: N (eps^2 and 1) under local models, the larger term under central ones."""
    if model in ("label_cdp", "cdp"):
        private = (n * epsilon) ** -rate.privacy >= n**-rate.sampling
    else:
        private = model != "none" and epsilon <= 1
    return PRIVATE if private else SAMPLING


def reference_line(x: ArrayLike, y: ArrayLike, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """End points of the line of slope ``-exponent`` on log-log axes through the geometric middle of a curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    ends = np.array([x.min(), x.max()])
    centre = math.exp(np.mean(np.log(x))), math.exp(np.mean(np.log(y)))
    return ends, centre[1] * (ends / centre[0]) ** -exponent


def two_point(
    model: str,
    *,
    classes: bool,
    n: int,
    cubes: int,
    height: float,
    epsilon: float,
    moment: float | None = None,
    share: float = 1.0,
    public: tuple[int, float] = (0, 0.0),
) -> float:
    """Return the least excess risk of any method, averaged over independent fair signs of the cubes.

    The signs are those of :func:`lpbench.datasets.label_dp.sign_cubes` (Assouad: the cubes are independent problems of
    two points).

    A cube of k rows is a test of two simple hypotheses. ``label_ldp`` (and all that implies it: ``ldp``,
    ``semi_feature_ldp``; and ``none`` with epsilon = inf): every eps-LDP channel of a bit is a garbling of randomised
    response (Kairouz, Oh and Viswanath 2014), so that the Bayes risk of its k answers is exact. ``label_cdp`` (and
    ``cdp``): the exact error of the optimal eps-DP test of a binomial count (Awan and Slavkovic 2018); in regression a
    wrong sign costs height^2 at least.

    Protected features: ``cubes`` counts what the public features tell apart, and a row lies in one of its private cells
    with chance ``share``. Three-point labels, likewise: a row tells of the sign with chance P(Y != 0). A channel then
    sees the sign through a likelihood ratio of at most ((1 + h) e^eps + 1 - h) / ((1 - h) e^eps + 1 + h), diluted by
    the share, and two points whose likelihood ratio is bounded are a garbling of randomised response; the central model
    by group privacy of the labels that are not 0. ``public`` counts further rows, without privacy, whose labels agree
    with the sign of their cell by a signal of their own.
    """
    from scipy.stats import binom

    def rows(most: int, share: float) -> tuple[np.ndarray, np.ndarray]:
        mean = most * share
        reach = 9.0 * math.sqrt(mean) + 9.0
        k = np.arange(max(0, math.floor(mean - reach)), min(most, math.ceil(mean + reach)) + 1)
        return k, binom.pmf(k, most, share)

    scale, signal = (height, height) if classes else (height**2, height)
    epsilon = min(epsilon, 500.0)
    central, blind = model in ("label_cdp", "cdp"), 0.0
    if moment is not None:
        share = three_point(height, moment)[1]
        blind = scale * (1.0 - share / cubes) ** n
        if central:
            k, weight = rows(n, share / cubes)
            return max(blind / 2.0, scale * float(weight @ (1.0 / (1.0 + np.exp(np.minimum(epsilon * k, 500.0))))))
        signal = 1.0
    k, weight = rows(n, 1.0 / cubes)
    # chances that the optimal channel of a row agrees with the sign, times a common factor
    agrees, differs = ((1.0 + v * math.tanh(epsilon / 2.0)) * share for v in (signal, -signal))
    agrees, differs = (v + (1.0 - share) * (1.0 - math.tanh(epsilon / 2.0)) for v in (agrees, differs))
    keep = 0.5 * (1.0 + signal) if central else agrees / (agrees + differs)
    count = np.arange(k[-1] + 1)[:, None]
    chance = binom.pmf(count, k, keep)
    if central:
        return scale * float(weight @ (chance * _private_test(count - k / 2.0, epsilon)).sum(axis=0))
    lead = (2 * count - k) * (math.log(agrees / differs) if differs > 0 else 1e3)
    risk = 0.0
    for seen, likely in zip(*rows(public[0], share / cubes), strict=True):
        for right, often in zip(range(seen + 1), binom.pmf(range(seen + 1), seen, 0.5 * (1 + public[1])), strict=True):
            total = lead + (2 * right - seen) * 2.0 * math.atanh(public[1])
            wrong = 0.5 * (1.0 - np.sign(total)) if classes else 1.0 - np.tanh(total / 2.0) ** 2
            risk += likely * often * float(weight @ (chance * wrong).sum(axis=0))
    return max(blind, scale * risk)


def _private_test(lead: np.ndarray, epsilon: float) -> np.ndarray:
    """Chance that the optimal eps-DP test errs if the right side leads by this many votes over a draw."""
    distance = np.abs(lead)
    whole = np.floor(distance)
    first = np.where(distance == whole, 0.5, 1.0 / (1.0 + math.exp(epsilon)))
    behind = first * np.exp(-epsilon * whole)
    return np.where(lead >= 0, behind, 1.0 - behind)


def least_leak(hypotheses: int, epsilon: float, *, height: float, classes: bool, **family: Any) -> float:
    """Smallest budget at which the best method is seen (80 %, tests at 5 %) below the bound of ``epsilon``."""
    scale = height if classes else height**2

    def seen(spent: float) -> bool:
        value = two_point(epsilon=spent, height=height, classes=classes, **family)
        error = scale * math.sqrt(value / scale * (1.0 - value / scale) / hypotheses)
        return value + (1.645 + 0.842) * error <= floor

    floor = two_point(epsilon=epsilon, height=height, classes=classes, **family)
    low, high = epsilon, 64.0
    if not seen(high):
        return math.inf
    while high > 1.005 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high
