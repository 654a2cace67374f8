"""Wilcoxon, Holm, stars and bolds on tables small enough to do by hand."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from lpbench.analysis.significance import better, bolds, holm, signed_rank, stars


def test_signed_rank_by_hand():
    # all three positive: only one of the 8 sign patterns is as extreme
    assert signed_rank([1.0, 2.0, 3.0]) == pytest.approx(1 / 8)
    assert signed_rank([0.0, 0.0, 0.0]) == 1.0
    # the normal law says 0.035 for five equal gains, of which there are 32 sign patterns
    assert signed_rank(np.full(5, 0.01)) == pytest.approx(1 / 32)
    # a difference below 12 digits is no difference
    assert signed_rank([1e-13, -1e-14]) == 1.0


@pytest.mark.parametrize("n", [4, 6, 8])
@pytest.mark.parametrize("seed", range(5))
def test_signed_rank_with_ties_has_its_exact_law(n, seed):
    # accuracies on few test rows: differences tie in size and some are zero
    difference = np.random.default_rng([n, seed]).integers(-2, 4, n) / 100
    kept = difference[difference != 0]
    ranks = rankdata(np.abs(kept))
    sums = [np.dot(ranks, signs) for signs in itertools.product([0, 1], repeat=kept.size)]
    expected = np.mean(np.array(sums) >= ranks[kept > 0].sum() - 1e-9) if kept.size else 1.0
    assert signed_rank(difference) == pytest.approx(expected)


@pytest.mark.parametrize("n", [10, 50, 100])
def test_without_ties_the_law_is_that_of_scipy(n):
    difference = np.random.default_rng(n).normal(0.2, 1, n)
    assert signed_rank(difference) == pytest.approx(wilcoxon(difference, alternative="greater", method="exact").pvalue)


def test_better_respects_the_direction():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    assert better(a, b, larger_is_better=False) == pytest.approx(1 / 8)
    assert better(a, b, larger_is_better=True) == 1.0


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(holm([0.9, np.nan, 0.8, 0.02]), [1.0, np.nan, 1.0, 0.06])


def _columns(*offsets, n=20):
    """Scores of methods that differ by exact offsets plus a small distinct jitter a replication."""
    base = np.random.default_rng(0).normal(size=n)
    jitter = np.random.default_rng(1).uniform(0.01, 0.02, (n, len(offsets)))
    return base[:, None] + np.array(offsets) + jitter * (np.array(offsets) != 0)


def test_one_clear_winner_is_starred():
    marks = stars(_columns(0.0, 1.0, 2.0), larger_is_better=False)
    assert marks.best == 0
    assert marks.marked.tolist() == [True, False, False]
    assert marks.marked_holm.tolist() == [True, False, False]
    assert np.isnan(marks.p_value[0]) and marks.p_value[1] == pytest.approx(2.0**-20)


def test_two_equals_are_both_starred_when_both_beat_the_rest():
    scores = _columns(0.0, 0.0, 2.0)
    assert stars(scores, larger_is_better=False).marked.tolist() == [True, True, False]
    assert not stars(scores[:, :2], larger_is_better=False).marked.any(), "nobody is beaten"


def test_nothing_is_starred_if_an_equal_does_not_beat_the_rest():
    n = 20
    noise = np.random.default_rng(3).normal(0, 1, n)
    # b is not separable from a (huge noise), c is beaten by a but not by b
    scores = np.column_stack([np.zeros(n), 0.1 + noise - noise.mean(), np.linspace(0.01, 0.02, n)])
    assert not stars(scores, larger_is_better=False).marked.any()


def test_bold_is_what_the_best_does_not_beat():
    marks = bolds(_columns(0.0, 0.0, -1.0), larger_is_better=True)
    assert marks.marked.tolist() == [True, True, False]


def test_holm_can_take_a_star_away():
    n = 6
    a = np.zeros(n)
    b = np.array([1.0, 2, 3, 4, 5, -0.5])  # p = 2/64 = 0.031 against a, 0.0625 after Holm over two tests
    c = np.array([1.1, 2.2, 3.3, 4.4, 5.5, -0.6])
    marks = stars(np.column_stack([a, b, c]), larger_is_better=False)
    assert marks.p_value[1] == pytest.approx(2 / 64)
    assert marks.marked.tolist() == [True, False, False]
    assert not marks.marked_holm.any()
