import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lpbench.errors import ConfigurationError
from lpbench.estimators import PrivateLabelsClassifier, PrivateLabelsRegressor
from lpbench.estimators.private_classes import ClassQuestion
from lpbench.estimators.privatized_labels.classifier import CLASS_MECHANISMS, soft_labels
from lpbench.estimators.privatized_labels.learners import CLASSIFIERS, REGRESSORS
from lpbench.estimators.privatized_labels.numbers import (
    GRID,
    NUMBER,
    NUMBER_RANDOMIZERS,
    UNBIASED,
    NumberQuestion,
    bell,
    estimated_prior,
    on_simplex,
    posterior_readings,
    prior_question,
)
from lpbench.privacy import Laplace, Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.estimators.loops import learned
from tests.privacy.laws import assert_mean

N, Y_RANGE = 400, (-1.0, 3.0)
RNG = np.random.default_rng(0)
X = RNG.random((N, 3))
Y = np.clip(4 * X[:, 0] - 1 + 0.2 * RNG.standard_normal(N), *Y_RANGE)
CODES = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.8)
OPEN = np.zeros(X.shape, dtype=bool)


def reports_of(labels, question, streams):
    records = Records(np.zeros((len(labels), 1)), np.asarray(labels), None)
    return SimulatedUsers(records, streams, y_range=question.y_range).ask(NUMBER, question)


def pairs(randomizers, learners):
    """All pairs; the fast suite has each randomizer with the first learner, and each learner with the first of them."""
    first = (next(iter(randomizers)), next(iter(learners)))
    return [
        pytest.param(r, of, marks=[pytest.mark.slow] * (r != first[0] and of != first[1]))
        for r in randomizers
        for of in learners
    ]


@pytest.mark.parametrize(("randomizer", "learner"), pairs(NUMBER_RANDOMIZERS, REGRESSORS))
def test_every_randomizer_goes_with_every_regressor_and_learns(randomizer, learner):
    model = PrivateLabelsRegressor(8.0, randomizer, learner, y_range=Y_RANGE, random_state=1).fit(X, Y, mask=OPEN)
    assert np.mean((model.predict(X) - Y) ** 2) < 0.6 * Y.var()
    assert 8.0 - 1e-6 < model.guarantee_.epsilon <= 8.0 and model.guarantee_.model == "label_ldp"


@pytest.mark.parametrize(("randomizer", "learner"), pairs(CLASS_MECHANISMS, CLASSIFIERS))
def test_every_randomizer_goes_with_every_classifier_and_learns(randomizer, learner):
    model = PrivateLabelsClassifier(8.0, randomizer, learner, classes=[0, 1, 2], random_state=1)
    model.fit(X, CODES, mask=OPEN)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert (probability >= 0).all() and np.mean(model.predict(X) == CODES) > 0.7
    assert model.guarantee_.epsilon == 8.0


@pytest.mark.parametrize("epsilon", [0.7, 4.0])
@pytest.mark.parametrize("randomizer", UNBIASED)
def test_readings_are_unbiased_in_units_of_the_label(randomizer, epsilon):
    question = NumberQuestion(Y_RANGE, UNBIASED[randomizer](epsilon))
    for label in (-1.0, 0.3, 3.0):
        reports = reports_of(np.full(20_000, label), question, Streams(3))
        readings = question.readings(reports)
        assert_mean(readings, label, readings.std())


def test_the_prior_is_a_bell_without_users_and_the_truth_with_many():
    assert np.array_equal(estimated_prior(np.empty(0, dtype=int), prior_question((-1.0, 1.0), 1.0)), bell())
    truth = on_simplex(np.linspace(0, 0.03, GRID))
    rng = np.random.default_rng(2)

    def distance(n, epsilon):
        question = prior_question((-1.0, 1.0), epsilon)
        labels = np.linspace(-1, 1, GRID)[rng.choice(GRID, n, p=truth)]
        prior = estimated_prior(reports_of(labels, question, Streams(n)), question)
        assert prior.min() >= 0 and prior.sum() == pytest.approx(1)
        return np.abs(prior - truth).sum()

    assert distance(100_000, 6.0) < 0.15 < distance(50, 6.0)
    assert distance(20_000, math.inf) < 0.1
    assert distance(100_000, 0.5) < distance(50, 0.5)


@pytest.mark.parametrize("mean", [-0.9, -0.3, 0.0, 1.0])
def test_a_bell_lies_about_its_mean_and_in_the_range(mean):
    assert bell(mean).sum() == pytest.approx(1) and bell(mean) @ np.linspace(-1, 1, GRID) == pytest.approx(
        mean, abs=0.1
    )


def test_small_budgets_tell_the_mean_of_a_skewed_label():
    question = prior_question((0.0, 89.0), 0.5)
    labels = np.random.default_rng(0).exponential(6.0, 3000).clip(0, 89)
    prior = estimated_prior(reports_of(labels, question, Streams(1)), question)
    center = 44.5 * (1 + prior @ np.linspace(-1, 1, GRID))
    assert abs(center - labels.mean()) < 0.5 * abs(44.5 - labels.mean())


def test_posterior_readings_are_bayes_rule():
    question = prior_question((-1.0, 1.0), 4.0)
    points, prior = np.linspace(-1, 1, GRID), on_simplex(np.linspace(0, 0.03, GRID))
    joint = prior[:, None] * question.mechanism.at(points).channel()
    expected = points @ joint / joint.sum(axis=0)
    np.testing.assert_allclose(posterior_readings(np.arange(expected.size), prior, question), expected)


class Recorder(RegressorMixin, BaseEstimator):
    seen: list = []

    def fit(self, X, y, sample_weight=None):
        Recorder.seen.append(sample_weight)
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("learner", [Recorder(), make_pipeline(StandardScaler(), Recorder())], ids=["plain", "pipe"])
def test_users_with_noisier_questions_get_less_weight(learner):
    Recorder.seen.clear()
    model = PrivateLabelsRegressor(2.0, "optimal_unbiased", learner, 0.25, y_range=Y_RANGE, random_state=1)
    model.fit(X, Y, mask=OPEN)
    [weights] = Recorder.seen
    light, heavy = np.unique(weights)
    assert N // 4 in {(weights == light).sum(), (weights == heavy).sum()} and light < heavy
    model.set_params(randomizer="hybrid").fit(X, Y, mask=OPEN)
    assert Recorder.seen[-1] is None


def test_learners_without_weights_are_fitted_all_the_same_where_weights_only_help():
    PrivateLabelsRegressor(2.0, "optimal_unbiased", KNeighborsRegressor(), 0.25, y_range=Y_RANGE).fit(X, Y, mask=OPEN)
    with pytest.raises(ConfigurationError, match="takes no sample_weight"):
        PrivateLabelsClassifier(2.0, "alibi", KNeighborsClassifier(), classes=[0, 1, 2]).fit(X, CODES, mask=OPEN)


def test_any_estimator_is_cloned_and_keeps_its_settings():
    regressor = Ridge(alpha=7.0)
    model = PrivateLabelsRegressor(2.0, "levels", regressor, y_range=Y_RANGE).fit(X, Y, mask=OPEN)
    assert model.learner_ is not regressor and model.learner_.alpha == 7.0 and not hasattr(regressor, "coef_")
    pipe = make_pipeline(StandardScaler(), LogisticRegression(C=3.0))
    fitted = PrivateLabelsClassifier(2.0, "alibi", pipe, classes=[0, 1, 2]).fit(X, CODES, mask=OPEN)
    assert fitted.model_.learners[0][-1].C == 3.0 and fitted.get_params()["learner__logisticregression__C"] == 3.0


def test_protected_features_are_left_out_or_filled_with_means_of_those_shown():
    mask = OPEN.copy()
    mask[:, 0], mask[:100, 1] = True, True
    hidden = X.copy()
    hidden[mask] = RNG.random(mask.sum())
    fits = [learned(PrivateLabelsRegressor(2.0, y_range=Y_RANGE, random_state=5), A, Y, mask=mask) for A in (X, hidden)]
    assert fits[0].features_.tolist() == [1, 2]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    nothing = learned(PrivateLabelsRegressor(2.0, y_range=Y_RANGE, random_state=5), X, Y)
    assert nothing.learner_ is None and np.ptp(nothing.predict(X)) == 0
    assert (
        np.ptp(learned(PrivateLabelsClassifier(2.0, classes=[0, 1, 2]), X, CODES).predict_proba(X), axis=0).max() == 0
    )


def test_alibi_gives_the_posterior_for_the_prior_of_the_vectors():
    mechanism = Laplace.for_budget(1.5, 2.0)
    reports = np.array([[1.2, 0.4, -0.3], [0.1, 0.2, 0.9]])
    prior = on_simplex(reports.mean(axis=0))
    density = np.exp(-np.abs(reports[:, None, :] - np.eye(3)).sum(axis=2) / mechanism.scale)
    expected = prior * density / (prior * density).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(soft_labels(ClassQuestion(mechanism, n_classes=3), reports), expected)


def test_learned_probabilities_are_corrected_by_the_known_channel():
    """Among many users alike, the share of a class is estimated without bias, not that of its reports."""
    codes = np.repeat([0, 1], [1000, 9000])
    flat = np.zeros((codes.size, 1))
    for randomizer in ("rr", "subset_selection"):
        model = PrivateLabelsClassifier(1.0, randomizer, classes=[0, 1], random_state=3)
        model.fit(flat, codes, mask=np.zeros(flat.shape, dtype=bool))
        assert model.predict_proba(flat[:1])[0, 1] == pytest.approx(0.9, abs=0.06)


class Certain(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile(np.arange(self.classes_.size) == 1, (len(X), 1)).astype(float)


def test_a_certain_first_stage_leaves_nothing_to_report():
    model = PrivateLabelsClassifier(1.0, "two_stages", Certain(), classes=[0, 1], random_state=0)
    model.fit(X, (X[:, 0] > 0.5).astype(int), mask=OPEN)
    assert (model.predict(X) == 1).all()


def test_a_prior_for_which_everybody_answers_leaves_nobody():
    with pytest.raises(ConfigurationError, match=r"prior_share=1\.0"):
        PrivateLabelsRegressor(1.0, "rr_on_bins", prior_share=1.0, y_range=Y_RANGE).fit(X, Y, mask=OPEN)
