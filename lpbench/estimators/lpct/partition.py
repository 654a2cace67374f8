"""LPCT's partition of the feature space: grown from public data alone, read at every depth and leaf size at once."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np

from lpbench.estimators.lpct.votes import count_votes
from lpbench.partitions.cart import grow_cart, grown_depth
from lpbench.partitions.max_edge import Sample, grow_max_edge_forest
from lpbench.partitions.tree import TreePartition
from lpbench.seeds import Streams

RULES = ("max_edge", "cart", "random")
CRITERIA = ("gini", "entropy")
SEARCHES = ("all", "released")


class PublicTree:
    """A tree grown from the public sample, and its truncations.

    A max-edge tree of any smaller depth or larger ``min_samples_leaf`` is a part of the tree that was grown, with the
    same node numbers. A CART tree is grown to the next multiple of ``GROWN_DEPTH`` and truncated, for the reason given
    there; every leaf size needs its own tree, because the size enters the choice of the cuts.
    """

    def __init__(self, tree: TreePartition) -> None:
        self.tree = tree

    @classmethod
    def grow(
        cls,
        samples: Sequence[tuple],  # public features (q, d) and classes (q,), or (None, None)
        streams: Sequence[Streams],  # for each sample: random cuts and scikit-learn's tie-breaking
        *,
        n_features: int,
        n_classes: int,
        depth: int,
        min_samples_leaf: int,
        rule: str,
        criterion: str,
    ) -> list[Self]:
        """Grow one partition from each sample (LPCT section 3.2; CART, over all thresholds: section 7.2).

        Without a sample nothing tells cuts apart, and every rule but ``random`` cuts the longest edge of the smallest
        index at its midpoint (LPCT section 3.2), down to ``depth``. A cut that would leave a child with fewer than
        ``min_samples_leaf`` public samples is not made. The paper does not mention it, the authors' code searches it.
        0 allows empty children, and cuts a cell with a single public row.
        """
        nobody = np.zeros((0, n_features)), np.zeros(0, dtype=np.intp)
        if rule == "cart" and all(X is not None and X.shape[0] > 0 for X, _ in samples):
            grown = []
            for (X, codes), stream in zip(samples, streams, strict=True):
                tree = grow_cart(
                    X,
                    codes,
                    grown_depth(depth),
                    criterion=criterion,
                    min_samples_leaf=max(1, min_samples_leaf),
                    seed=stream.integer("tree"),
                    bounds=(np.minimum(X.min(axis=0), 0.0), np.maximum(X.max(axis=0), 1.0)),
                )
                grown.append(cls(tree.truncate(depth)))
            return grown
        given = [nobody if X is None else (X, codes) for X, codes in samples]
        generators = [stream.generator("tree") if rule == "random" else None for stream in streams]
        trees = grow_max_edge_forest(
            [Sample(X, codes, rng=rng) for (X, codes), rng in zip(given, generators, strict=True)],
            depth,
            criterion=criterion,
            n_classes=n_classes,
            min_samples_leaf=min_samples_leaf,
            rule="random" if rule == "random" else "max_edge",
        )
        return [cls(tree) for tree in trees]

    @cached_property
    def _levels(self) -> list[np.ndarray]:
        """Internal nodes of each depth, from the root down."""
        inner = np.flatnonzero(self.tree.feature >= 0)
        return np.split(inner, np.flatnonzero(np.diff(self.tree.depth[inner])) + 1) if inner.size else []

    @cached_property
    def _limit(self) -> np.ndarray:
        """For each node the largest ``min_samples_leaf`` of a tree that contains it (inf: any)."""
        tree = self.tree
        limit = np.full(tree.n_nodes, np.inf)
        if tree.n_samples[0] > 0:
            for inner in self._levels:
                left = tree.left[inner]
                smaller = np.minimum(tree.n_samples[left], tree.n_samples[left + 1])
                limit[left] = limit[left + 1] = np.minimum(limit[inner], smaller)
        return limit

    def is_leaf(self, depth: Sequence[int], min_samples_leaf: Sequence[int]) -> np.ndarray:
        """Tell which nodes are leaves of the tree cut off at each of several settings: (n_settings, n_nodes)."""
        tree, limit = self.tree, self._limit
        deep, size = np.asarray(depth)[:, None], np.asarray(min_samples_leaf)[:, None]
        uncut = (tree.depth == deep) | (tree.feature < 0) | (limit[tree.left] < size)
        return uncut & (tree.depth <= deep) & (limit >= size)

    def leaves(self, depth: int, min_samples_leaf: int = 0) -> np.ndarray:
        """Return the leaves of the tree cut off at ``depth`` and ``min_samples_leaf``, in increasing order."""
        return np.flatnonzero(self.is_leaf([depth], [min_samples_leaf])[0])

    def place_among(self, leaves: np.ndarray) -> np.ndarray:
        """Position of the leaf that holds each node, or -1, among the leaves of the tree cut off somewhere."""
        position = np.full(self.tree.n_nodes, -1)
        position[leaves] = np.arange(leaves.size)
        for inner in self._levels:
            for child in (self.tree.left[inner], self.tree.left[inner] + 1):
                position[child] = np.maximum(position[child], position[inner])
        return position

    def sum_upwards(self, values: np.ndarray) -> np.ndarray:
        """Add to every node the values of its descendants, in place; ``values`` has shape (..., n_nodes)."""
        for inner in reversed(self._levels):
            left = self.tree.left[inner]
            values[..., inner] += values[..., left] + values[..., left + 1]
        return values

    def votes(self, X: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
        """Count the votes of rows (n, d) of classes (n,) in every node: ndarray of shape (n_classes, n_nodes)."""
        return self.sum_upwards(count_votes(self.tree.apply(X), codes, self.tree.n_nodes, n_classes))

    def ancestors(self, nodes: np.ndarray, climbs: int) -> np.ndarray:
        """Return the nodes 0, 1, ..., ``climbs`` levels above, -1 beyond the root: int ndarray (climbs + 1, n)."""
        parent = np.append(self.tree.parent, -1)
        result = [np.asarray(nodes)]
        for _ in range(climbs):
            result.append(parent[result[-1]])
        return np.array(result)


def rate_depth(n_private: int, n_public: int, n_features: int, epsilon: float) -> int:
    """Depth 2^p = 1/delta of Theorem 4 for a Lipschitz regression function (alpha = 1) and P = Q (gamma = 1).

    It uses sample sizes and budget only. Beyond epsilon = n_P^{d/(4+2d)}, where the theorem's range ends, the rate is
    that of non-private learning and the depth stays. ``n_private = 0`` or ``n_public = 0`` leaves that sample out.
    """
    d = n_features
    log = math.log(max(n_private + n_public, 3))
    epsilon = min(epsilon, max(n_private, 1) ** (d / (4 + 2 * d)))
    effective = n_private * epsilon**2 / log + (n_public / log) ** ((2 + 2 * d) / (2 + d))
    return max(1, math.floor(d / (2 + 2 * d) * math.log2(max(effective, 1.0))))
