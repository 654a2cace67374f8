"""Binary tree partitions of a box as flat arrays, with routing that is vectorized over points.

Nodes are numbered level by level and siblings are adjacent, so the r-th internal node has the children 1 + 2r and
2 + 2r. Two arrays, ``feature`` and ``threshold``, therefore determine the whole tree, and the tree of depth p is a
prefix of every deeper one: truncation copies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Lower and upper corner of a box; a number stands for all features.
Box = tuple[ArrayLike, ArrayLike]

#: The same as arrays of shape (n_features,).
Corners = tuple[np.ndarray, np.ndarray]

#: One array or list for every depth.
_Levels = Sequence[np.ndarray] | Sequence[Sequence[float]]

#: Points routed at once; the temporaries of one chunk stay in the processor's cache.
_POINTS_AT_ONCE = 1 << 13


@dataclass(frozen=True, eq=False)
class TreePartition:
    """A tree of axis-aligned cuts; a point with ``x[feature] < threshold`` goes to the left child.

    Parameters
    ----------
    feature : int ndarray of shape (n_nodes,)
        Cut feature of each node, -1 for a leaf; nodes in level order, siblings adjacent.
    threshold : ndarray of shape (n_nodes,)
        Cut position; ignored for leaves.
    n_samples : int ndarray of shape (n_nodes,)
        Number of samples that went down to the node when the tree was grown.
    lower, upper : ndarrays of shape (n_features,)
        The box that is partitioned (for drawing; points outside are routed by comparison like any other).

    Attributes
    ----------
    left, right, parent, depth : int ndarrays of shape (n_nodes,)
        Derived; -1 where there is none.
    """

    feature: np.ndarray
    threshold: np.ndarray
    n_samples: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def from_levels(cls, features: _Levels, thresholds: _Levels, n_samples: _Levels, bounds: Corners) -> TreePartition:
        """Join arrays of the nodes of each depth into a tree.

        Parameters
        ----------
        features, thresholds, n_samples : lists of ndarrays
            For each depth the cut feature (-1: a leaf), threshold and number of samples of the nodes, from left to
            right.
        bounds : pair of ndarrays of shape (n_features,)
            Lower and upper corner of the box that is partitioned.
        """
        return cls(
            np.concatenate(features).astype(np.intp),
            np.concatenate(thresholds).astype(np.float64),
            np.concatenate(n_samples).astype(np.intp),
            *bounds,
        )

    @classmethod
    def from_sklearn(cls, tree: Any, bounds: Box | None = None) -> TreePartition:
        """Wrap a fitted scikit-learn tree (the estimator or its ``tree_``) on ``n_features`` columns.

        scikit-learn sends ``x <= threshold`` to the left, so the threshold becomes the next larger double. It also
        compares in single precision; doubles that straddle a threshold by less than that may be routed differently.

        Parameters
        ----------
        tree : DecisionTreeClassifier, DecisionTreeRegressor or Tree
            Fitted estimator, or its ``tree_``.
        bounds : pair of floats or ndarrays, optional
            Box that is partitioned; default: the unit cube.
        """
        tree = getattr(tree, "tree_", tree)
        levels = [np.zeros(1, dtype=np.intp)]
        while True:
            inner = levels[-1][tree.children_left[levels[-1]] >= 0]
            if inner.size == 0:
                break
            levels.append(np.column_stack([tree.children_left[inner], tree.children_right[inner]]).ravel())
        order = np.concatenate(levels)
        inner = tree.children_left[order] >= 0
        return cls(
            np.where(inner, tree.feature[order], -1).astype(np.intp),
            np.where(inner, np.nextafter(tree.threshold[order], np.inf), 0.0),
            tree.n_node_samples[order].astype(np.intp),
            *check_bounds(bounds, tree.n_features),
        )

    def __getstate__(self) -> dict[str, Any]:
        """The tree without what is derived from it, so that equal trees have equal pickles."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return self.feature.size

    @property
    def n_features(self) -> int:
        """Number of features of the points that are located."""
        return self.lower.size

    @property
    def broadcast_bits(self) -> float:
        """Bits of the cuts when they are sent to users: a threshold and the number of a feature each."""
        return np.count_nonzero(self.feature >= 0) * (64.0 + (max(self.n_features, 2) - 1).bit_length())

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return self._level_ends.size - 1

    @cached_property
    def left(self) -> np.ndarray:
        """Left child of each node, int ndarray of shape (n_nodes,); -1 for leaves."""
        inner = self.feature >= 0
        return np.where(inner, 2 * np.cumsum(inner) - 1, -1)

    @cached_property
    def right(self) -> np.ndarray:
        """Right child of each node, int ndarray of shape (n_nodes,); -1 for leaves."""
        return np.where(self.feature >= 0, self.left + 1, -1)

    @cached_property
    def parent(self) -> np.ndarray:
        """Parent of each node, int ndarray of shape (n_nodes,); -1 for the root."""
        return np.concatenate([[-1], np.repeat(np.flatnonzero(self.feature >= 0), 2)])

    @cached_property
    def depth(self) -> np.ndarray:
        """Depth of each node, int ndarray of shape (n_nodes,); 0 for the root."""
        return np.repeat(np.arange(self._level_ends.size), np.diff(self._level_ends, prepend=0))

    @cached_property
    def _level_ends(self) -> np.ndarray:
        """Number of nodes of depth <= k, for k = 0, ..., max_depth."""
        up_to = 1 + 2 * np.cumsum(self.feature >= 0)  # nodes known once the first j + 1 have been expanded
        ends = [1]
        while up_to[ends[-1] - 1] > ends[-1]:
            ends.append(int(up_to[ends[-1] - 1]))
        return np.array(ends)

    @cached_property
    def _route(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Arrays of feature, threshold and left child in which a leaf is its own left child: all points go on at once.

        Nothing exceeds a leaf's threshold, so that walking past a leaf changes nothing.
        """
        inner = self.feature >= 0
        return (
            np.where(inner, self.feature, 0),
            np.where(inner, self.threshold, np.inf),
            np.where(inner, self.left, np.arange(self.n_nodes)),
        )

    def _clip_depth(self, depth: int | None) -> int:
        if depth is None:
            return self.max_depth
        if depth < 0:
            raise ValueError(f"depth={depth!r} must be >= 0")
        return min(int(depth), self.max_depth)

    def _check_points(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X has shape {X.shape}, the tree partitions {self.n_features} columns")
        return X

    def apply(self, X: np.ndarray, depth: int | None = None) -> np.ndarray:
        """Return the node that contains each point in the tree truncated at ``depth``.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Points.
        depth : int or None
            Truncation depth; None: the whole tree.

        Returns
        -------
        int ndarray of shape (n,)
            Nodes.
        """
        X, depth = self._check_points(X), self._clip_depth(depth)
        feature, threshold, child = self._route
        n, d = X.shape
        nodes = np.zeros(n, dtype=np.intp)
        for start in range(0, n, _POINTS_AT_ONCE):
            values = X[start : start + _POINTS_AT_ONCE].reshape(-1)
            node = nodes[start : start + _POINTS_AT_ONCE]
            row = np.arange(node.size) * d
            for _ in range(depth):
                x = values.take(row + feature.take(node))
                node = child.take(node) + (x >= threshold.take(node))
            nodes[start : start + _POINTS_AT_ONCE] = node
        return nodes

    def apply_levels(self, X: np.ndarray, max_depth: int | None = None) -> np.ndarray:
        """Return the nodes that contain each point at every truncation depth, from one pass.

        Unlike :meth:`apply`, ``max_depth`` beyond the depth of the tree repeats the leaves.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Points.
        max_depth : int, optional
            Last truncation depth; default: the depth of the tree.

        Returns
        -------
        int ndarray of shape (max_depth + 1, n)
            Nodes, a row for each depth.
        """
        self._clip_depth(max_depth)
        return Forest([self]).apply_levels(self._check_points(X), self.max_depth if max_depth is None else max_depth)

    def leaves(self, depth: int | None = None) -> np.ndarray:
        """List the leaves of the truncated tree.

        Parameters
        ----------
        depth : int or None
            Truncation depth; None: the whole tree.

        Returns
        -------
        int ndarray
            Nodes in increasing order.
        """
        depth = self._clip_depth(depth)
        n_nodes = self._level_ends[depth]
        is_leaf = self.feature[:n_nodes] < 0
        is_leaf[self._level_ends[depth - 1] if depth else 0 :] = True
        return np.flatnonzero(is_leaf)

    def n_leaves(self, depth: int | None = None) -> int:
        """Count the leaves of the truncated tree.

        Parameters
        ----------
        depth : int or None
            Truncation depth; None: the whole tree.

        Returns
        -------
        int
            Number of leaves.
        """
        return self.leaves(depth).size

    def leaf_index(self, depth: int | None = None) -> np.ndarray:
        """Return the position of each node among the leaves of the truncated tree.

        Parameters
        ----------
        depth : int or None
            Truncation depth; None: the whole tree.

        Returns
        -------
        int ndarray of shape (n_nodes,)
            Positions in ``leaves(depth)``; -1 for other nodes.
        """
        leaves = self.leaves(depth)
        index = np.full(self.n_nodes, -1)
        index[leaves] = np.arange(leaves.size)
        return index

    def spread(
        self, X: np.ndarray, mask: np.ndarray, depth: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """List, for each truncation depth 0, 1, ..., ``depth``, the nodes compatible with the public features.

        A user who protects the feature of a cut is compatible with both children; the protected values are not read.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
            Features; protected entries are not read.
        mask : bool ndarray of shape (n, n_features)
            True where the feature of the user is protected.
        depth : int or None
            Last truncation depth; beyond the depth of the tree the last pairs are repeated.

        Returns
        -------
        iterator
            Pairs ``(users, nodes)``, one for each depth.

        Yields
        ------
        users, nodes : int ndarrays of equal length
            The compatible pairs (user, node), ordered by user and then from left to right.
        """
        depth = self.max_depth if depth is None else depth
        return Forest([self]).spread(self._check_points(X), mask, depth)

    def compatible(self, X: np.ndarray, mask: np.ndarray, depth: int | None = None) -> np.ndarray:
        """Find the leaves in which each user may lie, given the public features.

        :meth:`spread` lists the same pairs without building the matrix.

        Parameters
        ----------
        X, mask, depth
            As for :meth:`spread`.

        Returns
        -------
        bool ndarray of shape (n, n_leaves(depth))
            True for compatible pairs; columns in the order of ``leaves(depth)``.
        """
        *_, (users, nodes) = self.spread(X, mask, self._clip_depth(depth))
        result = np.zeros((np.shape(X)[0], self.n_leaves(depth)), dtype=bool)
        result[users, self.leaf_index(depth)[nodes]] = True
        return result

    def bounds(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the corners of a node's cell.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        (ndarray, ndarray)
            Lower and upper corner, of shape (n_features,) each.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        while node > 0:
            parent = self.parent[node]
            cut, at = self.feature[parent], self.threshold[parent]
            if node == self.left[parent]:
                upper[cut] = min(upper[cut], at)
            else:
                lower[cut] = max(lower[cut], at)
            node = parent
        return lower, upper

    def truncate(self, depth: int) -> TreePartition:
        """Return the tree cut off at a depth.

        Parameters
        ----------
        depth : int
            Depth of the deepest leaves that remain.

        Returns
        -------
        TreePartition
            A new tree; nodes keep their numbers.
        """
        n_kept = self._level_ends[self._clip_depth(depth)]
        inner = (self.feature[:n_kept] >= 0) & (self.depth[:n_kept] < depth)
        return TreePartition(
            np.where(inner, self.feature[:n_kept], -1),
            np.where(inner, self.threshold[:n_kept], 0.0),
            self.n_samples[:n_kept],
            self.lower,
            self.upper,
        )


class Forest:
    """Trees of the same features that points go down side by side: point i of n is number k n + i at tree k.

    Nodes are numbered on tree by tree.

    Parameters
    ----------
    trees : sequence of TreePartition
        Trees of the same features.
    """

    def __init__(self, trees: Sequence[TreePartition]) -> None:
        """Lay all trees' nodes side by side, a leaf as its own child, so that all rows descend in the same steps."""
        sizes = np.array([tree.n_nodes for tree in trees])
        self._roots = np.cumsum(sizes) - sizes
        feature = np.concatenate([tree.feature for tree in trees])
        self._inner = inner = feature >= 0
        self._feature = np.where(inner, feature, 0)
        self._threshold = np.where(inner, np.concatenate([tree.threshold for tree in trees]), np.inf)
        earlier: np.ndarray = np.cumsum(inner) - inner
        first = (self._roots + 1 - 2 * earlier[self._roots]).repeat(sizes)
        self._child = np.where(inner, 2 * earlier + first, np.arange(inner.size))  # a leaf is its own left child
        self._depth, self._deepest, level = np.zeros(inner.size, dtype=np.intp), 0, self._roots
        while (cut := level[inner[level]]).size:
            level = np.concatenate([self._child[cut], self._child[cut] + 1])
            self._deepest += 1
            self._depth[level] = self._deepest

    def leaf_index(self, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Number the leaves of all trees, truncated at a depth, one after the other.

        Parameters
        ----------
        depth : int
            Truncation depth.

        Returns
        -------
        (int ndarray of shape (n_nodes,), int ndarray of shape (n_trees,))
            Number of each node, -1 for those that are no leaf; and leaves of each tree.
        """
        is_leaf = (self._depth == depth) | ((self._depth < depth) & ~self._inner)
        index = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
        return index, np.add.reduceat(is_leaf, self._roots, dtype=np.intp)

    def apply_levels(self, X: np.ndarray, depth: int) -> np.ndarray:
        """Return the nodes of points at depths 0, 1, ..., ``depth`` of every tree.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Points, the same for all trees.
        depth : int
            Last truncation depth.

        Returns
        -------
        int ndarray of shape (depth + 1, n_trees * n)
            Nodes, points of the first tree first.
        """
        (n, d), values = X.shape, np.ascontiguousarray(X).reshape(-1)
        rows, nodes = np.tile(np.arange(n) * d, self._roots.size), np.empty((depth + 1, self._roots.size * n), np.intp)
        nodes[0] = self._roots.repeat(n)
        for start in range(0, rows.size, _POINTS_AT_ONCE):
            row, node = rows[start : start + _POINTS_AT_ONCE], nodes[0, start : start + _POINTS_AT_ONCE]
            for level in range(1, min(depth, self._deepest) + 1):
                x = values.take(row + self._feature.take(node))
                node = self._child.take(node) + (x >= self._threshold.take(node))
                nodes[level, start : start + _POINTS_AT_ONCE] = node
        nodes[self._deepest + 1 :] = nodes[min(depth, self._deepest)]
        return nodes

    def spread(self, X: np.ndarray, mask: np.ndarray, depth: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """List compatible pairs (point, node) as :meth:`TreePartition.spread` does, tree by tree.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features; protected entries are not read.
        mask : bool ndarray of shape (n, d)
            True where protected.
        depth : int
            Last truncation depth.

        Yields
        ------
        points, nodes : int ndarrays of equal length
            Compatible pairs at one depth, tree by tree.
        """
        X, mask = np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(mask, dtype=bool)
        n, d = X.shape
        points, nodes = np.arange(self._roots.size * n), self._roots.repeat(n)
        row = np.tile(np.arange(n) * d, self._roots.size)
        yield points, nodes
        for level in range(depth):
            if level < self._deepest:
                entry = row + self._feature.take(nodes)
                in_both = mask.take(entry) & self._inner.take(nodes)
                right = (X.take(entry) >= self._threshold.take(nodes)) & ~in_both
                nodes = self._child.take(nodes) + right
                if in_both.any():
                    copies = 1 + in_both
                    second = np.cumsum(copies)[in_both] - 1
                    points, row, nodes = (array.repeat(copies) for array in (points, row, nodes))
                    nodes[second] += 1
            yield points, nodes


def check_bounds(bounds: Box | None, n_features: int) -> Corners:
    """Return the box as two float arrays of shape (n_features,); None is the unit cube."""
    lower, upper = (0.0, 1.0) if bounds is None else bounds
    lower = np.broadcast_to(np.asarray(lower, dtype=np.float64), n_features).copy()
    upper = np.broadcast_to(np.asarray(upper, dtype=np.float64), n_features).copy()
    if not (np.isfinite(lower).all() and np.isfinite(upper).all() and (lower < upper).all()):
        raise ValueError(f"bounds={bounds!r} must be a pair (lower, upper) of finite corners with lower < upper")
    return lower, upper
