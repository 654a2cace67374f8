"""Win probabilities and rank sums against tables whose answers are known."""

import numpy as np
import pytest

from lpbench.analysis.win_probability import rank_sum_intervals, win_probability, wins_over


def test_wins_losses_ties_and_missing_scores():
    one, other = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(wins_over(-one, -other), [0, 0.5, 1, np.nan])
    np.testing.assert_array_equal(wins_over(one, other), [1, 0.5, 0, np.nan])


def test_a_probability_is_the_mean_over_sets_of_the_share_of_splits():
    mine, theirs = np.array([[1.0, 1, 3, 3], [0, 0, 0, 0], [np.nan] * 4]), np.full((3, 4), 2.0)
    found = win_probability(mine, theirs, np.random.default_rng(0))
    assert found.estimate == pytest.approx(0.75) and found.low < 0.75 < found.high <= 1


def test_without_common_sets_nothing_is_known():
    empty = win_probability(np.full((2, 3), np.nan), np.ones((2, 3)), np.random.default_rng(0))
    assert np.isnan([empty.estimate, empty.low, empty.high]).all()


def test_rank_sums_of_clear_cut_scores_have_no_width():
    scores = np.arange(3.0)[None, :, None] + np.random.default_rng(1).uniform(0, 0.1, (5, 3, 8))
    found = rank_sum_intervals(scores)
    assert [(i.estimate, i.low, i.high) for i in found] == [(5, 5, 5), (10, 10, 10), (15, 15, 15)]


def test_rank_sums_of_equals_overlap():
    scores = np.random.default_rng(1).normal(size=(6, 2, 10))
    first, second = rank_sum_intervals(scores)
    assert first.estimate + second.estimate == 18 and first.low < second.high and second.low < first.high
