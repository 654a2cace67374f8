"""Where users may lie: the cells of a grid times a tree, and what public features tell about them.

The space is cut into cells, a grid on some features times a tree on the others (H sections 3.2, 3.3). From a user's
public features everybody can tell the set V of the cells the user may lie in, and V is a product: every bin of a
protected grid feature, one bin of a public one, times the compatible leaves. Nothing here ever lists users x cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.partitions import KeyIndex, TreePartition, cell_keys, grid_digits
from lpbench.seeds import Streams


class ReportDraws:
    """The unit-scale randomness of n users' reports, shared by all budgets, partitions and mechanisms.

    Attributes
    ----------
    label : ndarray of shape (n,)
        Standard Laplace noise of the labels.
    keep, leaf : ndarrays of shape (n,)
        Uniforms that decide whether a report is the truth, and which leaf is shown if not.
    bits_seed : int
        Seed of the bits of randomised response.
    """

    def __init__(self, streams: Streams, n: int):
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
        Public: code of what the public grid features tell about the cell, and which features those are.
    """

    def __init__(self, X, mask, bins: int, uniforms):
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
        _, first, self.pattern = np.unique(cell_keys(mask, 2), return_index=True, return_inverse=True)
        self.patterns = mask[first]

    def locate(self, X) -> Query:
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

    Attributes
    ----------
    truth, blind : int ndarrays of shape (n,)
        On the device: index of the true leaf, and of one drawn evenly from the compatible leaves.
    choices : int ndarray of shape (n,)
        Public: number of compatible leaves.
    users, leaves : int ndarrays of equal length
        Public: the compatible pairs, ordered by user.
    """

    def __init__(self, tree: TreePartition, depth: int, truth, users, nodes, uniforms):
        index = tree.leaf_index(depth)
        self.n_leaves = tree.n_leaves(depth)
        self.truth, self.users, self.leaves = index[truth], users, index[nodes]
        self.choices = np.bincount(users, minlength=truth.size)
        first = np.cumsum(self.choices) - self.choices
        self.blind = self.leaves[first + (uniforms * self.choices).astype(np.intp)]

    @classmethod
    def at_depths(cls, tree: TreePartition, depths: Sequence[int], X, mask, uniforms) -> Iterator[UserLeaves]:
        """Yield the leaves at each of the increasing ``depths``, from one pass down the tree.

        X, mask : ndarrays of shape (n, tree.n_features); uniforms : ndarray of shape (n,).
        """
        truth = tree.apply_levels(X, max(depths))
        for depth, (users, nodes) in enumerate(tree.spread(X, mask, max(depths))):
            if depth in depths:
                yield cls(tree, depth, truth[depth], users, nodes, uniforms)

    def means(self, labels) -> np.ndarray:
        """Mean privatised label of every leaf, each user shared evenly among the leaves it may lie in.

        Public features and privatised labels only, so it costs nothing. A leaf without users gets the overall mean.
        """
        share = (1.0 / self.choices)[self.users]
        weight = np.bincount(self.leaves, weights=share, minlength=self.n_leaves)
        total = np.bincount(self.leaves, weights=share * labels[self.users], minlength=self.n_leaves)
        return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), labels.mean())
