"""ResidualScore where users show nothing: public mixture, affordable cells, posterior of the drift, and the whole."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

from lpbench.estimators import PrivateMajority, PublicForest
from lpbench.estimators.tuning_free.ablations import ClassShares, RecordScore
from lpbench.estimators.tuning_free.drift_posterior import cell_shares, drifted_means, fit_drift
from lpbench.estimators.tuning_free.public_score import PublicScore, likelihood_weights
from lpbench.estimators.tuning_free.score_cells import ScoreCells, affordable_cells, principal_axes
from lpbench.privacy import SubsetSelection, grr_probabilities


def sample(n, seed, shift=0.0, classes=2):
    """Rows on the cube, classes by the first feature; the shift moves the logit of the higher class."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    if classes == 2:
        return X, (rng.random(n) < expit(8.0 * (X[:, 0] - 0.5) + shift)).astype(int)
    return X, np.clip(np.floor(classes * X[:, 0] + 0.3 * rng.standard_normal(n)), 0, classes - 1).astype(int)


def test_mixture_weights_find_the_learner_that_is_right():
    wrong, right, vague = np.full(200, 0.2), np.full(200, 0.9), np.full(200, 0.5)
    weights = likelihood_weights(np.array([wrong, right, vague]))
    assert weights[1] > 0.95 and weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(likelihood_weights(np.empty((4, 0))), 0.25)


def test_without_signal_the_public_score_is_the_class_share():
    rng = np.random.default_rng(1)
    X, codes = rng.random((300, 5)), (rng.random(300) < 0.2).astype(int)
    score = PublicScore(X, codes, 2, seed=0)
    assert (score.predict_proba(rng.random((200, 5))).argmax(axis=1) == 0).mean() > 0.97


def test_the_public_score_is_of_rows_not_seen():
    X, codes = sample(300, 2)
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 2, 300)
    unseen = PublicScore(X, noise, 2, seed=0).out_of_bag
    assert abs((unseen.argmax(axis=1) == noise).mean() - 0.5) < 0.12  # seen rows would be right nearly always
    probabilities = PublicScore(X, codes, 2, seed=0).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_without_forests_the_public_score_is_one_number_for_all():
    X, codes = sample(300, 6)
    score = PublicScore(X, codes, 2, seed=0, leaf_sizes=())
    np.testing.assert_allclose(score.out_of_bag, np.tile([1 - codes.mean(), codes.mean()], (300, 1)), atol=2e-3)
    model = ClassShares(8.0, random_state=0).fit(*sample(4000, 7), X_public=X, y_public=codes)
    assert model.score(*sample(500, 8)) > 0.7  # the tree's cells and the reports alone


def test_classes_without_public_rows_keep_a_probability():
    X, codes = sample(100, 4)
    np.testing.assert_array_less(0.0, PublicScore(X[:5], codes[:5], 4, seed=0).predict_proba(X))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_more_users_or_budget_never_afford_fewer_cells(classes):
    sizes, budgets = (50, 500, 5000, 50000, 10**6), (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, math.inf)
    cells = np.array([[math.prod(affordable_cells(n, classes, e)) for e in budgets] for n in sizes])
    assert (np.diff(cells, axis=0) >= 0).all() and (np.diff(cells, axis=1) >= 0).all()
    assert cells[0, 0] == 1 and cells[-1, -1] > 32


def test_cells_are_numbered_without_gaps_and_agree_with_the_bins():
    X, codes = sample(400, 5)
    probabilities = PublicScore(X, codes, 2, seed=0).out_of_bag
    cells = ScoreCells(probabilities, X, codes, n_bins=4, n_leaves=4, seed=0)
    at = cells.locate(probabilities, X)
    assert at.min() >= 0 and at.max() < cells.n_cells <= 16
    bins = at // (cells.n_cells // 4)
    assert (np.diff(probabilities[np.argsort(bins, kind="stable"), 1].reshape(4, -1).mean(axis=1)) > 0).all()


def test_the_tree_cuts_features_where_labels_say_nothing():
    rng = np.random.default_rng(21)
    X, codes = rng.random((200, 2)), np.zeros(200, dtype=int)
    probabilities = np.tile([0.9, 0.1], (200, 1)) + 0.02 * np.sign(X[:, :1] - 0.5) * [1, -1]
    cells = {spread: ScoreCells(probabilities, X, codes, 1, 8, 0, spread).n_cells for spread in (0.0, 0.5)}
    assert cells[0.0] == 2 and cells[0.5] == 8


def test_principal_axes_keep_the_variance_of_few_features():
    rng = np.random.default_rng(22)
    X = rng.random((50, 4)) * [1.0, 5.0, 0.0, 2.0]
    assert principal_axes(X).var(axis=0).sum() == pytest.approx(3 / 4)
    assert principal_axes(rng.random((20, 300))).shape == (20, 8)
    assert (principal_axes(np.ones((5, 3))) == 0).all()


def test_cell_shares_are_shares_and_follow_the_reports():
    counts = np.array([5000.0, 3000.0, 2000.0])
    shares = cell_shares(counts, 2, SubsetSelection(1000.0, 6), np.full(3, 1 / 3))
    np.testing.assert_allclose(shares, counts / counts.sum(), atol=0.01)
    mechanism = SubsetSelection.least_variance(0.1, 6)
    noisy = cell_shares(np.array([35.0, 33.0, 32.0]) * mechanism.size, 2, mechanism, np.full(3, 1 / 3))
    np.testing.assert_allclose(noisy, 1 / 3, atol=0.05)


def posterior(inside, outside, trust, epsilon=math.inf):
    logits, at = logit(np.array([0.2, 0.4, 0.7, 0.9])), np.arange(4)
    channel = tuple(map(float, grr_probabilities(8, epsilon)))
    means = drifted_means(logits, at, 4)
    return fit_drift(inside, outside, np.full(4, 0.25), channel, 2, means, trust), logits, at


def test_without_reports_the_posterior_is_the_prior():
    fitted, logits, at = posterior(np.zeros(4), np.zeros(4), 0.8)
    assert fitted.no_drift == pytest.approx(0.8)
    assert fitted.weights.sum() == pytest.approx(1.0)
    assert (np.abs(fitted.predict(logits, at) - expit(logits)) < 0.1).all()


def test_reports_like_the_score_confirm_it_and_others_replace_it():
    share = np.array([0.2, 0.4, 0.7, 0.9])
    same, logits, at = posterior(500 * share, 500 * (1 - share), 0.5)
    assert same.no_drift > 0.95
    np.testing.assert_allclose(same.predict(logits, at), share, atol=0.02)
    other = np.array([0.7, 0.3, 0.5, 0.1])
    drifted, logits, at = posterior(2000 * other, 2000 * (1 - other), 0.99)
    assert drifted.no_drift < 1e-6
    np.testing.assert_allclose(drifted.predict(logits, at), other, atol=0.05)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_large_budget_repairs_a_public_sample_of_another_mixture(classes):
    X, y = sample(6000, 6, classes=classes, shift=1.5)
    test, truth = sample(2000, 7, classes=classes, shift=1.5)
    X_public, y_public = sample(200, 8, classes=classes, shift=-1.5)
    public = {"X_public": X_public, "y_public": y_public}
    accuracy = {
        type(model).__name__: (model.fit(X, y, **public).predict(test) == truth).mean()
        for model in (RecordScore(8.0, random_state=0), PublicForest(random_state=0), PrivateMajority(8.0))
    }
    floor = max(accuracy["PublicForest"], accuracy["PrivateMajority"])
    assert accuracy["RecordScore"] > (floor + 0.03 if classes == 2 else floor - 0.01)


def test_a_small_budget_leaves_a_good_public_score_alone():
    X, y = sample(300, 9)
    test, truth = sample(2000, 10)
    X_public, y_public = sample(400, 11)
    accuracy = [
        (RecordScore(0.1, random_state=seed).fit(X, y, X_public=X_public, y_public=y_public).predict(test) == truth)
        for seed in range(10)
    ]
    alone = PublicForest(random_state=0).fit(X, y, X_public=X_public, y_public=y_public).predict(test) == truth
    assert np.mean(accuracy) > alone.mean() - 0.02


def test_without_a_public_sample_the_class_shares_are_predicted():
    X, y = sample(3000, 12, shift=2.0)
    model = RecordScore(4.0, random_state=0).fit(X, y)
    probability = model.predict_proba(X[:3])
    assert model.models_.n_cells == 1 and np.ptp(probability[:, 1]) == 0
    assert probability[0, 1] == pytest.approx(y.mean(), abs=0.05)
