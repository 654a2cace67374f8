"""CART partitions against scikit-learn (complete data) and against the personalised rule written down literally."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.partitions import grow_cart, grow_personalized_cart, grow_personalized_carts
from lpbench.partitions.cart import GROWN_DEPTH
from tests.partitions.test_max_edge import as_nested


def same_tree(first, second):
    return (
        first.n_nodes == second.n_nodes
        and (first.feature == second.feature).all()
        and np.allclose(first.threshold, second.threshold, rtol=1e-12)
        and (first.n_samples == second.n_samples).all()
    )


@pytest.mark.parametrize("min_samples_leaf", [10, 20])
@pytest.mark.parametrize("depth", [0, 1, 3, 5])
# Leaves of 10 samples or more: two features then never cut off the same samples, which would be a tie.
def test_complete_data_without_ties_give_scikit_learns_tree(depth, min_samples_leaf):
    rng = np.random.default_rng(depth)
    X = rng.random((400, 5)).astype(np.float32).astype(float)
    y = np.sin(6 * X[:, 2]) + rng.laplace(size=400)
    ours = grow_personalized_cart(X, y, depth, np.zeros(X.shape, bool), min_samples_leaf=min_samples_leaf)
    wrapped = grow_cart(X, y, depth, min_samples_leaf=min_samples_leaf, mask=np.zeros(X.shape, bool))
    assert same_tree(ours, wrapped)


def test_wrapped_trees_are_scikit_learns_own():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 3)), rng.integers(0, 3, 200)
    points = rng.random((500, 3)).astype(np.float32)
    for criterion, model in (
        ("variance", DecisionTreeRegressor(max_depth=4, random_state=3)),
        ("gini", DecisionTreeClassifier(max_depth=4, random_state=3)),
        ("entropy", DecisionTreeClassifier(criterion="entropy", max_depth=4, random_state=3)),
    ):
        tree, model = grow_cart(X, y, 4, criterion=criterion, seed=3), model.fit(X, y)
        at_cuts = np.column_stack([rng.choice(tree.threshold[tree.feature >= 0], 500)] * 3).astype(np.float32)
        for rows in (points, at_cuts):
            node, leaf = tree.apply(rows), model.apply(rows)
            assert ((node[:, None] == node) == (leaf[:, None] == leaf)).all()


def reference(X, y, mask, depth, min_samples_leaf):
    """The personalised rule, literally, in exact arithmetic."""
    d = len(X[0])

    def sse(labels):
        return sum(v * v for v in labels) - Fraction(sum(labels) ** 2, len(labels))

    def grow(samples, level):
        node = {"n": len(samples), "cut": None}
        if level == depth or len(samples) == 0 or sse([y[i] for i in samples]) == 0:
            return node
        best = None
        for l in range(d):
            shown = sorted((i for i in samples if not mask[i][l]), key=lambda i: X[i][l])
            for k in range(1, len(shown)):
                low, high = X[shown[k - 1]][l], X[shown[k]][l]
                if low == high or k < min_samples_leaf or len(shown) - k < min_samples_leaf:
                    continue
                left, right = [y[i] for i in shown[:k]], [y[i] for i in shown[k:]]
                score = (sse(left + right) - sse(left) - sse(right)) / len(shown)
                if best is None or score > best[0]:
                    best = (score, l, (low + high) / 2, shown[:k], shown[k:])
        if best is not None:
            node["cut"] = best[1:3]
            node["children"] = (grow(best[3], level + 1), grow(best[4], level + 1))
        return node

    return grow(list(range(len(X))), 0)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 20), st.integers(1, 4), st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 3))
def test_personalised_growth_is_the_stated_rule(n, d, seed, depth, min_samples_leaf):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, rng.integers(2, 40), (n, d)) / 8
    y, mask = rng.integers(0, rng.integers(1, 8), n), rng.random((n, d)) < rng.choice([0.0, 0.3, 0.7])
    tree = grow_personalized_cart(X, y, depth, mask, min_samples_leaf=min_samples_leaf)
    expected = reference(X.tolist(), y.tolist(), mask.tolist(), depth, min_samples_leaf)
    assert as_nested(tree) == expected


@pytest.mark.parametrize(("n", "share"), [(40, 0.3), (300, 0.3), (9000, 0.1)])
def test_trees_that_are_grown_together_are_those_that_are_grown_alone(n, share):
    rng = np.random.default_rng(n)
    X, mask = rng.integers(0, 60, (n, 5)) / 60, rng.random((n, 5)) < share
    labels = [X[:, 4] + scale * rng.laplace(size=n) for scale in (0.1, 1, 10)]
    choices = np.array([[True] * 5, [True, False, True, True, True], [False, False, True, False, True], [False] * 5])
    together = grow_personalized_carts(X, labels, 4, mask, choices, min_samples_leaf=2)
    for kept, trees in zip(choices, together, strict=True):
        for y, tree in zip(labels, trees, strict=True):
            alone = grow_personalized_cart(X[:, kept], y, 4, mask[:, kept], min_samples_leaf=2)
            assert same_tree(tree, alone)
            assert tree.n_features == alone.n_features


def test_protected_values_and_the_order_of_users_do_not_matter():
    rng = np.random.default_rng(0)
    X, y, mask = rng.integers(0, 50, (300, 4)) / 50, rng.laplace(size=300), rng.random((300, 4)) < 0.3
    X[:, 3], mask[:, 3] = 1 - X[:, 0], mask[:, 0]  # mirrored ties, up to rounding
    tree, order = grow_cart(X, y, 6, mask=mask), rng.permutation(300)
    assert same_tree(tree, grow_cart(np.where(mask, np.nan, X), y, 6, mask=mask))
    assert same_tree(tree, grow_cart(X[order], y[order], 6, mask=mask[order]))


def test_nothing_to_cut_leaves_the_root():
    y = np.arange(4.0)
    assert grow_cart(np.ones((4, 2)), y, 3, mask=np.ones((4, 2), bool)).n_nodes == 1
    assert grow_cart(np.ones((4, 0)), y, 3).n_nodes == 1
    assert grow_cart(np.ones((4, 2)), y, 3, mask=[[True, False]] * 4).n_nodes == 1
    with pytest.raises(ValueError, match="criterion='gini'"):
        grow_cart(np.ones((4, 2)), y, 3, criterion="gini", mask=np.ones((4, 2), bool))


@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_truncation_of_scikit_learns_tree_is_the_shallower_tree_without_ties(depth):
    rng = np.random.default_rng(3)
    X, y, test = rng.random((400, 4)), rng.random(400), rng.random((200, 4))
    # leaves of one or two samples would tie: two features can cut off the same sample
    deep, shallow = (grow_cart(X, y, limit, seed=1, min_samples_leaf=10) for limit in (GROWN_DEPTH, depth))
    assert same_tree(deep.truncate(depth), shallow)
    np.testing.assert_array_equal(deep.truncate(depth).apply(test), deep.apply(test, depth))


def test_truncation_has_the_law_of_the_shallower_tree_with_ties():
    # two equal columns tie at every node: each cut takes either column with probability 1/2, whatever the limit
    x = np.random.default_rng(0).random(64)
    X, y = np.column_stack([x, x]), (x > 0.3) + 2.0 * (x > 0.7)
    counts = np.zeros((2, 4))
    for seed in range(2000):
        for row, limit in enumerate((2, GROWN_DEPTH)):
            tree = grow_cart(X, y, limit, seed=seed).truncate(2)
            inner = tree.feature[tree.feature >= 0]
            counts[row, int(inner @ (2 ** np.arange(inner.size))) % 4] += 1
    assert chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue > 1e-6
