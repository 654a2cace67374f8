"""Exact shortcut of HistOfTree's second round in sweeps: noisy sums in the cells that test rows look up.

It runs on the users' side, on the same randomness as the reports of :mod:`.cell_device`. What points of a grid share,
such as the true cells, is located once and kept with the records. Of randomized bits, those of the looked-up cells
alone are simulated, which changes nothing: bits are independent of one another and repeat from query to query.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from lpbench.estimators.histoftree.cell_reports import CategorySums, bit_indicators, bit_reports, truthful_words
from lpbench.estimators.histoftree.user_cells import CellQuery, UserCells, UserGrid, UserLeaves
from lpbench.partitions import Forest, KeyIndex, SampleGroups, TreePartition, cell_keys, grid_digits
from lpbench.privacy import Records
from lpbench.privacy.device import Answers
from lpbench.privacy.exact import below, blocks, words
from lpbench.seeds import Streams

T = TypeVar("T")

#: Most bits of a report, one for each cell.
MOST_BITS = 1 << 16
#: (user, cell) pairs whose bits are asked for, and simulated, at once.
_ASKED, _BITS_AT_ONCE = 1 << 22, 1 << 21


def asked_at_once(n: int, n_cells: int) -> list[slice]:
    """Divide n users into those who are asked for their bits at once."""
    # of more cells nobody is asked: a sweep simulates those that are looked up
    step = n if n_cells > MOST_BITS else max(1, _ASKED // n_cells)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


@dataclass(frozen=True, eq=False)
class CellFamily:
    """Round-2 questions of a sweep: one for each of T trees, cut at one depth, asked of the same n users.

    Arrays over users and trees are flat, of size T n: entry k n + i is user i at tree k. ``labels`` are the privatized
    labels of round 1, and ``budgets`` the T budgets of the cells. ``leaves`` has the leaves compatible with each user,
    ``query_leaves`` the leaf of each test row at each tree, and ``grids`` one entry (user grid, cells of the test rows,
    "grr" or "rr") a division of the grid features.
    """

    trees: Sequence[TreePartition]  # of the features tree_columns
    depth: int  # levels of the tree that are used here
    deepest: int  # and by any family of this tree
    midpoints: bool  # all cuts are midpoints of the unit cube's: users may be walked down in groups
    grid_columns: np.ndarray
    tree_columns: np.ndarray
    budgets: Sequence[float]  # for each tree; all or none of them are 0
    labels: np.ndarray  # privatized, (trees * n,)
    leaves: UserLeaves
    query_leaves: np.ndarray  # leaves of the test rows (trees * m,)
    grids: Sequence[tuple[UserGrid, CellQuery, str]]  # with the cells that the test rows look up, and the mechanism


def answer_family(records: Records, family: CellFamily, answers: Answers) -> list[tuple[np.ndarray, np.ndarray]]:
    """Estimated counts and label sums at the test rows, for each grid, of users whose labels are privatized."""
    leaves, budgets, labels, streams = family.leaves, family.budgets, family.labels, answers("ask")
    truth, keep, times = _true_leaves(records, family), _words(records, streams, draw="keep"), len(family.trees)
    blind = truth if leaves.most == 1 else leaves.choose(np.tile(_words(records, streams, draw="leaf"), times))
    estimates = []
    for grid, query, mechanism in family.grids:
        cells, columns = UserCells(grid, leaves), family.grid_columns
        key = ("bins", streams.seed, columns.tobytes(), grid.bins)
        bins_of = records.remembered(key, partial(_TrueBins, records, columns, grid.bins, streams))
        cells.check_budget(budgets[0])
        queries = CellQuery(query.digits, bins_of.index.find(query.codes), query.shown)
        if mechanism == "rr":
            parts = asked_at_once(len(records), grid.size * leaves.n_leaves)
            who = [None if len(parts) == 1 else np.arange(block.start, block.stop) for block in parts]
            seeds = [answers("ask", users).child("report", draw="bits").seed for users in who]
            bits = _BitSums(parts, seeds, cells, bins_of.truth, truth, labels, budgets[0])
            estimates.append(bits.estimate(queries, family.query_leaves))
            continue
        codes, leaf = bins_of.truth, truth
        if budgets[0] > 0 and (grid.size > 1 or leaves.most > 1):
            sizes, each = cells.sizes[0], np.array(budgets)[:, None]
            limits = partial(truthful_words, sizes, each)
            limit = cells.read(records.remembered(("truthful", *budgets, sizes.tobytes()), limits))
            is_truthful = keep < limit.reshape(times, -1)
            codes = np.where(is_truthful, codes, bins_of.blind)
            leaf = truth if blind is truth else np.where(is_truthful.ravel(), truth, blind)
        codes = (codes if codes.size == labels.size else np.tile(codes, times)).ravel()
        sums = CategorySums(codes, leaf, bins_of.index.size, cells, labels, budgets)
        estimates.append(sums.estimate(queries, family.query_leaves))
    return estimates


def _words(records: Records, streams: Streams, **axes: str | int) -> np.ndarray:
    """Random whole numbers below 2^62, one a user (n,), equal to those that the cell device's ``draws`` draws.

    ``axes`` name the stream, so that all settings of a sweep use the same numbers, computed once.
    """
    key = ("report", streams.seed, *axes.values())
    return records.remembered(key, lambda: words(streams.generator("report", **axes), len(records)))


def _true_leaves(records: Records, family: CellFamily) -> np.ndarray:
    """Leaf in which each user's complete record lies, for every tree: flat int array of T n entries, tree by tree."""
    trees, columns, deepest = family.trees, family.tree_columns, family.deepest

    def walk() -> tuple[SampleGroups, np.ndarray]:
        X = kept_last(records, "tree features", columns.tobytes(), lambda: records.X[:, columns])
        places = SampleGroups.singletons(len(X))
        if family.midpoints:
            key = "places", columns.tobytes(), deepest
            places = records.remembered(key, lambda: SampleGroups.for_depth(deepest, X))
        nodes = Forest(trees).apply_levels(places.one_of_each(X), deepest)
        return places.repeated(len(trees)), nodes

    places, nodes = kept_last(records, "nodes", (tuple(trees), deepest), walk)
    return places.to_samples(family.leaves.index.take(nodes[family.depth]))


def kept_last(records: Records, name: str, key: Hashable, compute: Callable[[], T]) -> T:
    """Return ``compute()``, kept with the records until it is asked for with another key."""
    slot: dict[Hashable, T] = records.remembered(("last", name), dict)
    if key not in slot:
        slot.clear()
        slot[key] = compute()
    return slot[key]


class _TrueBins:
    """For each user the true grid cell, and a cell drawn uniformly from the compatible ones; each has a number."""

    def __init__(self, records: Records, columns: np.ndarray, bins: int, streams: Streams) -> None:
        drawn = [_words(records, streams, draw="bin", feature=int(column)) for column in columns]
        blind = below(np.array(drawn, dtype=np.int64).reshape(len(columns), len(records)).T, bins)
        digits = grid_digits(records.X[:, columns], bins)
        if records.mask is not None:
            blind = np.where(records.mask[:, columns], blind, digits)
        truth_key, blind_key = cell_keys(digits, bins), cell_keys(blind, bins)
        self.index = KeyIndex(np.concatenate([truth_key, blind_key]), bins ** len(columns))
        self.truth, self.blind = self.index.find(truth_key), self.index.find(blind_key)


class _BitSums:
    """Sums of randomized bits, drawn only for the cells that predictions look up."""

    def __init__(
        self,
        parts: Sequence[slice],  # users asked at once, and the seed of each part
        seeds: Sequence[int],
        cells: UserCells,
        code: np.ndarray,
        leaf: np.ndarray,
        labels: np.ndarray,
        budget: float,
    ) -> None:
        """Keep users and seeds; bits are drawn in :meth:`sums`, for the cells that are asked about.

        ``parts`` are the blocks of users that share a seed, ``code`` and ``leaf`` each user's true cell.
        """
        self._seeds, self._cells, self._labels, self._budget = seeds, cells, labels, budget
        self._step = parts[0].stop
        self._code, self._leaf = code, leaf

    def estimate(self, query: CellQuery, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimate the number of users and the sum of their privatized labels in each cell (query, leaf)."""
        key = np.concatenate([leaves[:, None], query.digits], axis=1)
        cells = cell_keys(key, max(self._cells.grid.bins, self._cells.leaves.n_leaves))
        _, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
        first = first[np.argsort(leaves[first], kind="stable")]
        rank = np.empty(first.size, dtype=np.intp)
        rank[inverse[first]] = np.arange(first.size)
        distinct = CellQuery(query.digits[first], query.codes[first], [pattern[first] for pattern in query.shown])
        sums = self._sum_unique(distinct, leaves[first])
        return sums[0][rank[inverse]], sums[1][rank[inverse]]

    def _sum_unique(self, query: CellQuery, leaves: np.ndarray) -> np.ndarray:
        """Sums over distinct cells ordered by leaf, (2, m): numbers of users and sums of their privatized labels."""
        grid, pairs = self._cells.grid, self._cells.leaves
        n_cells = np.bincount(leaves, minlength=pairs.n_leaves)
        first = np.cumsum(n_cells) - n_cells
        patterns, names = np.stack(query.shown), np.concatenate([leaves[None], query.digits.T])
        sums = np.zeros((2, leaves.size))
        step = max(1, _BITS_AT_ONCE // max(1, n_cells.max(initial=0)))
        for start in range(0, pairs.users.size, step):
            user = pairs.users[start : start + step]
            leaf = pairs.leaves[start : start + step]
            copies = n_cells[leaf]
            user = np.repeat(user, copies)
            skipped = np.cumsum(copies) - copies
            cell = np.arange(user.size) + np.repeat(first[leaf] - skipped, copies)
            possible = grid.shown[user] == patterns[grid.pattern[user], cell]
            user, cell = user[possible], cell[possible]
            indicators = [
                self._indicators(user[block], query.codes, names, cell[block]) for block in blocks(user.shape)
            ]
            value = np.concatenate([np.empty(0), *indicators])
            sums[0] += np.bincount(cell, weights=value, minlength=leaves.size)
            sums[1] += np.bincount(cell, weights=value * self._labels[user], minlength=leaves.size)
        return sums

    def _indicators(self, user: np.ndarray, codes: np.ndarray, names: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """Unbiased indicators that users lie in cells, from their randomized bits, one for each pair (user, cell).

        ``user`` and ``cell`` are the pairs' indices, users in order; ``codes`` has the number of each cell's bins, and
        ``names`` (1 + s, m) its leaf and bins.
        """
        bits = (self._code[user] == codes[cell]) & (self._leaf[user] == names[0][cell])
        choices = self._cells.choices[user]
        if self._budget > 0:
            batch, user_in_batch = np.divmod(user, self._step)
            for number in range(batch[0], batch[-1] + 1):  # users are in order
                pairs = slice(*np.searchsorted(batch, [number, number + 1]))
                named = names.take(cell[pairs], axis=1).T
                sent = bit_reports(bits[pairs], self._budget, self._seeds[number], user_in_batch[pairs], named)
                bits[pairs] = np.where(choices[pairs] == 1, bits[pairs], sent)
        return bit_indicators(bits, choices, self._budget)
