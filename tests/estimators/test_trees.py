import math

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.datasets import make_problem
from lpbench.estimators import CT, DT, KRR, LabelDT, ParDT
from lpbench.estimators.baselines.presorted import PresortedTree, grow_presorted
from lpbench.estimators.baselines.tree_growth import cut_class_trees, cut_trees
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.partitions import TreePartition
from lpbench.privacy import Records, SimulatedUsers
from lpbench.seeds import Streams
from tests.estimators.loops import learned

RNG = np.random.default_rng(0)
X = RNG.random((200, 4))
Y = np.clip(np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(200), -2.0, 3.0)
Y_RANGE = (-2.0, 3.0)
MASK = RNG.random((200, 4)) < [1.0, 0.5, 0.1, 0.0]
TEST = RNG.random((50, 4))


def fit(cls, mask=MASK, X=X, **params):
    return learned(cls(y_range=Y_RANGE, random_state=4, **params), X, Y, mask=mask)


def noisy_labels(y, question, streams):
    return SimulatedUsers(Records(X[: len(y)], y), streams).ask(LABEL, question)


def test_infinite_budgets_add_nothing():
    np.testing.assert_array_equal(noisy_labels(Y, LabelQuestion(Y_RANGE, math.inf), Streams(3)), Y)
    size = {"max_depth": 3, "min_samples_leaf": 5}
    expected = fit(DT, **size).predict(TEST)
    np.testing.assert_array_equal(fit(LabelDT, epsilon=math.inf, **size).predict(TEST), expected)
    shown = fit(ParDT, mask=np.zeros_like(MASK), epsilon=math.inf, **size)
    np.testing.assert_array_equal(shown.predict(TEST), expected)


def test_par_dt_drops_what_everybody_protects():
    model = fit(ParDT, epsilon=2.0, max_depth=4)
    np.testing.assert_array_equal(model.features_, [1, 2, 3])
    moved = TEST.copy()
    moved[:, 0] = 1.0 - moved[:, 0]
    np.testing.assert_array_equal(model.predict(TEST), model.predict(moved))


def test_par_dt_without_public_features_is_the_private_mean():
    model = fit(ParDT, mask=None, epsilon=2.0, max_depth=4)
    mean = noisy_labels(Y, LabelQuestion(Y_RANGE, 2.0), Streams(4).party("users")).mean()
    np.testing.assert_allclose(model.predict(TEST), mean)


def test_label_methods_ignore_the_mask():
    assert not LabelDT.uses_mask and not DT.uses_mask and ParDT.uses_mask
    a, b = (fit(LabelDT, mask=mask, max_depth=4).predict(TEST) for mask in (MASK, None))
    np.testing.assert_array_equal(a, b)


def test_guarantees():
    assert fit(ParDT, epsilon=2.0).guarantee_.model == "semi_feature_ldp"
    assert fit(LabelDT, epsilon=2.0).guarantee_.model == "label_ldp"
    assert fit(DT).guarantee_.epsilon == math.inf
    # the label, and the features of the user who shows most; without any, nothing but the label leaves
    assert fit(ParDT).guarantee_.bits_up == 64 * (1 + (~MASK).sum(axis=1).max())
    nothing_shown = fit(ParDT, mask=None).guarantee_
    assert (nothing_shown.model, nothing_shown.bits_up) == ("ldp", 64)
    assert fit(ParDT, mask=np.zeros_like(MASK)).guarantee_.model == "label_ldp"
    assert "protected labels" in LabelDT().fit(X, Y).guarantee_.note


@pytest.mark.parametrize("min_samples_leaf", [1, 10, 300, 0.05])
@pytest.mark.parametrize("n", [1000, 3000])
def test_trees_of_large_samples_are_those_of_scikit_learn(n, min_samples_leaf):
    rng = np.random.default_rng(1)
    inputs, test = rng.random((n, 3)), rng.random((50, 3))
    y = np.sin(4 * inputs[:, 0]) + 0.2 * rng.standard_normal(n)
    for depth in (2, 5):
        model = learned(LabelDT(2.0, depth, min_samples_leaf, y_range=Y_RANGE, clip=False, random_state=4), inputs, y)
        alone = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=min_samples_leaf)
        alone.fit(inputs, noisy_labels(y, LabelQuestion(Y_RANGE, 2.0), Streams(4).party("users")))
        np.testing.assert_allclose(model.predict(test), alone.predict(test), rtol=1e-9)


def test_presorted_trees_are_those_of_scikit_learn_without_ties_and_have_their_law_with_them():
    rng = np.random.default_rng(2)
    # no two cuts are equally good: values of either sign, few of them in the first column, and leaves of several rows
    inputs = np.column_stack([rng.integers(-2, 3, 400), rng.standard_normal((400, 5))]).astype(np.float32)
    y = inputs[:, 0] * inputs[:, 1] + rng.laplace(size=400)
    limits = [(8.0, 10), (3, 10), (math.inf, 40), (8.0, 0.1)]
    trees = grow_presorted([(inputs, y)], limits, 0)
    for tree, (depth, least) in zip(trees, limits, strict=True):
        alone = DecisionTreeRegressor(max_depth=None if depth == math.inf else int(depth), min_samples_leaf=least)
        ours, expected = tree.partition, TreePartition.from_sklearn(alone.fit(inputs, y))
        for part in ("feature", "threshold", "n_samples"):
            np.testing.assert_array_equal(getattr(ours, part), getattr(expected, part))
        np.testing.assert_allclose(tree.value[tree.apply(inputs), 0, 0], alone.predict(inputs), rtol=1e-9, atol=1e-12)
    [leaf] = grow_presorted([(inputs, np.full(400, 0.1))], limits[:1], 0)  # equal labels are not cut
    assert leaf.node_count == 1 and leaf.value.item() == pytest.approx(0.1)
    # With ties, in the root between the copies of a column and in the smallest nodes between all columns. Sums of
    # sixteenths are exact: otherwise their rounding decides among some of scikit-learn's ties.
    inputs = np.column_stack([inputs[:60, [1, 1, 2]], -inputs[:60, [1, 2]]])
    test = rng.standard_normal((20, 5)).astype(np.float32)
    y, limits = np.round(16 * y[:60]) / 16, [(8.0, 1), (2.0, 5)]
    coarse = np.c_[inputs[:, :2], inputs[:, 2].round(), inputs[:, 3:]]
    samples, ours, theirs = [(inputs, y), (coarse, y), (inputs + 1, -y)], [], []
    for seed in range(400):
        trees = grow_presorted(samples, limits, seed)
        own = seed % 3  # others beside it do not change a tree, also where they have labels and features in common
        for tree, alone in zip(trees[2 * own :][:2], grow_presorted([samples[own]], limits, seed), strict=True):
            for read in (lambda t: t.partition.feature, lambda t: t.partition.threshold, lambda t: t.value):
                np.testing.assert_array_equal(read(alone), read(tree))
        ours.append([np.r_[tree.partition.feature[0], tree.value[tree.apply(test), 0, 0]] for tree in trees[:2]])
        models = [DecisionTreeRegressor(max_depth=int(k), min_samples_leaf=m, random_state=seed) for k, m in limits]
        theirs.append([np.r_[model.fit(inputs, y).tree_.feature[0], model.predict(test)] for model in models])
    ours, theirs = np.moveaxis([ours, theirs], 1, -1).reshape(2, -1, 400)
    assert min(ks_2samp(a, b).pvalue for a, b in zip(ours.round(9), theirs.round(9), strict=True)) > 1e-4


def test_without_ties_a_cut_tree_is_the_one_grown_to_its_depth():
    y = np.array(["no", "perhaps", "yes"])[np.digitize(np.sin(40 * X[:, 0]), [-0.5, 0.5])]
    # cuts of one column that are equally good are not left to chance: the first is taken
    for depth in (1, 3, 5, 8, 9, 12, None):
        model = CT("whole", max_depth=depth, random_state=2).fit(X[:, :1], y)
        alone = DecisionTreeClassifier(max_depth=depth).fit(X[:, :1], y)
        np.testing.assert_array_equal(model.predict_proba(TEST[:, :1]), alone.predict_proba(TEST[:, :1]))
    assert alone.get_depth() > 8


def test_sparse_inputs_grow_the_same_trees(monkeypatch):
    rng = np.random.default_rng(0)
    inputs = (rng.poisson(0.05, (400, 30)) * rng.random((400, 30))).astype(np.float32)
    codes = (inputs[:, :5].sum(axis=1) + 0.1 * rng.random(400) > 0.12).astype(int)
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr("lpbench.estimators.baselines.tree_growth._SPARSE", share)
        found.append([cut.grown.tree for cut in cut_class_trees(inputs, codes, (8, 16, None), seed=1)])
    for dense, sparse in zip(*found, strict=True):
        assert (dense.feature == sparse.feature).all() and (dense.threshold == sparse.threshold).all()
        assert (dense.value == sparse.value).all()


def test_ct_q_reads_public_rows_alone():
    y = np.array(["no", "yes"])[(X[:, 0] > 0.5).astype(int)]
    public = {"X_public": X[:40], "y_public": y[:40]}
    a = CT("public", max_depth=3, random_state=0).fit(X[40:], y[40:], **public)
    b = CT("public", max_depth=3, random_state=0).fit(1 - X[40:], y[40:], **public)
    np.testing.assert_array_equal(a.predict(TEST), b.predict(TEST))
    assert (a.guarantee_.epsilon, a.guarantee_.rounds, a.guarantee_.bits_up) == (0.0, 0, 0.0)
    with pytest.raises(ValueError, match="needs a public sample"):
        CT("public").fit(X, y)


def test_ct_w_reads_both_samples():
    y = (X[:, 0] > 0.5).astype(int)
    whole = CT(random_state=0).fit(X[40:], y[40:], X_public=X[:40], y_public=y[:40])
    assert whole.tree_.grown.tree.n_node_samples[0] == 200
    assert whole.guarantee_.model == "none"


def test_ct_q_knows_classes_that_the_public_sample_lacks():
    y = np.arange(200) % 3
    model = CT("public", random_state=0).fit(X, y, X_public=X[:10], y_public=np.full(10, 2))
    np.testing.assert_array_equal(model.predict_proba(TEST), np.tile([0.0, 0.0, 1.0], (50, 1)))


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("dataset", "logged", "tolerance"),
    [("election", 0.595786, 1e-6), ("landcover", 0.667042, 1e-6), ("diabetes", 0.750097, 5e-4)],
)
def test_ct_q_meets_the_authors_log(dataset, logged, tolerance):
    """Mean of 20 published splits, best depth; on diabetes the tree's own ties matter."""
    scores = [
        CT("public").sweep(
            make_problem(dataset, {"split": "published"}, replication=r),
            [math.inf],
            {"max_depth": list(range(1, 17))},
            Streams(r),
        )
        for r in range(20)
    ]
    assert abs(np.mean([s.values[0] for s in scores], axis=0).max() - logged) < tolerance


@pytest.mark.parametrize("kind", [ParDT, KRR])
def test_a_fit_is_read_at_a_smaller_depth_as_if_it_had_been_fitted_there(kind):
    first = fit(kind, max_depth=8, min_samples_leaf=10)
    for depth in (1, 4):
        expected = fit(kind, max_depth=depth, min_samples_leaf=10).predict(TEST)
        np.testing.assert_array_equal(first.resized({"max_depth": depth}).predict(TEST), expected)
    assert first.max_depth == 8
    for other in ({"max_depth": 9}, {"min_samples_leaf": 5}, {"epsilon": 2.0}):
        assert first.resized(other) is None
    with pytest.raises(ValueError, match="max_depth"):
        first.resized({"max_depth": 0})


@pytest.mark.slow
def test_trees_of_many_entries_grow_as_those_of_few():
    """From 2^22 entries on, too."""
    n = (1 << 22) + 1
    X = (np.arange(n, dtype=np.float32) / n)[:, None]
    [[tree]] = cut_trees([(X, np.floor(4.0 * X[:, 0]))], [{"max_depth": 2, "min_samples_leaf": 1}], 0)
    assert isinstance(tree.grown.tree, PresortedTree)
    assert np.array_equal(tree.values(X[:: n // 97])[:, 0], np.floor(4.0 * X[:: n // 97, 0]))
