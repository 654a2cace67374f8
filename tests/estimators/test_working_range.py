"""Working range: narrowed where it is too wide, as declared elsewhere, and every user is asked once."""

import math
import pickle

import numpy as np
import pytest

from lpbench.estimators import PrivateConstant, ResidualGP
from lpbench.estimators.tuning_free.rounds import ResidualDevice
from lpbench.estimators.tuning_free.working_range import BIN, BINS, BinDevice, BinQuestion, Laws, RangeCheck
from lpbench.privacy import Records, SimulatedUsers, SubsetSelection
from lpbench.seeds import Streams

LAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)),
    "bimodal": lambda rng, n: rng.choice([-2.0, 2.0], n) + 0.3 * rng.standard_normal(n),
    "scores": lambda rng, n: np.clip(np.round(5.6 + 0.9 * rng.standard_normal(n)), 0, 10),
}


def users_of(y, y_range, seed=0):
    records = Records(np.zeros((y.size, 1)), y, np.ones((y.size, 1), dtype=bool))
    return SimulatedUsers(records, Streams(seed), y_range=y_range)


def checked(y, y_range, epsilon, seed=0):
    order = np.random.default_rng(seed).permutation(y.size)
    return RangeCheck(users_of(y, y_range, seed), y_range, epsilon, order).run()


def width_kept(law, factor, epsilon, seed, n=4000):
    """Width of the working range, in ranges of the labels, whose declared range is ``factor`` times as wide."""
    y = LAWS[law](np.random.default_rng([seed, 1]), n)
    lo, width = (0.0, 10.0) if law == "scores" else (y.min(), np.ptp(y))
    below = np.random.default_rng([seed, 2]).random() * (factor - 1) * width
    check = checked(y, (lo - below, lo - below + factor * width), epsilon, seed)
    return (check.y_range[1] - check.y_range[0]) / width


@pytest.mark.parametrize("law", ["normal", "bimodal", "scores"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_right_range_stays_as_declared(law, epsilon):
    kept = [width_kept(law, 1.0, epsilon, seed) for seed in range(20)]
    assert sum(width != 1.0 for width in kept) <= 1


@pytest.mark.parametrize("law", ["normal", "t2", "lognormal"])
def test_a_range_a_hundred_times_too_wide_is_narrowed(law):
    kept = [width_kept(law, 100.0, 4.0, seed) for seed in range(20)]
    assert np.median(kept) < 4.0


def test_few_users_and_a_range_of_one_value_are_not_checked():
    for n, ends in ((300, (0.0, 1000.0)), (4000, (1.0, 1.0))):
        check = checked(np.ones(n), ends, 2.0)
        assert check.y_range == ends and check.rest.size == n


def test_the_bin_of_a_label_by_hand_and_the_epsilon_of_its_report():
    question = BinQuestion((0.0, 24.0), SubsetSelection.least_variance(1.5, BINS))
    y = np.array([-5.0, 0.0, 0.99, 1.0, 12.5, 23.999, 24.0, 90.0])
    records = Records(np.zeros((y.size, 1)), y, np.ones((y.size, 1), dtype=bool))
    np.testing.assert_array_equal(BIN.inputs(records, question), [0, 0, 0, 1, 12, 23, 23, 23])
    assert BIN.mechanism(question).epsilon == pytest.approx(1.5, abs=1e-9)


def test_laws_are_probabilities_and_their_posterior_is_bayes():
    laws = Laws.of(0.5)
    np.testing.assert_allclose(laws.shares.sum(axis=1), 1.0)
    assert (laws.shares > 0).all() and laws.prior.sum() == pytest.approx(1.0)
    assert (laws.low >= 0).all() and (laws.high <= 1).all() and (laws.low <= laws.high).all()
    mechanism = SubsetSelection(1.0, BINS, 2)
    reports = mechanism.randomize(np.array([3, 3, 7]), np.random.default_rng(0))
    keep, stray = math.exp(1.0), 1.0
    likelihood = np.ones(laws.prior.size)
    for subset in reports:
        inside = laws.shares[:, subset].sum(axis=1)
        likelihood *= keep * inside + stray * (1.0 - inside)
    expected = laws.prior * likelihood
    np.testing.assert_allclose(laws.posterior(reports, 1.0), expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 4.0, math.inf])
@pytest.mark.parametrize("factor", [1.0, 50.0])
def test_every_user_sends_one_report_at_the_whole_budget(epsilon, factor, monkeypatch):
    rng, budgets, original = np.random.default_rng(0), [], BinDevice.inputs
    X, y = rng.random((2000, 3)), rng.standard_normal(2000)

    def inputs(self, records, question):
        budgets.append(question.mechanism.epsilon)
        return original(self, records, question)

    monkeypatch.setattr(BinDevice, "inputs", inputs)
    numbers, report = [], ResidualDevice.report
    monkeypatch.setattr(
        ResidualDevice,
        "report",
        lambda self, records, question, draws: numbers.append(len(records)) or report(self, records, question, draws),
    )
    for kind in (ResidualGP, PrivateConstant):
        model = kind(epsilon, y_range=(-5 * factor, 5 * factor), random_state=0).fit(X, y, mask=[0])
        assert model.guarantee_.rounds == 1 and model.guarantee_.epsilon == pytest.approx(epsilon, abs=1e-6)
        again = kind(epsilon, y_range=(-5 * factor, 5 * factor), random_state=0).fit(X, y, mask=[0])
        np.testing.assert_array_equal(model.predict(X), again.predict(X))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert budgets and np.allclose(budgets, epsilon) and sum(numbers) < 2 * 2000


@pytest.mark.parametrize("kind", [ResidualGP, PrivateConstant])
def test_a_range_too_wide_costs_little(kind):
    """Squared errors over six samples at epsilon = 4, beside those of the right range."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.random((2000, 3))
        signal = 3.0 * X[:, 1]
        y = signal + 0.5 * rng.standard_normal(2000)
        ranges = [(-2.0, 5.0), (-2.0, 698.0), (-650.0, 50.0)]
        fits = [kind(4.0, y_range=ends, random_state=seed).fit(X, y, mask=[0]) for ends in ranges]
        errors.append([np.mean((fit.predict(X) - signal) ** 2) + 0.25 for fit in fits])
    right, *wide = np.mean(errors, axis=0)
    assert max(wide) < 1.15 * right
