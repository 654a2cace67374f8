"""CART partitions: scikit-learn's on complete data, and the personalised rule on data with protected entries."""

from __future__ import annotations

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.partitions.criteria import CRITERIA
from lpbench.partitions.tree import Box, TreePartition, check_bounds

#: Depth to which estimators grow scikit-learn's regression trees before they read them at a smaller depth. A cut does
#: not depend on the depth limit and ties are broken uniformly at random, so a tree grown deeper and cut has exactly
#: the law of a tree grown with the smaller limit (without ties it is the same tree); one growth serves all depths.
GROWN_DEPTH = 8


def grow_cart(
    X: np.ndarray,
    y: np.ndarray,
    max_depth: int,
    *,
    criterion: str = "variance",
    mask: np.ndarray | None = None,
    min_samples_leaf: int = 1,
    seed: int = 0,
    bounds: Box | None = None,
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
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} must be one of {CRITERIA}")
    if min_samples_leaf < 1:
        raise ValueError(f"min_samples_leaf={min_samples_leaf!r} must be a whole number >= 1")
    if mask is not None and np.any(mask):
        if criterion != "variance":
            raise ValueError(f"criterion={criterion!r}: protected entries are supported for 'variance' only")
        return grow_personalized_cart(
            X, y, max_depth, mask, min_samples_leaf=min_samples_leaf, bounds=bounds, presorted=presorted
        )
    X = np.ascontiguousarray(X, dtype=np.float32)
    if max_depth < 1 or X.size == 0:
        return _root(X.shape, bounds)
    options = {"max_depth": max_depth, "min_samples_leaf": min_samples_leaf, "random_state": seed}
    if criterion == "variance":
        model = DecisionTreeRegressor(**options)
    else:
        model = DecisionTreeClassifier(criterion=criterion, **options)
    # Single precision and finiteness are settled here; scikit-learn's own checks would copy once more, and those of the
    # parameters take as long as the tree of a small sample.
    with config_context(skip_parameter_validation=True):
        model.fit(X, np.ascontiguousarray(y), check_input=False)
    return TreePartition.from_sklearn(model, bounds)


def _root(shape: tuple[int, int], bounds: Box | None) -> TreePartition:
    n, d = shape
    return TreePartition.from_levels([[-1]], [[0.0]], [[n]], check_bounds(bounds, d))


def grow_personalized_cart(
    X: np.ndarray,
    y: np.ndarray,
    max_depth: int,
    mask: np.ndarray,
    *,
    min_samples_leaf: int = 1,
    bounds: Box | None = None,
    presorted: SortedFeatures | None = None,
) -> TreePartition:
    """Grow a regression tree in which every cut is chosen from the samples that show its feature.

    The score of a cut is the decrease of the variance among the samples of the node that show the feature, relative
    to their number; only they go down the cut. Missingness itself never splits. (The HistOfTree paper does not treat
    CART with personal masks; scikit-learn given NaN would send the protected entries to one side, which is not
    HistOfTree Algorithm 1.) Ties go to the smallest feature, then to the smallest threshold, so that a shallower tree
    is a truncation.

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
    X, mask = np.ascontiguousarray(X, float), np.ascontiguousarray(mask, bool)
    n, d = X.shape
    if n == 0 or d == 0:
        return _root((n, d), bounds)
    y = np.asarray(y, float) - np.mean(y)
    lists = _SortedLists(SortedFeatures(X, mask) if presorted is None else presorted)
    tolerance = 1e-10 * float(np.mean(y * y))
    row, node = np.arange(n) * d, np.zeros(n, dtype=np.intp)  # node -1: the sample has stopped
    features, thresholds, sizes = [], [], []
    n_nodes = 1
    for level in range(max_depth + 1):
        active = np.flatnonzero(node >= 0)
        here = node.take(active)
        sizes.append(np.bincount(here, minlength=n_nodes))
        features.append(np.full(n_nodes, -1))
        thresholds.append(np.zeros(n_nodes))
        if level == max_depth:
            break
        pure = _variance(y.take(active), here, sizes[-1]) <= tolerance
        split, cut, at = lists.best_cuts(y, pure, tolerance, min_samples_leaf)
        if split.size == 0:
            break
        features[-1][split], thresholds[-1][split] = cut, at
        rank = np.full(n_nodes, -1)
        rank[split] = np.arange(split.size)
        parent = rank.take(here)
        place = row.take(active) + cut.take(parent)
        goes = (parent >= 0) & ~mask.take(place)
        child = np.where(goes, 2 * parent + (X.take(place) >= at.take(parent)), -1)
        node[active] = child
        if level + 1 < max_depth:
            lists.regroup(active, child, rank)
        n_nodes = 2 * split.size
    return TreePartition.from_levels(features, thresholds, sizes, check_bounds(bounds, d))


def _variance(y: np.ndarray, node: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Label variance of every node; ``size`` is the number of its samples."""
    size = np.maximum(size, 1)
    centred = y - (np.bincount(node, weights=y, minlength=size.size) / size).take(node)
    return np.bincount(node, weights=centred * centred, minlength=size.size) / size


class SortedFeatures:
    """For every feature, the samples that show it in the order of its values.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, d)

    Attributes
    ----------
    sample, value : ndarrays of equal length
        The entries, ordered by feature and then by value.
    length : int ndarray of shape (d,)
        Number of entries of every feature.
    n : int
    """

    def __init__(self, X: np.ndarray, mask: np.ndarray):
        self.n, d = X.shape
        columns = np.where(mask, np.inf, X).T
        order = np.argsort(np.ascontiguousarray(columns), axis=1, kind="stable")
        self.length = (~mask).sum(axis=0)
        shown = (np.arange(self.n) < self.length[:, None]).ravel()
        self.sample = order.ravel()[shown]
        self.value = columns[np.repeat(np.arange(d), self.length), self.sample]


class _SortedLists:
    """For every node and feature, the list of the samples that show the feature, in the order of its values.

    The lists are stored one after the other, those of a node together. A level puts the left children before the right
    ones instead of siblings side by side: dividing all lists is then two selections and needs no sort. ``nodes`` says
    which node comes in which place.
    """

    def __init__(self, features: SortedFeatures):
        self.nodes, self.d = np.zeros(1, dtype=np.intp), features.length.size
        self.sample, self.value, self.length = features.sample, features.value, features.length
        self._side = np.zeros(features.n, dtype=np.uint8)

    def regroup(self, active: np.ndarray, child: np.ndarray, rank: np.ndarray) -> None:
        """Move every entry to its sample's new node, keeping the order of values; drop those that stopped.

        Parameters
        ----------
        active, child : int ndarrays of equal length
            The samples that were in a node, and their new nodes; -1: the sample has stopped.
        rank : int ndarray
            Rank of every old node among those that were split, -1 for the others.
        """
        self._side[:] = 0
        self._side[active] = np.where(child >= 0, 1 + child % 2, 0)
        side, ends = self._side.take(self.sample), np.cumsum(self.length)
        parents = rank[self.nodes]
        divided = parents >= 0
        halves = [np.flatnonzero(side == 1), np.flatnonzero(side == 2)]
        lengths = [np.diff(np.searchsorted(half, ends), prepend=0).reshape(-1, self.d)[divided] for half in halves]
        self.length = np.concatenate(lengths).ravel()
        self.nodes = np.concatenate([2 * parents[divided], 2 * parents[divided] + 1])
        keep = np.concatenate(halves)
        self.sample, self.value = self.sample.take(keep), self.value.take(keep)

    def best_cuts(
        self, y: np.ndarray, pure: np.ndarray, tolerance: float, min_samples_leaf: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the nodes that can be cut, and the feature and threshold of each one's best cut."""
        first = np.cumsum(self.length) - self.length
        filled = np.flatnonzero(self.length)
        score = self._scores(y, first, filled, min_samples_leaf)
        highest = np.full(self.length.size, -np.inf)
        if filled.size:
            highest[filled] = np.maximum.reduceat(score, first[filled])
        place = np.argsort(self.nodes)
        best = highest.reshape(-1, self.d)[place]
        least = best.max(axis=1) - tolerance
        split = np.flatnonzero((least > -np.inf) & ~pure)

        # Among equal scores, the first feature and in its list the first entry.
        feature = (best[split] >= least[split, None]).argmax(axis=1)
        chosen = place[split] * self.d + feature
        length = self.length[chosen]
        start = np.cumsum(length) - length
        entry = np.arange(length.sum()) + np.repeat(first[chosen] - start, length)
        good = np.flatnonzero(score.take(entry) >= np.repeat(least[split], length))
        at = entry[good[np.searchsorted(good, start)]]
        low, high = self.value[at], self.value[at + 1]
        middle = low + (high - low) / 2
        return split, feature, np.where(middle > low, middle, high)

    def _scores(self, y: np.ndarray, first: np.ndarray, filled: np.ndarray, min_samples_leaf: int) -> np.ndarray:
        """Score the cut after every entry of every list (-inf: impossible).

        With n = n_left + n_right samples whose labels are centred, the variance falls by
        (sum of the left labels)^2 / (n_left n_right) per sample. Because every list sums to zero, one running sum
        serves all lists.
        """
        labels = y.take(self.sample)
        if filled.size == 0:
            return labels
        size = self.length[filled]
        labels -= np.repeat(np.add.reduceat(labels, first[filled]) / size, size)
        deviation = np.cumsum(labels, out=labels)
        n_left = np.arange(1.0, labels.size + 1)
        n_left -= np.repeat(first[filled].astype(float), size)
        n_right = np.repeat(size.astype(float), size)
        n_right -= n_left
        impossible = np.empty(labels.size, dtype=bool)
        np.less_equal(self.value[1:], self.value[:-1], out=impossible[:-1])
        impossible[first[filled] + size - 1] = True  # nothing is to the right of the last entry
        if min_samples_leaf > 1:
            impossible |= (n_left < min_samples_leaf) | (n_right < min_samples_leaf)
        deviation *= deviation
        n_left *= n_right
        np.maximum(n_left, 1.0, out=n_left)
        deviation /= n_left
        np.putmask(deviation, impossible, -np.inf)
        return deviation
