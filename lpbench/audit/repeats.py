"""Recorded calls, executed again under fresh streams: does what fit and sweep ran have the law that was asked for?

A call is repeated while fit or sweep is still running, so that whatever is in the place of an honest function there is
what is sampled. Results are tested as they came, repeated, and user by user; an honest call is accused with probability
at most ``FALSE_ALARM`` by each of the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from lpbench.audit.drawn_laws import Law

#: Repetitions of a call, how many calls at one place are repeated, and draws of averages that they are compared with.
REPEATS, CALLS, HONEST = 60, 3, 240
#: Results of few users are repeated until there are so many values, at most ``MOST_REPEATS`` times.
ENOUGH, MOST_REPEATS = 4800, 400
#: Probability that an honest call is accused by a test.
FALSE_ALARM = 1e-9


def repetitions(law: Law) -> int:
    """How often a call with such a result is repeated."""
    parts = [law.noise, law.normal, *(told[0] for told in law.told[:1])]
    size = max((part.size for part in parts if part is not None), default=ENOUGH)
    return int(np.clip(ENOUGH // max(size, 1), REPEATS, MOST_REPEATS))


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
    if first.honest is not None and again:
        drawn = np.array([law.moments for law in everything])
        honest = np.array([first.honest(rng) for _ in range(HONEST)])
        p = min(stats.ks_2samp(a, b, method="asymp").pvalue for a, b in zip(drawn.T, honest.T, strict=True))
        if p < FALSE_ALARM / drawn.shape[1]:
            return f"averages of the reports are not those of the mechanism (p < {max(p, 1e-99):.0e})"
    return ""


def _wrong_noise(noise: np.ndarray) -> str:
    """Test standard Laplace variables (repetitions, n): sizes of the first row, of all, of each user; distribution."""
    for part in (noise[:1].reshape(-1, 1), noise.reshape(-1, 1), noise):
        size = np.abs(part).sum(axis=0)
        law = stats.gamma(len(part))
        p = float(np.min(2.0 * np.minimum(law.cdf(size), law.sf(size)))) * size.size
        if p < FALSE_ALARM:
            worst = size[np.argmin(np.minimum(law.cdf(size), law.sf(size)))] / len(part)
            return f"the noise is {worst:.3g} times as large as asked for (p < {max(p, 1e-99):.0e})"
    p = stats.kstest(noise.ravel(), "laplace").pvalue
    return f"the noise is not Laplace noise (p < {max(p, 1e-99):.0e})" if p < FALSE_ALARM else ""


def _wrong_rate(told: np.ndarray) -> str:
    """Test statistics in [0, 1], with means and variances (repetitions, 3, n), by Bernstein's bound."""
    users = told.transpose(1, 0, 2)
    for part in (users[:, :1].reshape(3, -1, 1), users.reshape(3, -1, 1), users):
        values, means, variances = part.sum(axis=1)
        gap = np.abs(values - means)
        p = np.min(2.0 * np.exp(-(gap**2) / (2.0 * (variances + gap / 3.0) + 1e-300))) * gap.size
        if p < FALSE_ALARM:
            worst = int(np.argmax(gap))
            rates = values[worst] / part.shape[1], means[worst] / part.shape[1]
            return f"reports tell the truth at rate {rates[0]:.3g} instead of {rates[1]:.3g} (p < {max(p, 1e-99):.0e})"
    return ""


def _wrong_sums(normal: np.ndarray, rng: np.random.Generator) -> str:
    """Test standard normal variables (repetitions, k): sizes of entries and of random combinations, and means."""
    k = normal.shape[1]
    weights = np.vstack([np.eye(k), rng.normal(size=(8, k))])
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    mixed = normal @ weights.T
    for part in (normal.reshape(-1, 1), mixed):
        size, law = (part**2).sum(axis=0), stats.chi2(len(part))
        p = float(np.min(2.0 * np.minimum(law.cdf(size), law.sf(size)))) * size.size
        if p < FALSE_ALARM:
            ratio = float(np.sqrt(size / len(part))[np.argmin(np.minimum(law.cdf(size), law.sf(size)))])
            return f"the noise of sums is {ratio:.3g} times as large as that of the reports (p < {max(p, 1e-99):.0e})"
    shift = np.abs(mixed.mean(axis=0)).max() * np.sqrt(len(mixed))
    p = 2.0 * stats.norm.sf(shift) * len(weights)
    return f"sums are shifted from those of the reports (p < {max(p, 1e-99):.0e})" if p < FALSE_ALARM else ""
