"""A bound from both probabilities of an event together, which needs fewer reports than a limit for each of them.

Split likelihood ratio (Wasserman, Ramdas and Balakrishnan, "Universal inference", 2020): the pilot half of the reports
says which probabilities to bet on, the tested half is the bet. If (p, q) keeps a claim, the ratio of the likelihood
averaged over the pilot's beliefs to the largest likelihood under the claim has mean 1 at most, and so exceeds
1 / failure with that probability at most. A larger epsilon allows more, so that the ratio falls with it, and the
largest epsilon at which it is still above is a lower bound on the loss.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, xlog1py, xlogy

#: Halvings of an interval.
_STEPS = 30


def joint_bound(
    hits: tuple[int, int], n: int, pilot: tuple[int, int], n_pilot: int, delta: float, failure: float
) -> float:
    """Lower bound on epsilon from the counts of an event under two values."""
    bet = sum(
        betaln(a + h + 1, n_pilot - a + n - h + 1) - betaln(a + 1, n_pilot - a + 1)
        for h, a in zip(hits, pilot, strict=True)
    ) + math.log(failure)

    def is_refuted(epsilon: float) -> bool:
        weight = math.exp(epsilon)
        return hits[0] > weight * hits[1] + delta * n and bet > _likelihood(hits, n, weight, delta)

    if not is_refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while is_refuted(high):
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def _likelihood(hits: tuple[int, int], n: int, weight: float, delta: float) -> float:
    """Largest log-likelihood with p = weight q + delta: counts that break the claim come nearest to it on its edge."""
    low, high = 0.0, (1.0 - delta) / weight

    def slope(q: float) -> float:
        p = weight * q + delta
        rise = weight * hits[0] / p + (hits[1] / q if hits[1] else 0.0)
        fall = weight * (n - hits[0]) / (1.0 - p) if p < 1.0 else math.inf if hits[0] < n else 0.0
        return rise - fall - (n - hits[1]) / (1.0 - q)

    for _ in range(2 * _STEPS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    q = (low + high) / 2.0
    p = min(weight * q + delta, 1.0)
    parts = np.array([p, q]), np.array(hits)
    return float((xlogy(parts[1], parts[0]) + xlog1py(n - parts[1], -parts[0])).sum())
