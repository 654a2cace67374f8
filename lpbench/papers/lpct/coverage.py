"""Coverage of Proposition 6 by simulation: how often a node's estimate is farther from its mean than r_k."""

import math

import numpy as np

from lpbench.seeds import Streams

#: Private and public rows, budget, depth of the tree, and draws.
PRIVATE, PUBLIC, EPSILON, DEPTH, NOISE_DRAWS = 90, 10, 1.0, 3, 40_000


def outside(seed: int) -> dict[str, int]:
    """Count simulated draws in which some node's estimate leaves its confidence radius.

    The radius is that of the proof's constant, and that of Algorithm 2 (λ = 1).
    """
    rng = Streams(seed).generator("coverage of r_k")
    leaves, log_n, eta = 2**DEPTH, math.log(PRIVATE + PUBLIC), 0.7
    private, public = (rng.multinomial(n, np.full(leaves, 1 / leaves), NOISE_DRAWS) for n in (PRIVATE, PUBLIC))
    spread = rng.standard_gamma(PRIVATE, (2, 2, NOISE_DRAWS, leaves))
    noise = (4 / EPSILON) * (spread[0] - spread[1])
    ones, ones_q = rng.binomial(private, eta), rng.binomial(public, eta)
    is_outside = np.zeros((2, NOISE_DRAWS), dtype=bool)
    for k in range(1, DEPTH + 1):
        sums = (private + noise[0], ones + noise[1], public, ones_q)
        u, v, u_q, v_q = (votes.reshape(NOISE_DRAWS, 2**k, -1).sum(axis=2) for votes in sums)
        level = 2.0 ** (DEPTH - k + 3) * PRIVATE / EPSILON**2
        deviation, noisy = np.abs(v + v_q - eta * (u + u_q)), level >= u
        is_outside[0] |= (deviation > np.sqrt((32 * np.maximum(level, u) + 8 * u_q) * log_n)).any(axis=1)
        # Algorithm 2 looks at P alone where the noise switch is on
        far, square = np.where(noisy, np.abs(v - eta * u), deviation), np.where(noisy, 4 * level, 32 * u + 4 * u_q)
        is_outside[1] |= (far > np.sqrt(square * log_n)).any(axis=1)
    return dict(zip(("(14), C₁ = 8 log n", "Algorithm 2"), is_outside.sum(axis=1).tolist(), strict=True))
