"""CART partitions: scikit-learn's on complete data, and the personalised rule on data with protected entries."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.partitions.tree import TreePartition, check_bounds

#: Depth to which estimators grow scikit-learn's regression trees before they read them at a smaller depth. A cut does
#: not depend on the depth limit and ties are broken uniformly at random, so a tree grown deeper and cut has exactly
#: the law of a tree grown with the smaller limit (without ties it is the same tree); one growth serves all depths.
GROWN_DEPTH = 8


def grow_cart(
    X,
    y,
    max_depth: int,
    *,
    criterion: str = "variance",
    mask=None,
    min_samples_leaf: int = 1,
    seed: int = 0,
    bounds=None,
) -> TreePartition:
    """Grow a CART partition: dimension and threshold with the largest decrease of the impurity.

    Complete data go to scikit-learn, which breaks ties by ``seed``; the ties of a node depend on the nodes visited
    before, so a truncation equals a shallower growth in law, and bit by bit where no ties occur. Data with protected
    entries go to :func:`grow_personalized_cart`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Numbers for ``variance``, class labels otherwise.
    max_depth : int
    criterion : {"variance", "gini", "entropy"}
        Only ``variance`` if entries are protected.
    mask : boolean ndarray of shape (n, d), optional
        True = protected.
    min_samples_leaf : int
        Cuts that leave a child with fewer available samples are not considered.
    seed : int
        Tie breaking of scikit-learn.
    bounds : pair, optional
        The box to partition; default the unit cube.

    Returns
    -------
    TreePartition
    """
    if mask is not None and np.any(mask):
        if criterion != "variance":
            raise ValueError(f"criterion={criterion!r}: protected entries are supported for 'variance' only")
        return grow_personalized_cart(X, y, max_depth, mask, min_samples_leaf=min_samples_leaf, bounds=bounds)
    X = np.ascontiguousarray(X, dtype=np.float32)
    if max_depth < 1 or X.size == 0:
        return _root(X.shape, bounds)
    options = {"max_depth": max_depth, "min_samples_leaf": min_samples_leaf, "random_state": seed}
    if criterion == "variance":
        model = DecisionTreeRegressor(**options)
    else:
        model = DecisionTreeClassifier(criterion=criterion, **options)
    # Single precision and finiteness are settled here; scikit-learn's own check would copy once more.
    return TreePartition.from_sklearn(model.fit(X, np.ascontiguousarray(y), check_input=False), bounds)


def _root(shape, bounds) -> TreePartition:
    n, d = shape
    return TreePartition.from_levels([[-1]], [[0.0]], [[n]], check_bounds(bounds, d))


def grow_personalized_cart(X, y, max_depth: int, mask, *, min_samples_leaf: int = 1, bounds=None) -> TreePartition:
    """Grow a regression tree in which every cut is chosen from the samples that show its feature.

    The score of a cut is the decrease of the variance among the samples of the node that show the feature, relative
    to their number; only they go down the cut. Missingness itself never splits. (H is silent on CART with personal
    masks; scikit-learn given NaN would send the protected entries to one side, which is not H Algorithm 1.) Ties go to
    the smallest feature, then to the smallest threshold, so that a shallower tree is a truncation.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, d)
        Protected entries (True in ``mask``) are never read.
    y : ndarray of shape (n,)
    max_depth, min_samples_leaf, bounds
        See :func:`grow_cart`.

    Returns
    -------
    TreePartition
    """
    X, y, mask = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64), np.asarray(mask, dtype=bool)
    n, d = X.shape
    if n == 0 or d == 0:
        return _root((n, d), bounds)
    lists = _SortedLists(X, mask)
    node, n_nodes = np.zeros(n, dtype=np.intp), 1  # -1: the sample has stopped
    tolerance = 1e-10 * float(np.var(y))
    features, thresholds, sizes = [], [], []
    for level in range(max_depth + 1):
        active = np.flatnonzero(node >= 0)
        here = node[active]
        sizes.append(np.bincount(here, minlength=n_nodes))
        features.append(np.full(n_nodes, -1))
        thresholds.append(np.zeros(n_nodes))
        if level == max_depth:
            break
        if level > 0:
            lists.regroup(node)
        pure = _variance(y[active], here, sizes[-1]) <= tolerance
        split, cut, at = lists.best_cuts(y, pure, tolerance, min_samples_leaf)
        if split.size == 0:
            break
        features[-1][split], thresholds[-1][split] = cut, at
        rank = np.full(n_nodes, -1)
        rank[split] = np.arange(split.size)
        parent = rank[here]
        column = cut[parent]
        goes = (parent >= 0) & ~mask[active, column]
        node[active] = np.where(goes, 2 * parent + (X[active, column] >= at[parent]), -1)
        n_nodes = 2 * split.size
    return TreePartition.from_levels(features, thresholds, sizes, check_bounds(bounds, d))


def _variance(y, node, size) -> np.ndarray:
    """Label variance of every node; ``size`` is the number of its samples."""
    size = np.maximum(size, 1)
    centred = y - (np.bincount(node, weights=y, minlength=size.size) / size)[node]
    return np.bincount(node, weights=centred * centred, minlength=size.size) / size


class _SortedLists:
    """For every node and feature, the samples that show the feature, in the order of its values."""

    def __init__(self, X, mask):
        self.d = X.shape[1]
        order = np.argsort(np.where(mask, np.inf, X), axis=0, kind="stable").T
        shown = (np.arange(X.shape[0]) < (~mask).sum(axis=0)[:, None]).ravel()
        self.sample = order.ravel()[shown]
        self.feature = np.repeat(np.arange(self.d), X.shape[0])[shown]
        self.value = X[self.sample, self.feature]
        self.node = np.zeros(self.sample.size, dtype=np.intp)

    def regroup(self, node):
        """Move every entry to its sample's new node, keeping the order of values; drop those that stopped."""
        self.node = node[self.sample]
        keep = np.flatnonzero(self.node >= 0)
        key = self.node[keep] * self.d + self.feature[keep]
        if key.size and key.max() < 2**16:
            key = key.astype(np.uint16)  # numpy sorts short integers in linear time
        order = keep[np.argsort(key, kind="stable")]
        self.sample, self.feature = self.sample[order], self.feature[order]
        self.value, self.node = self.value[order], self.node[order]

    def best_cuts(self, y, pure, tolerance, min_samples_leaf):
        """Return the nodes that can be cut, and the feature and threshold of each one's best cut.

        With n = n_left + n_right samples whose labels are centred, the variance falls by
        (sum of the left labels)^2 / (n_left n_right) per sample. Because every list sums to zero, one running sum
        serves all lists.
        """
        if self.sample.size == 0:
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0)
        first = np.flatnonzero(np.diff(self.node * self.d + self.feature, prepend=-1))
        length = np.diff(first, append=self.sample.size)
        labels = y[self.sample]
        deviation = np.cumsum(labels - np.repeat(np.add.reduceat(labels, first) / length, length))
        n_left = np.arange(1, self.sample.size + 1) - np.repeat(first, length)
        n_right = np.repeat(length, length) - n_left

        limit = max(min_samples_leaf, 1)
        valid = (n_left >= limit) & (n_right >= limit) & ~pure[self.node]
        valid[:-1] &= self.value[1:] > self.value[:-1]
        score = np.where(valid, deviation * deviation / np.maximum(n_left * n_right, 1), -np.inf)
        start = np.flatnonzero(np.diff(self.node, prepend=-1))
        best = np.maximum.reduceat(score, start)
        good = np.flatnonzero(valid & (score >= np.repeat(best - tolerance, np.diff(start, append=score.size))))
        split, which = np.unique(self.node[good], return_index=True)
        chosen = good[which]
        low, high = self.value[chosen], self.value[chosen + 1]
        middle = low + (high - low) / 2
        return split, self.feature[chosen], np.where(middle > low, middle, high)
