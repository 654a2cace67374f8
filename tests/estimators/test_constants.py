import math

import numpy as np
import pytest

from lpbench.estimators import PrivateConstant, PrivateMajority, PrivateMean
from lpbench.privacy import GRR

X = np.zeros((400, 2))


def test_private_mean_is_unbiased_with_the_stated_variance():
    """2000 fits; mean and variance within 6 standard deviations, fixed seeds."""
    y = np.linspace(0.0, 3.0, 400)
    means = np.array([PrivateMean(2.0, y_range=(0.0, 3.0), random_state=s).fit(X, y).mean_ for s in range(2000)])
    variance = 2 * (3.0 / 2.0) ** 2 / 400
    assert abs(means.mean() - 1.5) < 6 * np.sqrt(variance / 2000)
    assert means.var() == pytest.approx(variance, rel=6 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_the_private_constant_is_nearer_to_the_mean_than_laplace_noise_brings_it(epsilon):
    """Squared errors of 300 fits on 100 users, for a typical label."""
    y, rows = np.clip(2.0 + 0.5 * np.random.default_rng(0).standard_normal(100), 0.0, 3.0), X[:100]
    errors = [
        [(kind(epsilon, y_range=(0.0, 3.0), random_state=s).fit(rows, y).mean_ - y.mean()) ** 2 for s in range(300)]
        for kind in (PrivateConstant, PrivateMean)
    ]
    ours, laplace = np.mean(errors, axis=1)
    assert ours < 0.9 * laplace


def test_the_private_constant_spends_its_budget_and_follows_many_users():
    y = np.tile([0.5, 1.0, 3.0, 3.0], 100)
    model = PrivateConstant(2.0, y_range=(0.0, 3.0), random_state=0).fit(X, y)
    assert model.guarantee_.epsilon == pytest.approx(2.0, abs=1e-6) and model.guarantee_.model == "ldp"
    assert PrivateConstant(math.inf, y_range=(0.0, 3.0)).fit(X, y).mean_ == pytest.approx(y.mean(), abs=0.1)


def test_private_majority_without_noise_is_the_majority_and_of_ties_the_smaller_class():
    y = np.array(["a", "b", "b", "c"] * 100)
    model = PrivateMajority(math.inf, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.shares_, [0.25, 0.5, 0.25])
    assert set(model.predict(X)) == {"b"}
    assert set(PrivateMajority(math.inf).fit(X, np.arange(400) % 2).predict(X)) == {0}


def test_private_majority_is_unbiased():
    """1000 fits; the mean share within 6 standard deviations, fixed seeds."""
    y = np.repeat([0, 1, 2], [100, 250, 50])
    shares = np.array([PrivateMajority(1.0, random_state=s).fit(X, y).shares_ for s in range(1000)])
    deviation = shares.std(axis=0) / np.sqrt(1000)
    assert (np.abs(shares.mean(axis=0) - [0.25, 0.625, 0.125]) < 6 * deviation).all()


def test_private_majority_spends_exactly_its_budget():
    model = PrivateMajority(1.3).fit(X, np.arange(400) % 3)
    assert model.guarantee_.epsilon == 1.3 == GRR(1.3, 3).epsilon
    assert model.guarantee_.bits_up == math.ceil(math.log2(3))
    assert PrivateMajority(1.3).fit(X, np.zeros(400)).guarantee_.epsilon == 0.0
