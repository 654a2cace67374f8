"""LPCT's partitions with the public sample's class counts in every node, grown on first use and shared over depths."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from lpbench.estimators.base import Task
from lpbench.estimators.lpct.partition import PublicTree
from lpbench.estimators.result_cache import Shared
from lpbench.partitions.candidates import CandidateCuts
from lpbench.partitions.cart import grown_depth
from lpbench.privacy import PublicSample
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Replications whose partitions are grown together at most, and bytes of their private samples.
_MOST_AT_ONCE, _BYTES_AT_ONCE = 32, 1 << 27

#: Numbers in public samples that are grown from together at most: more of them gain nothing from it.
_NUMBERS_AT_ONCE = 1 << 16
#: The last tree that was grown by itself: fits of several budgets have it in common.
_GROWN = Shared(1)


def grown_at_once(problem: Problem) -> int:
    """Return the number of replications of a problem whose partitions fit in memory together.

    See :meth:`Tables.grow_together`.
    """
    return max(1, min(_MOST_AT_ONCE, _BYTES_AT_ONCE // max(problem.X_train.nbytes, 1)))


def n_rows(public: PublicSample | None) -> int:
    """Return the number of public rows; 0 without a public sample."""
    return 0 if public is None else len(public.y)


class ScoredRows:
    """Test rows; where accuracy is asked for as counts of classes in leaves, which are all that it needs."""

    def __init__(self, model: Any, task: Task) -> None:
        X, self._counts = model._to_unit_cube(task.X_test), task.counts
        self._outside, self._classes, self._score = model._outside(X), model.classes_, task.score
        self.n, self.are_counted = len(X), task.metric == "accuracy"
        # a function of self would keep the arrays of both until they are collected
        self._nodes: Callable[[PublicTree], np.ndarray] = cache(lambda tree: tree.tree.apply(X))
        #: Rows outside the unit cube that are right because class 0 is predicted there.
        self.outside_hits = int(self._counts(np.where(self._outside, 0, -1), 1)[0, 0]) if self._outside.any() else 0

    def hits(self, tree: PublicTree) -> np.ndarray:
        """Test rows of each class inside each node: ndarray of shape (n_classes, n_nodes)."""
        if not self.are_counted:
            return np.zeros((self._classes.size, tree.tree.n_nodes))
        nodes = np.where(self._outside, -1, self._nodes(tree))
        return tree.sum_upwards(self._counts(nodes, tree.tree.n_nodes).astype(np.float64))

    def scores(self, tree: PublicTree, leaves: np.ndarray, decision: np.ndarray) -> np.ndarray:
        """Score the classes (..., n_leaves) that ``leaves`` of a tree predict, row by row; ndarray of shape (...)."""
        leaf = tree.place_among(leaves)[self._nodes(tree)]
        return self._score(self._classes[np.where(self._outside, 0, decision[..., leaf])])


def hits_of(decision: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Count the test rows that leaves get right, (..., n_leaves), by class chosen; ``hits`` (n_classes, n_leaves)."""
    if hits.shape[0] == 2:
        return hits[0] + decision * (hits[1] - hits[0])
    return hits[decision, np.arange(hits.shape[1])]


@dataclass(frozen=True, eq=False)
class NodeTable:
    """A public tree with the public votes and the test rows of each class in its nodes, (n_classes, n_nodes) each."""

    tree: PublicTree
    public: np.ndarray  # public votes (n_classes, n_nodes), see :mod:`lpbench.estimators.lpct.votes`
    hits: np.ndarray  # test rows of each class, of the same shape; 0 in a fit


class Tables:
    """Trees grown from one public sample, with votes of their nodes, for any depth and leaf size.

    One max-edge tree serves all of them, a CART tree the depths up to its own at one leaf size, and so does a tree of
    the released code's search.
    """

    def __init__(
        self,
        model: Any,  # LPCT or LPCTPrune: rule, criterion, search, classes and number of features
        public: PublicSample | None,
        streams: Streams,
        deepest: int,  # greatest depth and smallest min_samples_leaf that will be asked for
        smallest: int,
    ) -> None:
        """Keep what trees are grown from; each is grown when it is first needed, then cached.

        ``deepest`` and ``smallest`` are the greatest depth and the smallest leaf size that will be asked for.
        """
        self.model, self.public, self.streams = model, public, streams
        self.rows: ScoredRows | None = None  # test rows, in a sweep
        self.widest = (deepest, smallest)
        self._trees: dict[tuple[int, int], PublicTree] = {}
        self._tables: dict[tuple[int, int], NodeTable] = {}
        self._released = model.search == "released" and public is not None
        self._voted: dict[tuple[int, int], tuple[PublicTree, np.ndarray]] = {}
        self._like: Tables | None = None  # grows the trees for both

    @staticmethod
    def grow_together(several: Sequence[Tables]) -> None:
        """Grow the widest max-edge trees of samples together, each as by itself; a shared sample is grown from once."""
        alike: dict[tuple, list[Tables]] = {}
        searched: dict[tuple, Tables] = {}
        for tables in several:
            shape = tuple(tables._shape().values())
            if tables._one_for_all:
                alike.setdefault((*tables.widest, *shape), []).append(tables)
            elif tables._released:
                first = searched.setdefault(shape, tables)
                if first is not tables and tables._grows_like(first):
                    tables._like = first
        for members in alike.values():
            groups: list[list[Tables]] = []
            for tables in members:
                if groups and tables._grows_like(groups[-1][0]):
                    groups[-1].append(tables)
                else:
                    groups.append([tables])
            sizes = [1 if first_table.public is None else first_table.public.X.size for first_table, *_ in groups]
            share = np.cumsum(sizes) // _NUMBERS_AT_ONCE
            for group in np.split(np.arange(len(groups)), np.flatnonzero(np.diff(share)) + 1):
                trees = _grow([groups[k][0] for k in group], *members[0].widest)
                for k, tree in zip(group, trees, strict=True):
                    first, *others = groups[k]
                    first._trees[first.widest] = tree
                    for tables in others:
                        tables._like = first

    @property
    def _one_for_all(self) -> bool:
        """Return True if one tree, cut at each depth, serves all depths and leaf sizes."""
        return self.model.rule != "cart" and not self._released

    def _grows_like(self, tables: Tables) -> bool:
        """Return True if this sample and another one grow the same tree: equal public rows and no random cuts."""
        if self.model.rule == "random":
            return False
        if self.public is None or tables.public is None:
            return self.public is tables.public
        return all(map(np.array_equal, self.public, tables.public))

    def at(self, depth: int, min_samples_leaf: int) -> NodeTable:
        """Return the table to read ``tree.leaves(depth, min_samples_leaf)`` from."""
        key = self._key(depth, min_samples_leaf)
        if key not in self._tables:
            self._tables[key] = self._build(*key)
        return self._tables[key]

    def _key(self, depth: int, min_samples_leaf: int) -> tuple[int, int]:
        """Depth and leaf size (fewest public rows) with which the tree is grown that serves a setting."""
        if self._one_for_all:
            return self.widest
        return self.widest[0] if self._released else min(grown_depth(depth), self.widest[0]), min_samples_leaf

    def of_all(self, settings: Sequence[tuple[int, int]]) -> Iterator[tuple[NodeTable, Sequence[tuple[int, int]]]]:
        """Yield tables with the settings (depth, min_samples_leaf) that each of them serves, in the given order."""
        for key, served in itertools.groupby(settings, key=lambda setting: self._key(*setting)):
            yield self.at(*key), list(served)

    def _build(self, depth: int, min_samples_leaf: int) -> NodeTable:
        tree, public = (self._like or self)._grown(depth, min_samples_leaf)
        return NodeTable(tree, public, np.zeros_like(public) if self.rows is None else self.rows.hits(tree))

    def _grown(self, depth: int, min_samples_leaf: int) -> tuple[PublicTree, np.ndarray]:
        """The tree grown with a depth and leaf size, and the public votes of its nodes, (n_classes, n_nodes); kept.

        Without a public sample all votes are 0.
        """
        key, n_classes = (depth, min_samples_leaf), self.model.classes_.size
        if key not in self._voted:
            if self._released:
                tree = PublicTree(self._candidates.grow(depth, max(1, min_samples_leaf)))
            else:
                inputs = self.public, self.streams, key, self._shape()
                tree = self._trees[key] if key in self._trees else _GROWN(inputs, lambda: _grow([self], *key)[0])
            if self.public is None:
                public = np.zeros((n_classes, tree.tree.n_nodes))
            else:
                public = tree.votes(*self.public, n_classes)
            self._voted[key] = tree, public
        return self._voted[key]

    @cached_property
    def _candidates(self) -> CandidateCuts:
        """Tree growth as in the authors' released code (best of ten quantiles a feature), on the public sample."""
        assert self.public is not None
        return CandidateCuts(*self.public, midpoints=self.model.rule == "max_edge", criterion=self.model.criterion)

    def _shape(self) -> dict:
        """Keyword arguments of :meth:`.PublicTree.grow` that samples must share for their trees to be grown together.

        They are the numbers of features and classes, rule and criterion; numbers of rows may differ.
        """
        model = self.model
        shape = {"n_features": model.n_features_in_, "n_classes": model.classes_.size}
        return {**shape, "rule": model.rule, "criterion": model.criterion}


def _grow(several: Sequence[Tables], depth: int, min_samples_leaf: int) -> list[PublicTree]:
    """Grow one tree for each of several samples, all at once, to a depth and a leaf size (fewest public rows).

    The samples agree in numbers of features and classes, rule and criterion.
    """
    samples = [(None, None) if tables.public is None else tables.public for tables in several]
    streams = [tables.streams for tables in several]
    shape = several[0]._shape()
    return PublicTree.grow(samples, streams, depth=depth, min_samples_leaf=min_samples_leaf, **shape)
