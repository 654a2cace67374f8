"""Exponents that theorems state: label-DP Table I, minimax orders of HistOfTree Theorem 4.2 and LPCT Theorem 3.

Exponents are positive: a risk falls like (effective sample)^(-e). Orders are known up to a constant, so they serve as
reference slopes beside measured curves, never as values. Lower bounds have a value, on the hard family of their proofs:
:func:`two_point` is the least mean risk that any method can have there.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.datasets.label_dp import three_point

TASKS = ("classification", "regression")
MODELS = ("label_ldp", "ldp", "label_cdp", "cdp", "none")


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


def reference_line(x: ArrayLike, y: ArrayLike, exponent: float) -> tuple[np.ndarray, np.ndarray]:
    """End points of the line of slope ``-exponent`` on log-log axes through the geometric middle of a curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    ends = np.array([x.min(), x.max()])
    centre = math.exp(np.mean(np.log(x))), math.exp(np.mean(np.log(y)))
    return ends, centre[1] * (ends / centre[0]) ** -exponent


def two_point(
    model: str, *, classes: bool, n: int, cubes: int, height: float, epsilon: float, moment: float | None = None
) -> float:
    """Least excess risk, averaged over independent fair signs of the cubes, of any method on the signs of
    :func:`lpbench.datasets.label_dp.sign_cubes` (Assouad: the cubes are independent problems of two points).

    A cube of k rows is a test of two simple hypotheses. ``label_ldp`` (and all that implies it: ``ldp``,
    ``semi_feature_ldp``; and ``none`` with epsilon = inf): every eps-LDP channel of a bit is a garbling of randomised
    response (Kairouz, Oh and Viswanath 2014), so that the Bayes risk of its k answers is exact. ``label_cdp`` (and
    ``cdp``): the exact error of the optimal eps-DP test of a binomial count (Awan and Slavkovic 2018); in regression a
    wrong sign costs height^2 at least. Three-point labels: a channel sees the sign through a likelihood ratio of at
    most 1 + q (e^eps - 1), q being P(Y != 0); the central model by group privacy of the labels that are not 0.
    """
    from scipy.stats import binom

    def rows(share: float) -> tuple[np.ndarray, np.ndarray]:
        mean = n * share
        reach = 9.0 * math.sqrt(mean) + 9.0
        k = np.arange(max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach)) + 1)
        return k, binom.pmf(k, n, share)

    scale, signal = (height, height) if classes else (height**2, height)
    epsilon = min(epsilon, 500.0)
    central, blind = model in ("label_cdp", "cdp"), 0.0
    if moment is not None:
        share = three_point(height, moment)[1]
        blind = scale * (1.0 - share / cubes) ** n
        if central:
            k, weight = rows(share / cubes)
            return max(blind / 2.0, scale * float(weight @ (1.0 / (1.0 + np.exp(np.minimum(epsilon * k, 500.0))))))
        signal, epsilon = 1.0, math.log1p(share * math.expm1(epsilon))
    k, weight = rows(1.0 / cubes)
    keep = 0.5 * (1.0 + signal * (1.0 if central else math.tanh(epsilon / 2.0)))
    count = np.arange(k[-1] + 1)[:, None]
    chance = binom.pmf(count, k, keep)
    if central:
        risk = _private_test(count - k / 2.0, epsilon)
    elif classes:
        risk = 0.5 * (1.0 - np.sign(2 * count - k))
    elif keep < 1:
        risk = 1.0 - np.tanh((count - k / 2.0) * math.log(keep / (1.0 - keep))) ** 2
    else:
        risk = np.zeros(chance.shape)
    return max(blind, scale * float(weight @ (chance * risk).sum(axis=0)))


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
