"""Three and more classes: the report with least noise, and one posterior for all classes."""

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from lpbench.estimators import PrivateMajority, ResidualScore
from lpbench.estimators.private_classes import indicator_mechanism, indicator_variance, indicators
from lpbench.estimators.tuning_free.class_posterior import class_moments, share_level
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments, Spreads
from lpbench.estimators.tuning_free.half_forest import HalfForest
from lpbench.estimators.tuning_free.mixture import Fitted
from lpbench.estimators.tuning_free.rare_class import RareClass, rare_share
from lpbench.privacy import GRR, SubsetSelection

BUDGETS = [0.1, 0.5, 1.0, 2.0, 4.0, np.inf]


def blobs(classes, n, seed, d=4, apart=2.0):
    """Rows about one center a class, in the unit cube."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    X = apart * np.random.default_rng(0).normal(size=(classes, d))[y] + rng.normal(size=(n, d))
    return np.clip(0.5 + X / 16.0, 0.0, 1.0), y


def exact_variance(mechanism):
    """Mean noise variance of the indicators, from the table of all reports."""
    m = mechanism.n_categories
    if isinstance(mechanism, GRR):
        reports = np.arange(m)
    else:
        table = np.array(list(combinations(range(m), mechanism.size)))
        reports = table
    values, channel = indicators(mechanism, reports), mechanism.channel()
    mean = channel @ values.T
    np.testing.assert_allclose(mean, np.eye(m), atol=1e-9)
    return float((channel @ values.T**2 - mean**2).mean())


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("classes", [1, 2, 3, 4, 6, 10])
def test_no_size_of_a_subset_has_less_noise_than_the_one_in_use(classes, epsilon):
    mechanism = indicator_mechanism(epsilon, classes)
    assert mechanism.epsilon == (epsilon if classes > 1 else 0.0)
    if classes < 4:
        assert mechanism == GRR(epsilon, classes)
    if classes > 1:
        sizes = range(1, classes)
        least = min(exact_variance(SubsetSelection(epsilon, classes, size)) for size in sizes)
        assert exact_variance(mechanism) == pytest.approx(least, rel=1e-9, abs=1e-12)
        assert indicator_variance(mechanism) == pytest.approx(exact_variance(mechanism), rel=1e-6, abs=1e-12)


def test_subsets_have_less_noise_where_the_budget_is_small_beside_the_classes():
    for classes, epsilon, share in [(10, 0.5, 0.53), (10, 1.0, 0.73), (20, 1.0, 0.5)]:
        ratio = indicator_variance(indicator_mechanism(epsilon, classes)) / indicator_variance(GRR(epsilon, classes))
        assert ratio < share
    assert isinstance(indicator_mechanism(4.0, 10), GRR)


def test_sums_of_all_classes_are_those_of_each():
    rng = np.random.default_rng(0)
    features, targets, noise = [rng.normal(size=(50, k)) for k in (2, 5)], rng.normal(size=(3, 50)), np.full(50, 2.0)
    spreads = Spreads(np.array([2.0]), np.ones(1))
    blocks = [(np.arange(a, b), [F[a:b] for F in features]) for a, b in pairwise([0, 20, 50])]
    for sums, target in zip(class_moments(iter(blocks), targets, noise, (-0.5, 0.5), spreads), targets, strict=True):
        alone = Moments((-0.5, 0.5), spreads)
        for users, F in blocks:
            alone.add(F, target[users], noise[users])
        np.testing.assert_allclose([sums.n, sums.weight, sums.first, sums.second],
                                   [alone.n, alone.weight, alone.first, alone.second])  # fmt: skip
        for one, other in zip(sums.kernels, alone.kernels, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b)


def test_the_same_evidence_for_each_of_two_classes_counts_once():
    rng = np.random.default_rng(1)
    F, noise = rng.normal(size=(80, 3)), np.full(80, 0.5)
    moments = Moments((-0.5, 0.5))
    moments.add([F], F[:, 0], noise)
    one, two = GaussianAverage(moments), GaussianAverage(moments)
    before = one.weights.copy()
    GaussianAverage.weigh_together([one, two])
    np.testing.assert_allclose(one.weights, before)
    np.testing.assert_array_equal(one.weights, two.weights)


def means_of(shares, n, seed, noise=16.0):
    """Means of noisy indicators of classes with these shares, by the posterior of all classes, and their raw means."""
    rng, K = np.random.default_rng(seed), len(shares)
    targets = np.eye(K)[rng.choice(K, size=n, p=shares)].T + np.sqrt(noise) * rng.normal(size=(K, n))
    spreads, F = Spreads(np.array([1.0 / np.sqrt((1.0 - 1.0 / K) / K)]), np.ones(1)), np.zeros((n, 1))
    blocks = iter([(np.arange(n), [F])])
    moments = class_moments(blocks, targets, np.full(n, noise), (1.0 / K - 0.5, 1.0 / K + 0.5), spreads)
    share_level(moments)
    return np.array([GaussianAverage(sums).mean for sums in moments]), targets.mean(axis=1)


@pytest.mark.parametrize("K", [3, 4, 10, 20])
def test_class_means_are_shrunk_alike_and_as_far_as_noise_explains_them(K):
    even, uneven = np.full(K, 1.0 / K), np.r_[0.7, np.full(K - 1, 0.3 / (K - 1))]
    for shares, n in [(even, 1000), (uneven, 50_000)]:
        mean, raw = means_of(shares, n, K)
        factor = (mean - 1.0 / K) / (raw - 1.0 / K)
        np.testing.assert_allclose(factor, factor[0])
        assert (factor < 0.5).all() if shares is even else (factor > 0.9).all()


def test_equal_classes_of_few_users_are_told_apart_at_a_small_budget():
    errors = []
    for seed in range(12):
        (X, y), (rows, truth) = blobs(4, 500, seed, d=20, apart=0.7), blobs(4, 500, seed + 100, d=20, apart=0.7)
        model = ResidualScore(0.5, classes=range(4), random_state=seed).fit(X, y, mask=[])
        errors.append(np.mean(model.predict(rows) != truth))
    assert np.mean(errors) < 0.47


def test_a_forest_of_several_labels_predicts_each():
    rng = np.random.default_rng(2)
    X = rng.random((200, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] <= 0.5, X[:, 1] > 0.5]).astype(float)
    forest = HalfForest(X, Y, np.ones(200), 5, np.random.default_rng(3))
    predicted = forest.predict(X)
    assert predicted.shape == forest.left_out.shape == Y.shape
    np.testing.assert_allclose(predicted[:, 0] + predicted[:, 1], 1.0)
    assert ((predicted > 0.5) == Y).mean() > 0.9 and ((forest.left_out > 0.5) == Y).mean() > 0.85


@pytest.mark.parametrize(("classes", "epsilon", "most"), [(3, 1.0, 0.3), (10, 1.0, 0.35), (6, 0.5, 0.6)])
def test_classes_that_no_reports_of_their_own_show_are_told_apart(classes, epsilon, most):
    (X, y), (rows, truth) = blobs(classes, 3000, 1), blobs(classes, 1000, 2)
    model = ResidualScore(epsilon, classes=range(classes), random_state=1).fit(X, y, mask=[])
    probability = model.predict_proba(rows)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    assert np.mean(model.predict(rows) != truth) < most
    assert model.guarantee_.epsilon == epsilon
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(rows), probability)


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.parametrize("public", [False, True])
def test_many_classes_with_a_public_sample_and_with_several_rows_of_a_person(public, units):
    (X, y), (rows, truth) = blobs(5, 1200, 3), blobs(5, 500, 4)
    arguments = {"X_public": X[:100], "y_public": y[:100]} if public else {}
    if units:
        arguments["units"] = np.arange(1200) // 3
    model = ResidualScore(4.0, classes=range(5), random_state=1).fit(X, y, mask=[0], **arguments)
    assert np.mean(model.predict(rows) != truth) < 0.35


def test_shares_of_many_classes_are_unbiased():
    y = np.repeat(np.arange(10), 100 * np.arange(1, 11))
    X = np.zeros((y.size, 1))
    fits = [PrivateMajority(0.5, classes=range(10), random_state=seed).fit(X, y).shares_ for seed in range(40)]
    shares, error = np.mean(fits, axis=0), np.std(fits, axis=0) / np.sqrt(len(fits))
    assert (np.abs(shares - np.bincount(y) / y.size) < 4.5 * error).all()


def rare(share, n, seed, rarer=1):
    """Rows of two classes apart by four in one direction, a share of them of the rarer class."""
    rng = np.random.default_rng(seed)
    is_rare = rng.random(n) < share
    X = rng.normal(size=(n, 4)) + 4.0 * np.outer(is_rare, np.eye(4)[0])
    return np.clip(0.5 + X / 20.0, 0.0, 1.0), np.where(is_rare, rarer, 1 - rarer)


@pytest.mark.parametrize("rarer", [0, 1])
def test_a_rare_class_is_ranked_and_predicted(rarer):
    (X, y), (rows, truth) = rare(1 / 20, 3000, 1, rarer), rare(1 / 20, 2000, 2, rarer)
    model = ResidualScore(2.0, classes=(0, 1), random_state=1).fit(X, y, mask=[])
    assert isinstance(model.models_[0], RareClass) and model.guarantee_.epsilon == 2.0
    probability = model.predict_proba(rows)[:, rarer]
    assert np.unique(probability).size > 0.99 * probability.size  # clipped at 0 most rows would tie
    assert roc_auc_score(truth == rarer, probability) > 0.95
    assert np.mean(model.predict(rows)[truth == rarer] == rarer) > 0.4
    assert abs(probability.mean() - 1 / 20) < 0.02
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(rows)[:, rarer], probability)


def test_two_classes_keep_their_predictions():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    model = ResidualScore(1.0, classes=(0, 1), random_state=1).fit(X, (X[:, 1] > 0.5).astype(int), mask=[0])
    expected = [0.0, 1.0, 1.0, 0.58316538, 0.21651167]
    np.testing.assert_allclose(model.predict_proba(X[:5])[:, 1], expected, atol=1e-8)


def test_a_tenth_is_not_rare():
    X, y = rare(0.1, 3000, 3)
    assert isinstance(ResidualScore(2.0, classes=(0, 1), random_state=1).fit(X, y, mask=[]).models_[0], Fitted)
    rng, noise = np.random.default_rng(4), 1.0
    found = [rare_share((rng.random(3000) < 0.1) + rng.normal(size=3000), noise) for _ in range(400)]
    assert sum(share is not None for share in found) <= 4
