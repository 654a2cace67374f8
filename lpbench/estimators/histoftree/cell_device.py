"""Device of HistOfTree's second round: it reports its cell of grid x tree, randomised over the cells it may lie in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.histoftree.cell_reports import bit_reports, category_reports
from lpbench.estimators.histoftree.user_cells import ReportDraws, UserGrid, UserLeaves
from lpbench.partitions import GridCells, TreePartition
from lpbench.privacy import GRR, Device, RandomizedResponse, Records
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Streams

MECHANISMS = ("grr", "rr")
#: Cells of grid x tree beyond which a single report would be too long (or the cells too many to number densely).
MOST_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class CellQuestion:
    """What the curator broadcasts in round 2.

    Attributes
    ----------
    tree : TreePartition
        Partition of the features ``tree_columns``.
    depth : int
        Levels of the tree that are used.
    grid_columns, tree_columns : int ndarrays
        Features of the grid and of the tree.
    bins : int
        Bins per grid feature.
    mechanism : {"grr", "rr"}
        One cell, or one bit for each cell.
    budget : float
        Epsilon of the report; 0 only for users who have no choice.
    """

    tree: TreePartition
    depth: int
    grid_columns: np.ndarray
    tree_columns: np.ndarray
    bins: int
    mechanism: str
    budget: float

    @property
    def n_cells(self) -> int:
        """Cells of grid x tree."""
        return int(self.bins) ** len(self.grid_columns) * self.tree.n_leaves(self.depth)


@dataclass(frozen=True, eq=False)
class Places:
    """Where users lie and where their public features allow them to lie.

    Attributes
    ----------
    grid : UserGrid
    leaves : UserLeaves
    """

    grid: UserGrid
    leaves: UserLeaves

    @property
    def choices(self) -> np.ndarray:
        """Number of cells that each user may lie in, |V|: ndarray of shape (n,)."""
        return self.grid.choices * self.leaves.choices

    @property
    def cells(self) -> np.ndarray:
        """Number of each user's true cell, for at most ``MOST_CELLS`` cells: ndarray of shape (n,)."""
        return self.grid.truth * self.leaves.n_leaves + self.leaves.truth

    def possible(self) -> np.ndarray:
        """Whether each user may lie in each cell: boolean ndarray of shape (n, cells)."""
        grid, leaves = self.grid, self.leaves
        centres = GridCells(grid.bins, grid.s).centres()
        in_grid = np.stack(grid.locate(centres).shown)[grid.pattern] == grid.shown[:, None]
        in_tree = np.zeros((len(in_grid), leaves.n_leaves), dtype=bool)
        in_tree[leaves.users, leaves.leaves] = True
        return (in_grid[:, :, None] & in_tree[:, None, :]).reshape(len(in_grid), -1)

    def check_budget(self, budget: float) -> None:
        """Raise a ConfigurationError if a cell must be randomised and no budget is left for it."""
        if budget == 0 and self.choices.max() > 1:
            raise ConfigurationError(
                "label_share=1 leaves no budget for the cell reports, and some users' cells must be randomised; use "
                "label_share < 1 (label_share=1 needs bins=1 and public features in the tree)"
            )


class CellDevice(Device[CellQuestion]):
    """Locate the own record in grid x tree, and hide the cell among those that the shown features allow.

    A sweep locates the users once for all budgets and asks for :meth:`categories`. Sums of bits are simulated with the
    hash of :meth:`bits`, bit for bit (:class:`~lpbench.estimators.histoftree.cell_reports.BitSums`).
    """

    def draws(self, streams: Streams, n: int, question: CellQuestion) -> ReportDraws:
        """The users' uniforms."""
        return ReportDraws(streams, n)

    def places(self, records: Records, question: CellQuestion, draws: ReportDraws) -> Places:
        """Locate users in the partition that was broadcast."""
        X, mask = records.X, np.ones(records.X.shape, dtype=bool) if records.mask is None else records.mask
        tree, grid = question.tree_columns, question.grid_columns
        at_depth = UserLeaves.at_depths(question.tree, [question.depth], X[:, tree], mask[:, tree], draws.leaf)
        return Places(UserGrid(X[:, grid], mask[:, grid], question.bins, draws.bins(grid.tolist())), next(at_depth))

    def report(self, records: Records, question: CellQuestion, draws: ReportDraws) -> np.ndarray:
        """Numbers of cells of shape (n,), or bits of shape (n, cells)."""
        places = self.places(records, question, draws)
        if question.mechanism == "rr":
            return self.bits(places, question.budget, draws)
        codes, leaf = self.categories(places, question.budget, draws)
        return codes * places.leaves.n_leaves + leaf

    def categories(self, places: Places, budget: float, draws: ReportDraws) -> tuple[np.ndarray, np.ndarray]:
        """One cell a user by generalised randomised response: codes of the grid and leaves, each of shape (n,)."""
        places.check_budget(budget)
        return category_reports(places.grid, places.leaves, budget, draws.keep)

    def bits(self, places: Places, budget: float, draws: ReportDraws) -> np.ndarray:
        """One bit a cell: randomised in the cells that the user may lie in, 0 elsewhere; shape (n, cells)."""
        places.check_budget(budget)
        possible, n_leaves = places.possible(), places.leaves.n_leaves
        users, cells = np.nonzero(possible)
        sent = cells == places.cells[users]
        digits = cells[:, None] // n_leaves // places.grid.bins ** np.arange(places.grid.s)[::-1] % places.grid.bins
        names = np.column_stack([cells % n_leaves, digits])
        hidden = places.choices[users] > 1
        sent[hidden] = bit_reports(
            sent[hidden], budget, draws.bits_seed, draws.bits_user + users[hidden], names[hidden]
        )
        vectors = np.zeros(possible.shape, dtype=bool)
        vectors[users, cells] = sent
        return vectors

    def law(self, question: CellQuestion, records: Records) -> tuple[GRR | RandomizedResponse, np.ndarray]:
        """The mechanism over V, whose cells are numbered in increasing order."""
        places = self.places(records, question, ReportDraws(Streams(0), len(records)))
        possible = places.possible()
        if (possible != possible[0]).any():
            raise ConfigurationError("records must share what their users show; pass records that differ where masked")
        cells = np.flatnonzero(possible[0])
        own = np.searchsorted(cells, places.cells)
        if question.mechanism == "grr":
            return GRR(question.budget, cells.size), own
        # Two cells differ in two bits.
        return RandomizedResponse.for_budget(question.budget, changed_bits=2), np.eye(cells.size, dtype=bool)[own]

    def fields(self, question: CellQuestion) -> tuple[Field, ...]:
        """The number of the cell, or one bit a cell."""
        return (Integers(question.n_cells),) if question.mechanism == "grr" else (Integers(2, question.n_cells),)

    def budget(self, question: CellQuestion) -> float:
        """Epsilon of a user whose cell is randomised."""
        return question.budget

    def check(self, question: CellQuestion) -> None:
        """Grid and tree must divide all features, each once, into at most ``MOST_CELLS`` cells."""
        columns = [*map(int, question.grid_columns), *map(int, question.tree_columns)]
        if sorted(columns) != list(range(len(columns))) or question.tree.n_features != len(question.tree_columns):
            raise ConfigurationError(f"the features {columns} of grid and tree must be all features, each once")
        check_choice("mechanism", question.mechanism, MECHANISMS)
        check_whole("bins", question.bins, least=1, most=MOST_CELLS)
        check_number("budget", question.budget, least=0, infinite=True)
        if question.n_cells > MOST_CELLS:
            raise ConfigurationError(
                f"{question.n_cells} cells are more than the {MOST_CELLS} that a report may name; use fewer bins, a "
                "smaller n_grid_features or depth"
            )


CELL = CellDevice(round=2)
