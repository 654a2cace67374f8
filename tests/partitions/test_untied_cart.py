"""Trees without ties are scikit-learn's, whatever its random state; trees with ties are left to it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from lpbench.partitions import TreePartition
from lpbench.partitions.untied_cart import SortedColumns, grow_untied_cart

RNG = np.random.default_rng(0)
X = RNG.random((900, 4)).astype(np.float32)
X[:, 1] = np.floor(9 * X[:, 1]) / 9
Y = np.sin(4 * X[:, 0]) + X[:, 1] + RNG.laplace(size=900)


def grow(X=X, y=Y, max_depth=8, min_samples_leaf=10):
    return grow_untied_cart(SortedColumns.of(X), y, max_depth, min_samples_leaf)


@pytest.mark.parametrize(("max_depth", "min_samples_leaf"), [(1, 1), (3, 2), (8, 10), (8, 100), (12, 30), (8, 451)])
def test_the_tree_is_the_one_that_scikit_learn_grows(max_depth, min_samples_leaf):
    tree, means = grow(max_depth=max_depth, min_samples_leaf=min_samples_leaf)
    for seed in range(3):
        options = {"max_depth": max_depth, "min_samples_leaf": min_samples_leaf, "random_state": seed}
        model = DecisionTreeRegressor(**options).fit(X, Y)
        expected = TreePartition.from_sklearn(model)
        for name in ("feature", "n_samples"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
        inner = tree.feature >= 0
        np.testing.assert_array_equal(tree.threshold[inner], expected.threshold[inner])
        np.testing.assert_allclose(means[tree.apply(X)], model.predict(X), rtol=1e-12)


def test_values_that_scikit_learn_takes_for_equal_are_not_separated():
    close = X.copy()
    close[:, 0] = np.where(close[:, 0] < 0.5, np.float32(0.3), np.float32(0.3) + np.float32(9e-8))
    tree, _ = grow(close, Y + 9 * (X[:, 0] < 0.5), max_depth=4)
    model = DecisionTreeRegressor(max_depth=4, min_samples_leaf=10).fit(close, Y + 9 * (X[:, 0] < 0.5))
    np.testing.assert_array_equal(tree.feature, TreePartition.from_sklearn(model).feature)
    assert 0 not in tree.feature


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        (X[:, [0, 1, 0]], Y),  # two features make the same cut
        (X[:, [0, 0]] * np.float32([1, -1]) + np.float32([0, 1]), Y),  # with the children exchanged
        (X, np.ones(900)),  # no cut is better than another
        (np.zeros_like(X), Y),  # there is no cut
    ],
)
def test_ties_are_reported(inputs, labels):
    assert grow(inputs, labels) is None


def test_columns_that_did_not_change_keep_their_order():
    first = SortedColumns.of(X)
    assert SortedColumns.of(X, first) is first
    other = X.copy()
    other[:, 2] = 1 - other[:, 2]
    again, fresh = SortedColumns.of(other, first), SortedColumns.of(other)
    np.testing.assert_array_equal(again.value, fresh.value)
    np.testing.assert_array_equal(again.sample[[0, 2, 3]], fresh.sample[[0, 2, 3]])
    np.testing.assert_array_equal(first.value, SortedColumns.of(X).value)
    np.testing.assert_array_equal(SortedColumns.of(X[:, :3], first).value, np.sort(X[:, :3].T))
