"""The level-wise growth against Algorithm 1 written down literally: recursive, one sample at a time, exact numbers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.partitions import grow_max_edge, grow_max_edges
from lpbench.partitions.max_edge import Sample, grow_max_edge_forest


def impurity(labels, criterion):
    """Exact impurity (entropy aside) of a list of integer labels."""
    n = len(labels)
    if n == 0:
        return None
    if criterion == "variance":
        return Fraction(sum(v * v for v in labels), n) - Fraction(sum(labels), n) ** 2
    shares = [Fraction(labels.count(c), n) for c in sorted(set(labels))]
    if criterion == "gini":
        return 1 - sum(p * p for p in shares)
    return -sum(float(p) * np.log(float(p)) for p in shares)


def reference_score(left, right, criterion, score):
    if score == "algorithm1":
        return None if not left or not right else -(impurity(left, criterion) + impurity(right, criterion))
    if not left and not right:
        return None
    n = len(left) + len(right)
    parts = sum(Fraction(len(side), n) * impurity(side, criterion) for side in (left, right) if side)
    return impurity(left + right, criterion) - parts


def reference(X, y, mask, depth, criterion, score, min_samples_leaf):
    """Algorithm 1, literally: a nested dictionary per node."""
    d = len(X[0])

    def grow(samples, box, level):
        node = {"n": len(samples), "cut": None}
        if level == depth or len(samples) <= (min_samples_leaf > 0):
            return node
        edges = [b - a for a, b in box]
        best = None
        for l in range(d):
            if edges[l] != max(edges):
                continue
            middle = (box[l][0] + box[l][1]) / 2
            shown = [i for i in samples if not mask[i][l]]
            left = [y[i] for i in shown if X[i][l] < middle]
            right = [y[i] for i in shown if X[i][l] >= middle]
            value = reference_score(left, right, criterion, score)
            value = -np.inf if value is None else value
            margin = 1e-10 if criterion == "entropy" else 0
            if best is None or value > best[0] + margin:
                best = (value, l, middle)
        _, l, middle = best
        shown = [i for i in samples if not mask[i][l]]
        left, right = [i for i in shown if X[i][l] < middle], [i for i in shown if X[i][l] >= middle]
        if min(len(left), len(right)) < min_samples_leaf:
            return node
        half = [list(box), list(box)]
        half[0][l], half[1][l] = (box[l][0], middle), (middle, box[l][1])
        node["cut"] = (l, middle)
        node["children"] = (grow(left, half[0], level + 1), grow(right, half[1], level + 1))
        return node

    return grow(list(range(len(X))), [(0.0, 1.0)] * d, 0)


def as_nested(tree, node=0):
    result = {"n": tree.n_samples[node], "cut": None}
    if tree.feature[node] >= 0:
        result["cut"] = (tree.feature[node], tree.threshold[node])
        result["children"] = (as_nested(tree, tree.left[node]), as_nested(tree, tree.right[node]))
    return result


@st.composite
def samples(draw):
    n, d = draw(st.integers(1, 25)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.random((n, d)) if draw(st.booleans()) else rng.integers(0, 9, (n, d)) / 8
    mask = rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3, 0.8]))
    return X, rng.integers(0, draw(st.integers(1, 5)), n), mask


@settings(max_examples=300, deadline=None)
@given(
    samples(),
    st.integers(0, 6),
    st.sampled_from(["variance", "gini", "entropy"]),
    st.sampled_from(["weighted", "algorithm1"]),
    st.integers(0, 3),
)
def test_growth_is_algorithm_1(data, depth, criterion, score, min_samples_leaf):
    X, y, mask = data
    tree = grow_max_edge(X, y, depth, criterion=criterion, score=score, mask=mask, min_samples_leaf=min_samples_leaf)
    expected = reference(X.tolist(), y.tolist(), mask.tolist(), depth, criterion, score, min_samples_leaf)
    assert as_nested(tree) == expected


@settings(max_examples=50, deadline=None)
@given(samples(), st.integers(0, 6), st.integers(0, 4), st.sampled_from(["max_edge", "random"]))
def test_shallower_trees_are_truncations(data, depth, min_samples_leaf, rule):
    X, y, mask = data

    def grow(depth):
        rng = np.random.default_rng(5)
        return grow_max_edge(X, y, depth, mask=mask, min_samples_leaf=min_samples_leaf, rule=rule, rng=rng)

    deep, small = grow(6), grow(depth)
    points = np.random.default_rng(1).random((200, X.shape[1]))
    assert (deep.apply(points, depth) == small.apply(points)).all()
    assert (deep.leaves(depth) == small.leaves()).all()
    assert (deep.n_samples[: small.n_nodes] == small.n_samples).all()


@pytest.mark.parametrize("criterion", ["variance", "gini"])
def test_chunks_of_samples_change_nothing(monkeypatch, criterion):
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 5)), rng.integers(0, 3, 3000)
    mask = rng.random(X.shape) < 0.3
    whole = grow_max_edge(X, y, 6, criterion=criterion, mask=mask)
    monkeypatch.setattr("lpbench.partitions.max_edge._PAIRS_AT_ONCE", 64)
    pieces = grow_max_edge(X, y, 6, criterion=criterion, mask=mask)
    assert (whole.feature == pieces.feature).all() and (whole.threshold == pieces.threshold).all()


def test_neither_the_order_of_the_users_nor_protected_values_matter():
    rng = np.random.default_rng(0)
    X, y, mask = rng.random((500, 4)), rng.laplace(size=500), rng.random((500, 4)) < 0.4
    X[:, 2], mask[:, 2] = 1 - X[:, 0], mask[:, 0]  # mirrored: a tie up to rounding, which the smallest index must win
    tree, order = grow_max_edge(X, y, 7, mask=mask), rng.permutation(500)
    for other in (
        grow_max_edge(X[order], y[order], 7, mask=mask[order]),
        grow_max_edge(np.where(mask, np.nan, X), y, 7, mask=mask),
    ):
        assert (tree.feature == other.feature).all() and (tree.n_samples == other.n_samples).all()


def test_without_samples_the_tree_is_full_and_cuts_by_smallest_index():
    tree = grow_max_edge(np.empty((0, 3)), np.empty(0), 4)
    assert tree.n_nodes == 31
    assert (tree.feature[tree.depth < 4] == np.array([0, 1, 2, 0])[tree.depth[tree.depth < 4]]).all()
    assert set(tree.threshold[tree.depth == 3]) == {0.25, 0.75}


def test_a_random_tree_cuts_every_longest_edge_equally_often():
    # 3000 roots with 3 candidates each: the counts deviate by 150 (5.8 sigma) with probability < 1e-7.
    rng = np.random.default_rng(0)
    roots = [grow_max_edge(np.empty((0, 3)), np.empty(0), 1, rule="random", rng=rng).feature[0] for _ in range(3000)]
    assert (np.abs(np.bincount(roots, minlength=3) - 1000) < 150).all()
    tree = grow_max_edge(np.empty((0, 3)), np.empty(0), 9, rule="random", rng=rng)
    below = tree.feature[(tree.depth == 1)]
    assert set(below) <= set(range(3)) - {tree.feature[0]}
    for leaf in tree.leaves()[::37]:
        assert np.subtract(*tree.bounds(leaf)[::-1]) == pytest.approx(1 / 8)


def test_a_stretched_box_is_cut_along_its_longest_edge():
    tree = grow_max_edge(np.empty((0, 2)), np.empty(0), 4, bounds=([0.0, 0.0], [1.0, 4.0]))
    assert tree.feature[:3].tolist() == [1, 1, 1]
    assert tree.threshold[:3].tolist() == [2.0, 1.0, 3.0]
    assert (tree.feature[3:7] == 0).all() and (tree.feature[7:15] == 1).all()


def test_impossible_options_are_named():
    wrong = {"rule": "longest", "criterion": "mse", "score": "printed", "bounds": (1.0, 0.0)}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"{name}="):
            grow_max_edge(np.zeros((3, 2)), np.zeros(3), 2, **{name: value})
    with pytest.raises(ValueError, match="rule='random' needs rng"):
        grow_max_edge(np.zeros((3, 2)), np.zeros(3), 2, rule="random")


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_trees_that_are_grown_together_are_those_grown_alone(share):
    rng = np.random.default_rng(0)
    X, mask = rng.random((80, 3)), rng.random((80, 3)) < share
    labels = [rng.normal(size=80), 1e6 * rng.laplace(size=80), np.zeros(80)]
    for tree, y in zip(grow_max_edges(X, labels, 7, mask=mask, min_samples_leaf=2), labels, strict=True):
        assert as_nested(tree) == as_nested(grow_max_edge(X, y, 7, mask=mask, min_samples_leaf=2))


@pytest.mark.parametrize("rule", ["max_edge", "random"])
@pytest.mark.parametrize("criterion", ["variance", "entropy"])
def test_a_forest_from_different_samples_holds_the_trees_of_each(rule, criterion):
    rng = np.random.default_rng(1)
    samples = [
        Sample(X=rng.random((n, 3)), y=rng.integers(3, size=n), mask=mask and rng.random((n, 3)) < 0.3)
        for n, mask in ((60, True), (0, None), (7, None), (90, None), (1, True))
    ]
    options = {"criterion": criterion, "n_classes": 3, "rule": rule}
    forest = grow_max_edge_forest([replace(s, rng=np.random.default_rng(2)) for s in samples], 5, **options)
    for tree, s in zip(forest, samples, strict=True):
        alone = grow_max_edge(s.X, s.y, 5, mask=s.mask, rng=np.random.default_rng(2), **options)
        assert as_nested(tree) == as_nested(alone)
        assert np.array_equal(tree.n_samples, alone.n_samples)
