"""Empirical-Bayes estimates of how the residual differs between the bins of a protected feature."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

#: Variances of the effects that are averaged, in variances of the residual; 0 is no effect.
EFFECT_SHARES = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8)
#: Prior probability that a feature has no effect.
_NO_EFFECT = 0.8
#: Part of an effect's prior variance that is linear in the bin's position; the rest is independent between bins.
_LINEAR = 0.7
#: Prior variance of the common level of the bins, in variances of the residual: in effect flat.
_FLAT = 1e4


def bin_of(values: np.ndarray, bins: int) -> np.ndarray:
    """Equal bins of a feature in [0, 1], shape of ``values``."""
    return np.minimum((np.asarray(values) * bins).astype(np.int64), bins - 1)


def estimate_effects(products: np.ndarray, indicators: np.ndarray, residual_variance: float) -> np.ndarray:
    """Estimate the mean residual of each bin, relative to all users, from randomised reports.

    The sums S_j of residual-times-bin obey E S = diag(N) (a + g) with N the users in each bin, g the effects and a
    their common level; their covariance is estimated from the users' independent contributions. g ~ N(0, tau K) for
    tau on a grid, averaged by marginal likelihood.

    Parameters
    ----------
    products : ndarray of shape (n, K)
        Unbiased for residual times one-hot bin.
    indicators : ndarray of shape (n, K)
        Unbiased for the one-hot bin.
    residual_variance : float
        Scale of the prior.

    Returns
    -------
    ndarray of shape (K,)
        Effects, whose mean over the users is zero.
    """
    n, bins = products.shape
    total = products.sum(axis=0)
    users = np.maximum(indicators.sum(axis=0), 0.0) + 1e-9 * n
    centred = products - total / n
    noise = centred.T @ centred
    noise[np.diag_indices(bins)] += 1e-9 * np.trace(noise) + 1e-300
    prior = np.diag(users) @ _effect_kernel(users) @ np.diag(users)
    level = _FLAT * residual_variance * np.outer(users, users)
    evidence, effects = [], []
    for share in EFFECT_SHARES:
        covariance = noise + level + share * residual_variance * prior
        solved = np.linalg.solve(covariance, total)
        odds = np.log(_NO_EFFECT if share == 0.0 else (1.0 - _NO_EFFECT) / (len(EFFECT_SHARES) - 1))
        evidence.append(odds - 0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * total @ solved)
        effects.append(share * residual_variance * _effect_kernel(users) @ (users * solved))
    weights = np.exp(np.array(evidence) - logsumexp(evidence))
    result = weights @ np.array(effects)
    return result - users @ result / users.sum()


def _effect_kernel(users: np.ndarray) -> np.ndarray:
    """Prior covariance of the effects at unit variance: linear in the bin's position plus independent."""
    bins = users.size
    position = np.arange(bins) - users @ np.arange(bins) / users.sum()
    position /= np.sqrt(users @ position**2 / users.sum()) + 1e-12
    return _LINEAR * np.outer(position, position) + (1.0 - _LINEAR) * bins / max(bins - 1, 1) * np.eye(bins)
