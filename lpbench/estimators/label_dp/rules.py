"""Widths, neighborhoods and truncation levels of the label-DP theorems, with every constant stated.

The theorems give orders of magnitude. Here each rule balances the standard deviation of an estimate against a bias of
L h^beta, L being the ``holder`` constant, with the exact standard deviation of the noise in question. The constants are
therefore the same formula for every n and epsilon; nothing is chosen per point. With r = (p - 1) / p for labels with
E |Y|^p <= B^p (r = 1 and B = T for labels bounded by T), truncating at the level where the bias B^p T^(1-p) equals the
noise leaves an error B (noise of unit labels)^r. The rules of Theorems 10 and 12 amount to this.

Two printed rules do not attain the rates printed beside them, and are replaced by the balance that does: Theorem 10's
k ~ (N eps^2)^a needs a factor eps^-2, and Theorem 12's exponent of eps N in h needs a factor p - 1.
"""

import math


def tail_power(moment: float | None) -> float:
    """Return r = (p - 1) / p, the power of a bounded p-th moment, or 1 for bounded labels."""
    return 1.0 if moment is None else (moment - 1.0) / moment


def truncation(noise: float, bound: float, moment: float | None) -> float:
    """Level T at which labels are clipped: B^p T^(1-p) = T noise (of labels clipped at 1); B if bounded."""
    if moment is None:
        return bound
    return bound * noise ** (-1.0 / moment) if noise > 0 else math.inf


def knn_noise(k: int, epsilon: float) -> float:
    """Standard deviation of the mean of k draws of Laplace(2 / eps): sqrt(8 / k) / eps."""
    return math.sqrt(8.0 / k) / epsilon


def knn_size(n: int, d: int, epsilon: float, *, beta: float, holder: float, bound: float, moment: float | None) -> int:
    """Number of neighbors of Theorems 6 and 10: the larger of the non-private and the private balance.

    Non-private: B / sqrt(k) = L (k / n)^(beta / d). Private: B (sqrt(8 / k) / eps)^r = L (k / n)^(beta / d).
    """
    sides = [(1.0, 1.0)]
    if math.isfinite(epsilon):
        sides.append((8.0 / epsilon**2, tail_power(moment)))
    k = max(
        ((bound / holder) ** 2 * variance**r * n ** (2 * beta / d)) ** (1.0 / (2 * beta / d + r))
        for variance, r in sides
    )
    return int(min(max(math.ceil(k), 1), n))


def bins_for_width(width: float) -> int:
    """Bins per axis for cubes that are at least ``width`` wide."""
    return max(1, math.floor(1.0 / width))


def sampling_width(n: int, d: int, variance: float, *, beta: float, holder: float) -> float:
    """Width at which sqrt(variance / (n h^d)) = L h^beta (the term n^(-1 / (2 beta + d)) of all theorems)."""
    return (variance / (holder**2 * n)) ** (1.0 / (2 * beta + d))


def noise_width(
    per_cell: float, d: int, *, beta: float, holder: float, bound: float = 1.0, moment: float | None = None
) -> float:
    """Width at which B (per_cell / h^d)^r = L h^beta.

    ``per_cell`` / h^d is the standard deviation of the noise of one cube's estimate for labels clipped at 1. With
    per_cell ~ 1 / (eps N) this is Theorems 4, 8 and 12, with per_cell ~ 1 / (eps sqrt(N)) full LDP.
    """
    r = tail_power(moment)
    return (bound / holder * per_cell**r) ** (1.0 / (beta + d * r))


def mean_sensitivity(least: float) -> float:
    """L1 sensitivity of the map (sum / max(count, least) per cube) to one replaced record, for labels in [-1, 1].

    A record that moves changes two cubes; one that stays changes one label. In one cube, going from m - 1 records to m
    changes the value by at most 1 / least (m <= least), 2 / m (m - 1 >= least), or in between (the kink). Exact, at
    most 4 / least; the paper's bound is 6 / least, ``least`` being n_0 > 0 of label-DP eq. (35).
    """
    kink = math.ceil(least)
    moves = [2.0 / (kink + 1)]
    if kink != least:
        moves.append((kink - 1) / least + (2.0 - kink) / kink)
    if least >= 1:
        moves.append(1.0 / least)
    return max(2.0 * max(moves), 2.0 / max(least, 1.0))
