"""Predictions of many trees for rows that are put together from two halves, by the sets of leaves that each allows.

A row takes some features from a user and the others from one of few public rows. The value of a feature allows some
leaves of a tree, whatever the others are, and a row lies in the one leaf that all of its features allow. Sets of leaves
are bits of 64-bit words, so that the set of a half is found once for each user or public row, and a row costs a few
operations on words in place of a walk down the tree.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

#: Leaves in a word, and users whose rows are put together at a time.
_BITS, _BLOCK = 64, 8192

#: Leaves of a word that users' shown features allow by their places, and each public row's; values of its leaves.
_Word = tuple[list[tuple[int, np.ndarray]], np.ndarray, np.ndarray]


class LeafSets(NamedTuple):
    """The leaves of a tree that a feature allows, by the place of its value among the feature's cuts.

    ``cuts`` (c,) are sorted, ``words`` (c + 1, words) has the bits of the leaves allowed below the first cut, between
    the first and the second, and so on.
    """

    feature: int
    cuts: np.ndarray
    words: np.ndarray


class LeafTable(NamedTuple):
    """A tree of scikit-learn as the sets of leaves that its features allow, and the values of the leaves.

    ``values[w]`` (65, k) are those of the leaves of word w, and 0 for a row that lies in none of them.
    """

    sets: list[LeafSets]
    leaves: np.ndarray  # bits that are leaves, (words,)
    values: np.ndarray  # (words, 65, k)

    @classmethod
    def of(cls, tree: Any) -> "LeafTable":
        """Read a tree grown depth first, whose nodes are numbered in that order."""
        left, right, feature, threshold = (
            values.tolist() for values in (tree.children_left, tree.children_right, tree.feature, tree.threshold)
        )
        is_leaf = tree.children_left < 0
        before = np.concatenate([[0], np.cumsum(is_leaf)]).tolist()  # leaves before a node
        n_words, end = -(-before[-1] // _BITS), [0] * len(left)
        for node in range(len(left) - 1, -1, -1):  # one more than the last node below it
            end[node] = node + 1 if left[node] < 0 else end[right[node]]
        sets = []
        for each in sorted({f for f in feature if f >= 0}):
            nodes = [node for node, f in enumerate(feature) if f == each]
            cuts = np.unique([threshold[node] for node in nodes])
            allowed = np.zeros((cuts.size + 1, n_words * _BITS), dtype=bool)
            allowed[:, : before[-1]] = True
            for node, place in zip(nodes, cuts.searchsorted([threshold[node] for node in nodes]).tolist(), strict=True):
                middle = before[right[node]]
                allowed[: place + 1, middle : before[end[node]]] = False
                allowed[place + 1 :, before[node] : middle] = False
            words = np.packbits(allowed, axis=1, bitorder="little").view("<u8").astype(np.uint64)
            sets.append(LeafSets(each, cuts, words))
        leaves = np.packbits(np.arange(n_words * _BITS) < before[-1], bitorder="little").view("<u8").astype(np.uint64)
        values = np.zeros((n_words * _BITS, tree.value.shape[2]))
        values[: before[-1]] = tree.value[is_leaf, 0]
        none = np.zeros((n_words, 1, values.shape[1]))
        return cls(sets, leaves, np.concatenate([values.reshape(n_words, _BITS, -1), none], axis=1))


class Halves:
    """Rows put together from the shown features of users and the hidden ones of public rows."""

    def __init__(self, tables: Sequence[LeafTable], users: np.ndarray, rows: np.ndarray, hidden: np.ndarray) -> None:
        """Place the values of users (n, d) and public rows (q, d), in single precision, among all cuts of ``tables``.

        ``hidden`` (d,) says which features are taken from public rows; those of ``users`` are never read.
        """
        self._q = len(rows)
        cuts: dict[int, list[np.ndarray]] = {}
        for table in tables:
            for sets in table.sets:
                cuts.setdefault(sets.feature, []).append(sets.cuts)
        self._cuts = {feature: np.unique(np.concatenate(own)) for feature, own in cuts.items()}
        self._shown, self._rows = (
            {
                f: cut.searchsorted(X[:, f].astype(np.float32).astype(np.float64))
                for f, cut in self._cuts.items()
                if hidden[f] == is_hidden
            }
            for X, is_hidden in ((users, False), (rows, True))
        )

    def sums(self, tables: Sequence[LeafTable], near: np.ndarray, first: int) -> np.ndarray:
        """Sum of the values, from number ``first`` on, over trees, tree by tree: (values, k, n).

        ``near`` (k, n) numbers the public rows from which the users' hidden features are taken.
        """
        total = np.zeros((tables[0].values.shape[2] - first, *near.shape))
        words = [word for table in tables for word in self._words(table, first)]
        for start in range(0, near.shape[1], _BLOCK):
            users = slice(start, start + _BLOCK)
            rows, sums = np.ascontiguousarray(near[:, users]), np.ascontiguousarray(total[:, :, users])
            left, added = np.empty(rows.shape, dtype=np.uint64), np.empty(rows.shape)
            leaf, few = np.empty(rows.shape, dtype=np.intp), np.empty((2, rows.shape[1]), dtype=np.uint64)
            places = {feature: place[users] for feature, place in self._shown.items()}
            for shown, hidden, values in words:
                hidden.take(rows, out=left, mode="clip")
                for number, (feature, allowed) in enumerate(shown):
                    allowed.take(places[feature], out=few[min(number, 1)], mode="clip")
                    if number:
                        few[0] &= few[1]
                if shown:
                    left &= few[0]
                left -= np.uint64(1)
                leaf[:] = np.bitwise_count(left)  # of the one leaf that is left; 64 if it is in another word
                for each, column in zip(sums, values, strict=True):
                    each += column.take(leaf, out=added, mode="clip")
            total[:, :, users] = sums
        return total

    def _words(self, table: LeafTable, first: int) -> Iterator[_Word]:
        """Read the words of a tree by the places of values among all cuts."""
        of_rows = np.tile(table.leaves[:, None], self._q)
        shown: list[list[tuple[int, np.ndarray]]] = [[] for _ in of_rows]
        for feature, cuts, words in table.sets:
            every = self._cuts[feature]
            place = every.searchsorted(cuts).searchsorted(np.arange(every.size + 1))
            for number, word in enumerate(words.T):
                if feature in self._shown:
                    shown[number].append((feature, word.take(place)))
                else:
                    of_rows[number] &= word.take(place).take(self._rows[feature])
        for number, of_users in enumerate(shown):
            yield of_users, of_rows[number], np.ascontiguousarray(table.values[number].T[first:])
