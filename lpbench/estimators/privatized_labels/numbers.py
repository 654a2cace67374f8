"""Reports of a number under the randomizers of the literature, and the curator's estimates, weights and prior."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lpbench.estimators.tuning_free.level_reports import RANGE_WIDTH, LevelReport, best_levels
from lpbench.privacy import (
    Device,
    Hybrid,
    Laplace,
    Mechanism,
    NumberChannel,
    Piecewise,
    Records,
    Staircase,
    optimal_unbiased,
    rr_on_bins,
)
from lpbench.privacy.number_channel import N_INPUTS, typical_prior, typical_unbiased

#: Points of the label's grid, on which priors are known and RR-on-bins divides.
GRID = 64
#: Weight of the flat prior that keeps every point possible.
_FLOOR = 1e-3


@dataclass(frozen=True)
class NumberQuestion:
    """Ask for the label, clipped to a public range and mapped to [-1, 1], under any mechanism for numbers."""

    y_range: tuple[float, float]  # public, to which the device clips and which it maps to [-1, 1]
    mechanism: Mechanism  # of numbers in [-1, 1]

    @property
    def half(self) -> float:
        """Return half the width of the range: a unit of the mechanism in units of the label."""
        return (self.y_range[1] - self.y_range[0]) / 2.0

    def unit(self, y: np.ndarray) -> np.ndarray:
        """Map labels (n,) from the public range to [-1, 1], clipping them."""
        lo, hi = self.y_range
        return np.clip((np.clip(y, lo, hi) - (lo + hi) / 2.0) / (self.half or 1.0), -1.0, 1.0)

    def readings(self, reports: np.ndarray) -> np.ndarray:
        """Convert reports to the mechanism's estimates of the label, in units of the label."""
        mechanism: Any = self.mechanism
        return sum(self.y_range) / 2.0 + self.half * mechanism.estimate(reports)


class NumberDevice(Device[NumberQuestion]):
    """Clip the label to the public range, map it to [-1, 1] and randomize it."""

    def inputs(self, records: Records, question: NumberQuestion) -> np.ndarray:
        """Return the clipped labels, mapped to [-1, 1], shape (n,)."""
        return question.unit(records.y)


NUMBER = NumberDevice()


def levels_channel(epsilon: float) -> NumberChannel:
    """Equally spaced levels under randomized response, as many as have the least noise for a typical label."""
    report = LevelReport(epsilon, best_levels(epsilon, RANGE_WIDTH))
    outputs = report.residuals(np.arange(report.levels))
    return NumberChannel.of(report.grid, outputs, report.response.log_channel())


@lru_cache(maxsize=64)
def best_unbiased(epsilon: float) -> NumberChannel:
    """Return the unbiased randomizer of least variance for a typical label."""
    points = np.linspace(-1.0, 1.0, 201)
    prior = typical_prior(points)
    channels: Any = [levels_channel(epsilon), typical_unbiased(epsilon)]
    return min(channels, key=lambda channel: float(prior @ channel.noise_variance(points)))


#: Name -> mechanism on [-1, 1] for a budget; all of them are unbiased.
UNBIASED: Mapping[str, Callable[[float], Mechanism]] = {
    "laplace": lambda epsilon: Laplace.for_budget(epsilon, 2.0),
    "staircase": lambda epsilon: Staircase.for_budget(epsilon, 2.0),
    "piecewise": Piecewise,
    "hybrid": Hybrid,
    "levels": levels_channel,
    "optimal_unbiased": typical_unbiased,
}
#: Name -> channel for a budget and a prior on equally spaced points of [-1, 1].
WITH_PRIOR: Mapping[str, tuple[int, Callable[[float, np.ndarray], NumberChannel]]] = {
    "optimal_unbiased": (N_INPUTS, optimal_unbiased),
    "rr_on_bins": (GRID, rr_on_bins),
}
#: All randomizers of numbers.
NUMBER_RANDOMIZERS = tuple(dict.fromkeys([*UNBIASED, *WITH_PRIOR]))


def prior_question(y_range: tuple[float, float], epsilon: float) -> NumberQuestion:
    """Levels under randomized response at the whole budget: the mean for small budgets, the shape for large ones."""
    return NumberQuestion(y_range, levels_channel(epsilon))


def bell(mean: float = 0.0) -> np.ndarray:
    """A bell on the grid about a mean in [-1, 1], the narrower the nearer the mean is to an end of the range."""
    spread = max(math.sqrt(1.0 - min(abs(mean), 1.0) ** 2) / RANGE_WIDTH, 2.0 / GRID)
    density = np.exp(-0.5 * ((np.linspace(-1.0, 1.0, GRID) - mean) / spread) ** 2)
    return density / density.sum()


def estimated_prior(reports: np.ndarray, question: NumberQuestion) -> np.ndarray:
    """Estimate the shares of the points of a grid from the reports of the users of :func:`prior_question`.

    A bell about the unbiased mean, and the unbiased shares of the levels as far as their distance from those of the
    bell exceeds what their known noise explains (James and Stein); mean and shares alike.
    """
    if reports.size == 0:
        return bell()
    channel: Any = question.mechanism
    table, outputs = channel.channel(), np.array(channel.outputs)
    seen = np.bincount(reports, minlength=outputs.size) / reports.size
    mean, square = float(seen @ outputs), float(seen @ outputs**2)
    centered = bell(np.clip(mean * _kept((square - mean**2) / reports.size, mean**2), -1.0, 1.0))
    # Shares of the levels that the bell would give, and those that the reports give without bias.
    points = np.linspace(-1.0, 1.0, GRID)
    levels = np.linspace(-1.0, 1.0, outputs.size)
    near = np.maximum(0.0, 1.0 - np.abs(points[:, None] - levels) * (outputs.size - 1) / 2.0)
    expected, inverse = centered @ near, np.linalg.inv(table)
    shares = seen @ inverse
    noise = float(((inverse**2 * seen[:, None]).sum() - (shares**2).sum()) / reports.size)
    trust = _kept(noise, float(((shares - expected) ** 2).sum()))
    if outputs.size <= 3 or trust == 0:
        return centered
    shares_at = np.interp(points, levels, on_simplex(expected + trust * (shares - expected)))
    return shares_at / shares_at.sum()


def _kept(noise: float, distance: float) -> float:
    """Factor in [0, 1] by which a deviation is shrunk, 1 - noise / distance, or 0 where noise explains all of it.

    ``distance`` is the squared size of the deviation, ``noise`` the variance of the noise in it.
    """
    return max(0.0, 1.0 - noise / distance) if distance > 0 else 0.0


def on_simplex(values: np.ndarray) -> np.ndarray:
    """Nearest probability vector of each row of (..., K), in the same order ("norm-sub", Wang et al. 2020)."""
    falling = -np.sort(-values, axis=-1)
    excess = (np.cumsum(falling, axis=-1) - 1.0) / np.arange(1, values.shape[-1] + 1)
    support = (falling > excess).sum(axis=-1, keepdims=True)
    return np.maximum(values - np.take_along_axis(excess, support - 1, axis=-1), 0.0)


def on_points(prior: np.ndarray, points: int) -> np.ndarray:
    """Interpolate a prior to another number of points; every point keeps a small positive share."""
    interpolated = np.interp(np.linspace(-1, 1, points), np.linspace(-1, 1, prior.size), prior)
    return (1.0 - _FLOOR) * interpolated / interpolated.sum() + _FLOOR / points


def posterior_readings(reports: np.ndarray, prior: np.ndarray, question: NumberQuestion) -> np.ndarray:
    """Posterior mean of the label given each report of :func:`prior_question` and a prior, in units of the label."""
    channel: Any = question.mechanism
    points = np.linspace(-1.0, 1.0, prior.size)
    joint = prior[:, None] * channel.at(points).channel()
    means = points @ joint / np.maximum(joint.sum(axis=0), 1e-300)
    return sum(question.y_range) / 2.0 + question.half * means[reports]


def report_variance(mechanism: Any, prior: np.ndarray) -> float:
    """Variance of the label estimate from one report, about the mean label of a prior; rounding and label included."""
    points = np.linspace(-1.0, 1.0, prior.size)
    label = float(prior @ points**2 - (prior @ points) ** 2)
    return label + float(prior @ mechanism.noise_variance(points))
