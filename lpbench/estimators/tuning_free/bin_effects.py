"""Empirical-Bayes estimates of how the residual differs between the bins of a protected feature."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

#: Variances of the effects that are averaged, in variances of the residual; 0 is no effect.
EFFECT_SHARES = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 0.8)
#: Prior probability that a feature has no effect.
_NO_EFFECT = 0.8
#: Part of an effect's prior variance that is linear in the bin's position (of levels 0); the rest is independent
#: between bins.
LINEAR = 0.7
#: Prior variance of the common level of the bins, in variances of the residual: in effect flat.
_FLAT = 1e4
#: Fewest users of a bin that has an effect, and how many standard errors their estimated number is above zero.
_FEWEST, _ERRORS = 10.0, 3.0
#: Levels of a smaller share of the users go together.
_RARE = 0.02
#: Weights of the effects that are averaged.
_EFFECT_WEIGHTS = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True, eq=False)
class Effects:
    """Estimated mean residual in each bin of a protected feature, and the probability that the feature matters.

    ``values`` (bins,) are in units of the label.
    """

    values: np.ndarray  # (K,), mean zero over the users; zero for bins with few users
    probability: float  # that the feature has an effect, times the weight of the effects


def bin_of(values: np.ndarray, bins: int) -> np.ndarray:
    """Equal bins of a feature in [0, 1], shape of ``values``."""
    return np.minimum((np.asarray(values) * bins).astype(np.int64), bins - 1)


@dataclass(frozen=True, eq=False)
class Binning:
    """Bins of a protected feature: unions of equal cells of [0, 1], or of the levels that one-hot columns stand for.

    ``columns`` are the feature's columns of X, several if one-hot (``levels`` is True then), and ``bin_of_cell``
    (cells,) has the bin of each cell or level, the last one for "none of the columns".
    """

    columns: tuple[int, ...]
    bin_of_cell: np.ndarray  # of levels the last cell is none of the columns
    levels: bool = False

    @property
    def bins(self) -> int:
        """Return the number of bins."""
        return int(self.bin_of_cell.max()) + 1

    def of(self, X: np.ndarray) -> np.ndarray:
        """Bins of rows X (m, d) in [0, 1], shape (m,)."""
        values, cells = X[:, list(self.columns)], self.bin_of_cell.size
        if not self.levels:
            return np.asarray(self.bin_of_cell[bin_of(values[:, 0], cells)])
        return np.asarray(self.bin_of_cell[np.where(values.max(axis=1) > 0.5, values.argmax(axis=1), cells - 1)])

    def joined(self, products: np.ndarray, indicators: np.ndarray, bins: int) -> tuple[np.ndarray, bool]:
        """Join K bins to at most ``bins``: return the new bin of each, (K,), and True if labels decided which.

        Users are spread evenly over neighboring bins; levels that are too many are neighbors by their effects. A bin
        with few users joins another. ``products`` and ``indicators`` are those of :func:`estimate_effects`; shares are
        shrunk to equal ones by their known noise.
        """
        shares, cells, m = indicators.mean(axis=0), self.bins, len(indicators)
        excess, doubt = shares - 1.0 / cells, float(indicators.var(axis=0).mean()) / m
        shares = np.maximum(1.0 / cells + excess * max(0.0, 1.0 - doubt / max(float((excess**2).mean()), 1e-12)), 0.0)
        shares /= shares.sum()
        n_levels = int((shares > _RARE).sum())
        by_effect = self.levels and n_levels > bins
        if self.levels and not by_effect:
            rank = np.minimum(np.argsort(np.argsort(-shares, kind="stable")), n_levels - 1)
        else:
            mean = products.sum(axis=0) / np.maximum(m * shares, _FEWEST) if by_effect else np.arange(cells)
            order, rank = np.argsort(mean, kind="stable"), np.empty(cells, dtype=np.int64)
            parts = np.minimum(bins * (np.cumsum(shares[order]) - shares[order] / 2.0), bins - 1).astype(np.int64)
            held = shares[order] > _RARE
            rank[order] = np.maximum.accumulate(np.where(held, parts, parts[held].min(initial=bins - 1)))
        merged = np.unique(rank, return_inverse=True)[1]
        return (np.asarray(merged), by_effect) if merged.any() else (np.arange(cells), False)


def estimate_effects(
    products: np.ndarray,
    indicators: np.ndarray,
    residual_variance: float,
    floor: float = 0.0,
    linear: float = LINEAR,
    units: np.ndarray | None = None,
) -> Effects:
    """Estimate the mean residual of each bin, relative to all users, from randomized reports.

    The posterior mean of :func:`_posterior`, times the weight that reports give it which it has not seen. ``products``
    (n, K) are unbiased for residual times one-hot bin, ``indicators`` (n, K) for the bin; ``floor`` is the known
    variance of a product in a bin where nobody is. Reports of one of the ``units`` are in one half.
    """
    assumed = residual_variance, floor, linear
    values, probability = _posterior(products, indicators, *assumed)
    even = (np.arange(len(products)) if units is None else units) % 2 == 0
    weight = _weight(products, indicators, even, *assumed) if probability > 0.0 else 0.0
    return Effects(weight * values, weight * probability)


def _posterior(
    products: np.ndarray, indicators: np.ndarray, residual_variance: float, floor: float, linear: float
) -> tuple[np.ndarray, float]:
    """Posterior means of the effects (bins,), and the probability that there are any.

    ``products`` (n, bins) are the users' unbiased residual-times-bin, ``indicators`` (n, bins) their unbiased bins,
    ``floor`` the variance that the mechanism adds to a product at least, and ``linear`` the prior share of a linear
    effect. The sums S_j of the products obey E S = diag(N) (a + g) with N the users in each bin, g the effects and a
    their common level; their covariance is estimated from the users and is no smaller than the mechanism makes it. g ~
    N(0, tau K) for tau on a grid, averaged by marginal likelihood. Of bins whose estimated number of users is not
    clearly above zero nothing is learned (effect 0).
    """
    n, result = len(products), np.zeros(products.shape[1])
    count, spread = indicators.sum(axis=0), indicators.std(axis=0)
    # The users' own spread p (1 - p) over bins is no doubt about their number; what exceeds it is.
    doubt = np.sqrt(np.maximum(n * spread**2 - count * (1.0 - count / n), 0.0))
    held = count > np.maximum(_FEWEST, _ERRORS * doubt)
    if held.sum() < 2:
        return result, 0.0
    products, users = products[:, held], indicators[:, held].sum(axis=0)
    total, bins = products.sum(axis=0), int(held.sum())
    centered = products - total / n
    noise = centered.T @ centered
    least = n * floor + users * residual_variance
    noise[np.diag_indices(bins)] = np.maximum(np.diag(noise), least)
    kernel = _effect_kernel(users, linear)
    prior = np.diag(users) @ kernel @ np.diag(users)
    level = _FLAT * residual_variance * np.outer(users, users)
    evidence, effects = [], []
    for share in EFFECT_SHARES:
        covariance = noise + level + share * residual_variance * prior
        solved = np.linalg.solve(covariance, total)
        odds = np.log(_NO_EFFECT if share == 0.0 else (1.0 - _NO_EFFECT) / (len(EFFECT_SHARES) - 1))
        evidence.append(odds - 0.5 * np.linalg.slogdet(covariance)[1] - 0.5 * total @ solved)
        effects.append(share * residual_variance * kernel @ (users * solved))
    weights = np.exp(np.array(evidence) - logsumexp(evidence))
    averaged = weights @ np.array(effects)
    result[held] = averaged - users @ averaged / users.sum()
    return result, float(1.0 - weights[0])


def _weight(products: np.ndarray, indicators: np.ndarray, even: np.ndarray, *assumed: float) -> float:
    """Posterior mean, under a uniform prior on [0, 1], of the weight that effects deserve.

    ``products`` and ``indicators`` (n, bins) are as in :func:`_posterior`, which takes ``assumed``; ``even`` (n,) marks
    one half of the users. Each half is predicted with the effects that the other half gives: the sum of residual times
    effect is unbiased for the weight times the sum of squared effects, with a variance that the users' contributions
    show. Without two halves it is 1/2.
    """
    if even.all() or not even.any():
        return 0.5
    n = len(products)
    level = products.sum() / n
    deviations = products - level * indicators
    gain, information, spread = 0.0, 0.0, 0.0
    for seen, unseen in ((even, ~even), (~even, even)):
        effects, _ = _posterior(products[seen], indicators[seen], *assumed)
        contributions = deviations[unseen] @ effects
        gain += float(contributions.sum())
        information += float(np.maximum(indicators[unseen].sum(axis=0), 0.0) @ effects**2)
        spread += float(((contributions - contributions.mean()) ** 2).sum())
    if spread <= 0.0:
        return 0.5
    density = -0.5 * (gain - _EFFECT_WEIGHTS * information) ** 2 / spread
    density = np.exp(density - density.max())
    return float(density @ _EFFECT_WEIGHTS / density.sum())


def _effect_kernel(users: np.ndarray, linear: float) -> np.ndarray:
    """Prior covariance (bins, bins) of the effects at unit variance: linear in the bin's position plus independent.

    ``linear`` is the linear part's share. ``users`` (bins,) are estimated numbers of users, by which positions are
    centered and scaled.
    """
    bins = users.size
    position = np.arange(bins) - users @ np.arange(bins) / users.sum()
    position /= np.sqrt(users @ position**2 / users.sum()) + 1e-12
    return linear * np.outer(position, position) + (1.0 - linear) * bins / max(bins - 1, 1) * np.eye(bins)
