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
    presorted: SortedFeatures | None = None,
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
    presorted : SortedFeatures, optional
        See :func:`grow_personalized_cart`.

    Returns
    -------
    TreePartition
    """
    if mask is not None and np.any(mask):
        if criterion != "variance":
            raise ValueError(f"criterion={criterion!r}: protected entries are supported for 'variance' only")
        options = {"min_samples_leaf": min_samples_leaf, "bounds": bounds, "presorted": presorted}
        return grow_personalized_cart(X, y, max_depth, mask, **options)
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


def grow_personalized_cart(
    X, y, max_depth: int, mask, *, min_samples_leaf: int = 1, bounds=None, presorted: SortedFeatures | None = None
) -> TreePartition:
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
    presorted : SortedFeatures, optional
        Those of X and mask, to share among several labels.

    Returns
    -------
    TreePartition
    """
    X, y, mask = np.ascontiguousarray(X, float), np.asarray(y, float), np.ascontiguousarray(mask, bool)
    n, d = X.shape
    if n == 0 or d == 0:
        return _root((n, d), bounds)
    lists = _SortedLists(SortedFeatures(X, mask) if presorted is None else presorted)
    y = y - y.mean()
    tolerance = 1e-10 * float(np.mean(y * y))
    node, n_nodes = np.zeros(n, dtype=np.intp), 1  # -1: the sample has stopped
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
            lists.regroup(node, n_nodes)
        pure = _variance(y[active], here, sizes[-1]) <= tolerance
        split, cut, at = lists.best_cuts(y, pure, tolerance, min_samples_leaf)
        if split.size == 0:
            break
        features[-1][split], thresholds[-1][split] = cut, at
        rank = np.full(n_nodes, -1)
        rank[split] = np.arange(split.size)
        parent = rank[here]
        place = active * d + cut[parent]
        goes = (parent >= 0) & ~mask.take(place)
        node[active] = np.where(goes, 2 * parent + (X.take(place) >= at[parent]), -1)
        n_nodes = 2 * split.size
    return TreePartition.from_levels(features, thresholds, sizes, check_bounds(bounds, d))


def _variance(y, node, size) -> np.ndarray:
    """Label variance of every node; ``size`` is the number of its samples."""
    size = np.maximum(size, 1)
    centred = y - (np.bincount(node, weights=y, minlength=size.size) / size)[node]
    return np.bincount(node, weights=centred * centred, minlength=size.size) / size


class SortedFeatures:
    """For every feature, the samples that show it in the order of its values.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, d)

    Attributes
    ----------
    sample, feature, value : ndarrays of equal length
        The entries, ordered by feature and then by value.
    """

    def __init__(self, X, mask):
        n, self.d = X.shape
        columns = np.where(mask, np.inf, X).T
        order = np.argsort(np.ascontiguousarray(columns), axis=1, kind="stable")
        shown = (np.arange(n) < (~mask).sum(axis=0)[:, None]).ravel()
        self.sample = order.ravel()[shown]
        self.feature = np.repeat(np.arange(self.d), n)[shown]
        self.value = columns[self.feature, self.sample]


class _SortedLists:
    """For every feature and node, the list of the samples that show the feature, in the order of its values.

    Lists are numbered feature * n_nodes + node and stored one after the other, so that a level moves entries within
    their feature only; every entry knows its list, which is cheaper to look up than to expand.
    """

    def __init__(self, features: SortedFeatures):
        self.d, self.n_nodes = features.d, 1
        self.sample, self.feature, self.value = features.sample, features.feature, features.value
        self.list = self.feature
        self.length = np.bincount(self.list, minlength=self.d)

    def regroup(self, node, n_nodes: int):
        """Move every entry to its sample's new node, keeping the order of values; drop those that stopped."""
        self.n_nodes, new = n_nodes, node.take(self.sample)
        keep = np.flatnonzero(new >= 0)
        self.feature = self.feature.take(keep)
        number = self.feature * n_nodes + new.take(keep)
        self.length = np.bincount(number, minlength=n_nodes * self.d)
        # Short integers are sorted in linear time.
        order = np.argsort(number.astype(np.min_scalar_type(n_nodes * self.d)), kind="stable")
        self.list, keep = number.take(order), keep.take(order)
        self.sample, self.value = self.sample.take(keep), self.value.take(keep)

    def best_cuts(self, y, pure, tolerance, min_samples_leaf):
        """Return the nodes that can be cut, and the feature and threshold of each one's best cut."""
        n_nodes = self.n_nodes
        first = np.cumsum(self.length) - self.length
        filled = np.flatnonzero(self.length)
        score = self._scores(y, first, filled, min_samples_leaf)
        best = np.full((self.d, n_nodes), -np.inf)
        if filled.size:
            best.ravel()[filled] = np.maximum.reduceat(score, first[filled])
        least = best.max(axis=0) - tolerance
        split = np.flatnonzero((least > -np.inf) & ~pure)

        # Among equal scores, the first feature and in its list the first entry.
        feature = (best[:, split] >= least[split]).argmax(axis=0)
        chosen = feature * n_nodes + split
        length = self.length[chosen]
        place = np.arange(length.sum()) + np.repeat(first[chosen] - (np.cumsum(length) - length), length)
        good = place[score.take(place) >= np.repeat(least[split], length)]
        good = good[np.flatnonzero(np.diff(self.list[good], prepend=-1))]
        low, high = self.value[good], self.value[good + 1]
        middle = low + (high - low) / 2
        return split, feature, np.where(middle > low, middle, high)

    def _scores(self, y, first, filled, min_samples_leaf) -> np.ndarray:
        """Score the cut after every entry of every list (-inf: impossible).

        With n = n_left + n_right samples whose labels are centred, the variance falls by
        (sum of the left labels)^2 / (n_left n_right) per sample. Because every list sums to zero, one running sum
        serves all lists.
        """
        labels = y.take(self.sample)
        mean = np.zeros(self.length.size)
        if filled.size:
            mean[filled] = np.add.reduceat(labels, first[filled]) / self.length[filled]
        labels -= mean.take(self.list)
        deviation = np.cumsum(labels, out=labels)
        n_left = np.arange(1.0, labels.size + 1) - first.take(self.list)
        n_right = self.length.take(self.list) - n_left
        impossible = np.empty(labels.size, dtype=bool)
        np.less_equal(self.value[1:], self.value[:-1], out=impossible[:-1])
        impossible[first[filled] + self.length[filled] - 1] = True  # nothing is to the right of the last entry
        if min_samples_leaf > 1:
            impossible |= (n_left < min_samples_leaf) | (n_right < min_samples_leaf)
        score = deviation * deviation / np.maximum(n_left * n_right, 1.0)
        np.putmask(score, impossible, -np.inf)
        return score
