import numpy as np
import pytest

from lpbench.estimators.private_labels import discrete_labels
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


def test_variance_also_of_nobody_and_without_noise():
    mechanism, rng = DiscreteLaplace(1.5, 0.5), np.random.default_rng(2)
    noise = mechanism.randomize(np.zeros(200_000), rng)
    kurtosis = np.mean(noise**4) / mechanism.variance**2
    assert_mean(noise**2, mechanism.variance, mechanism.variance * np.sqrt(kurtosis))
    np.testing.assert_array_equal(mechanism.sum_of_reports([0.0, 0.0], [0, 0], rng), 0.0)
    assert DiscreteLaplace(0.0, 0.5).variance == 0 and DiscreteLaplace(0.0, 0.5).sum_of_reports([3.0], 9, rng) == [3.0]


@pytest.mark.parametrize("label_range", [1.0, 0.3, 7.0, 1e6, 2.0**-40])
@pytest.mark.parametrize("budget", [0.1, 1.0, 7.0])
def test_rounded_labels_spend_exactly_the_budget(label_range, budget):
    mechanism = discrete_labels(label_range, budget)
    assert mechanism.epsilon == pytest.approx(budget, rel=1e-12)
    assert 2**10 <= label_range / mechanism.step < 2**11
    low = np.linspace(-3.3, 3.3, 997) * label_range
    losses = [mechanism.exact_loss(lo, lo + label_range) for lo in low]
    assert max(losses) <= budget * (1 + 1e-12)
