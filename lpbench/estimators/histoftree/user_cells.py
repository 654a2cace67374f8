"""Cells of a grid times a tree, and the cells in which public features allow each user to lie.

The space is cut into cells, a grid on some features times a tree on the others (HistOfTree sections 3.2, 3.3). A user's
public features determine the set V of the cells the user may lie in, and V is a product: every bin of a protected grid
feature, one bin of a public one, times the compatible leaves. No array is as large as users x cells, and users whom no
cut tells apart are walked down the tree together (:class:`lpbench.partitions.SampleGroups`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lpbench.partitions import CellSums, KeyIndex, SampleGroups, TreePartition, cell_keys, grid_digits
from lpbench.seeds import Streams


class ReportDraws:
    """Unit-scale randomness of n users' reports, shared by all budgets, partitions and mechanisms.

    Attributes
    ----------
    label : ndarray of shape (n,)
        Standard Laplace noise of the labels.
    keep, leaf : ndarrays of shape (n,)
        Uniforms that decide whether a report is the truth, and which leaf is shown if not.
    bits_seed, bits_user : int
        Seed of the bits of randomised response, and the number of the first user within it.
    """

    bits_user = 0

    def __init__(self, streams: Streams, n: int) -> None:
        self._streams, self._n = streams, n
        self._bins: dict[int, np.ndarray] = {}
        self.label = streams.generator("label").laplace(size=n)
        self.keep = streams.generator("report", draw="keep").random(n)
        self.leaf = streams.generator("report", draw="leaf").random(n)
        self.bits_seed = streams.child("report", draw="bits").seed

    def bins(self, columns: Sequence[int]) -> np.ndarray:
        """Uniforms that choose the bins shown for the given features: ndarray of shape (n, len(columns))."""
        for column in map(int, columns):
            if column not in self._bins:
                self._bins[column] = self._streams.generator("report", draw="bin", feature=column).random(self._n)
        return np.column_stack([self._bins[int(c)] for c in columns]) if len(columns) else np.empty((self._n, 0))


class UserGrid:
    """The grid cells of the users.

    Parameters
    ----------
    X, mask : ndarrays of shape (n, s)
        Grid features in [0, 1] and which of them are protected.
    bins : int
        Bins per feature, t.
    uniforms : ndarray of shape (n, s)
        Choose a compatible cell at random.

    Attributes
    ----------
    truth, blind : int ndarrays of shape (n,)
        On the device: codes of the true cell, and of a cell drawn evenly from the compatible ones.
    choices : ndarray of shape (n,)
        Public: number of compatible cells, t^(number of protected grid features); a float, it may be huge.
    shown, pattern : int ndarrays of shape (n,)
        Public: code of the bins of the public grid features, and code of the set of these features.
    """

    def __init__(self, X: np.ndarray, mask: np.ndarray, bins: int, uniforms: np.ndarray) -> None:
        # With one bin there is nothing to hide.
        mask = mask if bins > 1 else np.zeros_like(mask)
        s = X.shape[1]
        digits = grid_digits(X, bins)
        blind = np.where(mask, grid_digits(uniforms, bins), digits)
        self.bins, self.s = bins, s
        truth_key, blind_key = cell_keys(digits, bins), cell_keys(blind, bins)
        self._index = KeyIndex(np.concatenate([truth_key, blind_key]), bins**s)
        self.truth, self.blind = self._index.find(truth_key), self._index.find(blind_key)
        self.n_codes = self._index.size
        self.choices = float(bins) ** mask.sum(axis=1)

        # The extra digit `bins` stands for "protected".
        shown_key = cell_keys(np.where(mask, bins, digits), bins + 1)
        self._shown_index = KeyIndex(shown_key, (bins + 1) ** s)
        self.shown, self.n_shown = self._shown_index.find(shown_key), self._shown_index.size
        patterns = SampleGroups.by_key(cell_keys(mask, 2), 2**s)
        self.pattern, self.patterns = patterns.number, patterns.one_of_each(mask)
        self._seen: tuple[SampleGroups, SampleGroups] | None = None

    def seen_with(self, views: SampleGroups) -> SampleGroups:
        """Group the users of each group of ``views`` further by what they show of their grid cells."""
        if views.member is None:
            return views
        if self._seen is None or self._seen[0] is not views:
            self._seen = views, SampleGroups.by_key(self.shown * views.size + views.number, self.n_shown * views.size)
        return self._seen[1]

    def reported(self, codes: np.ndarray) -> tuple[UserGrid, np.ndarray]:
        """Return the grid as the curator numbers it, by the cells that were reported, and the reports' codes there."""
        twin, keys = copy(self), self._index.keys(codes)
        twin._index = KeyIndex(keys, self.bins**self.s)
        twin.n_codes = twin._index.size
        return twin, twin._index.find(keys)

    def for_curator(self) -> UserGrid:
        """Return what :meth:`locate` needs: nothing of any user's own cell."""
        twin = object.__new__(UserGrid)
        kept = ("bins", "s", "patterns", "_index", "_shown_index")
        vars(twin).update({name: vars(self)[name] for name in kept})
        return twin

    def locate(self, X: np.ndarray) -> Query:
        """Look up the grid cells of the points X of shape (m, s)."""
        digits = grid_digits(X, self.bins)
        shown = [cell_keys(np.where(p, self.bins, digits), self.bins + 1) for p in self.patterns]
        return Query(digits, self._index.find(cell_keys(digits, self.bins)), [self._shown_index.find(k) for k in shown])


@dataclass(frozen=True)
class Query:
    """Grid cells that are asked for.

    Attributes
    ----------
    digits : int ndarray of shape (m, s)
    codes : int ndarray of shape (m,)
        Code of each cell; the largest code stands for cells in which nobody can have reported.
    shown : list of int ndarrays of shape (m,)
        For each pattern of protected features, the code that compatible users show.
    """

    digits: np.ndarray
    codes: np.ndarray
    shown: list[np.ndarray]


class UserLeaves:
    """The tree leaves of the users at one truncation depth.

    Parameters
    ----------
    truth : int ndarray of shape (n,)
        Index of every user's leaf.
    views : SampleGroups
        Groups of users whose public features allow the same leaves.
    view, leaf : int ndarrays of equal length
        The compatible pairs (group of ``views``, index of a leaf), ordered by group.
    index : int ndarray
        Leaf number of each node of the tree, -1 for inner nodes.
    uniforms : ndarray of shape (n,)
        Choose a compatible leaf at random.

    Attributes
    ----------
    truth, blind : int ndarrays of shape (n,)
        On the device: index of the true leaf, and of one drawn evenly from the compatible leaves.
    choices : int ndarray of shape (n,)
        Public: number of compatible leaves.
    n_leaves : int
    users, leaves : int ndarrays of equal length
        Public: the compatible pairs, ordered by user.
    """

    def __init__(
        self,
        truth: np.ndarray,
        views: SampleGroups,
        view: np.ndarray,
        leaf: np.ndarray,
        index: np.ndarray,
        uniforms: np.ndarray,
    ) -> None:
        self.truth, self.index, self.n_leaves = truth, index, int(index.max()) + 1
        self.views, self._view, self._leaf = views, view, leaf
        self._n_leaves = np.bincount(view, minlength=views.size)
        self._first = np.cumsum(self._n_leaves) - self._n_leaves
        self.choices = views.to_samples(self._n_leaves)
        self.blind = truth
        if self._n_leaves.max(initial=1) > 1:
            self.blind = leaf[views.to_samples(self._first) + (uniforms * self.choices).astype(np.intp)]

    @classmethod
    def at_depths(
        cls,
        tree: TreePartition,
        depths: Sequence[int],
        X: np.ndarray,
        mask: np.ndarray,
        uniforms: np.ndarray,
        groups: tuple[SampleGroups, SampleGroups] | None = None,
    ) -> Iterator[UserLeaves]:
        """Yield the leaves at each of the increasing ``depths``, from one pass down the tree.

        Parameters
        ----------
        tree : TreePartition
        depths : sequence of int
        X, mask : ndarrays of shape (n, tree.n_features)
        uniforms : ndarray of shape (n,)
        groups : pair of SampleGroups, optional
            Groups of users whom the tree does not tell apart, by all their features and by those that they show.
        """
        places, views = (SampleGroups.singletons(len(X)),) * 2 if groups is None else groups
        truth = tree.apply_levels(places.one_of_each(X), max(depths))
        pairs = tree.spread(views.one_of_each(X), views.one_of_each(mask), max(depths))
        for depth, (view, nodes) in enumerate(pairs):
            if depth in depths:
                index = tree.leaf_index(depth)
                yield cls(places.to_samples(index[truth[depth]]), views, view, index[nodes], index, uniforms)

    def spread(self, views: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """List the leaves that groups of users are compatible with: pairs (position in ``views``, index of a leaf)."""
        copies = self._n_leaves[views]
        position = np.repeat(np.arange(views.size), copies)
        skipped = np.cumsum(copies) - copies
        return position, self._leaf[np.arange(position.size) + (self._first[views] - skipped)[position]]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return (self._view, self._leaf) if self.views.member is None else self.spread(self.views.number)

    @property
    def users(self) -> np.ndarray:
        return self._pairs[0]

    @property
    def leaves(self) -> np.ndarray:
        return self._pairs[1]

    def possible(self, grid: UserGrid, labels: np.ndarray) -> CellSums:
        """Count the users who may lie in each cell (shown code of the grid, leaf), and add up their labels."""
        seen = grid.seen_with(self.views)
        shown, counts, totals = seen.one_of_each(grid.shown), seen.counts, seen.sums(labels)
        alone = seen.member is None
        position, leaf = self._pairs if alone else self.spread(seen.one_of_each(self.views.number))
        return CellSums(shown[position], leaf, grid.n_shown, self.n_leaves, counts[position], totals[position])

    def means(self, labels: np.ndarray) -> np.ndarray:
        """Mean privatised label of every leaf, each user shared evenly among the leaves it may lie in.

        Public features and privatised labels only, so it costs nothing. A leaf without users gets the overall mean.
        """
        counts, totals = self.views.counts / self._n_leaves, self.views.sums(labels) / self._n_leaves
        weight = np.bincount(self._leaf, weights=counts[self._view], minlength=self.n_leaves)
        total = np.bincount(self._leaf, weights=totals[self._view], minlength=self.n_leaves)
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), labels.mean())
