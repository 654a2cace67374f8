"""Noisy sums over equal-width grids of more cells than memory holds: noise is drawn for queried cells alone.

The histogram of n users has t^d cells, each the sum of n noisy reports. A named cell is drawn from the exact law of its
sum, as a function of the users' stream and the cell: predictions repeat and do not depend on the order of queries.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any, NamedTuple

import numpy as np

from lpbench.partitions import GridCells, KeyIndex, cell_keys, grid_digits
from lpbench.privacy import Device, DiscreteLaplace, Laplace, Records, cell_noise, discrete_cell_noise
from lpbench.privacy.device import Answers
from lpbench.seeds import Streams

NOISES = ("laplace", "discrete")
#: Histograms of at most this many cells are drawn as a whole.
TABLE_CELLS = 2**12
#: Largest table of noisy sums that a pickle holds.
MOST_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class NamedCells:
    """Family of questions of a sweep: sums at several budgets, looked up only in the cells of rows X (m, d).

    ``questions[b]`` lists the questions of budget b, one for each statistic (such as counts and label sums).
    """

    #: For each budget the questions that users are asked one after the other, whose statistics stand one below the
    #: other; all about one grid.
    questions: Sequence[Sequence[Any]]
    X: np.ndarray  # rows (m, d) whose cells are looked up


class GridDevice(Device[Any]):
    """Base of devices that send stated numbers in the own cell, 0 in all others, with noise on every entry."""

    @abstractmethod
    def statistics(self, question: Any) -> list[Laplace | DiscreteLaplace]:
        """Return the noise of one user in each statistic of a cell."""

    @abstractmethod
    def numbers(self, records: Records, question: Any) -> np.ndarray:
        """Return what each user adds to her cell: ndarray of shape (k, n), multiples of the step of discrete noise."""

    def draw_sums(self, records: Records, question: Any, streams: Streams, by: np.ndarray | None = None) -> Any:
        """Draw the noisy sums of all cells, shape (k * cells,).

        A table of more cells than fit into memory is returned as an object that is asked cell by cell.
        """
        if by is not None:
            return super().draw_sums(records, question, streams, by)
        sums = _GridSums(self, records, question, streams)
        return sums if question.cells.size > TABLE_CELLS else sums.at(question.cells.centers()).ravel()

    def draw_many(self, records: Records, family: Any, answers: Answers) -> np.ndarray:
        """Draw noisy sums in the NamedCells of the family: ndarray of shape (budgets, k, m)."""
        by_grid = list(zip(*family.questions, strict=True))
        sums = [
            _GridSums(self, records, questions[0], answers("sums", after=number))
            for number, questions in enumerate(by_grid)
        ]
        named = sums[0].named(family.X)
        noisy = [
            grid.noisy(named, list(map(self.statistics, questions)))
            for grid, questions in zip(sums, by_grid, strict=True)
        ]
        return np.concatenate(noisy, axis=1)[..., named.inverse]


class _Named(NamedTuple):
    """Distinct grid cells of some rows, in which sums are looked up.

    ``cells`` (c, d) are bins on each axis, ``codes`` (c,) the cells' positions in the list of occupied ones, and
    ``inverse`` (m,) the index of each row's cell among the c.
    """

    cells: np.ndarray
    codes: np.ndarray
    inverse: np.ndarray


def _digits(X: np.ndarray, bins: int) -> np.ndarray:
    # Thousands of features: the smallest type keeps arrays of digits small.
    return grid_digits(X, bins, np.min_scalar_type(bins))


class _GridSums:
    """True sums of users' numbers over a grid, and the summed noise of all users in the cells looked up.

    The noise depends on the answer, on the number of bins, on the statistic and on the cell. Of more cells than are
    stored this is the users' side, which answers for named cells alone.
    """

    def __init__(self, device: GridDevice, records: Records, question: Any, streams: Streams) -> None:
        """Add the users' numbers up in each occupied cell of the grid; the noise is drawn when a cell is asked for.

        ``device`` says which numbers of a record are added, ``question`` has the grid and the noise of each number.
        """
        self._bins = bins = int(question.cells.bins)
        self.n, self._mechanisms = len(records), device.statistics(question)

        def occupied() -> tuple[KeyIndex, np.ndarray]:
            keys = cell_keys(_digits(records.X, bins), bins)
            index = KeyIndex(keys, bins ** records.X.shape[1])
            return index, index.find(keys)

        self._occupied, codes = records.remembered(("cells of the grid", bins), occupied)
        size = self._occupied.size + 1
        self._sums = np.array([np.bincount(codes, numbers, size) for numbers in device.numbers(records, question)])
        self.seed = streams.child("counts", bins=bins).seed

    def named(self, X: np.ndarray) -> _Named:
        """Find the distinct grid cells of rows X (m, d), and each row's cell among them."""
        digits = _digits(X, self._bins)
        keys, first, inverse = np.unique(cell_keys(digits, self._bins), return_index=True, return_inverse=True)
        return _Named(digits[first], self._occupied.find(keys), inverse)

    def at(self, X: np.ndarray) -> np.ndarray:
        """Return the noisy sums in the cells of X (m, d), shape (k, m); the same whenever they are looked up."""
        named = self.named(X)
        return self.noisy(named, [self._mechanisms])[0][:, named.inverse]

    def noisy(self, named: _Named, budgets: Sequence[Sequence[Laplace | DiscreteLaplace]]) -> np.ndarray:
        """Noisy sums in the named cells at several budgets: shape (len(budgets), k, cells) for k statistics.

        ``budgets[b][j]`` is the noise of one user on statistic j; continuous noises are one unit draw, scaled.
        """
        sums, seed, n = self._sums[:, named.codes], self.seed, self.n
        # The first column tells the statistics of one cell apart.
        kind = np.promote_types(named.cells.dtype, np.min_scalar_type(len(sums)))
        numbers = [np.full(len(named.cells), j, dtype=kind) for j in range(len(sums))]
        keys = [np.column_stack([number, named.cells]) for number in numbers]
        if any(isinstance(mechanism, DiscreteLaplace) for mechanism in budgets[0]):
            noise = [[discrete_cell_noise(seed, k, n, m) for k, m in zip(keys, same, strict=True)] for same in budgets]  # type: ignore[arg-type]
            return sums + np.array(noise)
        unit = cell_noise(seed, np.concatenate(keys), n, 1.0).reshape(sums.shape)
        return np.asarray(sums + np.array([[m.scale for m in noises] for noises in budgets])[..., None] * unit)


@dataclass(init=False, eq=False, repr=False)  # a question about it is told by what its cells are drawn from
class NoisyGrid:
    """The curator's noisy histogram: a table, which pickles hold; beyond ``MOST_CELLS`` sums that users look up."""

    def __init__(self, cells: GridCells, n: int, *sums: Any) -> None:
        # what n users answered: ndarrays of shape (k * cells,), or sums that stay with them
        self.cells, self.n, self.bins = cells, n, cells.bins
        self._hidden: list[_GridSums] = [grid_sums for grid_sums in sums if isinstance(grid_sums, _GridSums)]
        self._table = np.empty(0) if self._hidden else np.concatenate(sums).reshape(-1, cells.size)

    def at(self, X: np.ndarray) -> np.ndarray:
        """Return the noisy sums in the cells of X (m, d): ndarray of shape (k, m)."""
        if self._hidden:
            return np.concatenate([grid_sums.at(X) for grid_sums in self._hidden])
        return self._table[:, self.cells.locate(X)]

    def __getstate__(self) -> dict[str, Any]:
        if not self._hidden:
            return vars(self)
        if self.cells.size > MOST_CELLS:
            raise PicklingError(
                f"the noisy histogram has {self.bins}^{self.cells.d} cells, more than {MOST_CELLS}: it is simulated "
                "from the users' true sums when it is looked up, and cannot be pickled or copied; use fewer bins"
            )
        return {**vars(self), "_hidden": [], "_table": self.at(self.cells.centers())}
