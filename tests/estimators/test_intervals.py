"""Intervals and sets hold their coverage at exact epsilon, and are wide rather than wrong where reports tell little."""

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from lpbench.errors import ConfigurationError
from lpbench.estimators import PrivateIntervals, PrivateMean, PrivateSets, ResidualGP
from lpbench.estimators.base import sealed
from lpbench.estimators.intervals.coverage import CoverageCurve, ThresholdQuestion, calibrate, calibrate_levels
from lpbench.privacy import RandomizedResponse, SimulatedUsers
from lpbench.seeds import Streams


class Scores:
    """Users who know their scores."""

    def __init__(self, scores, rng):
        self.scores, self.rng = scores, rng

    def ask(self, device, question, who):
        return question.mechanism.randomize(self.scores[who] <= question.threshold, self.rng)


#: Quantile functions of scores, with reach 1, on which no shape of the search's laws lies exactly.
LAWS = {
    "uniform": lambda u: u,
    "cubes": lambda u: u**3,
    "narrow": lambda u: np.minimum(np.abs(ndtri((1 + u) / 2)) / 20, 1.0),
    "heavy tail": lambda u: np.minimum(stdtrit(3, (1 + u) / 2) / 20, 1.0),
    "right or wrong": lambda u: np.where(u < 0.8, 0.02 * u, 0.5 + 2.5 * (u - 0.8)),
    "steps": lambda u: np.where(u < 0.3, 0.0, np.floor(10 * ((u - 0.3) / 0.7).clip(0) ** 2) / 10),
}


def simulated(n, epsilon, law, runs=40, level=0.9):
    """Mean coverage of calibrations with n users, and their mean threshold in those of calibrations without noise."""
    thresholds, exact = [], []
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        mechanism = RandomizedResponse.for_budget(epsilon)
        curve = CoverageCurve(1.0, mechanism, level)
        question = ThresholdQuestion(None, "residual", 0.0, mechanism)
        scores = LAWS[law](rng.random(n))
        calibrate(Scores(scores, rng), np.arange(n), curve, question)
        thresholds.append(curve.threshold())
        exact.append(np.sort(scores)[min(n, int(np.ceil(level * (n + 1)))) - 1])
    known = LAWS[law](np.linspace(0.0, 1.0, 100_001)[:-1])
    coverage = np.searchsorted(known, thresholds, side="right") / known.size
    return float(coverage.mean()), float(np.mean(thresholds) / np.mean(exact))


# n counts all users, of whom a fifth calibrate.
@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        (10_000, 1.0),
        pytest.param(1_000, 8.0, marks=pytest.mark.slow),
        (625, 4.0),
        pytest.param(40_000, 0.5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("law", LAWS)
def test_coverage_and_width_where_users_tell_enough(n, epsilon, law):
    coverage, width = simulated(n // 5, epsilon, law)
    assert 0.88 <= coverage <= 0.94 and width <= 1.3


@pytest.mark.parametrize(("n", "epsilon"), [(50, 8.0), (1_000, 1.0), pytest.param(3_000, 0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", LAWS)
def test_wide_rather_than_wrong_where_they_do_not(n, epsilon, law):
    assert simulated(n // 5, epsilon, law)[0] >= 0.88


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("law", ["narrow", "heavy tail"])
def test_every_level_that_is_asked_about_holds(law, level):
    # Mean coverage of 40 runs, whose standard error is at most 0.007.
    coverage, width = simulated(400, 4.0, law, level=level)
    assert coverage >= level - 0.01 and width <= 1.3


FOUR = (0.5, 0.8, 0.9, 0.95)


def thresholds_of(levels, n, epsilon, law, runs):
    """Thresholds of calibrations with n users, shape (runs, levels)."""
    found, mechanism = [], RandomizedResponse.for_budget(epsilon)
    for run in range(runs):
        rng = np.random.default_rng([run, n])
        curves = [CoverageCurve(1.0, mechanism, level) for level in levels]
        users = Scores(LAWS[law](rng.random(n)), rng)
        question = ThresholdQuestion(None, "residual", 0.0, mechanism)
        if len(curves) == 1:
            calibrate(users, np.arange(n), curves[0], question)
        else:
            calibrate_levels(users, np.arange(n), curves, question)
        found.append(np.maximum.accumulate([curve.threshold() for curve in curves]))
    return np.array(found)


@pytest.mark.parametrize(("n", "epsilon"), [(400, 4.0), pytest.param(1000, 1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("law", ["uniform", "narrow", "heavy tail"])
def test_several_levels_cost_little_more_than_one_alone(n, epsilon, law):
    """Thresholds of each level over those of one alone; where a law has steps, half coverage costs up to 1.9."""
    together = thresholds_of(FOUR, n, epsilon, law, 8)
    alone = np.hstack([thresholds_of([level], n, epsilon, law, 8) for level in FOUR])
    known = LAWS[law](np.linspace(0.0, 1.0, 100_001)[:-1])
    coverage = np.searchsorted(known, together, side="right").mean(axis=0) / known.size
    assert (coverage >= np.array(FOUR) - 0.02).all()
    assert (together.mean(axis=0) <= 1.3 * alone.mean(axis=0)).all()


def test_nobody_asked_covers_everything_and_many_give_the_quantile():
    mechanism = RandomizedResponse.for_budget(4.0)
    curve = CoverageCurve(7.0, mechanism, 0.9)
    assert curve.threshold() == 7.0
    rng = np.random.default_rng(0)
    question = ThresholdQuestion(None, "residual", 0.0, mechanism)
    calibrate(Scores(7.0 * rng.random(5000) ** 3, rng), np.arange(5000), curve, question)
    assert curve.threshold() == pytest.approx(7.0 * 0.9**3, rel=0.1)


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
    np.testing.assert_array_equal(model.predict_interval(new, 0.5), ends)
    with pytest.raises(ConfigurationError, match=r"coverage=0.95 is above every level .* 0.9: fit"):
        model.predict_interval(new, 0.95)
    guarantee = model.guarantee_
    assert guarantee.epsilon == pytest.approx(4.0) and guarantee.rounds == 1 and "600 users calibrate" in guarantee.note
    np.testing.assert_array_equal(model.predict(new), model.estimator_.predict(new))


def test_levels_share_the_calibrating_users_and_hold_each():
    X, y = sample(4000)
    new, labels = sample(4000, 1)
    model = PrivateIntervals(epsilon=4.0, coverage=[0.9, 0.5], y_range=(-1.0, 2.0), random_state=1)
    model.fit(X, y, mask=np.zeros(X.shape, dtype=bool))
    assert model.guarantee_.epsilon == 4.0 and model.guarantee_.rounds == 1
    assert "800 users calibrate" in model.guarantee_.note and list(model.curves_) == [0.5, 0.9]
    half, most = (model.predict_interval(new, level) for level in (0.5, 0.9))
    for level, ends in ((0.5, half), (0.9, most)):
        assert abs(((ends[:, 0] <= labels) & (labels <= ends[:, 1])).mean() - level) < 0.07
    # Levels between are answered by the one above, and no level asked: by the highest.
    np.testing.assert_array_equal(model.predict_interval(new, 0.7), most)
    np.testing.assert_array_equal(model.predict_interval(new), most)
    assert (half[:, 0] >= most[:, 0]).all() and (half[:, 1] <= most[:, 1]).all()
    with pytest.raises(ConfigurationError, match="one or more levels"):
        PrivateIntervals(coverage=[], y_range=(-1.0, 2.0)).fit(X, y)


def spreading(n, seed, protected=False):
    """Rows, labels, and the labels' own spread, which grows fivefold along one feature."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    spread = 0.02 * (1.0 + 4.0 * X[:, 2 if protected else 0])
    return X, np.clip(0.5 + 0.3 * (X[:, 1] - 0.5) + spread * rng.normal(size=n), 0.0, 1.0), spread


class Asked(SimulatedUsers):
    """Users who note who was asked."""

    def ask(self, device, question, who=None):
        index = np.arange(self.n) if self._index is None else self._index
        self.__dict__.setdefault("asked", []).extend(index if who is None else index[who])
        return super().ask(device, question, who)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_nobody_is_asked_twice_for_normalized_intervals(epsilon):
    X, y, _ = spreading(400, 0)
    model = PrivateIntervals(epsilon=epsilon, normalized=True, y_range=(0.0, 1.0), random_state=0)
    records, known = sealed(model, X, y, np.tile([False, False, True], (len(X), 1)))
    users = Asked(records, Streams(0), **known)
    users.asked = []
    model.learn_from(users)
    assert sorted(users.asked) == list(range(400)) and set(users.spent_by_user) == {model.guarantee_.epsilon}
    guarantee = model.guarantee_
    assert guarantee.epsilon == pytest.approx(epsilon) and guarantee.epsilon <= epsilon and guarantee.rounds == 1
    assert "80 users tell how far" in guarantee.note and "80 users calibrate" in guarantee.note


@pytest.mark.parametrize("protected", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_normalized_intervals_cover_the_rows_that_spread_most(protected):
    runs = []
    for seed in range(6):
        X, y, _ = spreading(3000, seed, protected)
        new, labels, spread = spreading(4000, seed + 100, protected)
        noisiest = spread >= np.quantile(spread, 0.75)
        for normalized in (False, True):
            model = PrivateIntervals(
                epsilon=8.0, coverage=0.8, normalized=normalized, y_range=(0.0, 1.0), random_state=seed
            )
            ends = model.fit(X, y, mask=np.tile([False, False, True], (len(X), 1))).predict_interval(new)
            inside = (ends[:, 0] <= labels) & (labels <= ends[:, 1])
            runs.append((inside.mean(), inside[noisiest].mean(), np.ptp(ends, axis=1).mean()))
    (_, least, width), (marginal, most, scaled) = np.array(runs).reshape(6, 2, 3).mean(axis=0)
    assert 0.78 <= marginal <= 0.85 and most >= 0.72 > least and scaled <= 1.1 * width


def test_a_constant_spread_leaves_widths_nearly_alike():
    X, y = sample(3000)
    new, labels = sample(2000, 1)
    models = (
        PrivateIntervals(epsilon=4.0, normalized=normalized, y_range=(-1.0, 2.0), random_state=1)
        for normalized in (False, True)
    )
    ends = [model.fit(X, y, mask=np.zeros(X.shape, dtype=bool)).predict_interval(new) for model in models]
    plain, scaled = (np.ptp(interval, axis=1) for interval in ends)
    assert abs(scaled.mean() / plain.mean() - 1.0) < 0.1 and scaled.std() < 0.2 * scaled.mean()
    assert 0.86 <= ((ends[1][:, 0] <= labels) & (labels <= ends[1][:, 1])).mean() <= 0.96


@pytest.mark.parametrize("n", [2, 3, 12, 40])
def test_normalized_intervals_of_few_users_are_wide_rather_than_wrong(n):
    X, y, _ = spreading(n, 0)
    for estimator in (None, PrivateMean()):
        model = PrivateIntervals(estimator, epsilon=1.0, normalized=True, y_range=(0.0, 1.0), random_state=0)
        ends = model.fit(X, y, mask=[2]).predict_interval(X)
        assert np.isfinite(ends).all() and ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean() >= 0.8
        np.testing.assert_array_equal(model.within(X, 1.0), np.tile([0.0, 1.0], (n, 1)))


def test_a_parameter_of_a_later_version_changes_no_draw_of_fits_without_it():
    """Fits draw what they drew before ``normalized`` was a parameter."""
    X, y = sample(300)
    model = PrivateIntervals(PrivateMean(), epsilon=2.0, y_range=(-1.0, 2.0), random_state=1).fit(X, y, mask=[2])
    assert model.predict_interval(X[:1])[0] == pytest.approx([-0.508157358092677, 1.3710501967843487])


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
