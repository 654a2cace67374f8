"""Tests in distribution. Every one has error probability ALPHA per call under its (fixed) seed."""

import numpy as np
from scipy import stats

ALPHA = 1e-6

#: Budgets of the figures, including those that mean "no privacy" there.
BUDGETS = [1e-3, 0.5, 1.0, 4.0, 16.0, 1000.0, 1024.0]


def assert_same_law(first, second) -> None:
    """Two-sample Kolmogorov-Smirnov test (conservative where there are ties)."""
    assert stats.ks_2samp(np.ravel(first), np.ravel(second)).pvalue > ALPHA


def assert_law(sample, cdf) -> None:
    assert stats.kstest(np.ravel(sample), cdf).pvalue > ALPHA


def assert_frequencies(categories, probabilities) -> None:
    """Chi-square test of integer draws against the probabilities of 0, 1, ...; impossible ones must not occur."""
    probabilities = np.asarray(probabilities, dtype=float)
    counts = np.bincount(np.ravel(categories), minlength=len(probabilities))
    assert len(counts) == len(probabilities)
    assert counts[probabilities == 0].sum() == 0
    possible = probabilities > 0
    if possible.sum() == 1:
        return
    assert counts.sum() * probabilities[possible].min() >= 5, "too few draws for the chi-square approximation"
    expected = counts.sum() * probabilities[possible] / probabilities.sum()
    assert stats.chisquare(counts[possible], expected).pvalue > ALPHA


def assert_mean(sample, mean, standard_deviation) -> None:
    """Two-sided z-test of the mean over the first axis, Bonferroni-corrected over the other entries."""
    sample = np.asarray(sample, dtype=float)
    z = np.abs(sample.mean(axis=0) - mean) / (np.asarray(standard_deviation) / np.sqrt(len(sample)))
    assert 2 * stats.norm.sf(np.max(z)) * np.size(z) > ALPHA


class Given:
    """In the place of a Generator: whole numbers that a test chooses, and uniforms of one half."""

    def __init__(self, numbers, bound):
        self._numbers, self._bound = np.asarray(numbers), bound

    def integers(self, bound, size=None):
        """Return the chosen numbers; the code must ask for as many as the test counts."""
        assert bound == self._bound and np.size(self._numbers) == np.prod(size, dtype=int)
        return self._numbers.reshape(size)

    def random(self, size=None):
        """Return halves."""
        return np.full(size, 0.5)
