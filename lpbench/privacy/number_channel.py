"""Finite channels of a number in [-1, 1]: RR-on-bins for a known prior, and the unbiased channel of least variance.

Sources: Ghazi et al. (2023), Regression with label differential privacy (RR-on-bins, optimal among all randomizers for
its prior and squared loss); Badanidiyuru et al. (2023), Optimal unbiased randomizers for regression with label
differential privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, eye_array, hstack, kron, vstack

from lpbench.checks import check_choice
from lpbench.errors import ConfigurationError
from lpbench.privacy.domain import Interval
from lpbench.privacy.exact import draw_whole, log_law, whole_epsilon, whole_rows
from lpbench.privacy.mechanism import FiniteMechanism, channel_losses, check_epsilon, registered
from lpbench.privacy.payload import Field, Integers
from lpbench.privacy.randomized_response import GRR

#: How a number between two inputs is brought to one of them: "random" keeps its expectation.
ROUNDINGS = ("random", "nearest")
#: The unbiased channel: numbers of inputs and outputs, and how far outputs reach in units of the least possible reach.
N_INPUTS, N_OUTPUTS, REACH = 17, 41, 1.6
#: Largest budget that the linear program spends; beyond it its tolerances exceed the smallest probabilities.
MOST_BUDGET = 10.0
#: Budget left to the rounding errors of the linear program, and probabilities that count as zero.
_SLACK, _ZERO = 5e-8, 1e-9


@registered(lambda epsilon: optimal_unbiased(epsilon, np.ones(5)))
@dataclass(frozen=True)
class NumberChannel(FiniteMechanism):
    """Round a number to one of the inputs and report one of finitely many outputs.

    Parameters
    ----------
    inputs : tuple of float
        Increasing, in [-1, 1].
    outputs : tuple of float
        The curator's reading of each report.
    log_table : tuple of tuples of float
        Log-probability of each report (column) given each input (row); reports are drawn with it rounded to multiples
        of 2^-62, which :meth:`log_channel` and ``epsilon`` state exactly. A number between two inputs has a mixture of
        their rows, whose loss is never larger, whatever the weights.
    rounding : {"random", "nearest"}
        To the two neighboring inputs with the number as expectation, or to the nearest.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import NumberChannel
    >>> table = np.log([[0.75, 0.25], [0.25, 0.75]])
    >>> channel = NumberChannel.of([-1, 1], [-2, 2], table)
    >>> round(channel.epsilon, 4)
    1.0986
    >>> channel.mean([0.5]).round(6).tolist()
    [0.5]
    """

    inputs: tuple[float, ...]
    outputs: tuple[float, ...]
    log_table: tuple[tuple[float, ...], ...]
    rounding: str = "random"

    def __post_init__(self) -> None:
        check_choice("rounding", self.rounding, ROUNDINGS)
        if np.shape(self.log_table) != (len(self.inputs), len(self.outputs)):
            raise ConfigurationError(
                f"log_table has shape {np.shape(self.log_table)}, expected ({len(self.inputs)}, {len(self.outputs)})"
            )

    @classmethod
    def of(
        cls, inputs: ArrayLike, outputs: ArrayLike, log_table: np.ndarray, rounding: str = "random"
    ) -> NumberChannel:
        """Return the channel of arrays.

        Parameters
        ----------
        inputs : array_like of shape (a,)
            Increasing numbers in [-1, 1], which is not checked.
        outputs : array_like of shape (b,)
            The curator's reading of each report.
        log_table : ndarray of shape (a, b)
            Log-probability of each report given each input.
        rounding : {"random", "nearest"}
            Rounding of a number to an input.

        Returns
        -------
        NumberChannel
            The same channel, hashable.
        """
        numbers, read_as = (tuple(np.asarray(points, dtype=float).tolist()) for points in (inputs, outputs))
        rows = tuple(tuple(row) for row in np.asarray(log_table, dtype=float).tolist())
        return cls(numbers, read_as, rows, rounding)

    @property
    def domain(self) -> Interval:
        """Numbers in [-1, 1]."""
        return Interval(by_entry=True)

    @cached_property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return whole_epsilon(self._units)

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: the number of an output."""
        return (Integers(len(self.outputs), columns),)

    @cached_property
    def _units(self) -> np.ndarray:
        return whole_rows(np.array(self.log_table))

    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (inputs, outputs), those of :meth:`randomize` to the last unit."""
        return log_law(self._units)

    def _place(self, values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """For each number the index of the grid input below it, and the fraction of the step to the next input."""
        values, inputs = self.domain.check(values), np.array(self.inputs)
        if inputs.size == 1:
            return np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape)
        below = np.clip(np.searchsorted(inputs, values, side="right") - 1, 0, inputs.size - 2)
        fraction = np.clip((values - inputs[below]) / (inputs[below + 1] - inputs[below]), 0.0, 1.0)
        return below, np.round(fraction) if self.rounding == "nearest" else fraction

    def at(self, values: ArrayLike) -> NumberChannel:
        """Return the channel whose inputs are the given numbers, rounding included.

        Parameters
        ----------
        values : array_like of shape (n,)
            Numbers in [-1, 1], one a user.

        Returns
        -------
        NumberChannel
            One row per number, in their order.
        """
        below, fraction = self._place(values)
        above = np.minimum(below + 1, len(self.inputs) - 1)
        table = self.log_channel()
        with np.errstate(divide="ignore"):
            mixed = np.logaddexp(np.log1p(-fraction)[:, None] + table[below], np.log(fraction)[:, None] + table[above])
        return NumberChannel.of(values, self.outputs, mixed, "nearest")

    def _losses(self, values: np.ndarray) -> np.ndarray:
        return channel_losses(self.at(values).log_channel())

    def _influence(self) -> float:
        return float(np.ptp(self.outputs) / 2.0)

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Distance of each report's estimate from the number."""
        return np.abs(self.estimate(reports) - inputs)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Indices of the reported outputs: int64 ndarray of the shape of ``values``, numbers in [-1, 1]."""
        below, fraction = self._place(values)
        return draw_whole(self._units, below + (rng.random(below.shape) < fraction), rng)

    def estimate(self, reports: np.ndarray) -> np.ndarray:
        """Return the curator's reading of reports.

        Parameters
        ----------
        reports : int ndarray
            Numbers of outputs.

        Returns
        -------
        ndarray
            Readings, of the same shape.
        """
        return np.array(self.outputs)[reports]

    def mean(self, values: ArrayLike) -> np.ndarray:
        """Expectation of the reading for each number.

        Parameters
        ----------
        values : array_like of shape (n,)
            Numbers in [-1, 1], one a user.

        Returns
        -------
        ndarray of shape (n,)
            Expected readings: the numbers themselves if the channel is unbiased.
        """
        return self.at(values).channel() @ np.array(self.outputs)

    def noise_variance(self, values: ArrayLike) -> np.ndarray:
        """Variance of the reading for each number, that of the rounding included.

        Parameters
        ----------
        values : array_like of shape (n,)
            Numbers in [-1, 1], one a user.

        Returns
        -------
        ndarray of shape (n,)
            Variances.
        """
        channel, outputs = self.at(values).channel(), np.array(self.outputs)
        return channel @ outputs**2 - (channel @ outputs) ** 2


def rr_on_bins(epsilon: float, prior: ArrayLike) -> NumberChannel:
    """Return the randomizer of least expected squared loss for labels with a known prior.

    Labels lie on equally spaced points of [-1, 1]. They are divided into d intervals, and the interval is reported by
    d-ary randomized response; reports are read as weighted means. For each d the intervals follow from dynamic
    programming, because the loss is a sum over intervals.

    Parameters
    ----------
    epsilon : float
        Budget of the report, > 0.
    prior : ndarray of shape (k,)
        Probabilities of the points, k >= 2; >= 0 with a positive sum.

    Returns
    -------
    NumberChannel
        Biased; rounds to the nearest point.
    """
    prior = np.asarray(prior, dtype=float)
    decay, k = math.exp(-check_epsilon(epsilon)), prior.size
    points = np.linspace(-1.0, 1.0, k)
    cost, reading = interval_costs(decay, prior / prior.sum(), points)
    best = np.where(np.arange(k + 1) == 0, 0.0, math.inf)
    cuts, losses = [], []
    for d in range(1, k + 1):
        through = best[:, None] + cost
        cuts.append(np.argmin(through, axis=0))
        best = through.min(axis=0)
        losses.append(best[k] / (1.0 + (d - 1) * decay))
    edges = [k]
    for d in range(int(np.argmin(losses)), -1, -1):
        edges.append(int(cuts[d][edges[-1]]))
    edges.reverse()
    owner = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    # The logarithms of the table are off by less than this.
    table = GRR(max(epsilon / 2.0, epsilon - 1e-15), len(edges) - 1).log_channel()
    return NumberChannel.of(points, reading[edges[:-1], edges[1:]], table[owner], "nearest")


def interval_costs(decay: float, prior: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Loss and best estimate for each interval of points a, ..., b - 1, a < b: arrays of shape (k + 1, k + 1).

    A report names an interval; its points have weight 1, all others e^-epsilon. The loss of a division of the points is
    the sum over its d intervals, over 1 + (d - 1) e^-epsilon. Impossible intervals cost inf.
    """
    sums = np.cumsum([prior * points**power for power in range(3)], axis=1)
    sums = np.hstack([np.zeros((3, 1)), sums])
    inside = sums[:, None, :] - sums[:, :, None]
    mass, first, second = decay * sums[:, -1, None, None] + (1.0 - decay) * inside
    a, b = np.indices(mass.shape)
    # An interval that nobody is in and that no noise leads to: its middle.
    middle = (points[np.minimum(a, points.size - 1)] + points[np.maximum(b - 1, 0)]) / 2.0
    held = mass > 1e-300
    reading = np.where(held, first / np.where(held, mass, 1.0), middle)
    cost = np.where(b > a, np.maximum(second - reading * first, 0.0), math.inf)
    return cost, reading


def typical_prior(points: np.ndarray, width: float = 3.0) -> np.ndarray:
    """Gaussian-shaped prior about the middle of [-1, 1], whose ends are ``width`` standard deviations away."""
    density = np.exp(-0.5 * (np.asarray(points) * width) ** 2)
    return density / density.sum()


@lru_cache(maxsize=64)
def typical_unbiased(epsilon: float) -> NumberChannel:
    """Return :func:`optimal_unbiased` for :func:`typical_prior`, which needs no report of anybody."""
    return optimal_unbiased(epsilon, typical_prior(np.linspace(-1.0, 1.0, N_INPUTS)))


def optimal_unbiased(
    epsilon: float, prior: ArrayLike, n_outputs: int = N_OUTPUTS, reach: float = REACH
) -> NumberChannel:
    """Return the unbiased channel of least expected variance on a grid, by linear programming.

    Parameters
    ----------
    epsilon : float
        Above 10 the channel of 10 is returned, whose noise is small beside that of any label.
    prior : ndarray of shape (k,)
        Probabilities of k equally spaced labels in [-1, 1], k >= 2.
    n_outputs : int
        Number of equally spaced outputs.
    reach : float
        Largest output in units of (e^epsilon + 1) / (e^epsilon - 1), below which no unbiased channel exists.

    Returns
    -------
    NumberChannel
        Reads without bias on the grid and, because it rounds at random, between its points.

    Raises
    ------
    ConfigurationError
        reach < 1.
    """
    if reach < 1:
        raise ConfigurationError(f"reach={reach!r} must be >= 1: narrower outputs cannot be unbiased at this budget")
    prior = np.asarray(prior, dtype=float)
    points = np.linspace(-1.0, 1.0, prior.size)
    if math.isinf(check_epsilon(epsilon)):
        with np.errstate(divide="ignore"):
            return NumberChannel.of(points, points, np.log(np.eye(points.size)))
    budget = min(epsilon, MOST_BUDGET) - _SLACK
    if budget <= _SLACK:
        raise ConfigurationError(f"epsilon={epsilon!r} is too small for the linear program; take a piecewise report")
    far = reach / math.tanh(budget / 2.0)
    outputs = np.linspace(-far, far, n_outputs)
    table = _least_variance(budget, prior / prior.sum(), points, outputs)
    used = table.max(axis=0) > _ZERO
    table, outputs = table[:, used], outputs[used]
    table = np.maximum(table, table.max(axis=0) * math.exp(-budget))
    return NumberChannel.of(points, outputs, np.log(table / table.sum(axis=1, keepdims=True)))


def _least_variance(budget: float, prior: np.ndarray, points: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Solve the linear program for the unbiased channel of least variance: probabilities (inputs, outputs).

    ``prior`` (inputs,) weighs the ``points``; ConfigurationError if no channel is unbiased at this ``budget``.
    """
    k, m = points.size, outputs.size
    cost = np.concatenate([(prior[:, None] * (outputs - points[:, None]) ** 2).ravel(), np.zeros(m)])
    none = csr_matrix((k, m))
    total = hstack([kron(eye_array(k), np.ones((1, m))), none])
    mean = hstack([kron(eye_array(k), outputs[None]), none])
    column = kron(np.ones((k, 1)), eye_array(m))
    above = hstack([eye_array(k * m), -column])
    below = hstack([-eye_array(k * m), math.exp(-budget) * column])
    solution = linprog(
        cost,
        A_ub=vstack([above, below]).tocsr(),
        b_ub=np.zeros(2 * k * m),
        A_eq=vstack([total, mean]).tocsr(),
        b_eq=np.concatenate([np.ones(k), points]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solution.status != 0:
        raise ConfigurationError(f"no unbiased channel at epsilon={budget:g}: {solution.message}; take a larger reach")
    return solution.x[: k * m].reshape(k, m)
