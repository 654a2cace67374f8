"""The array representation against walks that follow one point at a time."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from lpbench.partitions import TreePartition, grow_max_edge


def walk_all(tree, x, protected, depth):
    """Nodes that some completion of the protected features reaches."""
    nodes = [0]
    for _ in range(depth):
        following = []
        for node in nodes:
            f = tree.feature[node]
            if f < 0:
                following.append(node)
                continue
            if protected[f] or x[f] < tree.threshold[node]:
                following.append(tree.left[node])
            if protected[f] or x[f] >= tree.threshold[node]:
                following.append(tree.right[node])
        nodes = following
    return nodes


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    return X, np.sin(5 * X[:, 1]) + rng.normal(size=300), rng.random((300, 4)) < 0.3


@pytest.fixture(scope="module", params=["max_edge", "sklearn"])
def tree(request, data):
    X, y, _ = data
    if request.param == "max_edge":
        return grow_max_edge(X, y, 6, min_samples_leaf=3)
    return TreePartition.from_sklearn(DecisionTreeRegressor(max_depth=6, min_samples_leaf=3, random_state=0).fit(X, y))


def test_numbering_is_level_by_level_with_adjacent_siblings(tree):
    inner = np.flatnonzero(tree.feature >= 0)
    assert (np.diff(tree.depth) >= 0).all()
    assert (tree.right[inner] == tree.left[inner] + 1).all()
    assert (tree.parent[tree.left[inner]] == inner).all() and (tree.parent[tree.right[inner]] == inner).all()
    assert (tree.depth[tree.left[inner]] == tree.depth[inner] + 1).all()
    assert (tree.left[tree.feature < 0] == -1).all() and tree.parent[0] == -1
    assert tree.depth.max() == tree.max_depth == 6


def test_routing_at_every_depth_follows_the_cuts(tree, data):
    X = data[0]
    levels = tree.apply_levels(X)
    for depth in range(tree.max_depth + 1):
        expected = [node for x in X for node in walk_all(tree, x, np.zeros(4), depth)]
        assert (tree.apply(X, depth) == expected).all()
        assert (levels[depth] == expected).all()
        assert np.isin(expected, tree.leaves(depth)).all()
    assert (tree.apply(X) == levels[-1]).all()
    assert (tree.apply_levels(X, 9)[9] == levels[-1]).all()
    assert (np.bincount(levels[-1], minlength=tree.n_nodes)[tree.leaves()] == tree.n_samples[tree.leaves()]).all()


def test_a_long_array_is_routed_in_chunks_without_seams(tree):
    X = np.random.default_rng(1).random((20_001, 4))
    assert (tree.apply(X) == np.concatenate([tree.apply(part) for part in np.array_split(X, 7)])).all()


def test_compatible_nodes_are_those_some_completion_reaches(tree, data):
    X, _, mask = data
    for depth, (users, nodes) in enumerate(tree.spread(X, mask, 8)):
        expected = [walk_all(tree, x, w, depth) for x, w in zip(X, mask, strict=True)]
        assert (users == np.repeat(np.arange(300), [len(e) for e in expected])).all()
        assert (nodes == np.concatenate(expected)).all()
        matrix = tree.compatible(X, mask, depth)
        assert matrix.shape == (300, tree.n_leaves(depth))
        for row, e in zip(matrix, expected, strict=True):
            assert set(tree.leaves(depth)[row]) == set(e)
        assert matrix[np.arange(300), tree.leaf_index(depth)[tree.apply(X, depth)]].all()


def test_cells_contain_their_points_and_fill_the_box(tree, data):
    X = data[0]
    node = tree.apply(X)
    volume = 0.0
    for leaf in tree.leaves():
        lower, upper = tree.bounds(leaf)
        inside = ((X >= lower) & (X < upper)).all(axis=1)
        assert (inside == (node == leaf)).all()
        volume += np.prod(upper - lower)
    assert volume == pytest.approx(1.0)


def test_a_root_partitions_nothing():
    tree = grow_max_edge(np.empty((5, 0)), np.arange(5.0), 4)
    assert tree.n_nodes == 1 and tree.max_depth == 0
    assert (tree.apply(np.empty((3, 0)), 2) == 0).all()
    assert [len(users) for users, _ in tree.spread(np.empty((3, 0)), np.empty((3, 0)), 2)] == [3, 3, 3]
    assert tree.compatible(np.empty((3, 0)), np.empty((3, 0))).shape == (3, 1)


def test_points_with_the_wrong_number_of_columns_are_refused(tree):
    with pytest.raises(ValueError, match="4 columns"):
        tree.apply(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="depth=-1"):
        tree.apply(np.zeros((3, 4)), -1)
