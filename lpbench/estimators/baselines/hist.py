"""Hist: histogram regression, features and label private (Berrett et al. 2021; Gyorfi & Kroll 2022)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.estimators.base import LocalRegressor, Task, check_epsilon, grouped
from lpbench.estimators.baselines.grid_sums import NOISES, GridDevice, NamedCells, NoisyGrid
from lpbench.estimators.lpct.votes import DISCRETE_STEP
from lpbench.partitions import GridCells
from lpbench.privacy import DiscreteLaplace, Laplace, Records, Users
from lpbench.privacy.device import proven
from lpbench.privacy.payload import Field


@dataclass(frozen=True)
class GridCellQuestion:
    """Ask for one vector over all grid cells.

    A 1, or the centered label, in the user's own cell, noise on every entry.
    """

    cells: GridCells
    mechanism: Laplace | DiscreteLaplace  # noise of every entry
    #: Public range, to which the label is clipped; it is sent about its midpoint in the place of the cell's 1.
    #: None: the cell alone.
    y_range: tuple[float, float] | None = None
    center: float = 0.0  # subtracted from the label before it is clipped

    @property
    def is_constant(self) -> bool:
        """Return True if all users send the same vector, which reveals nothing.

        One cell, or a range with equal ends.
        """
        return self.cells.size == 1 if self.y_range is None else self.y_range[0] == self.y_range[1]

    def values(self, records: Records) -> np.ndarray:
        """Return the number in each user's own cell, shape (n,).

        1, or the clipped label minus the middle of its range.
        """
        if self.y_range is None:
            return np.ones(len(records))
        labels = np.clip(records.y - self.center, *self.y_range)
        return labels - sum(self.y_range) / 2.0 if math.isfinite(self.y_range[0]) else labels


@proven
class GridCellDevice(GridDevice):
    """Send the one-hot vector of the own cell, or the centered label times that vector, with noise on every entry."""

    def inputs(self, records: Records, question: GridCellQuestion) -> np.ndarray:
        """Vectors (n, cells): a 1 or the centered label in the user's own cell, 0 elsewhere."""
        vectors = np.zeros((len(records), question.cells.size))
        vectors[np.arange(len(records)), question.cells.locate(records.X)] = question.values(records)
        return vectors

    def columns(self, question: GridCellQuestion) -> int:
        """Return the number of grid cells, each of which has an entry in the report."""
        return question.cells.size

    def fields(self, question: GridCellQuestion) -> tuple[Field, ...]:
        """Payload of a report: one number for each cell."""
        mechanism, size = question.mechanism, question.cells.size
        if isinstance(mechanism, Laplace):
            return mechanism.fields(size)
        lo, hi = question.y_range or (-1.0, 1.0)
        return mechanism.fields(size, (hi - lo) / 2 + mechanism.step)

    def budget(self, question: GridCellQuestion) -> float:
        """Return the mechanism's epsilon, or 0 if the vector is the same for all users."""
        return 0.0 if question.is_constant else question.mechanism.epsilon

    def statistics(self, question: GridCellQuestion) -> list[Laplace | DiscreteLaplace]:
        """Noise of the one statistic that the question asks for, a count or a label sum."""
        return [question.mechanism]

    def numbers(self, records: Records, question: GridCellQuestion) -> np.ndarray:
        """1 or the centered label, on the grid of discrete noise."""
        values = question.values(records)
        if isinstance(question.mechanism, DiscreteLaplace):
            values = question.mechanism.round(values) * question.mechanism.step
        return values[None]


GRID_CELL = GridCellDevice()


def cell_questions(
    cells: GridCells, epsilon: float, y_range: tuple[float, float], noise: str = "laplace", center: float = 0.0
) -> tuple[GridCellQuestion, GridCellQuestion]:
    """Return what every user is asked: the own cell, and the label in that cell, at epsilon / 2 each.

    ``y_range`` is the public range of the label about ``center``; it may be infinite where nothing is protected.
    """
    half, width = check_epsilon(epsilon) / 2, y_range[1] - y_range[0]
    # Another cell moves a one-hot vector by 2 in L1, and label times one-hot by at most the width.
    marginal: Laplace | DiscreteLaplace = Laplace.for_budget(half, sensitivity=2.0)
    joint: Laplace | DiscreteLaplace = Laplace(0.0)
    if check_choice("noise", noise, NOISES) == "discrete":
        marginal = DiscreteLaplace.for_budget(half, DISCRETE_STEP, sensitivity=2.0)
        joint = _label_on_grid(half, width / 2.0)
    elif 0.0 < width < math.inf:
        joint = Laplace.for_budget(half, sensitivity=width)
    return GridCellQuestion(cells, marginal), GridCellQuestion(cells, joint, y_range, center)


def _label_on_grid(epsilon: float, half_width: float) -> DiscreteLaplace:
    """Discrete Laplace noise at ``epsilon`` for labels within ``half_width`` of their midpoint, rounded to its grid.

    The step is the largest power of two below half_width / 2^10; rounding may move both ends outwards, which the
    sensitivity counts. Constant labels (0) get no noise.
    """
    step = 2.0 ** (math.floor(math.log2(half_width)) - 10) if half_width > 0 else DISCRETE_STEP
    # Rounding may move both ends outwards.
    ends = np.abs(DiscreteLaplace(0.0, step).round(np.array([-half_width, half_width]))).max()
    if ends == 0:
        return DiscreteLaplace(0.0, step)
    return DiscreteLaplace.for_budget(epsilon, step, sensitivity=2.0 * ends * step)


def cell_means(noisy: np.ndarray, n: int, threshold: float) -> np.ndarray:
    """Return label sums over counts, both noisy, (2, m) -> (m,): 0 where the share of the ``n`` users is too small."""
    count, total = noisy
    is_large = (count > 0) & (count >= threshold * n)
    return np.divide(total, count, out=np.zeros_like(total), where=is_large)


@dataclass(eq=False, repr=False)
class Hist(LocalRegressor):
    """Histogram regression under LDP: the ratio of two noisy histograms, truncated where few users are.

    Labels are centered at the midpoint of ``y_range``, ``|Y| <= M = (hi - lo) / 2``; each user sends the one-hot vector
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
    noise : {"laplace", "discrete"}
        ``discrete``: Laplace noise on grids of step 2^-10 (counts) and of the largest power of two below M / 2^10
        (label sums, of labels rounded to it); a report has fewer bits.
    y_range, clip, domain, random_state
        See :class:`~lpbench.estimators.base.LocalRegressor`. The published columns are unclipped, see
        ``conf/method/hist.yaml``.

    Attributes
    ----------
    histogram_ : NoisyGrid
        The curator's noisy histogram: counts and label sums of the cells.

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import Hist
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = Hist(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0
    bins: int = 2
    threshold: float = 0.01
    noise: str = "laplace"

    protects = "record"

    def learn(self, users: Users) -> Self:
        """Ask users for noisy counts and label sums of the grid cells, and add the reports up."""
        self._check()
        questions = self._questions(users.n_features)
        self.histogram_ = NoisyGrid(questions[0].cells, users.n, *(users.sums(GRID_CELL, q) for q in questions))
        return self

    def _check(self) -> None:
        check_whole("bins", self.bins, least=1)
        check_number("threshold", self.threshold, least=0, most=1, hint="a share of the users")

    def _questions(self, n_features: int) -> tuple[GridCellQuestion, GridCellQuestion]:
        return cell_questions(GridCells(self.bins, n_features), self.epsilon, self.y_range_, self.noise)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Predict the ratio of the noisy label sum and count of each row's cell.

        The middle of the range in sparse cells.
        """
        X = self._check_predict(X)
        return self._means(self.histogram_.at(X), self.histogram_.n)

    def _means(self, noisy: np.ndarray, n: int) -> np.ndarray:
        """Predictions (m,), from noisy counts and label sums of the queried cells, ``noisy`` (2, m), of ``n`` users."""
        return self._finish(sum(self.y_range_) / 2.0 + cell_means(noisy, n, self.threshold))

    def _scores(self, task: Task, budgets: Sequence[float], points: Sequence[dict[str, Any]]) -> np.ndarray:
        """Score all budgets and grid points on one replication: (n_budgets, n_points).

        Budgets and thresholds share the noise of the cells that test rows look up.
        """
        values, test = np.full((len(budgets), len(points)), np.nan), self._to_unit_cube(task.X_test)
        for shared, members in grouped(points, ("threshold",)):
            model = clone(self).set_params(**shared)
            model._meet(task.users)
            questions = []
            for epsilon in budgets:
                model.epsilon = epsilon
                questions.append(model._questions(task.users.n_features))
            noisy = task.simulate(GRID_CELL, NamedCells(questions, test))
            for g in members:
                model.threshold = points[g].get("threshold", self.threshold)
                model._check()
                values[:, g] = [task.score(model._means(cells, task.users.n)) for cells in noisy]
        return values
