"""CART regression trees of complete data whose cuts are unique: those of scikit-learn, grown level by level.

scikit-learn sorts every feature anew in every node. Here the columns are sorted once and stay sorted when nodes are
divided; complete data have the same samples in the list of every feature, so the bounds of the nodes and the weights
of their cuts are shared by all features. Where two cuts are equally good, scikit-learn lets its random state and the
order of its additions decide, which cannot be told from outside: such a tree is left to scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.partitions.tree import TreePartition

#: scikit-learn takes values that differ by no more than this for equal.
_SAME = np.float32(1e-7)

#: The relative error of a sum of n doubles is at most n times this; squares and differences of sums a few times more.
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class SortedColumns:
    """For every feature, the samples in the order of its values.

    Attributes
    ----------
    columns : float32 ndarray of shape (d, n)
        The features, none of them missing.
    sample : int ndarray of shape (d, n)
    value : float32 ndarray of shape (d, n)
        ``columns`` in that order.
    """

    columns: np.ndarray
    sample: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, like: SortedColumns | None = None) -> SortedColumns:
        """Sort float32 X of shape (n, d); columns equal to those of ``like`` are taken from there."""
        columns = np.ascontiguousarray(X.T)
        if like is None or like.columns.shape != columns.shape:
            sample = np.argsort(columns, axis=1)
            return cls(columns, sample, np.take_along_axis(columns, sample, axis=1))
        new = (columns != like.columns).any(axis=1)
        if not new.any():
            return like
        sample, value = like.sample.copy(), like.value.copy()
        sample[new] = np.argsort(columns[new], axis=1)
        value[new] = np.take_along_axis(columns[new], sample[new], axis=1)
        return cls(columns, sample, value)


def grow_untied_cart(
    features: SortedColumns, y: np.ndarray, max_depth: int, min_samples_leaf: int
) -> tuple[TreePartition, np.ndarray] | None:
    """Grow the tree that scikit-learn's ``DecisionTreeRegressor`` grows whatever its random state.

    Parameters
    ----------
    features : SortedColumns
    y : ndarray of shape (n,)
    max_depth, min_samples_leaf : int
        As in scikit-learn.

    Returns
    -------
    tree : TreePartition
    means : ndarray of shape (n_nodes,)
        Mean label of every node.
    None
        If in some node the two best cuts are equally good within rounding error, or none is better than no cut.
    """
    n = y.size
    magnitude = np.abs(y)
    # What rounding can change in a score: a few times n eps max|y| sum|y|.
    tolerance = _ROUNDING * n * magnitude.max() * magnitude.sum()
    nodes = _Nodes(features, y)
    cuts, thresholds, sizes, means = [np.array([-1])], [np.zeros(1)], [np.array([n])], [np.array([y.mean()])]
    number = np.zeros(1 if n >= 2 * min_samples_leaf else 0, dtype=np.intp)  # positions, in their level, of the nodes
    for level in range(max_depth):
        if number.size == 0:
            break
        found = nodes.unique_cuts(tolerance, min_samples_leaf)
        if found is None:
            return None
        feature, place = found
        cuts[-1][number], thresholds[-1][number] = feature, nodes.thresholds(feature, place)
        child_sizes, child_means, users, right = nodes.divide(feature, place)
        order = np.argsort(number)  # children stand in the order of their parents
        sizes.append(child_sizes[order].ravel())
        means.append(child_means[order].ravel())
        cuts.append(np.full(2 * number.size, -1))
        thresholds.append(np.zeros(2 * number.size))
        left = np.empty_like(number)
        left[order] = 2 * np.arange(number.size)
        go = child_sizes >= 2 * min_samples_leaf
        if level + 1 < max_depth:
            nodes.regroup(users, right, go, child_sizes)
        number = np.concatenate([left[go[:, 0]], left[go[:, 1]] + 1])
    box = np.zeros(features.columns.shape[0]), np.ones(features.columns.shape[0])
    return _partition(cuts, thresholds, sizes, box), np.concatenate(means)


def _partition(cuts: Sequence, thresholds: Sequence, sizes: Sequence, box) -> TreePartition:
    """scikit-learn sends ``x <= threshold`` to the left, a TreePartition ``x < threshold``."""
    return TreePartition.from_levels(cuts, [np.nextafter(t, np.inf) for t in thresholds], sizes, box)


class _Nodes:
    """The nodes of a level that are to be cut: in every feature's list, their samples stand side by side."""

    def __init__(self, features: SortedColumns, y: np.ndarray):
        self.sample, self.value, self._y = features.sample, features.value, y
        self.first, self.size = np.zeros(1, dtype=np.intp), np.array([y.size])
        self._centred, self._side = np.empty(y.size), np.zeros(y.size, dtype=np.uint8)

    def unique_cuts(self, tolerance: float, min_samples_leaf: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the feature of each node's best cut and the entry after which it cuts, or None if one is not unique.

        With centred labels the sum of squares falls by (sum of the left labels)^2 size / (n_left n_right). Because the
        labels of every node sum to zero, one running sum serves all nodes.
        """
        own = self.sample[0]
        labels = self._y.take(own)
        self._centred[own] = labels - np.repeat(np.add.reduceat(labels, self.first) / self.size, self.size)
        score = np.cumsum(self._centred.take(self.sample), axis=1)
        score *= score
        score *= self._weights(min_samples_leaf)
        score[:, :-1][self.value[:, 1:] <= self.value[:, :-1] + _SAME] = 0.0
        best = np.maximum.reduceat(score.max(axis=0), self.first)
        if best.min() <= 2 * tolerance:
            return None
        good = np.flatnonzero(score >= np.repeat(best - tolerance, self.size))
        if good.size > best.size:
            return None
        feature, place = np.divmod(good, own.size)
        order = np.argsort(place)
        return feature[order], place[order]

    def _weights(self, min_samples_leaf: int) -> np.ndarray:
        """size / (n_left n_right) of the cut after every entry, 0 where a child would be too small."""
        size = np.repeat(self.size, self.size).astype(float)
        n_left = np.arange(1.0, size.size + 1) - np.repeat(self.first, self.size)
        n_right = size - n_left
        allowed = (n_left >= min_samples_leaf) & (n_right >= min_samples_leaf)
        return np.divide(size, n_left * n_right, out=np.zeros_like(size), where=allowed)

    def thresholds(self, feature: np.ndarray, place: np.ndarray) -> np.ndarray:
        """The middle between the entries at ``place`` and after it."""
        low, high = self.value[feature, place], self.value[feature, place + 1]
        return low.astype(float) / 2 + high.astype(float) / 2

    def divide(self, feature: np.ndarray, place: np.ndarray):
        """Send every sample to a child.

        Returns
        -------
        sizes, means : ndarrays of shape (n_nodes, 2)
            Of the left and the right child.
        users : int ndarray
            The samples, in the order of the lists of the cut features.
        right : boolean ndarray
            Whether they go to the right.
        """
        entry = np.arange(self.sample.shape[1])
        users = self.sample.ravel().take(np.repeat(feature * entry.size, self.size) + entry)
        n_left = place + 1 - self.first
        sizes = np.stack([n_left, self.size - n_left], axis=1)
        starts = np.stack([self.first, place + 1], axis=1).ravel()
        sums = np.add.reduceat(self._y.take(users), starts).reshape(-1, 2)
        return sizes, sums / sizes, users, entry > np.repeat(place, self.size)

    def regroup(self, users, right, go, sizes) -> None:
        """Keep the children that ``go`` on: first all left ones, then all right ones, in the order of their parents."""
        self._side[users] = np.where(right, 2 * np.repeat(go[:, 1], self.size), np.repeat(go[:, 0], self.size))
        side = self._side.take(self.sample).ravel()
        rows = self.sample.shape[0]
        keep = np.concatenate([np.flatnonzero(side == code).reshape(rows, -1) for code in (1, 2)], axis=1)
        self.sample, self.value = self.sample.ravel().take(keep), self.value.ravel().take(keep)
        self.size = np.concatenate([sizes[go[:, 0], 0], sizes[go[:, 1], 1]])
        self.first = np.cumsum(self.size) - self.size
