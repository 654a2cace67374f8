"""Working range: narrowed where it is too wide, as declared elsewhere, and every user is asked once."""

import math
import pickle

import numpy as np
import pytest

from lpbench.estimators import PrivateConstant, ResidualGP
from lpbench.estimators.tuning_free.rounds import ResidualDevice
from lpbench.estimators.tuning_free.working_range import (
    _OVER,
    _SHORT,
    BIN,
    Answers,
    BinDevice,
    BinQuestion,
    Laws,
    RangeCheck,
    _look_up,
)
from lpbench.privacy import Records, SimulatedUsers, SubsetSelection
from lpbench.seeds import Streams

LAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "lognormal": lambda rng, n: np.exp(rng.standard_normal(n)),
    "bimodal": lambda rng, n: rng.choice([-2.0, 2.0], n) + 0.3 * rng.standard_normal(n),
    "scores": lambda rng, n: np.clip(np.round(5.6 + 0.9 * rng.standard_normal(n)), 0, 10),
    "answers": lambda rng, n: np.clip(np.round(2.8 + rng.standard_normal(n)), 1, 5),
    "yes_or_no": lambda rng, n: (rng.random(n) < 0.4).astype(float),
}


def users_of(y, y_range, seed=0):
    records = Records(np.zeros((y.size, 1)), y, np.ones((y.size, 1), dtype=bool))
    return SimulatedUsers(records, Streams(seed), y_range=y_range)


def checked(y, y_range, epsilon, seed=0):
    order = np.random.default_rng(seed).permutation(y.size)
    return RangeCheck(users_of(y, y_range, seed), y_range, epsilon, order).run()


def narrowed(law, factor, epsilon, seed, n=4000):
    """Width of the working range and mean square of what it cuts off, of a declared range ``factor`` times too wide.

    The width is in ranges of the labels, the mean square in variances of the labels.
    """
    y = LAWS[law](np.random.default_rng([seed, 1]), n)
    lo, width = (0.0, 10.0) if law == "scores" else (y.min(), np.ptp(y))  # the others have every value of theirs
    below = np.random.default_rng([seed, 2]).random() * (factor - 1) * width
    check = checked(y, (lo - below, lo - below + factor * width), epsilon, seed)
    return (check.y_range[1] - check.y_range[0]) / width, np.mean((y - np.clip(y, *check.y_range)) ** 2) / y.var()


@pytest.mark.parametrize("law", ["normal", "bimodal", "scores", "answers", "yes_or_no"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_right_range_loses_little(law, epsilon):
    """What is cut off counts; a part of the range that no label lies in may go."""
    lost = [narrowed(law, 1.0, epsilon, seed)[1] for seed in range(20)]
    assert sum(share > 0.1 for share in lost) <= 2


@pytest.mark.parametrize("law", ["normal", "t2", "lognormal"])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_a_range_a_hundred_times_too_wide_is_narrowed(law, epsilon):
    kept = [narrowed(law, 100.0, epsilon, seed)[0] for seed in range(8)]
    assert np.median(kept) < 3.0


def test_few_users_and_a_range_of_one_value_are_not_checked():
    for n, ends in ((300, (0.0, 1000.0)), (4000, (1.0, 1.0))):
        check = checked(np.ones(n), ends, 2.0)
        assert check.y_range == ends and check.rest.size == n


def test_the_bin_of_a_label_by_hand_and_the_epsilon_of_its_report():
    question = BinQuestion((0.0, 24.0), SubsetSelection.least_variance(1.5, 24))
    y = np.array([-5.0, 0.0, 0.99, 1.0, 12.5, 23.999, 24.0, 90.0])
    records = Records(np.zeros((y.size, 1)), y, np.ones((y.size, 1), dtype=bool))
    np.testing.assert_array_equal(BIN.inputs(records, question), [0, 0, 0, 1, 12, 23, 23, 23])
    assert BIN.mechanism(question).epsilon == pytest.approx(1.5, abs=1e-9)


def test_laws_are_probabilities_and_their_posterior_is_bayes():
    laws, bins = Laws.of(0.0, 1.0), 24
    assert np.exp(laws.log_weight).sum() == pytest.approx(1.0, abs=0.03)  # less the laws that many labels leave
    for low, high in ((0.0, 1.0), (0.3, 0.4), (-0.02, 1.02)):
        shares = laws.shares(low, high, bins)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert (shares >= 0).all()
    reports = SubsetSelection(1.0, bins, 2).randomize(np.array([3, 3, 7]), np.random.default_rng(0))
    member = np.zeros((3, bins))
    np.put_along_axis(member, reports, 1.0, axis=1)
    keep, stray, likelihood = math.exp(1.0), 1.0, np.ones(laws.center.size)
    for subset in reports:
        inside = laws.shares(0.0, 1.0, bins)[:, subset].sum(axis=1)
        likelihood *= keep * inside + stray * (1.0 - inside)
    expected = np.exp(laws.log_weight) * likelihood
    np.testing.assert_allclose(laws.given([Answers(0.0, 1.0, member)], 1.0).weights, expected / expected.sum())


def test_labels_of_few_values_are_in_the_bins_of_these_values():
    laws = Laws.declared()
    assert np.exp(laws.log_weight).sum() == pytest.approx(1.0, abs=0.03)
    for steps, bins in ((1, 8), (5, 24), (10, 24), (20, 8)):
        shares = laws.where(laws.steps == steps).shares(0.0, 1.0, bins)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        values = np.minimum(np.arange(steps + 1) / steps * bins + 1e-9, bins - 0.5).astype(int)
        empty = np.setdiff1d(np.arange(bins), values)
        assert (shares[:, empty] < 0.1).all() and (shares[:, np.unique(values)].sum(axis=1) >= 0.9).all()


def test_the_best_part_of_a_known_law():
    """Without noise the whole range, with more of it less, and about the center of the law."""
    law = Laws(np.array([0.3]), np.array([0.01]), np.array([1]), np.zeros(1), np.zeros(1, dtype=int))
    ends, widths = np.linspace(0.0, 1.0, 201), []
    for noise in (0.0, 1e-3, 1e-1):
        low, high, gain = law.best_part(ends, 0.0, noise)
        assert low <= 0.3 <= high and gain > -0.02
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]


def test_mean_squares_beyond_a_point_by_drawing():
    z = np.random.default_rng(0).standard_normal(200_000)
    points = np.array([-1.0, 0.0, 1.5])
    over = np.mean(np.maximum(z[:, None] - points, 0.0) ** 2, axis=0)
    normal, row = np.array([1]), points[None]
    np.testing.assert_allclose(_look_up(_OVER, normal, row)[0], over, atol=0.02)
    np.testing.assert_allclose(_look_up(_SHORT, normal, -row)[0], over, atol=0.02)


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
@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_a_range_too_wide_costs_little(kind, epsilon):
    """Geometric means of the squared error over six samples, beside those of the right range."""
    errors = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.random((2000, 3))
        signal = 3.0 * X[:, 1]
        y = signal + 0.5 * rng.standard_normal(2000)
        ranges = [(-2.0, 5.0), (-2.0, 698.0), (-650.0, 50.0)]
        fits = [kind(epsilon, y_range=ends, random_state=seed).fit(X, y, mask=[0]) for ends in ranges]
        errors.append([np.mean((fit.predict(X) - signal) ** 2) + 0.25 for fit in fits])
    right, *wide = np.exp(np.mean(np.log(errors), axis=0))
    assert max(wide) < 1.15 * right
