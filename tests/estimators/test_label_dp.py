import math
import warnings

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from lpbench.datasets import make_problem
from lpbench.errors import PrivacyLeakWarning
from lpbench.estimators import (
    CDPMean,
    CDPVote,
    KNNMean,
    LabelCDPMean,
    LabelCDPVote,
    LabelLDPKNN,
    LabelLDPVote,
    LDPMean,
    LDPVote,
)
from lpbench.estimators.baselines.hist import Hist
from lpbench.estimators.baselines.phist import PHIST
from lpbench.estimators.label_dp.vote import difference_variance
from lpbench.estimators.privatized_labels.numbers import on_simplex
from lpbench.privacy import GRR, BitVector
from lpbench.seeds import Streams
from tests.estimators.loops import learned

BUDGETS = [0.3, 1.0, 4.0]


def test_sweeps_know_the_public_facts_of_the_problem():
    """The harness fits clones that know the list of classes and the range of the label."""
    classes = make_problem("rough_classes", {"n": 30, "classes": 40, "pair_mass": 0.5}, seed=2)
    assert CDPVote().for_problem(classes).classes is classes.classes
    assert LabelLDPVote(classes=[1, 2]).for_problem(classes).classes == [1, 2]
    bounded = make_problem("rough_regression", {"n": 30}, seed=2)
    assert LabelLDPKNN().for_problem(bounded).y_range == (-1.0, 1.0)
    result = LabelLDPVote().sweep_many([classes], BUDGETS, {}, [Streams(1)])[0]
    assert np.isfinite(result.values).all()


@pytest.mark.parametrize(("d", "sizes"), [(1, (1, 7, 499, 500)), (3, (9,))])
def test_predictions_are_the_nearest_neighbor_means(d, sizes):
    rng = np.random.default_rng(0)
    X, y, queries = rng.random((500, d)), rng.normal(size=500), rng.uniform(-0.2, 1.2, (301, d))
    for k in sizes:
        model = KNNMean(k=k, moment=2, domain=(-1.0, 2.0)).fit(X, y)
        wanted = KNeighborsRegressor(k).fit(X, y).predict(queries)
        np.testing.assert_allclose(model.predict(queries), wanted, atol=1e-10)


def test_full_cdp_votes_are_label_cdp_votes_at_another_budget():
    """(33) at eps is (19) at eps / 2; with the tight constant it is (19) itself: full privacy then costs nothing."""
    problem = make_problem("rough_classes", {"n": 3000}, seed=6)
    streams = Streams(1)
    label = LabelCDPVote(beta=0.5).sweep(problem, [0.05, 0.1], {}, streams).values
    paper = CDPVote(beta=0.5).sweep(problem, [0.1, 0.2], {}, streams).values
    tight = CDPVote(beta=0.5, constants="tight").sweep(problem, [0.05, 0.1], {}, streams).values
    np.testing.assert_array_equal(label, paper)
    np.testing.assert_array_equal(label, tight)


def test_an_empty_cube_predicts_the_center_of_the_range():
    X, y = np.array([[0.1], [0.2]]), np.array([5.0, 6.0])
    model = LabelCDPMean(1.0, bins=4, y_range=(4.0, 8.0), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict([[0.6], [0.9]]), 6.0)


def test_labels_are_centered_at_the_middle_of_the_range():
    """Shifting the labels and their range shifts the predictions."""
    problem = make_problem("rough_regression", {"n": 500}, seed=1)
    for model in (LabelLDPKNN(y_range=(-1, 1)), LabelCDPMean(y_range=(-1, 1)), CDPMean(y_range=(-1, 1))):
        plain = learned(model.set_params(random_state=3), problem.X_train, problem.y_train).predict(problem.X_test)
        shifted = learned(model.set_params(y_range=(9, 11)), problem.X_train, problem.y_train + 10)
        np.testing.assert_allclose(shifted.predict(problem.X_test), plain + 10)


def test_declared_classes_are_all_there_even_if_unseen():
    X, y = np.linspace(0, 1, 8)[:, None], np.array(["b", "c"] * 4)
    model = LabelLDPVote(classes=["d", "a", "b", "c"], random_state=0).fit(X, y)
    assert list(model.classes_) == ["a", "b", "c", "d"]
    assert model.predict_proba(X).shape == (8, 4) and model.guarantee_.note == ""


def test_a_moment_bound_stands_in_for_the_label_range():
    rng = np.random.default_rng(1)
    X, y = rng.random((200, 1)), rng.standard_t(3, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        for model in (LabelLDPKNN(moment=2), LabelCDPMean(moment=2), CDPMean(moment=2)):
            assert np.isfinite(model.set_params(random_state=1).fit(X, y).predict(X)).all()
    with pytest.warns(PrivacyLeakWarning):
        LabelLDPKNN().fit(X, y)


def test_variance_of_a_difference_of_two_classes_is_bounded_as_stated():
    """Exact variance of the unbiased difference over the enumerated reports, for Y = a or b with equal probability."""
    for K in (2, 3, 5):
        for epsilon in (0.5, 2.0):
            bits = BitVector(epsilon, K)
            shown = (np.arange(2**K)[:, None] >> np.arange(K)) & 1
            channels = {bits: (bits.channel(), shown), GRR(epsilon, K): (GRR(epsilon, K).channel(), np.eye(K))}
            for randomizer, (channel, vectors) in channels.items():
                difference = randomizer.estimate(vectors[:, 0]) - randomizer.estimate(vectors[:, 1])
                law = channel[:2].mean(axis=0)
                variance = law @ difference**2 - (law @ difference) ** 2
                assert variance <= difference_variance(randomizer) * (1 + 1e-12)
                if K == 2 or isinstance(randomizer, BitVector):
                    assert variance == pytest.approx(difference_variance(randomizer))


def test_projection_on_the_simplex_keeps_order_and_fixes_the_simplex():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 5))
    projected = on_simplex(values)
    np.testing.assert_allclose(projected.sum(axis=1), 1)
    assert (projected >= 0).all()
    np.testing.assert_array_equal(projected.argmax(axis=1), values.argmax(axis=1))
    np.testing.assert_allclose(on_simplex(projected), projected, atol=1e-12)
    # First-order optimality: no vertex of the simplex makes an acute angle with the residual.
    residual = values - projected
    assert (residual.max(axis=1) <= (residual * projected).sum(axis=1) + 1e-9).all()


@pytest.mark.parametrize(
    ("model", "reference"), [(LDPVote(beta=0.5, holder=0.4), PHIST), (LDPMean(beta=0.5, holder=0.4), Hist)]
)
def test_full_ldp_references_are_the_histograms_at_the_width_of_the_rates(model, reference):
    task = "rough_classes" if reference is PHIST else "rough_regression"
    bins = []
    for n in (2000, 128_000):
        problem = make_problem(task, {"n": n}, seed=2)
        model = model.for_problem(problem).set_params(epsilon=8.0, random_state=Streams(3))
        learned(model, problem.X_train, problem.y_train)
        bins.append(model.histogram_.bins)
        assert (model.guarantee_.model, model.guarantee_.epsilon) == ("ldp", pytest.approx(8.0))
    # h ~ N^(-1/3) for beta = 1/2 and d = 1: 64 times the sample, 4 times the bins (up to rounding).
    assert 3 * bins[0] < bins[1] < 6 * bins[0]
    known = {"y_range": (-1.0, 1.0), "threshold": 0.5 / bins[1]} if reference is Hist else {}
    plain = reference(epsilon=8.0, bins=bins[1], random_state=Streams(3), **known)
    expected = learned(plain, problem.X_train, problem.y_train).predict(problem.X_test)
    np.testing.assert_array_equal(model.predict(problem.X_test), expected)


def test_heavy_tails_under_full_ldp_are_clipped_at_a_level_that_ignores_the_labels():
    X = np.random.default_rng(0).random((4000, 1))
    y = np.zeros(4000)
    levels = []
    for largest in (1.0, 1e6):
        y[0] = largest
        levels.append(LDPMean(1.0, moment=3, label_bound=2.0, random_state=0).fit(X, y).truncation_)
    assert levels[0] == levels[1] > 0


def test_without_a_budget_limit_a_bounded_moment_clips_nothing_and_no_label_is_read_for_it():
    """The cells predict their plain means, whatever the largest label."""
    X = np.random.default_rng(0).random((400, 1))
    y = np.random.default_rng(1).standard_t(3, 400)
    y[0] = 1e6
    model = LDPMean(math.inf, moment=3, bins=2, random_state=0).fit(X, y)
    assert model.truncation_ == math.inf
    right = X[:, 0] >= 0.5
    np.testing.assert_allclose(model.predict([[0.1], [0.9]]), [y[~right].mean(), y[right].mean()])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "epsilon", "exponent"),
    [
        (LabelLDPKNN(beta=0.5, holder=0.4), 1.0, 1 / 2),
        (KNNMean(beta=0.5, holder=0.4), math.inf, 1 / 2),
        (LabelCDPMean(beta=0.5, holder=0.4), 0.02, 2 / 3),
        (LDPMean(beta=0.5, holder=0.4), 8.0, 1 / 3),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_rates_of_bounded_regression(model, epsilon, exponent):
    """Mean risk of 40 replications at n = 2^13 and 2^17: the exponent within 0.12 (four of its standard errors)."""
    risks = []
    for n in (2**13, 2**17):
        problems = [make_problem("rough_regression", {"n": n}, replication=r, seed=9) for r in range(40)]
        streams = [Streams(9).child("method", replication=r) for r in range(40)]
        results = model.sweep_many(problems, [epsilon], {}, streams)
        risks.append(np.mean([result.values[0, 0] for result in results]))
    assert math.log(risks[0] / risks[1]) / math.log(16) == pytest.approx(exponent, abs=0.12)


def test_more_cubes_than_fit_are_refused():
    with pytest.raises(ValueError, match="bins=1000000000"):
        LabelCDPVote(bins=10**9).fit(np.linspace(0, 1, 9)[:, None], np.arange(9) % 2)
