import math

import numpy as np
import pytest

from lpbench.errors import ConfigurationError, DataError, PrivacyLeakWarning
from lpbench.estimators import (
    LPDTRegressor,
    PrivateMean,
    PublicForest,
    PublicForestRegressor,
    PublicTreeClassifier,
    ResidualGP,
    ResidualScore,
)
from lpbench.estimators.tuning_free.ablations import WithoutPublicSample
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments
from lpbench.estimators.tuning_free.public_mean import PublicMean, SmoothMean
from lpbench.estimators.tuning_free.score_trust import slope_agreement
from lpbench.partitions import grow_max_edge
from lpbench.privacy.users import REAL_BITS
from lpbench.seeds import Streams
from tests.estimators.loops import learned

Y_RANGE = (-1.0, 2.0)


def sample(n=400, q=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, d)), rng.random((q, d))

    def labels(rows):
        return np.clip(2 * rows[:, 0] - rows[:, 1] + 0.2 * rng.standard_normal(len(rows)), *Y_RANGE)

    return {"X": X, "y": labels(X), "X_public": X_public, "y_public": labels(X_public)}


def classes_of(arguments):
    return {k: (v > 0.5).astype(int) if k.startswith("y") else v for k, v in arguments.items()}


@pytest.mark.parametrize("mechanism", ["rr", "grr"])
def test_lpdt_without_noise_is_the_mean_of_each_cell_of_the_public_tree(mechanism):
    given = sample()
    model = LPDTRegressor(math.inf, depth=3, mechanism=mechanism, y_range=Y_RANGE, random_state=0).fit(**given)
    tree = grow_max_edge(given["X_public"], given["y_public"], 3, min_samples_leaf=10)
    own, rows = tree.apply(given["X"]), np.random.default_rng(1).random((200, 3))
    expected = {leaf: given["y"][own == leaf].mean() for leaf in np.unique(own)}
    np.testing.assert_allclose(model.predict(rows), [expected[leaf] for leaf in tree.apply(rows)], rtol=1e-9)


def test_lpdt_cells_that_are_too_empty_predict_their_public_mean():
    given = sample()
    options = {"depth": 2, "y_range": Y_RANGE, "random_state": 0}
    model = LPDTRegressor(math.inf, least_share=0.99, **options).fit(**given)
    tree = model.tree_
    own = tree.apply(given["X_public"])
    rows = given["X"][:50]
    expected = [given["y_public"][own == leaf].mean() for leaf in tree.apply(rows)]
    np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-12)
    alone = {k: v for k, v in given.items() if not k.endswith("public")}
    nothing = LPDTRegressor(math.inf, least_share=0.99, **options).fit(**alone)
    np.testing.assert_array_equal(nothing.predict(rows), 0.5)


def test_lpdt_hides_only_what_the_mask_hides():
    given, n = sample(), 400
    options = {"depth": 3, "mechanism": "grr", "y_range": Y_RANGE, "random_state": 0}
    hidden, shown = np.ones((n, 3), dtype=bool), np.zeros((n, 3), dtype=bool)
    first = np.tile([True, False, False], (n, 1))
    whole, partly, open_ = (LPDTRegressor(1.0, **options).fit(**given, mask=m) for m in (hidden, first, shown))
    assert [m.guarantee_.model for m in (whole, partly, open_)] == ["ldp", "semi_feature_ldp", "label_ldp"]
    # Where every feature is shown the cell is known, and the label's share alone is spent.
    assert [m.guarantee_.epsilon for m in (whole, partly, open_)] == pytest.approx([1.0, 1.0, 0.5])
    assert "rows of the public sample are not protected" in whole.guarantee_.note


@pytest.mark.parametrize("kind", [LPDTRegressor, ResidualGP, PublicForestRegressor])
def test_a_public_sample_is_checked(kind):
    given = sample()
    with pytest.raises(ConfigurationError, match="X_public and y_public must be given together"):
        kind(y_range=Y_RANGE).fit(given["X"], given["y"], X_public=given["X_public"])
    with pytest.raises(DataError, match=r"y_public has shape \(5,\), expected \(120,\), one label a row of X_public"):
        kind(y_range=Y_RANGE).fit(**{**given, "y_public": given["y_public"][:5]})


def test_the_public_mean_is_the_mean_where_features_tell_nothing_and_follows_them_where_they_do():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    noise = PublicMean(X, rng.standard_normal(300), Streams(1))
    assert np.ptp(noise.predict(X)) < 1.0
    assert noise.weights.sum() < 0.4
    signal = PublicMean(X, np.sin(6 * X[:, 0]), Streams(1))
    assert np.abs(signal.predict(X) - np.sin(6 * X[:, 0])).mean() < 0.05
    assert 0.8 < signal.weights.sum() < 1.3


def test_the_public_mean_is_as_good_as_the_better_of_forests_and_processes():
    """Half of the error that a forest makes of a linear function, and steps are followed all the same."""
    rng = np.random.default_rng(2)
    X, rows = rng.random((300, 4)), rng.random((500, 4))
    for function in (lambda Z: 4.0 * Z[:, 1], lambda Z: np.floor(4.0 * Z[:, 0]) + 2.0 * (Z[:, 2] > 0.5)):
        public = PublicMean(X, function(X) + 0.3 * rng.standard_normal(300), Streams(1))
        error = np.mean((public.predict(rows) - function(rows)) ** 2)
        alone = [np.mean((part.predict(rows) - function(rows)) ** 2) for part in public._parts]
        assert error < 1.2 * min(alone) + 0.005
    smooth = SmoothMean(X, 4.0 * X[:, 1], rng)
    np.testing.assert_allclose(smooth.predict(rows), 4.0 * rows[:, 1], atol=0.02)
    assert np.abs(smooth.left_out - 4.0 * X[:, 1]).max() < 0.05


def test_rows_are_left_out_of_the_processes():
    """The prediction of a row does not follow its own label."""
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 3)), rng.standard_normal(60)
    moved = y.copy()
    moved[7] += 1e-3
    first, second = (SmoothMean(X, labels, np.random.default_rng(0)) for labels in (y, moved))
    assert abs(second.left_out[7] - first.left_out[7]) < 1e-5


def test_residuals_of_public_rows_that_were_left_out_lie_within_the_half_width():
    given = sample()
    public = PublicMean(given["X_public"], given["y_public"], Streams(0))
    half = public.half_width(Y_RANGE)
    assert half == np.abs(given["y_public"] - public.left_out).max() < Y_RANGE[1] - Y_RANGE[0]
    few = PublicMean(given["X_public"][:5], given["y_public"][:5], Streams(0))
    np.testing.assert_allclose(few.predict(given["X"]), given["y_public"][:5].mean())


def test_a_public_sample_too_small_for_a_forest_costs_users_nothing():
    """What its mean leaves has an interval twice as wide as the label: the mixture lost a third to its part."""
    given, mask = sample(n=40, q=5), np.tile([True, False, False], (40, 1))
    asked, alone = (ResidualGP(0.5, y_range=Y_RANGE, random_state=1) for _ in range(2))
    learned(asked, **given, mask=mask)
    learned(alone, given["X"], given["y"], mask=mask)
    np.testing.assert_array_equal(asked.predict(given["X"]), alone.predict(given["X"]))
    assert asked.public_ is None and asked.guarantee_ == alone.guarantee_


def test_a_public_sample_that_is_not_read_changes_nothing():
    given = classes_of(sample())
    X, y, rows = given["X"], given["y"], given["X_public"]
    mask = np.tile([True, False, False], (len(X), 1))
    score = learned(ResidualScore(2.0, classes=[0, 1], random_state=3), X, y, mask=mask)
    unread = learned(WithoutPublicSample(2.0, classes=[0, 1], random_state=3), **given, mask=mask)
    np.testing.assert_array_equal(unread.predict_proba(rows), score.predict_proba(rows))
    assert unread.guarantee_ == score.guarantee_


def test_a_public_sample_of_another_law_is_corrected_by_what_users_show():
    """Public labels lack the effect of a shown feature; asking users finds it."""
    rng, options = np.random.default_rng(5), {"y_range": (-2.0, 2.0), "random_state": 1}
    X, X_public, rows = (rng.random((rows, 2)) for rows in (3000, 200, 500))
    y, y_public, truth = X[:, 1] - X[:, 0], -X_public[:, 0] + 0.3 * rng.standard_normal(200), rows[:, 1] - rows[:, 0]
    given = {"mask": np.tile([True, False], (3000, 1)), "X_public": X_public, "y_public": y_public}
    asked = ResidualGP(4.0, **options).fit(X, y, **given).predict(rows)
    alone = PublicForestRegressor(**options).fit(X, y, **given).predict(rows)
    assert np.mean((asked - truth) ** 2) < 0.25 * np.mean((alone - truth) ** 2)


def test_a_small_public_sample_and_users_beat_users_alone_where_all_features_are_protected():
    errors = []
    for r in range(6):
        given, rows = sample(n=3000, q=20, seed=r), sample(n=500, seed=100 + r)
        options = {"y_range": Y_RANGE, "random_state": r}
        fitted = [model.fit(**given) for model in (ResidualGP(2.0, **options), PrivateMean(2.0, **options))]
        errors.append([np.mean((m.predict(rows["X"]) - rows["y"]) ** 2) for m in fitted])
    ours, floor = np.mean(errors, axis=0)
    assert ours < floor


def test_three_classes_have_a_model_each():
    rng = np.random.default_rng(2)
    X, rows = rng.random((3000, 2)), rng.random((400, 2))
    y, truth = (X[:, 0] * 3).astype(int), (rows[:, 0] * 3).astype(int)
    mask, options = np.zeros_like(X, dtype=bool), {"classes": [0, 1, 2], "random_state": 0}
    for model in (ResidualScore(4.0, **options), PublicTreeClassifier(4.0, depth=3, **options)):
        fitted = model.fit(X, y, mask=mask)
        assert len(fitted.models_) == 3
        np.testing.assert_allclose(fitted.predict_proba(rows).sum(axis=1), 1.0)
        assert np.mean(fitted.predict(rows) == truth) > 0.6
        assert fitted.guarantee_.epsilon <= 4.0


def test_one_class_is_predicted_and_nobody_is_asked():
    X = np.random.default_rng(0).random((30, 2))
    with pytest.warns(PrivacyLeakWarning):
        fitted = ResidualScore().fit(X, np.zeros(30, dtype=int))
    np.testing.assert_array_equal(fitted.predict_proba(X), 1.0)
    assert fitted.guarantee_.epsilon == 0.0


def test_labels_are_asked_for_once_by_randomized_response_and_nothing_of_the_public_score_is_broadcast():
    given, mask = classes_of(sample(n=2000)), np.tile([True, False, False], (2000, 1))
    model = ResidualScore(1.0, classes=[0, 1], random_state=3).fit(**given, mask=mask)
    assert model.guarantee_.epsilon == 1.0 and model.guarantee_.rounds == 1
    # Two features are shown, and one bit is sent.
    assert model.guarantee_.bits_up == 2 * REAL_BITS + 1
    # Budget, numbers of categories and classes, and the class asked about: no tree.
    assert model.guarantee_.bits_down <= 4 * REAL_BITS < model.public_.broadcast_bits
    assert model.models_[0].model.report_variance == pytest.approx(math.e / (math.e - 1) ** 2)


def test_reports_of_labels_are_corrected_without_bias():
    rng = np.random.default_rng(4)
    X, y = rng.random((20_000, 2)), (rng.random(20_000) < 0.3).astype(int)
    model = ResidualScore(1.0, classes=[0, 1], random_state=0).fit(X, y, mask=np.zeros_like(X, dtype=bool))
    # The standard deviation of an estimate is below (e + 1) / (2 (e - 1)) = 1.09.
    assert abs(model.models_[0].model.mean - y.mean()) < 5 * 1.09 / math.sqrt(20_000)


def test_classes_that_follow_from_a_shown_feature_are_learned_from_labels():
    """Mean accuracy over ten samples at epsilon = 1, on 800 users."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, rows, mask = rng.random((800, 3)), rng.random((1000, 3)), np.tile([True, False, False], (800, 1))
        y, truth = ((part[:, 1] + 0.2 * rng.standard_normal(len(part)) > 0.5).astype(int) for part in (X, rows))
        model = ResidualScore(1.0, classes=[0, 1], random_state=seed).fit(X, y, mask=mask)
        found.append(np.mean(model.predict(rows) == truth))
    assert np.mean(found) > 0.8


def test_what_a_public_score_says_of_protected_features_is_kept():
    """Classes follow from a protected feature or from it and a shown one: the public sample alone can teach that."""
    rng = np.random.default_rng(6)
    X, X_public, rows = rng.random((2000, 2)), rng.random((300, 2)), rng.random((500, 2))
    for shown in (0, 1):
        y, y_public, truth = ((part @ [1, shown] > (1 + shown) / 2).astype(int) for part in (X, X_public, rows))
        given = {"mask": np.tile([True, False], (2000, 1)), "X_public": X_public, "y_public": y_public}
        model = ResidualScore(2.0, classes=[0, 1], random_state=0).fit(X, y, **given)
        assert np.mean(model.predict(rows) == truth) > 0.9


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_few_noisy_reports_do_not_spoil_a_good_public_score(epsilon):
    """Mean error over twelve samples with the same law: at most 3 % more than that of the score alone."""
    errors, mask = [], np.tile([True, False, False, False], (300, 1))
    for rng in map(np.random.default_rng, range(12)):
        parts = [rng.random((n, 4)) for n in (300, 200, 2000)]
        labels = [(rng.random(len(X)) < 0.15 + 0.6 * (X[:, 0] + X[:, 1] > 1.1)).astype(int) for X in parts]
        given = {"X": parts[0], "y": labels[0], "X_public": parts[1], "y_public": labels[1]}
        both = ResidualScore(epsilon, classes=[0, 1], random_state=0).fit(**given, mask=mask)
        score = PublicForest(random_state=0).fit(**given)
        errors.append([np.mean(model.predict(parts[2]) != labels[2]) for model in (both, score)])
    assert np.mean(errors, axis=0) @ [1.0, -1.03] <= 0.0


@pytest.mark.parametrize("q", [30, 300])
def test_a_public_sample_of_reversed_classes_costs_hardly_more_than_none(q):
    """Public labels are swapped, and a protected feature matters, too: its part of the score is left, unseen."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, X_public, rows = rng.random((2000, 3)), rng.random((q, 3)), rng.random((1000, 3))
        y, y_public, truth = ((part @ [1.0, 1.0, 0.0] + 0.1 * rng.standard_normal(len(part)) > 1).astype(int)
                              for part in (X, X_public, rows))  # fmt: skip
        given = {"mask": np.tile([True, False, False], (2000, 1)), "X_public": X_public}
        options, kinds = {"classes": [0, 1], "random_state": seed}, [ResidualScore, WithoutPublicSample, ResidualScore]
        models = [
            kind(1.0, **options).fit(X, y, **given, y_public=labels)
            for kind, labels in zip(kinds, [1 - y_public, y_public, y_public], strict=True)
        ]
        assert models[0].guarantee_ == models[2].guarantee_
        found.append([np.mean(model.predict(rows) != truth) for model in models])
    swapped, without, right = np.mean(found, axis=0)
    assert swapped <= 1.1 * without and right < 0.8 * without


def test_a_public_sample_of_three_swapped_classes_costs_hardly_more_than_none():
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, X_public, rows = rng.random((3000, 2)), rng.random((300, 2)), rng.random((1000, 2))
        y, y_public, truth = ((part.sum(axis=1) * 1.5).astype(int) for part in (X, X_public, rows))
        given = {"mask": np.tile([True, False], (3000, 1)), "X_public": X_public, "y_public": 2 - y_public}
        options = {"classes": [0, 1, 2], "random_state": seed}
        models = [kind(2.0, **options).fit(X, y, **given) for kind in (ResidualScore, WithoutPublicSample)]
        found.append([np.mean(model.predict(rows) != truth) for model in models])
    swapped, without = np.mean(found, axis=0)
    assert swapped <= 1.1 * without


def agreements_of_a_score(slope, n=2000, q=300, samples=10):
    """Diagnoses on some samples: a score varies by .1 with what is shown, and reports follow ``slope`` times it."""
    found = []
    for rng in map(np.random.default_rng, range(samples)):
        x, noise, averages = rng.standard_normal((n, 1)), np.full(n, 0.9), []
        score = 0.1 * x[:, 0]
        reports = 0.5 + slope * score + math.sqrt(1.1) * rng.standard_normal(n)
        for target, y_range in [(reports, (0.0, 1.0)), (reports - score, (-0.5, 0.5))]:
            sums = Moments(y_range)
            sums.add([x], target, noise)
            averages.append(GaussianAverage(sums))
        found.append(slope_agreement(averages[:1], averages[1:], n, q))
    return found


def trust_in_a_score(slope, **sizes):
    return np.mean([found.weight for found in agreements_of_a_score(slope, **sizes)])


@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_the_interval_of_the_slope_on_a_score_covers_at_its_level(slope):
    found = agreements_of_a_score(slope, q=10**7, samples=100)
    covered = [agreement.low <= slope <= agreement.high for agreement in found]
    assert 0.82 <= np.mean(covered) <= 0.97
    assert np.mean([agreement.slope for agreement in found]) == pytest.approx(slope, abs=0.15)


def test_a_score_that_does_not_vary_with_what_is_shown_is_not_checked():
    sums = Moments((0.0, 1.0))
    sums.add([np.zeros((50, 1))], np.full(50, 0.5), np.full(50, 0.9))
    agreement = slope_agreement([GaussianAverage(sums)], [GaussianAverage(sums)], 50, 300)
    assert math.isnan(agreement.slope) and agreement.used and "no report checks it" in str(agreement)


def test_trust_in_a_score_follows_the_slope_of_reports_on_what_it_expects():
    assert trust_in_a_score(1.0) > 0.99 and trust_in_a_score(3.0) > 0.99
    assert 0.7 < trust_in_a_score(0.0) < 0.99
    assert trust_in_a_score(-1.0) < 0.05
    # Few reports prove nothing, and a sample of few rows may have either slope by chance.
    assert trust_in_a_score(-1.0, n=20) > 0.6 and trust_in_a_score(-1.0, q=2) > 0.6


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_users_beside_a_public_sample(n):
    given, mask = classes_of(sample(n=n)), np.tile([True, False, False], (n, 1))
    model = ResidualScore(1.0, classes=[0, 1], random_state=0).fit(**given, mask=mask)
    assert np.isfinite(model.predict_proba(given["X_public"])).all()
