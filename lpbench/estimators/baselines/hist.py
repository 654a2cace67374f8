"""Hist: the locally private histogram regressor, features and label private (Berrett et al. 2021; Gyorfi & Kroll 2022).

The curator's histogram has t^d cells, each the sum of n noisy reports. Only the cells that a query falls into are ever
drawn, each from the exact law of its sum and as a function of (seed of the fit, cell), so that predictions repeat and
do not depend on the order of queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.estimators.base import Grid, LocalRegressor, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.lpct.votes import DISCRETE_STEP
from lpbench.estimators.private_labels import REAL_BITS
from lpbench.partitions import GridCells, KeyIndex, cell_keys, grid_digits
from lpbench.privacy import Device, DiscreteLaplace, Laplace, Records, cell_noise, discrete_cell_noise
from lpbench.privacy.guarantee import Guarantee
from lpbench.privacy.payload import Field, GridPoints, Reals, grid_reach
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

NOISES = ("laplace", "discrete")
#: Largest table of noisy sums that a pickle holds.
MOST_CELLS = 2**20


class GridSums:
    """Sums of users' numbers over an equal grid, with the summed Laplace noise of all users in the cells looked up.

    The object stands for a noisy histogram too large to store: it holds the *true* sums and the seed of the noise, so
    only what :meth:`lookup` returns may leave the curator.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features of the users; those outside [0, 1] belong to the outermost bins.
    bins : int
        Bins per axis.
    weights : ndarray of shape (k, n)
        The k numbers that each user adds to its cell.
    streams : Streams
        The noise depends on the stream "counts", on ``bins``, on the row of ``weights`` and on the cell.
    """

    def __init__(self, X: np.ndarray, bins: int, weights: np.ndarray, streams: Streams) -> None:
        self.bins, (self.n, self.n_features) = bins, X.shape
        # Thousands of features: the smallest type keeps arrays of digits, and of keys with a row's number, small.
        self._type = np.min_scalar_type(max(bins, len(weights)))
        keys = cell_keys(grid_digits(X, bins, self._type), bins)
        self._index = KeyIndex(keys, bins ** X.shape[1])
        codes = self._index.find(keys)
        self._sums = np.array([np.bincount(codes, weights=w, minlength=self._index.size + 1) for w in weights])
        self._seed = streams.child("counts", bins=int(bins)).seed

    def lookup(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return true sums and noise of unit scale in the cells of X (m, d), both of shape (k, m).

        The sum of a noisy cell is ``sums + scale * noise``, where ``scale`` is that of one user's Laplace noise.
        """
        cells, sums, inverse = self._cells(X)
        k = len(self._sums)
        # The first key column tells the statistics of one cell apart.
        labels = np.column_stack([np.repeat(np.arange(k, dtype=self._type), len(cells)), np.tile(cells, (k, 1))])
        noise = cell_noise(self._seed, labels, self.n, 1.0).reshape(k, len(cells))
        return sums[:, inverse], noise[:, inverse]

    def lookup_on_grid(self, X: np.ndarray, mechanisms: Sequence[DiscreteLaplace]) -> np.ndarray:
        """Return noisy sums in the cells of X (m, d), shape (k, m), where the users' noise lies on a grid.

        ``mechanisms`` are those of the k numbers, which must be multiples of their steps.
        """
        cells, sums, inverse = self._cells(X)
        noise = [
            discrete_cell_noise(self._seed, np.column_stack([np.full(len(cells), j), cells]), self.n, mechanism)
            for j, mechanism in enumerate(mechanisms)
        ]
        return (sums + noise)[:, inverse]

    def _cells(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Digits of the distinct cells of X, their true sums (k, cells), and the cell of each row."""
        digits = grid_digits(X, self.bins, self._type)
        keys, first, inverse = np.unique(cell_keys(digits, self.bins), return_index=True, return_inverse=True)
        return digits[first], self._sums[:, self._index.find(keys)], inverse


def noisy_sums(sums: np.ndarray, noise: np.ndarray, mechanisms: Sequence[Laplace | DiscreteLaplace]) -> np.ndarray:
    """Scale the unit noise of the k statistics, both (k, m), by the mechanisms and add it to their sums."""
    return sums + np.array([m.scale for m in mechanisms])[:, None] * noise


class NoisyGrid:
    """The curator's noisy histogram, whose cells are drawn when they are looked up.

    In memory it is a simulation, which holds the true sums and the seed of the noise. A pickle or copy holds the noisy
    sums of all cells and nothing else; with more than ``MOST_CELLS`` cells there is none.

    Parameters
    ----------
    source : GridSums
    mechanisms : sequence of Laplace or DiscreteLaplace
        Noise of one user in each of the k statistics.

    Attributes
    ----------
    n, bins : int
        Number of users, bins per axis.
    """

    def __init__(self, source: GridSums, mechanisms: Sequence[Laplace | DiscreteLaplace]) -> None:
        self.n, self.bins, self.n_features = source.n, source.bins, source.n_features
        self.source: GridSums | None = source
        self._mechanisms = mechanisms
        self._table: np.ndarray | None = None

    def at(self, X: np.ndarray) -> np.ndarray:
        """Return the noisy sums in the cells of X (m, d): ndarray of shape (k, m)."""
        if self.source is None:
            assert self._table is not None
            return self._table[:, self._cells.locate(X)]
        on_grid = [m for m in self._mechanisms if isinstance(m, DiscreteLaplace)]
        if on_grid:
            return self.source.lookup_on_grid(X, on_grid)
        return noisy_sums(*self.source.lookup(X), self._mechanisms)

    @property
    def _cells(self) -> GridCells:
        return GridCells(self.bins, self.n_features)

    def __getstate__(self) -> dict[str, Any]:
        size = self._cells.size
        if size > MOST_CELLS:
            raise PicklingError(
                f"the noisy histogram has {self.bins}^{self.n_features} cells, more than {MOST_CELLS}: it is simulated "
                "from the users' true sums when it is looked up, and cannot be pickled or copied; use fewer bins"
            )
        table = self.at(self._cells.centres()) if self._table is None else self._table
        return {**vars(self), "source": None, "_table": table}


@dataclass(frozen=True)
class CellQuestion:
    """What the curator asks of a user's cell.

    Attributes
    ----------
    cells : GridCells
    mechanism : Laplace or DiscreteLaplace
        Noise of every entry.
    y_range : (float, float), optional
        Public range of the label, which is sent about its midpoint in the place of the cell's 1; None: the cell alone.
    """

    cells: GridCells
    mechanism: Laplace | DiscreteLaplace
    y_range: tuple[float, float] | None = None


class CellDevice(Device[CellQuestion]):
    """Send the one-hot vector of the own cell, or the centred label times that vector, with noise on every entry."""

    def draws(self, streams: Streams, n: int, question: CellQuestion) -> np.random.Generator:
        """The generator of the users' noise, which is one draw for each cell."""
        statistic = "marginal" if question.y_range is None else "joint"
        return streams.generator("counts", bins=int(question.cells.bins), statistic=statistic)

    def report(self, records: Records, question: CellQuestion, draws: np.random.Generator) -> np.ndarray:
        """Noisy vectors of shape (n, cells)."""
        return question.mechanism.randomize(self._vectors(records, question), draws)

    def law(self, question: CellQuestion, records: Records) -> tuple[Laplace | DiscreteLaplace, np.ndarray]:
        """Independent noise on every entry."""
        return question.mechanism, self._vectors(records, question)

    def fields(self, question: CellQuestion) -> tuple[Field, ...]:
        """One number for each cell."""
        mechanism, size = question.mechanism, question.cells.size
        if isinstance(mechanism, Laplace):
            return (Reals(size),)
        lo, hi = question.y_range or (-1.0, 1.0)
        reach = grid_reach((hi - lo) / 2 + mechanism.step, mechanism.scale, mechanism.step)
        return (GridPoints(mechanism.step, reach, size),)

    def budget(self, question: CellQuestion) -> float:
        """Exact epsilon of the vector."""
        return question.mechanism.epsilon

    @staticmethod
    def _vectors(records: Records, question: CellQuestion) -> np.ndarray:
        vectors = np.zeros((len(records), question.cells.size))
        values = np.ones(len(records)) if question.y_range is None else centred(records.y, question.y_range)
        vectors[np.arange(len(records)), question.cells.locate(records.X)] = values
        return vectors


CELL = CellDevice()


def centred(y: np.ndarray, y_range: tuple[float, float]) -> np.ndarray:
    """Labels about the midpoint of their public range, to which they are clipped."""
    return np.clip(y, *y_range) - sum(y_range) / 2.0


def grid_bits(bins: int, n_features: int, n_statistics: int) -> float:
    """Return the bits of a dense report of ``n_statistics`` real numbers per cell (inf beyond the largest float)."""
    with np.errstate(over="ignore"):
        return float(REAL_BITS * n_statistics * np.float_power(bins, n_features))


def _check_threshold(threshold: float) -> None:
    check_number("threshold", threshold, least=0, most=1, hint="a share of the users")


class Hist(LocalRegressor):
    """Histogram regression under LDP: the ratio of two noisy histograms, truncated where few users are.

    With labels centred at the midpoint of ``y_range``, ``|Y| <= M = (hi - lo) / 2``, each user sends the one-hot vector
    of its cell with Laplace noise of scale 4 / epsilon per cell and its label times that vector with scale
    4 M / epsilon: epsilon / 2 each. A cell predicts the ratio of the sums, or the midpoint where the noisy
    share of users is below ``threshold``.

    Parameters
    ----------
    epsilon : float
        Budget of one user; inf: no noise.
    bins : int
        t, bins per axis.
    threshold : float
        zeta in [0, 1].
    y_range : (float, float)
        Public range of the label.
    clip : bool
        Clip predictions to ``y_range``. The published columns are unclipped, see ``conf/method/hist.yaml``.
    domain : (float, float)
        Public range of every feature.
    noise : {"laplace", "discrete"}
        ``discrete``: Laplace noise on grids of step 2^-10 (counts) and of the largest power of two below M / 2^10
        (label sums, of labels rounded to it), which also protects against attacks on floating-point noise.
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    histogram_ : NoisyGrid
        The curator's noisy histogram.
    guarantee_ : Guarantee
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        bins: int = 2,
        threshold: float = 0.01,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        noise: str = "laplace",
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.bins = bins
        self.threshold = threshold
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.noise = noise
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Sum the users' reports.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
            Labels within ``y_range``.
        mask, X_public, y_public : ignored
            Every feature is protected.

        Returns
        -------
        self
        """
        check_whole("bins", self.bins, least=1)
        _check_threshold(self.threshold)
        check_epsilon(self.epsilon)
        check_choice("noise", self.noise, NOISES)
        X, y, _ = self._check_fit(X, y, mask)
        self.histogram_ = self._histogram(X, y, self._streams())
        # In a grid of one cell the one-hot vector is constant and gives nothing away.
        spent = float(self.epsilon) / (1 if self.bins > 1 else 2)
        self.guarantee_ = Guarantee("ldp", spent, bits_up=grid_bits(self.bins, X.shape[1], 2), note=self._leak_note)
        return self

    def _histogram(self, X: np.ndarray, y: np.ndarray, streams: Streams) -> NoisyGrid:
        """Noisy counts and label sums of all cells, by the law of the sums of the users' reports."""
        labels = centred(y, self.y_range_)
        if self.noise == "discrete":
            grid = self._on_grid()[1]
            labels = grid.round(labels) * grid.step
        return NoisyGrid(GridSums(X, self.bins, np.array([np.ones(y.size), labels]), streams), self._mechanisms())

    def _mechanisms(self) -> Sequence[Laplace | DiscreteLaplace]:
        """Noise of a user's one-hot vector, and of its label times that vector."""
        return self._on_grid() if self.noise == "discrete" else self._plain()

    def _questions(self, n_features: int) -> tuple[CellQuestion, CellQuestion]:
        """What every user is asked: its cell, and its centred label in its cell."""
        marginal, joint = self._mechanisms()
        cells = GridCells(self.bins, n_features)
        return CellQuestion(cells, marginal), CellQuestion(cells, joint, self.y_range_)

    def _swept(self, sums: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Noisy sums of a sweep, whose budgets share the look-up of true sums and unit noise."""
        return noisy_sums(sums, noise, self._plain())

    def _ratio(self, noisy: np.ndarray) -> np.ndarray:
        """Predict from the noisy sums of the queried cells, shape (2, m)."""
        lo, hi = self.y_range_
        count, total = noisy
        shown = (count > 0) & (count >= self.threshold * self.histogram_.n)
        ratio = np.divide(total, count, out=np.zeros_like(total), where=shown)
        return self._finish((lo + hi) / 2.0 + ratio)

    def _scales(self) -> np.ndarray:
        """Noise scales of a user's one-hot vector and of its label times that vector."""
        return np.array([mechanism.scale for mechanism in self._plain()])

    def _plain(self) -> tuple[Laplace, Laplace]:
        """The mechanisms of continuous noise."""
        lo, hi = self.y_range_
        # Another cell moves a one-hot vector by 2 in L1, and label times one-hot by at most 2 M = hi - lo.
        marginal = Laplace.for_budget(self.epsilon / 2, sensitivity=2.0)
        return marginal, Laplace.for_budget(self.epsilon / 2, sensitivity=hi - lo) if hi > lo else Laplace(0.0)

    def _on_grid(self) -> tuple[DiscreteLaplace, DiscreteLaplace]:
        """The mechanisms of :meth:`_scales` with noise on a grid."""
        half_width = (self.y_range_[1] - self.y_range_[0]) / 2.0
        step = 2.0 ** (math.floor(math.log2(half_width)) - 10) if half_width > 0 else DISCRETE_STEP
        marginal = DiscreteLaplace.for_budget(self.epsilon / 2, DISCRETE_STEP, sensitivity=2.0)
        # Rounding may move both ends outwards.
        ends = np.abs(DiscreteLaplace(0.0, step).round(np.array([-half_width, half_width]))).max()
        if ends == 0:
            return marginal, DiscreteLaplace(0.0, step)
        return marginal, DiscreteLaplace.for_budget(self.epsilon / 2, step, sensitivity=2.0 * ends * step)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict labels for X of shape (m, d): ndarray of shape (m,)."""
        X = self._check_predict(X)
        return self._ratio(self.histogram_.at(X))

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score the grid; budgets and thresholds share the look-ups, except of noise on a grid."""
        points = expand_grid(grid)
        if any(point.get("noise", self.noise) == "discrete" for point in points):
            return super().sweep(problem, budgets, points, streams)
        values = np.full((len(budgets), len(points)), np.nan)
        histograms: dict[tuple, list[int]] = {}
        for g, point in enumerate(points):
            rest = tuple(sorted((k, v) for k, v in point.items() if k != "threshold"))
            histograms.setdefault(rest, []).append(g)
        for rest, members in histograms.items():
            model = clone(self).set_params(random_state=streams, **dict(rest))
            model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
            sums, noise = model.histogram_.source.lookup(model._to_unit_cube(problem.X_test))
            for g in members:
                model.threshold = points[g].get("threshold", self.threshold)
                _check_threshold(model.threshold)
                for b, epsilon in enumerate(budgets):
                    model.epsilon = epsilon
                    values[b, g] = problem.score(model._ratio(model._swept(sums, noise)))
        return SweepResult(values)
