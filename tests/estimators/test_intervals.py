"""Intervals and sets hold their coverage at exact epsilon, and are wide rather than wrong where reports tell little."""

from __future__ import annotations

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.estimators import PrivateIntervals, PrivateMean, PrivateSets, ResidualGP
from lpbench.estimators.intervals.coverage import CoverageCurve, ThresholdQuestion, calibrate, safe_level
from lpbench.privacy import RandomizedResponse


class Scores:
    """Users whose scores are uniform to a power on [0, 1]: the quantile is known."""

    def __init__(self, scores, rng):
        self.scores, self.rng = scores, rng

    def take(self, who, *_, **__):
        return Scores(self.scores[who], self.rng)

    def ask(self, device, question):
        return question.mechanism.randomize(self.scores <= question.threshold, self.rng)


def simulated(n, epsilon, power, runs=60):
    """Mean coverage and mean relative threshold of calibrations with n users."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        mechanism = RandomizedResponse.for_budget(epsilon)
        curve = CoverageCurve(1.0, mechanism)
        question = ThresholdQuestion(None, "residual", 0.0, mechanism)
        calibrate(Scores(rng.random(n) ** power, rng), np.arange(n), curve, question, 0.9)
        found.append(curve.threshold(0.9))
    threshold = np.array(found)
    return float((threshold ** (1 / power)).mean()), float(threshold.mean() / 0.9**power)


# n counts all users, of whom a fifth calibrate.
@pytest.mark.parametrize(("n", "epsilon"), [(10_000, 1.0), (2_500, 2.0), (1_000, 8.0), (40_000, 0.5)])
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_coverage_and_width_where_users_tell_enough(n, epsilon, power):
    coverage, width = simulated(n // 5, epsilon, power)
    assert 0.88 <= coverage <= 0.94 and width <= 1.3


@pytest.mark.parametrize(("n", "epsilon"), [(50, 8.0), (200, 1.0), (1_000, 1.0), (3_000, 0.5), (300, 4.0)])
@pytest.mark.parametrize("power", [1.0, 3.0])
def test_wide_rather_than_wrong_where_they_do_not(n, epsilon, power):
    assert simulated(n // 5, epsilon, power)[0] >= 0.88


def test_safe_level_makes_up_for_the_cut_at_one():
    z = np.random.default_rng(0).normal(size=200_000)
    for deviation in (0.01, 0.05, 0.2):
        assert np.minimum(1.0, safe_level(0.9, deviation) + deviation * z).mean() == pytest.approx(0.9, abs=2e-3)
    assert safe_level(0.9, 0.0) == 0.9 and safe_level(1.0, 0.1) == 1.0


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, np.clip(X[:, 0] + 0.2 * rng.normal(size=n), -1.0, 2.0)


def test_intervals_of_numbers_hold_and_the_budget_is_spent_once():
    X, y = sample(3000)
    mask = np.tile([False, False, True], (len(X), 1))
    model = PrivateIntervals(ResidualGP(4.0), y_range=(-1.0, 2.0), random_state=1).fit(X, y, mask=mask)
    new, labels = sample(4000, 1)
    ends = model.predict_interval(new)
    inside = (ends[:, 0] <= labels) & (labels <= ends[:, 1])
    assert 0.86 <= inside.mean() <= 0.96 and (ends >= -1.0).all() and (ends <= 2.0).all()
    assert np.ptp(model.predict_interval(new, 0.5), axis=1).mean() < np.ptp(ends, axis=1).mean()
    guarantee = model.guarantee_
    assert guarantee.epsilon == pytest.approx(4.0) and guarantee.rounds == 1 and "600 users calibrate" in guarantee.note
    np.testing.assert_array_equal(model.predict(new), model.estimator_.predict(new))


def test_sets_of_classes_hold():
    X, y = sample(3000)
    new, labels = sample(4000, 1)
    mask = np.zeros(X.shape, dtype=bool)
    cut = PrivateSets(epsilon=4.0, classes=[0, 1, 2], random_state=1).fit(X, np.digitize(y, [0.3, 0.7]), mask=mask)
    sets = cut.predict_interval(new)
    assert sets.shape == (4000, 3)
    assert sets[np.arange(4000), np.digitize(labels, [0.3, 0.7])].mean() >= 0.86


def test_the_estimators_own_domain_is_refused():
    X, y = sample(200)
    with pytest.raises(ConfigurationError, match="pass it as domain="):
        PrivateIntervals(PrivateMean(domain=(0.0, 5.0)), y_range=(-1.0, 2.0)).fit(X, y)


def test_residual_gp_states_a_standard_deviation():
    X, y = sample(800)
    model = ResidualGP(4.0, y_range=(-1.0, 2.0), random_state=1).fit(X, y, mask=np.zeros(X.shape, dtype=bool))
    mean, deviation = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    assert deviation.shape == mean.shape and 0.1 < deviation.mean() < 0.5
