"""ResidualGP: its rounds, its posterior, fall-back without signal, and gain with it."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from lpbench.errors import DataError
from lpbench.estimators import PrivateConstant, PrivateMean, ResidualGP
from lpbench.estimators.tuning_free import half_forest
from lpbench.estimators.tuning_free.ablations import ProtectedNotAsked
from lpbench.estimators.tuning_free.bin_effects import Binning, bin_of, estimate_effects
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.estimators.tuning_free.level_reports import LevelReport, Placed
from lpbench.estimators.tuning_free.mixture import mixture_weights
from lpbench.estimators.tuning_free.rounds import Curator, ResidualDevice
from tests.estimators.loops import learned

Y_RANGE = (-2.0, 4.0)
WITH_CONSTANTS = (ResidualGP, PrivateConstant, PrivateMean)


def sample(n=600, signal=1.0, hidden=0.0, seed=0, d=4):
    """Labels with a linear effect of feature 1 and of the protected feature 0, standard deviation about 1."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = 1.0 + 2.0 * signal * (X[:, 1] - 0.5) + 3.0 * hidden * (X[:, 0] - 0.5) + 0.6 * rng.standard_normal(n)
    mask = np.zeros((n, d), dtype=bool)
    mask[:, 0] = True
    return X, np.clip(y, *Y_RANGE), mask


def predictions(kinds, epsilon, y_range, seed, X, y, mask, X_test):
    """What regressors of the kinds predict of the test rows."""
    fitted = [kind(epsilon, y_range=y_range, random_state=seed).fit(X, y, mask=mask) for kind in kinds]
    return [model.predict(X_test) for model in fitted]


def questions_of(model, X, y, mask, monkeypatch):
    asked, original = [], ResidualDevice.report

    def report(self, records, question, draws):
        asked.append(question)
        return original(self, records, question, draws)

    monkeypatch.setattr(ResidualDevice, "report", report)
    model.fit(X, y, mask=mask)
    return asked


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 16.0])
@pytest.mark.parametrize("hidden", [0.0, 1.0])
def test_every_user_sends_one_report_at_the_whole_budget(epsilon, hidden, monkeypatch):
    X, y, mask = sample(hidden=hidden)
    model = ResidualGP(epsilon, y_range=Y_RANGE, random_state=0)
    asked = questions_of(model, X, y, mask, monkeypatch)
    users = np.concatenate([question.users for question in asked])
    checked = y.size - users.size  # whose report is the bin of their label, in batches of 25
    assert np.unique(users).size == users.size
    assert checked % 25 == 0 and checked <= 0.4 * y.size and (checked > 0) == (epsilon >= 1)
    for question in asked:
        assert question.report.epsilon == pytest.approx(epsilon, abs=1e-9)
    assert model.guarantee_.epsilon == epsilon and model.guarantee_.rounds == 1
    features = [question.features for question in asked]
    if epsilon < 1:
        assert features == [(), (), ()]
    else:  # the third stage drops what has no effect; the last asks for the most probable feature at least
        assert features[:4] == [(), (), (0,), (0,)] and features[5] == (0,) and features[4] == ((0,) if hidden else ())


def three_of_many(n, d, seed):
    """All columns private, and three of them, at random places, make four fifths of the label's variance."""
    rng = np.random.default_rng(seed)
    X = rng.random((n + 1000, d))
    y = 2.0 * X[:, rng.permutation(d)[:3]].sum(axis=1) - 3.0 + 0.5 * rng.standard_normal(len(X))
    return X, np.clip(y, -4.0, 4.0)


def mean_error(epsilon, d, seeds=6, n=2000):
    """Mean squared error over the label's variance on rows that were not asked."""
    errors = []
    for seed in range(seeds):
        X, y = three_of_many(n, d, seed)
        model = ResidualGP(epsilon, y_range=(-4.0, 4.0), random_state=seed).fit(X[:n], y[:n], mask=list(range(d)))
        errors.append(np.mean((model.predict(X[n:]) - y[n:]) ** 2) / y[n:].var())
    return np.mean(errors)


@pytest.mark.parametrize("d", [20, 50])
def test_of_many_protected_features_those_that_matter_are_found(d):
    """At epsilon 2, 12: .90, .25 (d = 20) and .96, .30 (d = 50)."""
    assert mean_error(12.0, d) <= 0.5 * mean_error(2.0, d)


@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 5), (2.0, 5), (6.0, 30), (12.0, 30)])
def test_where_protected_features_are_too_many_a_random_part_is_asked_for(epsilon, most, monkeypatch):
    X, y = three_of_many(1200, 30, 0)
    asked = [
        {
            feature
            for question in questions_of(
                ResidualGP(epsilon, y_range=(-4.0, 4.0), random_state=seed),
                X[:1200],
                y[:1200],
                [*range(30)],
                monkeypatch,
            )
            for feature in question.features
            if feature < 30  # the others are finer bins of these
        }
        for seed in (0, 0, 1)
    ]
    if not asked[0]:
        return
    assert asked[0] == asked[1] and len(asked[0]) <= most
    assert asked[0] != asked[2] or len(asked[0]) == 30


def test_several_features_are_told_together_where_it_pays(monkeypatch):
    X, y = three_of_many(2000, 20, 0)
    told = {}
    for epsilon in (2.0, 4.0, 8.0, math.inf):
        model = ResidualGP(epsilon, y_range=(-4.0, 4.0), random_state=0)
        asked = questions_of(model, X[:2000], y[:2000], [*range(20)], monkeypatch)
        told[epsilon] = max(len(question.features) for question in asked)
        users = np.concatenate([question.users for question in asked])  # others report the bin of their label
        assert np.unique(users).size == users.size >= 1600
        assert all(question.report.epsilon == pytest.approx(epsilon, abs=1e-9) for question in asked)
        assert all(math.prod(part.bins for part in question.parts) == question.bins for question in asked)
    assert told[2.0] == 1 < told[4.0] < told[8.0] <= told[math.inf]


def test_intervals_shrink_and_stay_in_the_range(monkeypatch):
    X, y, mask = sample(n=2000)
    first, *others = questions_of(ResidualGP(2.0, y_range=Y_RANGE, random_state=0), X, y, mask, monkeypatch)
    assert (first.center == 1.0).all() and (first.half_width == 3.0).all()
    for question in others:
        assert (question.half_width < 3.0).all() and np.ptp(question.center) > 0.5
        assert (question.center - question.half_width >= Y_RANGE[0] - 1e-9).all()
        assert (question.center + question.half_width <= Y_RANGE[1] + 1e-9).all()


def test_predictions_follow_the_scale_of_the_label():
    X, y, mask = sample()
    model = learned(ResidualGP(4.0, y_range=Y_RANGE, random_state=0), X, y, mask=mask)
    moved = learned(ResidualGP(4.0, y_range=(94.0, 100.0), random_state=0), X, y + 96.0, mask=mask)
    np.testing.assert_allclose(moved.predict(X), model.predict(X) + 96.0, atol=1e-6)


def test_signal_of_shown_and_of_protected_features_is_found():
    """Mean squared error on 2000 fresh rows, at epsilon = 6; the floor's is about 1.4."""
    X, y, mask = sample(n=3000, hidden=1.0)
    X_test, y_test, _ = sample(n=2000, hidden=1.0, seed=1)
    found = predictions((ResidualGP, ProtectedNotAsked), 6.0, Y_RANGE, 0, X, y, mask, X_test)
    asked, not_asked = np.mean((np.array(found) - y_test) ** 2, axis=1)
    assert asked < 0.5 < 0.9 < not_asked < 1.2 < y_test.var()


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_without_signal_it_falls_back_to_the_mean(epsilon):
    """Over 20 samples the mean squared error is within 3 % of that of the floor."""
    errors = []
    for seed in range(20):
        X_test, y_test, _ = sample(n=1000, signal=0.0, seed=seed + 100)
        private = sample(n=300, signal=0.0, seed=seed)
        found = predictions((ResidualGP, PrivateMean), epsilon, Y_RANGE, seed, *private, X_test)
        errors.append(np.mean((np.array(found) - y_test) ** 2, axis=1))
    ours, floor = np.mean(errors, axis=0)
    assert ours <= 1.03 * floor


@pytest.mark.parametrize("n", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("epsilon", [0.3, 8.0, math.inf])
def test_few_users(n, epsilon):
    X, y, mask = sample(n=n)
    for protected in (mask, ~mask, np.ones_like(mask), np.zeros_like(mask)):
        model = ResidualGP(epsilon, y_range=Y_RANGE, random_state=0)
        assert np.isfinite(model.fit(X, y, mask=protected).predict(X)).all()


@pytest.mark.parametrize("ends", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("expected", [-0.8, 0.0, 0.4])
def test_placed_readings_against_sums_over_a_dense_grid(ends, expected):
    """Mean, slope and noise of a clipped normal label; an end of the range cuts nothing off."""
    report, deviation, z = LevelReport(2.0, 4), 0.5, np.linspace(-9.0, 9.0, 180_001)
    weights = np.exp(-0.5 * z**2)
    weights /= weights.sum()

    def clipped(center):
        low, high = (-np.inf if ends[0] else -1.0), (np.inf if ends[1] else 1.0)
        return weights @ np.clip(center + deviation * z, low, high)

    placed = Placed.of(report, np.array([expected]), np.array([deviation]), np.array(ends)[:, None])
    assert placed.clipped[0] == pytest.approx(clipped(expected), abs=1e-7)
    step = 1e-4
    slope = (clipped(expected + step) - clipped(expected - step)) / (2 * step)
    assert placed.slope[0] == pytest.approx(slope, abs=1e-4)
    noise = report.noise_at(np.clip(expected + deviation * z, -1.0, 1.0), weights)
    assert placed.noise[0] == pytest.approx(noise, rel=0.03)


def test_labels_near_the_lower_end_of_their_range_are_not_biased():
    """Skewed labels without signal, mean one twelfth of the range; errors of the mean over 20 samples."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.random((1500, 3)), np.minimum(rng.exponential(5.0, 1500), 60.0)
        model = ResidualGP(2.0, y_range=(0.0, 60.0), random_state=seed).fit(X, y, mask=np.zeros_like(X, dtype=bool))
        found.append(model.predict(X).mean() - y.mean())
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(20)


def counts(n, seed):
    """Counts in 0, ..., 89 with a heavy tail, as visits to a physician: mean 6, variance about 45, little signal.

    The first protected column is skewed, so that most of its bins are empty; others are indicators.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            np.minimum(rng.poisson(0.3, n) / 12.0, 1.0),
            np.minimum(rng.poisson(0.3, n) / 8.0, 1.0),
            rng.random((n, 4)) < [0.1, 0.3, 0.5, 0.9],
            rng.random((n, 6)),
        ]
    )
    mean = 4.0 * np.exp(1.5 * X[:, 0] + 0.3 * X[:, 4] + 0.4 * X[:, 6])
    mask = np.zeros(X.shape, dtype=bool)
    mask[:, :4] = True
    return X, np.minimum(rng.poisson(mean * rng.gamma(0.9, 1 / 0.9, n)), 89.0), mask


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        *((370, 1.0), (3000, 8.0)),
        *(pytest.param(3000, epsilon, marks=pytest.mark.slow) for epsilon in (1.0, 2.0, 10.0, 16.0)),
    ],
)
def test_heavy_tails_cost_no_more_than_a_constant(n, epsilon):
    """Over eight samples the squared error is at most 1.05 of the better constant; version 2 exploded from 8 on."""
    errors = []
    for seed in range(8):
        X_test, y_test, _ = counts(1000, seed + 100)
        found = predictions(WITH_CONSTANTS, epsilon, (0, 89), seed, *counts(n, seed), X_test)
        errors.append(np.mean((np.array(found) - y_test) ** 2, axis=1))
    ours, *constants = np.mean(errors, axis=0)
    assert ours <= 1.05 * min(constants)


def test_missing_entries_take_the_mean_of_those_that_are_shown():
    X = np.array([[0.2, 1.0, np.nan], [0.4, np.nan, np.nan], [0.6, 3.0, 0.5], [0.8, 5.0, np.nan]])
    shown = ShownFeatures(X)
    np.testing.assert_array_equal(shown.columns, [0, 1])
    np.testing.assert_array_equal(shown.hidden, [2])
    Z = shown.transform(X)
    assert Z[1, 1] == 0.0 and Z[0, 1] == pytest.approx(-2.0 / np.std([1.0, 3.0, 5.0]))


def test_kernel_features_reproduce_their_kernels():
    Z = np.random.default_rng(0).standard_normal((60, 3))
    features = KernelFeatures(Z, np.random.default_rng(1))
    for F in features.transform(Z):
        np.testing.assert_allclose(F.mean(axis=0), 0.0, atol=1e-9)
        assert (F**2).sum(axis=1).mean() == pytest.approx(1.0)
    squared = ((Z[:, None] - Z) ** 2).sum(axis=2)
    kernel = np.exp(-squared / np.median(squared[np.triu_indices(60, 1)]))
    centered = kernel - kernel.mean(axis=0) - kernel.mean(axis=1)[:, None] + kernel.mean()
    np.testing.assert_allclose(
        features.transform(Z)[1] @ features.transform(Z)[1].T, centered / centered.trace() * 60, atol=1e-6
    )


RANGE = (-3.0, 3.0)


def posterior(n=150, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    F = [rng.standard_normal((n, 3)) / np.sqrt(3.0), rng.standard_normal((n, 5)) / np.sqrt(5.0)]
    reports = 2.0 * F[0][:, 0] + 0.5 * rng.standard_normal(n) + np.sqrt(noise) * rng.standard_normal(n)
    return F, reports, np.full(n, noise)


def average_of(F, reports, noise):
    moments = Moments(RANGE)
    for rows in (slice(0, 15), slice(15, None)):
        moments.add([G[rows] for G in F], reports[rows], noise[rows])
    return GaussianAverage(moments)


def test_posterior_mean_is_that_of_ridge_regression():
    """One model by hand: mean of the reports plus a ridge estimate with the model's ratio of variances."""
    F, reports, noise = posterior()
    average = average_of(F[:1], reports, noise)
    F0 = F[0] - F[0].mean(axis=0)
    values = np.zeros(reports.size)
    models = average._models[0]
    for weight, signal, error in zip(average.weights[8:], models.variance, models.noise, strict=True):
        ridge = np.linalg.solve(F0.T @ F0 + error / signal * np.eye(3), F0.T @ (reports - reports.mean()))
        values += weight * (F0 @ ridge)
    np.testing.assert_allclose(average.predict(F[:1]), average.mean + values, atol=1e-4)
    assert average.mean == pytest.approx(reports.mean(), abs=0.01)


def test_leave_one_out_leaves_one_out():
    """Against refits of the same models without the report, whose weights are those of the whole sample."""
    F, reports, noise = posterior(n=40)
    average = average_of(F, reports, noise)
    constant, predictions = average.leave_one_out(F, reports, noise)
    for i in (0, 7, 23):
        kept = np.arange(40) != i
        refit = average_of([G[kept] for G in F], reports[kept], noise[kept])
        refit.weights = average.weights
        assert predictions[i] == pytest.approx(refit.predict([G[[i]] for G in F])[0], abs=0.02)
        assert constant[i] == pytest.approx(refit.mean, abs=1e-3)


def test_label_variance_is_estimated_from_noisy_reports():
    F, reports, noise = posterior(n=4000, noise=3.0)
    average = average_of(F, reports, noise)
    truth = 4.0 / 3.0 + 0.25
    assert average.label_variance == pytest.approx(truth, rel=0.25)
    assert average.residual_variance == pytest.approx(0.25, abs=0.35)


def test_effects_of_bins_are_estimated_and_shrunk():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 4, 4000)
    one_hot = (bins[:, None] == np.arange(4)).astype(float)
    truth = np.array([-0.6, -0.2, 0.2, 0.6])
    residual = truth[bins] + rng.standard_normal(4000)
    found = estimate_effects(one_hot * residual[:, None], one_hot, 1.0)
    np.testing.assert_allclose(found.values, truth, atol=0.12)
    noise = rng.standard_normal(4000)
    none = estimate_effects(one_hot * noise[:, None], one_hot, 1.0)
    assert np.abs(none.values).max() < 0.02 and none.probability < 0.5 < 0.95 < found.probability


def test_bins_are_equal():
    np.testing.assert_array_equal(bin_of(np.array([0.0, 0.24, 0.25, 0.99, 1.0]), 4), [0, 0, 1, 3, 3])


def test_the_forest_leaves_every_row_out_of_half_of_its_trees_whatever_its_weight():
    rng = np.random.default_rng(0)
    X, y, weight = rng.random((41, 3)), np.zeros(41), np.ones(41)
    y[7], weight[7] = 100.0, 1000.0
    forest = HalfForest(X, y, weight, 1, rng)
    assert forest.left_out[7] == pytest.approx(0.0, abs=1e-9)
    assert (forest.left_out > 1.0).any()
    assert forest.predict(X)[7] == pytest.approx(50.0)


def test_a_forest_is_grown_once_whoever_asks(monkeypatch):
    grown, (X, y, _) = [], sample(90)
    monkeypatch.setattr(half_forest, "HalfForest", lambda *given: grown.append(given) or HalfForest(*given))
    one, same, other = (half_forest.SharedForest(X, y, np.ones(90), 2, seed=seed) for seed in (1, 1, 2))
    plain = HalfForest(X, y, np.ones(90), 2, np.random.default_rng(1))
    assert pickle.dumps(one) == pickle.dumps(same) and b"PCG64" not in pickle.dumps(one), "no generator is kept"
    for forest in (one, same, pickle.loads(pickle.dumps(one))):
        assert np.array_equal(forest.left_out, plain.left_out)
        assert np.array_equal(forest.predict(X), plain.predict(X))
    assert len(grown) == 2 and not np.array_equal(other.left_out, plain.left_out)
    assert np.array_equal(same.predict(X[:9]), plain.predict(X[:9])), "rows that no other has asked for"


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 10.0, 16.0])
def test_bins_that_nobody_is_in_have_no_effect(epsilon):
    """Residuals near a known middle, four of six bins empty: estimated counts are below zero, the sums are not."""
    rng, report = np.random.default_rng(3), LevelReport(epsilon, 4, 6)
    bins, residuals = rng.choice([0, 0, 0, 1], 900), np.clip(0.3 * rng.standard_normal(900), -1.0, 1.0)
    reports = report.randomize(np.column_stack([residuals, bins]), rng)
    indicators = report.indicators(reports)
    products = 50.0 * (report.products(reports) + 0.7 * indicators)
    found = estimate_effects(products, indicators, 225.0, 2500.0 * report.empty_variance)
    assert (found.values[2:] == 0.0).all()
    assert np.abs(found.values).max() < 15.0


def one_hot(n, seed):
    """Seven levels that explain two thirds of the variance, and three shown features."""
    rng = np.random.default_rng(seed)
    level, shown = rng.integers(0, 7, n), rng.random((n, 3))
    y = np.array([-2.0, -1.2, 1.5, -0.3, 0.8, 2.0, -1.0])[level] + shown[:, 0] + 0.8 * rng.standard_normal(n)
    return np.column_stack([np.eye(7)[level], shown]), np.clip(y, -5, 5), np.arange(10) < 7


def skewed(n, seed):
    """A protected feature most of whose values lie in the uppermost fifth of its domain, where the label turns."""
    rng = np.random.default_rng(seed)
    x, shown = rng.beta(6.0, 1.2, n), rng.random((n, 3))
    y = 10.0 * (x - 0.85) + shown[:, 0] + 0.5 * rng.standard_normal(n)
    return np.column_stack([x, shown]), np.clip(y, -5, 5), np.arange(4) < 1


@pytest.mark.parametrize(
    ("draw", "epsilon", "share"), [(skewed, 2.0, 0.6), (skewed, 4.0, 0.35), (one_hot, 2.0, 0.85), (one_hot, 4.0, 0.4)]
)
def test_protected_features_pay_where_equal_bins_do_not(draw, epsilon, share):
    """Mean squared error over the label's variance, of four samples; it was 0.97, 0.34, 0.98 and 0.66."""
    found = []
    for seed in range(4):
        X, y, mask = draw(3000, seed)
        X_test, y_test, _ = draw(2000, seed + 100)
        groups = [range(7)] if draw is one_hot else None
        model = ResidualGP(epsilon, y_range=(-5, 5), random_state=seed).fit(X, y, mask=mask, groups=groups)
        found.append(np.mean((model.predict(X_test) - y_test) ** 2) / y_test.var())
    assert np.mean(found) <= share


def test_cells_join_to_bins_with_about_as_many_users_each():
    rng = np.random.default_rng(0)
    cells = rng.choice(8, 4000, p=[0.01, 0.01, 0.01, 0.02, 0.05, 0.2, 0.3, 0.4])
    indicators = np.eye(8)[cells] + 0.3 * rng.standard_normal((4000, 8))
    products = indicators * rng.standard_normal((4000, 1))
    ordered = Binning((2,), np.arange(8))
    place, by_label = ordered.joined(products, indicators, 3)
    assert place.tolist() == [0, 0, 0, 0, 0, 0, 1, 2] and not by_label
    np.testing.assert_array_equal(replace(ordered, bin_of_cell=place).of(np.array([[0, 0, 0.8], [0, 0, 1.0]])), [1, 2])
    # Two values in a fine grid are two bins; rare levels go together; too many are neighbors by their effects.
    two = np.eye(8)[7 * (cells > 5)]
    assert ordered.joined(two, two, 4)[0].max() == 1
    levels = Binning((0, 1, 2, 3, 4, 5, 6), np.arange(8), levels=True)
    few = np.eye(8)[cells % 3 + 4]
    assert levels.joined(few, few, 4)[0].max() == 2
    effect = np.array([1.0, -1.0] * 4)
    even = np.eye(8)[rng.integers(0, 8, 4000)]
    place, by_label = levels.joined(even * effect, even, 2)
    assert by_label and place.tolist() == [1, 0] * 4
    np.testing.assert_array_equal(levels.of(np.eye(7)[[3, 5]]), [3, 5])
    assert levels.of(np.zeros((1, 7))) == 7


def test_the_weights_of_a_mixture_are_posterior_means():
    """Without information they are equal; with it they are those of least squares on the simplex."""
    rng = np.random.default_rng(1)
    parts, ones = rng.standard_normal((20_000, 3)), np.ones(20_000)
    np.testing.assert_allclose(mixture_weights(0.0 * parts, ones, ones, 1.0), 1 / 3, atol=1e-12)
    reports = parts @ [0.3, 0.7, 0.0] + rng.standard_normal(20_000)
    np.testing.assert_allclose(mixture_weights(parts, reports, ones, 1.0), [0.3, 0.7, 0.0], atol=0.04)
    assert mixture_weights(parts, -parts[:, 0], ones, 1.0)[0] < 0.02


def test_favored_parts_suffice_unless_reports_say_otherwise():
    """Without information by hand: 0.9 on the favored parts, 0.1 spread evenly; with it as without favor."""
    rng = np.random.default_rng(1)
    parts, ones = rng.standard_normal((20_000, 3)), np.ones(20_000)
    known = {
        ((0,),): [0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3],
        ((0, 1),): [0.45 + 0.1 / 3, 0.45 + 0.1 / 3, 0.1 / 3],
        ((0, 1), (0,)): [0.81 + 0.045 + 0.1 / 3, 0.045 + 0.1 / 3, 0.1 / 3],
    }
    for favored, expected in known.items():
        nothing = mixture_weights(0.0 * parts, ones, ones, 1.0, favored=favored)
        np.testing.assert_allclose(nothing, expected, atol=1e-12)
        found = mixture_weights(parts, parts[:, 2] + rng.standard_normal(20_000), ones, 1.0, favored=favored)
        np.testing.assert_allclose(found, [0.0, 0.0, 1.0], atol=0.04)
    # What no report shows of a part's error counts like what they show: here as much as the first part's.
    same = mixture_weights(np.column_stack([ones, 0.0 * ones]), 0.0 * ones, ones, 1.0, blind=np.array([0.0, 1.0]))
    np.testing.assert_allclose(same, 0.5, atol=1e-12)


@pytest.mark.parametrize("epsilon", [pytest.param(8.0, marks=pytest.mark.slow), 16.0])
def test_rows_of_one_person_are_taken_for_one(epsilon):
    """As many people, each there three times: no more error than with each of them once."""
    X_test, y_test, _ = sample(2000, seed=99)
    errors = {copies: [] for copies in (1, 3)}
    for seed in range(12):
        for copies, found in errors.items():
            rows = (np.repeat(part, copies, axis=0) for part in sample(100, seed=seed))
            [predicted] = predictions((ResidualGP,), epsilon, Y_RANGE, seed, *rows, X_test)
            found.append(np.mean((predicted - y_test) ** 2))
    assert np.mean(errors[3]) <= 1.02 * np.mean(errors[1])


@pytest.mark.parametrize("signal", [0.3, 1.0, pytest.param(3.0, marks=pytest.mark.slow)])
def test_people_who_show_the_same_lose_nothing_by_it(signal, monkeypatch):
    """Forty places with fifteen users each: where labels differ nothing is pooled, elsewhere nothing is lost."""
    X_test, y_test, _ = sample(2000, signal=signal, seed=99)

    def at_places(X):
        return np.round(X[:, [0, 1, 1, 1]] * 39) / 39

    errors = {pooled: [] for pooled in (True, False)}
    for pooled, found in errors.items():
        if not pooled:
            monkeypatch.setattr(Curator, "pool_repeats", lambda self: None)
        for seed in range(6):
            X, y, mask = sample(600, signal=signal, seed=seed)
            model = ResidualGP(16.0, y_range=Y_RANGE, random_state=seed).fit(at_places(X), y, mask=mask)
            found.append(np.mean((model.predict(at_places(X_test)) - y_test) ** 2))
    assert np.mean(errors[True]) <= 1.02 * np.mean(errors[False])
    assert (errors[True] == errors[False]) == (signal == 0.3)


def persons(n, rows, seed):
    """People with several rows each: a label of their own that no feature explains, and features that tell who."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.random((n, 5)), rows, axis=0) + 0.02 * rng.standard_normal((n * rows, 5))
    y = np.repeat(rng.standard_normal(n), rows) + 0.3 * rng.standard_normal(n * rows)
    return np.clip(X, 0, 1), np.clip(y, -4, 4), np.repeat(np.arange(n), rows)


@pytest.mark.parametrize(("n", "rows"), [pytest.param(20, 20, marks=pytest.mark.slow), (50, 20)])
def test_persons_with_several_rows_cost_no_more_than_a_constant(n, rows):
    """Over six samples; without `units` the error of fifty persons is 1.23 and 1.29 of the better constant's."""
    for epsilon in (2.0, 8.0):
        errors = []
        for seed in range(6):
            (X, y, units), (X_test, y_test, _) = persons(n, rows, seed), persons(400, 1, seed + 500)
            mask = np.zeros(X.shape, dtype=bool)
            model = ResidualGP(epsilon, y_range=(-4, 4), random_state=seed).fit(X, y, mask=mask, units=units)
            constants = predictions(WITH_CONSTANTS[1:], epsilon, (-4, 4), seed, X, y, mask, X_test)
            errors.append(np.mean((np.array([model.predict(X_test), *constants]) - y_test) ** 2, axis=1))
            assert model.guarantee_.epsilon == rows * epsilon and model.guarantee_.rounds == rows
            assert f"a person, who has at most {rows}" in model.guarantee_.note
        ours, *constants = np.mean(errors, axis=0)
        assert ours <= 1.05 * min(constants)


def test_units_of_one_row_each_change_nothing_that_is_spent():
    X, y, mask = sample(n=200)
    model = ResidualGP(2.0, y_range=Y_RANGE, random_state=0)
    assert model.fit(X, y, mask=mask, units=np.arange(200)).guarantee_ == clone(model).fit(X, y, mask=mask).guarantee_
    with pytest.raises(DataError, match="units has shape"):
        model.fit(X, y, mask=mask, units=[1, 2])
    with pytest.raises(DataError, match="units names one person in all rows"):
        model.fit(X, y, mask=mask, units=np.zeros(200))
    assert clone(model).fit(X, y, mask=mask, units=np.arange(200) == 7).predict(X).size == 200
    with pytest.raises(DataError, match="twice"):
        model.fit(X, y, mask=mask, groups=[[0, 1], [1, 2]])
