"""The search of LPCT's released code against its rules written down literally."""

import numpy as np
import pytest

from lpbench.partitions.candidates import CandidateCuts
from lpbench.partitions.max_edge import grow_max_edge


def entropy(labels):
    if len(labels) == 0:
        return 0.0
    share = np.bincount(labels) / len(labels)
    return -sum(s * np.log2(s) for s in share if s > 0)


def literal_cut(X, y, low, high, leaf, midpoints):
    """Feature and threshold of a cell, one candidate after the other."""
    if len(y) <= 1:
        return None
    edge = high - low
    found = []
    for feature in range(X.shape[1]):
        if midpoints:
            if edge[feature] < edge.max():
                continue
            thresholds = [(low[feature] + high[feature]) / 2]
        else:
            thresholds = np.quantile(np.unique(X[:, feature]), [(2 * i + 1) / 20 for i in range(10)])
        gains = []
        for at in thresholds:
            left = X[:, feature] < at
            after = (entropy(y[left]) * left.sum() + entropy(y[~left]) * (~left).sum()) / len(y)
            gains.append(round(entropy(y) - after, 12))
        best = int(np.argmax(gains))
        found.append((gains[best], feature, thresholds[best] if midpoints or gains[best] > 0 else None))
    ranked = sorted(found, key=lambda one: -one[0])[: max(1, (len(found) + 5) // 10)]
    for _, feature, at in ranked:
        if at is None:
            continue
        left = X[:, feature] < at
        if min(left.sum(), (~left).sum()) >= leaf:
            return feature, at
    return None


def literal_leaves(X, y, depth, leaf, midpoints):
    """Rows of the leaves, as a set."""
    result, stack = set(), [(np.arange(len(y)), np.zeros(X.shape[1]), np.ones(X.shape[1]), 0)]
    while stack:
        rows, low, high, level = stack.pop()
        cut = literal_cut(X[rows], y[rows], low, high, leaf, midpoints) if level < depth else None
        if cut is None:
            result.add(tuple(rows))
            continue
        feature, at = cut
        left = X[rows, feature] < at
        below, above = high.copy(), low.copy()
        below[feature] = above[feature] = at
        stack += [(rows[left], low, below, level + 1), (rows[~left], above, high, level + 1)]
    return result


def sample(d, n=120):
    rng = np.random.default_rng(d)
    X = np.round(rng.random((n, d)), 1 + d % 3)
    return X, (X[:, 0] + X[:, d // 2] + 0.4 * rng.normal(size=n) > 1).astype(int)


@pytest.mark.parametrize("midpoints", [False, True])
@pytest.mark.parametrize("leaf", [1, 4, 16, 40])
@pytest.mark.parametrize("d", [3, 16, 31])
def test_cells_are_those_of_the_rules(d, leaf, midpoints):
    X, y = sample(d)
    tree = CandidateCuts(X, y, midpoints=midpoints, criterion="entropy").grow(5, leaf)
    node = tree.apply(X)
    assert {tuple(np.flatnonzero(node == k)) for k in np.unique(node)} == literal_leaves(X, y, 5, leaf, midpoints)
    assert (tree.n_samples[np.unique(node)] == np.bincount(node)[np.unique(node)]).all()


def test_one_object_serves_all_depths_and_sizes():
    X, y = sample(16)
    shared = CandidateCuts(X, y, midpoints=False, criterion="gini")
    for depth, leaf in ((6, 1), (2, 8), (4, 3)):
        alone = CandidateCuts(X, y, midpoints=False, criterion="gini").grow(depth, leaf)
        again = shared.grow(depth, leaf)
        assert (again.feature == alone.feature).all() and (again.threshold == alone.threshold).all()


def test_below_fifteen_features_the_best_edge_alone_is_tried():
    """The best tenth of fewer than 15 is one: the tree is the max-edge tree, whose leaf size enters no choice."""
    X, y = sample(7)
    tree = CandidateCuts(X, y, midpoints=True, criterion="entropy").grow(6, 5)
    plain = grow_max_edge(X, y, 6, criterion="entropy", n_classes=2, min_samples_leaf=5)
    assert (tree.feature == plain.feature).all() and (tree.threshold == plain.threshold).all()
