"""CART partitions: scikit-learn's on complete data, and the personalised rule on data with protected entries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn import config_context
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lpbench.partitions.criteria import CRITERIA
from lpbench.partitions.tree import Box, TreePartition, check_bounds

#: Depth to which estimators grow scikit-learn's regression trees before they read them at a smaller depth. A cut does
#: not depend on the depth limit and ties are broken uniformly at random, so a tree grown deeper and cut has exactly
#: the law of a tree grown with the smaller limit (without ties it is the same tree); one growth serves all depths.
GROWN_DEPTH = 8


def grown_depth(depth: int) -> int:
    """Return the multiple of ``GROWN_DEPTH`` to which a classification tree is grown before it is cut at ``depth``."""
    return GROWN_DEPTH * math.ceil(depth / GROWN_DEPTH)


#: Entries of sorted lists with which trees of several vectors of labels are grown together.
_TOGETHER = 1 << 15


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
) -> TreePartition:
    """Grow a CART partition: dimension and threshold with the largest decrease of the impurity.

    Complete data go to scikit-learn, which breaks ties by ``seed``; the ties of a node depend on the nodes visited
    before, so a truncation equals a shallower growth in law, and bit by bit where no ties occur. Data with protected
    entries go to :func:`grow_personalized_cart`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features; entries that ``mask`` protects are never read.
    y : ndarray of shape (n,)
        Numbers for ``variance``, class labels otherwise.
    criterion : {"variance", "gini", "entropy"}
        Only ``variance`` if entries are protected.
    mask : bool ndarray of shape (n, d), optional
        True = protected.
    min_samples_leaf : int
        Cuts that leave a child with fewer available samples are not considered.
    seed : int
        Tie breaking of scikit-learn.
    bounds : pair, optional
        The box to partition; default the unit cube.
    max_depth : int
        Greatest depth of a leaf.

    Returns
    -------
    TreePartition
        Tree over the box ``bounds``.
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} must be one of {CRITERIA}")
    if min_samples_leaf < 1:
        raise ValueError(f"min_samples_leaf={min_samples_leaf!r} must be a whole number >= 1")
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
        Numbers.
    max_depth, min_samples_leaf, bounds
        See :func:`grow_cart`.

    Returns
    -------
    TreePartition
        Tree over the box ``bounds``.
    """
    all_features = np.ones((1, np.shape(X)[1]), dtype=bool)
    [[tree]] = grow_personalized_carts(
        X, [y], max_depth, mask, all_features, min_samples_leaf=min_samples_leaf, bounds=bounds
    )
    return tree


def grow_personalized_carts(
    X: np.ndarray,
    labels: Sequence[np.ndarray],
    max_depth: int,
    mask: np.ndarray,
    choices: np.ndarray,
    *,
    min_samples_leaf: int = 1,
    bounds: Box | None = None,
) -> list[list[TreePartition]]:
    """Grow the tree of :func:`grow_personalized_cart` from every vector of labels on every choice of features.

    Trees of the same labels share the nodes to which the same cuts lead: the best cut of each feature is sought once,
    and every choice takes the best of its features.

    Parameters
    ----------
    X, max_depth, mask, min_samples_leaf, bounds
        See :func:`grow_personalized_cart`.
    labels : sequence of ndarrays of shape (n,)
        Numbers; one tree is grown for each vector and choice.
    choices : bool ndarray of shape (k, d)
        Features that may be cut; each choice is part of the one before.

    Returns
    -------
    list of lists of TreePartition
        For each of the k choices one tree a vector of labels, over the features of the choice.
    """
    X, mask = np.ascontiguousarray(X, float), np.ascontiguousarray(mask, bool)
    n, d = X.shape
    if n == 0 or d == 0:
        return [[_root((n, d), bounds) for _ in labels] for _ in choices]
    (lower, upper), features = check_bounds(bounds, d), SortedFeatures(X, mask)
    step = max(1, _TOGETHER // features.sample.size)
    trees: list[list[TreePartition]] = [[] for _ in choices]
    for start in range(0, len(labels), step):
        y = np.array([np.asarray(values, float) - np.mean(values) for values in labels[start : start + step]])
        levels = _levels(X, mask, _SortedLists(features, y, min_samples_leaf), choices, max_depth)
        for number in range(len(y) * len(choices)):
            of_tree, choice = (
                [[array[level[0] == number] for array in level[1:]] for level in levels],
                number % len(choices),
            )
            columns = choices[choice]
            position = np.append(np.cumsum(columns) - 1, -1)  # the last is that of a leaf
            cuts, thresholds, sizes = zip(*(level for level in of_tree if level[0].size), strict=True)
            corners = lower[columns], upper[columns]
            trees[choice].append(TreePartition.from_levels([position[cut] for cut in cuts], thresholds, sizes, corners))
    return trees


def _levels(
    X: np.ndarray, mask: np.ndarray, lists: _SortedLists, choices: np.ndarray, max_depth: int
) -> list[tuple[np.ndarray, ...]]:
    """Nodes of all trees, level by level: arrays of tree, feature (-1: leaf), threshold and number of samples.

    ``choices`` (k, d) are the features that each of k trees may cut, for each labels vector; trees of the same labels
    come together.
    """
    d, k = X.shape[1], len(choices)
    tree = np.arange(k * lists.nodes.size)
    node = tree // k
    levels: list[tuple[np.ndarray, ...]] = []
    while True:
        feature, threshold = np.full(node.size, -1), np.zeros(node.size)
        levels.append((tree, feature, threshold, lists.sizes[node]))
        if len(levels) > max_depth:
            return levels
        score, highest, tolerance, pure = lists.scores()
        best = np.where(choices[tree % k], highest[node], -np.inf)
        least = best.max(axis=1) - tolerance[node]
        split = np.flatnonzero((least > -np.inf) & ~pure[node])
        if split.size == 0:
            return levels
        # among equal scores, the first feature
        feature[split] = (best[split] >= least[split, None]).argmax(axis=1)
        cut, first, child = np.unique(node[split] * d + feature[split], return_index=True, return_inverse=True)
        at = lists.thresholds(cut, score, least[split][first])
        threshold[split] = at[child]
        tree, node = np.repeat(tree[split], 2), np.repeat(2 * child, 2)
        node[1::2] += 1
        deeper = len(levels) < max_depth  # else the numbers of samples are all that is needed
        lists.divide(X, mask, cut, at, choices[tree[::2][first] % k] & deeper)


class SortedFeatures:
    """For every feature, the samples that show it in the order of its values; then all samples."""

    def __init__(self, X: np.ndarray, mask: np.ndarray):
        self.n, d = X.shape
        columns = np.where(mask, np.inf, X).T
        order = np.argsort(np.ascontiguousarray(columns), axis=1, kind="stable")
        length = (~mask).sum(axis=0)
        is_member = (np.arange(self.n) < length[:, None]).ravel()
        sample = order.ravel()[is_member]
        # entries, ordered by feature and then by value; the value of the last n, all samples, is 0
        self.sample = np.concatenate([sample, np.arange(self.n)])
        self.value = np.concatenate([columns[np.repeat(np.arange(d), length), sample], np.zeros(self.n)])
        self.length = np.append(length, self.n)  # number of entries of every feature, and n


def ranges(first: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Ranges of whole numbers, one after the other."""
    ends = np.cumsum(length)
    return np.arange(ends[-1]) + np.repeat(first - (ends - length), length)


class _SortedLists:
    """For every node and feature, the list of the samples that show the feature, in the order of its values.

    The lists are stored one after the other, those of a node together, a list of all its samples last. A level puts the
    left children before the right ones instead of siblings side by side: dividing all lists is then two selections and
    needs no sort. ``nodes`` says which node comes in which place. Each of the vectors y (k, n) of centered labels has a
    root of its own; their samples are numbered through.
    """

    def __init__(self, features: SortedFeatures, y: np.ndarray, min_samples_leaf: int):
        self.nodes = self._labels = np.arange(len(y))
        self._y, self._n, self._least = y.ravel(), features.n, min_samples_leaf
        self._tolerance = 1e-10 * np.array([float(np.mean(values * values)) for values in y])
        self.sample = (self.nodes[:, None] * self._n + features.sample).ravel()
        self.value = np.tile(features.value, len(y))
        self.length = np.tile(features.length, (len(y), 1))

    @property
    def sizes(self) -> np.ndarray:
        """Number of samples in every node, shape (n_nodes,)."""
        return self._by_node(self.length[:, -1])

    def _by_node(self, values: np.ndarray) -> np.ndarray:
        """Reorder values, one for each list position, to the numbering of the nodes."""
        ordered = np.empty_like(values)
        ordered[self.nodes] = values
        return ordered

    @property
    def _first(self) -> np.ndarray:
        """Return the position at which each list begins in the concatenation of all lists."""
        length = self.length.ravel()
        return (np.cumsum(length) - length).reshape(self.length.shape)

    def divide(self, X: np.ndarray, mask: np.ndarray, cut: np.ndarray, at: np.ndarray, wanted: np.ndarray) -> None:
        """Put the samples of nodes into their children, keeping the order of values; drop those that stop.

        ``cut`` is node x d + feature, ``at`` the thresholds; the children are the nodes 2 i and 2 i + 1. A sample goes
        into neither where the feature is protected. ``wanted`` (c, d) tells the features whose lists are still needed.
        """
        n, d = mask.shape
        node, feature = cut // d, cut % d
        first, length = self._by_node(self._first)[node], self._by_node(self.length)[node]
        self._labels = self._labels[node]
        # which way each sample of a node goes: 0 to neither child, where the feature is protected
        shift = (np.arange(cut.size) - self._labels) * n
        of = np.repeat(np.arange(cut.size), length[:, -1])
        slot = self.sample.take(ranges(first[:, -1], length[:, -1])) + shift.take(of)
        cell = (slot - of * n) * d + feature.take(of)
        side = np.zeros(cut.size * n, dtype=np.uint8)
        side[slot] = np.where(mask.take(cell), 0, 1 + (X.take(cell) >= at.take(of)))

        length[:, :-1] *= wanted
        entry, ends = ranges(first.ravel(), length.ravel()), np.cumsum(length)
        sides = side.take(self.sample.take(entry) + np.repeat(shift, length.sum(axis=1)))
        halves = [np.flatnonzero(sides == 1), np.flatnonzero(sides == 2)]
        self.length = np.concatenate(
            [np.diff(np.searchsorted(half, ends), prepend=0).reshape(length.shape) for half in halves]
        )
        entry = entry.take(np.concatenate(halves))
        self.sample, self.value = self.sample.take(entry), self.value.take(entry)
        self.nodes = np.concatenate([2 * np.arange(cut.size), 2 * np.arange(cut.size) + 1])
        self._labels = np.repeat(self._labels, 2)

    def scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Score the cut after every entry of every list; -inf: no cut is possible.

        With the scores come the highest of every list (nodes, d), the tolerance of every node, within which scores are
        equal, and True for nodes whose labels are all equal.
        """
        first, length = self._first, self.length
        filled = np.flatnonzero(length)
        score, highest, variance = np.empty(0), np.full(length.size, -np.inf), np.zeros(len(length))
        if filled.size:
            score, variance = self._scores(first, filled)
            highest[filled] = np.maximum.reduceat(score, first.ravel()[filled])
        tolerance = self._tolerance[self._labels]
        highest = self._by_node(highest.reshape(length.shape)[:, :-1])
        return score, highest, tolerance, self._by_node(variance) <= tolerance

    def thresholds(self, cut: np.ndarray, score: np.ndarray, least: np.ndarray) -> np.ndarray:
        """Thresholds of the first cuts (node x d + feature) in their lists whose scores are not below ``least``."""
        node, feature = np.divmod(cut, self.length.shape[1] - 1)
        first, length = self._by_node(self._first)[node, feature], self._by_node(self.length)[node, feature]
        entry = ranges(first, length)
        good = np.flatnonzero(score.take(entry) >= np.repeat(least, length))
        at = entry[good[np.searchsorted(good, np.cumsum(length) - length)]]
        low, high = self.value[at], self.value[at + 1]
        middle = low + (high - low) / 2
        return np.where(middle > low, middle, high)

    def _scores(self, first: np.ndarray, filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of all cuts (-inf: impossible), and the variance of the labels in every place, i.e. node.

        ``first`` is where each list begins, ``filled`` the lists that are not empty. With n = n_left + n_right samples
        whose labels are centered, the variance falls by (sum of the left labels)^2 / (n_left n_right) per sample.
        Because every list sums to zero, one running sum serves all lists.
        """
        labels, begin, size = self._y.take(self.sample), first.ravel()[filled], self.length.ravel()[filled]
        labels -= np.repeat(np.add.reduceat(labels, begin) / size, size)
        members = self.length[:, -1]
        of_members = labels.take(ranges(first[:, -1], members))
        position = np.repeat(np.arange(members.size), members)
        variance = np.bincount(position, weights=of_members * of_members, minlength=members.size) / np.maximum(
            members, 1
        )
        deviation = np.cumsum(labels, out=labels)
        n_left = np.arange(1.0, labels.size + 1)
        n_left -= np.repeat(begin.astype(float), size)
        n_right = np.repeat(size.astype(float), size)
        n_right -= n_left
        impossible = np.empty(labels.size, dtype=bool)
        np.less_equal(self.value[1:], self.value[:-1], out=impossible[:-1])
        impossible[begin + size - 1] = True  # nothing is to the right of the last entry
        if self._least > 1:
            impossible |= (n_left < self._least) | (n_right < self._least)
        deviation *= deviation
        n_left *= n_right
        np.maximum(n_left, 1.0, out=n_left)
        deviation /= n_left
        np.putmask(deviation, impossible, -np.inf)
        return deviation, variance
