"""Sums of discrete Laplace noise: the law of adding users one by one, exact on the grid."""

import numpy as np
import pytest

from lpbench.privacy import DiscreteLaplace
from tests.privacy.laws import assert_mean, assert_same_law


@pytest.mark.parametrize(("epsilon", "step"), [(0.5, 2.0**-10), (4.0, 0.25), (6.0, 1.0)])
def test_law_is_that_of_a_sum_over_users(epsilon, step):
    mechanism = DiscreteLaplace.for_budget(epsilon, step)
    n, draws = 30, 4000
    users = mechanism.randomize(np.ones((draws, n)), np.random.default_rng(0)).sum(axis=1)
    drawn = mechanism.sum_of_reports(np.full(draws, float(n)), n, np.random.default_rng(1))
    assert_same_law(users, drawn)
    np.testing.assert_array_equal(drawn, np.rint(drawn / step) * step)
    assert_mean(drawn, n, np.sqrt(n * mechanism.variance))


def test_variance():
    mechanism = DiscreteLaplace(1.5, 0.5)
    noise = mechanism.randomize(np.zeros(200_000), np.random.default_rng(2))
    kurtosis = np.mean(noise**4) / mechanism.variance**2
    assert_mean(noise**2, mechanism.variance, mechanism.variance * np.sqrt(kurtosis))
    assert DiscreteLaplace(0.0, 0.5).variance == 0


def test_nobody_and_no_noise():
    mechanism = DiscreteLaplace.for_budget(1.0, 0.5)
    np.testing.assert_array_equal(mechanism.sum_of_reports([0.0, 0.0], [0, 0], np.random.default_rng(0)), 0.0)
    np.testing.assert_array_equal(DiscreteLaplace(0.0, 0.5).sum_of_reports([3.0], 9, np.random.default_rng(0)), 3.0)
