"""Device of HistOfTree's second round: it reports its cell of grid x tree, randomized over the compatible cells."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_reports import bit_reports, reports_truth
from lpbench.estimators.histoftree.cell_shortcut import MOST_BITS, CellFamily, answer_family, kept_last
from lpbench.estimators.histoftree.user_cells import UserCells, UserGrid, UserLeaves
from lpbench.partitions import GridCells, SampleGroups, TreePartition, cell_keys, grid_digits
from lpbench.privacy import GRR, BitVector, Device, RandomizedResponse, Records
from lpbench.privacy.device import Answers, proven
from lpbench.privacy.exact import below, blocks, words
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Streams

CELL_MECHANISMS = ("grr", "rr")
#: Most bins of a feature that a report may name, and log2 of the cells whose number is still a float.
MOST_BINS, MAX_LOG2_CELLS = 1 << 31, 1000
#: Users whose cells are found and kept together; of more they are found again for each question, in less memory.
_TOGETHER = 1 << 15


@dataclass(frozen=True, eq=False)
class CellQuestion:
    """Ask for the user's cell of grid x tree, randomized among the cells compatible with the public features."""

    tree: TreePartition  # of the features tree_columns
    depth: int  # levels of the tree that are used
    grid_columns: np.ndarray
    tree_columns: np.ndarray
    bins: int
    mechanism: str  # "grr": one cell; "rr": one bit for each cell
    budget: float  # epsilon of the report; 0 only for users who have no choice

    @property
    def n_leaves(self) -> int:
        """Return the number of leaves of the tree cut at ``depth``."""
        return self.tree.n_leaves(self.depth)

    @property
    def n_cells(self) -> int:
        """Return the number of cells: ``bins`` to the power of the grid columns, times the leaves."""
        return int(self.bins) ** len(self.grid_columns) * self.n_leaves

    def compatible(self, X: np.ndarray, mask: np.ndarray) -> UserCells:
        """The cells that public features allow users to lie in; protected entries of X are not read."""
        grid, tree, hidden = self.grid_columns, self.tree_columns, mask[:, self.tree_columns]
        views, silent = SampleGroups.singletons(len(X)), hidden.all(axis=1)
        if silent.any():  # users who show nothing of the tree are walked down together
            views = SampleGroups.by_key(np.where(silent, 0, np.arange(1, len(X) + 1)), len(X) + 1)
        (leaves,) = UserLeaves.at_depths([self.tree], [self.depth], X[:, tree], hidden, views)
        return UserCells(UserGrid(X[:, grid], mask[:, grid], self.bins), leaves)


@dataclass(frozen=True, eq=False)
class ReportDraws:
    """Randomness of n users' reports, shared by all budgets."""

    keep: np.ndarray  # whole numbers below 2^62 (n,): whether a report is the truth
    leaf: np.ndarray  # (n,): the leaf reported if not
    bins: np.ndarray  # (n, s): the bin reported of each grid feature if not
    seed: int  # of the bits of randomized response
    users: np.ndarray  # numbers within the seed (n,)

    def take(self, who: Any) -> Self:
        """Return the randomness of some of the users, by position."""
        return type(self)(self.keep[who], self.leaf[who], self.bins[who], self.seed, self.users[who])


@proven
class CellDevice(Device[CellQuestion]):
    """Locate the own record in grid x tree, and hide the cell among those that the public features allow.

    A report names a cell by the bin of each grid feature and the leaf, shape (n, s + 1), or has one bit for each cell,
    in the order of (grid cell, leaf), shape (n, cells).
    """

    def draws(self, streams: Streams, n: int, question: CellQuestion) -> ReportDraws:
        """Draw words for n users: one set decides if a report is the truth, the others choose a random leaf and bins.

        Streams are named by feature, so that grid points with other columns share the draws of the features in common.
        """
        drawn = [words(streams.generator("report", draw="bin", feature=int(c)), n) for c in question.grid_columns]
        return ReportDraws(
            words(streams.generator("report", draw="keep"), n),
            words(streams.generator("report", draw="leaf"), n),
            np.array(drawn, dtype=np.int64).reshape(len(drawn), n).T,
            streams.child("report", draw="bits").seed,
            np.arange(n),
        )

    def mechanism(self, question: CellQuestion) -> GRR | BitVector:
        """The mechanism of users who may lie in every cell."""
        return (GRR if question.mechanism == "grr" else BitVector)(question.budget, question.n_cells)

    def inputs(self, records: Records, question: CellQuestion) -> np.ndarray:
        """The own cells: bin of each grid feature, and leaf; shape (n, s + 1)."""
        bins = grid_digits(records.X[:, question.grid_columns], question.bins)
        nodes = question.tree.apply(records.X[:, question.tree_columns], question.depth)
        return np.column_stack([bins, question.tree.leaf_index(question.depth)[nodes]])

    def report(self, records: Records, question: CellQuestion, draws: ReportDraws) -> np.ndarray:
        """Cells of shape (n, s + 1), or bits of shape (n, cells)."""
        if question.mechanism == "rr" or len(records) <= _TOGETHER:
            return self._report(records, question, draws)
        reports = np.empty((len(records), self.columns(question)), dtype=np.int64)
        for block in blocks(reports.shape[:1], _TOGETHER):
            reports[block] = self._report(records.take(block), question, draws.take(block))
        return reports

    def _report(self, records: Records, question: CellQuestion, draws: ReportDraws) -> np.ndarray:
        """Return the reports of some of the users, whose randomness is ``draws``."""
        true_cells, cells = self.inputs(records, question), _compatible(records, question)
        cells.check_budget(question.budget)
        if question.mechanism == "rr":
            return self._bits(true_cells, cells, question, draws)
        if question.budget == 0:
            return true_cells
        hidden = _mask(records)[:, question.grid_columns]
        blind = np.where(hidden, below(draws.bins, question.bins), true_cells[:, :-1])
        is_truthful = reports_truth(cells.choices, question.budget, draws.keep)
        return np.where(is_truthful[:, None], true_cells, np.column_stack([blind, cells.leaves.choose(draws.leaf)]))

    def _bits(self, true_cells: np.ndarray, cells: UserCells, question: CellQuestion, draws: ReportDraws) -> np.ndarray:
        """One bit a cell, shape (n, cells): randomized in the cells that the user may lie in, 0 elsewhere.

        ``true_cells`` (n, s + 1) names each user's cell by its bins and leaf. A user with one possible cell sends it as
        it is.
        """
        vectors, hidden = np.zeros((len(true_cells), question.n_cells), dtype=bool), cells.choices > 1
        vectors[np.arange(len(true_cells)), _numbers(true_cells, question)] = True
        if hidden.any():
            user, cell = np.nonzero(cells.possible() & hidden[:, None])
            digits = GridCells(question.bins, len(question.grid_columns)).digits()[cell // question.n_leaves]
            names = np.column_stack([cell % question.n_leaves, digits])
            sent = bit_reports(vectors[user, cell], question.budget, draws.seed, draws.users[user], names)
            vectors[user, cell] = sent
        return vectors

    def law(self, question: CellQuestion, records: Records) -> tuple[GRR | RandomizedResponse, np.ndarray]:
        """The randomizer over V, the cells compatible with the public features, and the position of the true cell in V.

        Cells of V are numbered in increasing order. The records must share their public features.
        """
        possible = _compatible(records, question).possible()
        if (possible != possible[0]).any():
            raise ConfigurationError("records must share what their users show; pass records that differ where masked")
        cells = np.flatnonzero(possible[0])
        true_numbers = np.searchsorted(cells, _numbers(self.inputs(records, question), question))
        if cells.size == 1:  # nothing is hidden
            return GRR(question.budget or 1.0, 1), true_numbers
        if question.mechanism == "grr":
            return GRR(question.budget, cells.size), true_numbers
        # Two cells differ in two bits.
        return RandomizedResponse.for_budget(question.budget, changed_bits=2), np.eye(cells.size, dtype=bool)[
            true_numbers
        ]

    def to_law(self, reports: np.ndarray, question: CellQuestion, records: Records) -> np.ndarray:
        """Translate reports to outcomes of :meth:`law`: positions of reported cells within V, or V's bits."""
        cells = np.flatnonzero(_compatible(records, question).possible()[0])
        if question.mechanism == "rr":
            return reports[:, cells] if cells.size > 1 else np.zeros(len(reports), dtype=np.int64)
        return np.searchsorted(cells, _numbers(reports, question))

    def columns(self, question: CellQuestion) -> int:
        """One for each grid feature and one for the leaf, or one for each cell."""
        return len(question.grid_columns) + 1 if question.mechanism == "grr" else question.n_cells

    def fields(self, question: CellQuestion) -> tuple[Field, ...]:
        """The bin of each grid feature and the leaf, or one bit for each cell."""
        if question.mechanism == "rr":
            return (Integers(2, question.n_cells),)
        return Integers(question.bins, len(question.grid_columns)), Integers(question.n_leaves)

    def budget(self, question: CellQuestion) -> float:
        """Return the epsilon of the report, as the question states it."""
        return question.budget

    def budgets(self, records: Records, question: CellQuestion) -> np.ndarray:
        """Epsilon of each user: nothing is spent where public features tell the cell."""
        parts = [records]  # whose cells are kept for the report
        if len(records) > _TOGETHER:
            parts = [records.take(part) for part in blocks((len(records),), _TOGETHER)]
        choices = [_compatible(part, question).choices for part in parts]
        return np.where(np.concatenate(choices) > 1, question.budget, 0.0)

    def delta(self, question: CellQuestion) -> float:
        """Return 0: randomized cells satisfy pure epsilon-DP."""
        return 0.0

    def check(self, question: CellQuestion) -> None:
        """Grid and tree must divide all features, each once, into no more cells than a report may name."""
        columns = [*map(int, question.grid_columns), *map(int, question.tree_columns)]
        if sorted(columns) != list(range(len(columns))) or question.tree.n_features != len(question.tree_columns):
            raise ConfigurationError(f"the features {columns} of grid and tree must be all features, each once")
        check_choice("mechanism", question.mechanism, CELL_MECHANISMS)
        check_whole("depth", question.depth, most=MAX_LOG2_CELLS)
        check_whole("bins", question.bins, least=1, most=MOST_BINS)
        check_number("budget", question.budget, least=0, infinite=True)
        most = MOST_BITS if question.mechanism == "rr" else 2**MAX_LOG2_CELLS
        if question.n_cells > most:
            raise ConfigurationError(
                f"{question.n_cells} cells are more than the {most} that a report of mechanism={question.mechanism!r} "
                "may name; use fewer bins, a smaller n_grid_features or depth, or mechanism='grr'"
            )

    def draw_many(self, records: Records, family: CellFamily, answers: Answers) -> list[tuple[np.ndarray, np.ndarray]]:
        """Noisy sums in the cells that test rows look up, for each grid of a sweep, from the same bits as reports."""
        return answer_family(records, family, answers)


TREE_CELL = CellDevice()


def _mask(records: Records) -> np.ndarray:
    return np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask


def _compatible(records: Records, question: CellQuestion) -> UserCells:
    """The cells in which each user may lie, given the features that she shows; kept for the last question."""
    return kept_last(records, "cells", question, lambda: question.compatible(records.X, _mask(records)))


def _numbers(indices: np.ndarray, question: CellQuestion) -> np.ndarray:
    """Numbers (n,) of cells that are named by bins and leaf, ``indices`` (n, s + 1).

    A number is that of the grid cell times the leaves, plus the leaf.
    """
    return cell_keys(indices[:, :-1], question.bins) * question.n_leaves + indices[:, -1]
