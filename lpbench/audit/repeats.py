"""Recorded calls, executed again under fresh streams: does what fit and sweep ran have the law that was asked for?

A call is repeated while fit or sweep is still running, so that whatever is in the place of an honest function there is
what is sampled. Results are tested as they came, repeated, and user by user; an honest call is accused with probability
at most ``FALSE_ALARM`` by each of the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats
from scipy.special import rel_entr

from lpbench.audit.drawn_laws import Law

#: Repetitions of a call that makes noise, and of one that tells the truth or not; calls that are repeated at one place.
REPEATS, MORE_REPEATS, CALLS = 60, 100, 3
#: Results of few users are repeated until there are so many values, at most ``MOST_REPEATS`` times.
ENOUGH, MOST_REPEATS = 4800, 400
#: Random combinations of sums that are tested.
_COMBINATIONS = 8
#: Sums of smaller variance are not normal enough for their own variance to be tested.
_LEAST_VARIANCE = 5.0
#: Probability that an honest call is accused by a test.
FALSE_ALARM = 1e-9


def repetitions(law: Law) -> int:
    """How often a call with such a result is repeated."""
    parts = [law.noise, law.normal, *(told[0] for told in law.told[:1])]
    size = max((part.size for part in parts if part is not None), default=ENOUGH)
    return int(np.clip(ENOUGH // max(size, 1), MORE_REPEATS if law.told else REPEATS, MOST_REPEATS))


def broken_law(first: Law, again: Sequence[Law], rng: np.random.Generator) -> str:
    """Say how the results of a call differ from their law; empty if they do not."""
    everything = [first, *again]
    if first.noise is not None and np.any(first.noise):
        found = _wrong_noise(np.array([law.noise for law in everything]))
        if found:
            return found
    for k in range(len(first.told)):
        # What a call draws beforehand, as blind cells, is the same in its repetitions.
        laws = everything if k == 0 else everything[:1]
        found = _wrong_rate(np.array([law.told[k] for law in laws]))
        if found:
            return found
    if first.normal is not None and first.normal.size:
        found = _wrong_sums(np.array([law.normal for law in everything]), rng)
        if found:
            return found
    return ""


def _wrong_noise(noise: np.ndarray) -> str:
    """Test standard Laplace variables (repetitions, n): sizes of the first row, of all, by user; law; tails; pairs."""
    for part in (noise[:1].reshape(-1, 1), noise.reshape(-1, 1), noise):
        size = np.abs(part).sum(axis=0)
        law = stats.gamma(len(part))
        p = float(np.min(2.0 * np.minimum(law.cdf(size), law.sf(size)))) * size.size
        if p < FALSE_ALARM:
            worst = size[np.argmin(np.minimum(law.cdf(size), law.sf(size)))] / len(part)
            return f"the noise is {worst:.3g} times as large as asked for (p < {max(p, 1e-99):.0e})"
    p = stats.kstest(noise.ravel(), "laplace").pvalue
    if p < FALSE_ALARM:
        return f"the noise is not Laplace noise (p < {max(p, 1e-99):.0e})"
    # A tail that ends tells values apart with certainty, however little of the noise lies beyond.
    ends = ((np.abs(noise).max(), 1.0), (noise.max(), 0.5), (-noise.min(), 0.5))
    p, end = min((float(np.exp(noise.size * np.log1p(-share * np.exp(-max(end, 0.0))))), end) for end, share in ends)
    if p < FALSE_ALARM:
        return f"the noise ends at {end:.3g} times its scale (p < {max(p, 1e-99):.0e})"
    return _dependent(normal_scores(noise), "the noise of two users goes together")


def normal_scores(noise: np.ndarray) -> np.ndarray:
    """Turn standard Laplace variables into standard normal ones."""
    return np.asarray(np.sign(noise) * stats.norm.isf(np.exp(-np.abs(noise)) / 2.0))


def _dependent(normal: np.ndarray, what: str) -> str:
    """Test standard normal variables (repetitions, n) for correlated columns, and for a column total that cancels."""
    normal = normal[:, normal.any(axis=0)]
    repetitions, n = normal.shape
    if repetitions < 4 or n < 2:
        return ""
    unit = normal / np.linalg.norm(normal, axis=0)
    r = np.clip((unit.T @ unit)[np.triu_indices(n, 1)], -1.0, 1.0)
    t = np.sqrt(repetitions - 1.0) * np.abs(r) / np.sqrt(np.maximum(1.0 - r**2, 1e-300))
    p = 2.0 * float(stats.t(repetitions - 1).sf(t.max())) * r.size
    total = float((normal.sum(axis=1) ** 2).sum()) / n
    law = stats.chi2(repetitions)
    p = min(p, 2.0 * float(min(law.cdf(total), law.sf(total))))
    return f"{what} (p < {max(p, 1e-99):.0e})" if p < FALSE_ALARM else ""


def _wrong_rate(told: np.ndarray) -> str:
    """Test statistics in [0, 1], with means and variances (repetitions, 3, n): first row, all, by user; totals."""
    users = told.transpose(1, 0, 2)
    for part in (users[:, :1].reshape(3, -1, 1), users.reshape(3, -1, 1), users):
        values, means, variances = part.sum(axis=1)
        p = min(
            bernstein(values - means, variances),
            _chernoff(values / part.shape[1], means / part.shape[1], part.shape[1]),
        )
        if p < FALSE_ALARM:
            worst = int(np.argmax(np.abs(values - means)))
            rates = values[worst] / part.shape[1], means[worst] / part.shape[1]
            return f"reports tell the truth at rate {rates[0]:.3g} instead of {rates[1]:.3g} (p < {max(p, 1e-99):.0e})"
    values, means, variances = users.sum(axis=2)
    many = variances > _LEAST_VARIANCE
    if many.sum() < 2:
        return ""
    total = float(((values - means)[many] ** 2 / variances[many]).sum())
    law = stats.chi2(int(many.sum()))
    p = 2.0 * float(min(law.cdf(total), law.sf(total)))
    return f"which users tell the truth goes together (p < {max(p, 1e-99):.0e})" if p < FALSE_ALARM else ""


def bernstein(gaps: np.ndarray, variances: np.ndarray, most: float = 1.0) -> float:
    """Bound the probability that a sum of independent variables of size at most ``most`` lies so far from its mean.

    Parameters
    ----------
    gaps, variances : ndarrays
        Of several sums.

    Returns
    -------
    float
        For the worst of them, times their number.
    """
    exponent = gaps**2 / (2.0 * (variances + most * np.abs(gaps) / 3.0) + 1e-300)
    return float(np.min(2.0 * np.exp(-exponent), initial=1.0)) * np.size(gaps)


def _chernoff(rates: np.ndarray, means: np.ndarray, count: int) -> float:
    """As :func:`bernstein`, for averages of ``count`` statistics in [0, 1] (Hoeffding's first inequality)."""
    means = np.clip(means, 1e-300, 1.0 - 1e-16)
    divergence = rel_entr(rates, means) + rel_entr(1.0 - rates, 1.0 - means)
    return float(np.min(2.0 * np.exp(-count * divergence), initial=1.0)) * np.size(rates)


def _wrong_sums(normal: np.ndarray, rng: np.random.Generator) -> str:
    """Test standard normal variables (repetitions, k): sizes of entries and of random combinations, and means."""
    weights = rng.normal(size=(_COMBINATIONS, normal.shape[1]))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    mixed = np.hstack([normal, normal @ weights.T])
    for part in (normal.reshape(-1, 1), mixed):
        size, law = (part**2).sum(axis=0), stats.chi2(len(part))
        p = float(np.min(2.0 * np.minimum(law.cdf(size), law.sf(size)))) * size.size
        if p < FALSE_ALARM:
            ratio = float(np.sqrt(size / len(part))[np.argmin(np.minimum(law.cdf(size), law.sf(size)))])
            return f"the noise of sums is {ratio:.3g} times as large as that of the reports (p < {max(p, 1e-99):.0e})"
    shift = np.abs(mixed.mean(axis=0)).max() * np.sqrt(len(mixed))
    p = 2.0 * stats.norm.sf(shift) * mixed.shape[1]
    return f"sums are shifted from those of the reports (p < {max(p, 1e-99):.0e})" if p < FALSE_ALARM else ""
