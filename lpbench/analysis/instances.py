"""Instances of a check: what is compared at one point of a curve or in one table, with its 95 % interval.

Both sources take the same way. *Ours* are replications. *Published* are means alone: their error is ours, taken
relative to the mean, and the rounding of the print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
import scipy

from lpbench.analysis.rates import LEVEL, Interval
from lpbench.analysis.statistics import WITHIN, dip_places, significant, statistic

#: Draws of the bootstrap, each of which is judged anew as a sample of its own, and draws of such a sample's bootstrap.
RESAMPLES, INNER = 2000, 40

#: What tells a cell from others, and the type of its values.
KEY = ("experiment", "panel", "dataset", "mask", "method", "epsilon", "x")
Key = tuple[str, str, str, str, str, float, float]


@dataclass(frozen=True)
class CellScores:
    """Scores of k cells by replication, ``samples`` (R, k), with the rounding step of printed values, ``step`` (k,).

    A key names experiment, panel, data set, mask, method, ε and place on the axis.
    """

    keys: tuple[Key, ...]
    samples: np.ndarray  # shape (R, k), one row per replication
    step: np.ndarray  # shape (k,), distance between neighboring values of the print; 0 for scores of a run

    @property
    def means(self) -> np.ndarray:
        """Means over the replications, without rounding error of the sum: prints that are equal stay equal."""
        return significant(self.samples.mean(axis=0), 12)

    def __getitem__(self, places: Sequence[int] | np.ndarray | slice) -> CellScores:
        index = np.arange(len(self.keys))[places]
        return CellScores(tuple(self.keys[k] for k in index), self.samples[:, index], self.step[index])


def join(parts: Iterable[CellScores]) -> CellScores:
    """Put cells side by side, with the replications that all have."""
    parts = list(parts)
    count = min(len(block.samples) for block in parts)
    samples = np.concatenate([block.samples[:count] for block in parts], axis=1)
    return CellScores(sum((p.keys for p in parts), ()), samples, np.concatenate([p.step for p in parts]))


@dataclass(frozen=True)
class Instance:
    """One comparison that a check judges: a statistic of some cells, at a point of a curve, a budget or a data set.

    ``statistic`` is the name of a function in :mod:`.statistics`, which takes ``arguments``; ``silent`` is a reason why
    the comparison cannot be judged, else empty.
    """

    name: str
    cells: CellScores
    statistic: str  # name of one of lpbench.analysis.statistics.STATISTICS
    arguments: dict[str, Any] = field(default_factory=dict)
    silent: str = ""  # why it can tell nothing here; empty where it can


def linear(name: str, *parts: tuple[CellScores, Sequence[float] | np.ndarray], silent: str = "") -> Instance:
    """Make an instance whose statistic is a weighted sum of cells; ``silent`` says why it cannot be judged."""
    weights = np.concatenate([np.asarray(w, dtype=float) for _, w in parts])
    arguments = {"weights": [float(f"{w:.15g}") for w in weights]}
    return Instance(name, join(c for c, _ in parts), "linear", arguments, silent)


def stated(name: str, key: Key, value: float, unit: str) -> Instance:
    """Instance of a number that no noise is in: it stands for two replications."""
    return Instance(name, CellScores((key,), np.full((2, 1), value), np.zeros(1)), "stated", {"unit": unit})


def difference(name: str, a: CellScores, b: CellScores, *, silent: str = "") -> Instance:
    """Instance of the mean of some cells minus that of others."""
    k, m = len(a.keys), len(b.keys)
    return linear(name, (a, np.full(k, 1 / k)), (b, np.full(m, -1 / m)), silent=silent)


@cache
def _shares(replications: int) -> np.ndarray:
    """Share of each of R replications in each draw of the bootstrap, (RESAMPLES, R); equal for equal R."""
    even = np.full(replications, 1 / replications)
    return np.random.default_rng(replications).multinomial(replications, even, size=RESAMPLES) / replications


def draws(instance: Instance) -> np.ndarray:
    """The statistic within each replication, or in each bootstrap draw where ranks or minima must be found anew."""
    samples, step = instance.cells.samples, instance.cells.step
    if instance.statistic in WITHIN:
        return statistic(instance.statistic, samples, instance.arguments)
    means = _shares(len(samples)) @ samples
    if step.any():
        means = means + np.random.default_rng(crc32(instance.name.encode())).uniform(-0.5, 0.5, means.shape) * step
    return statistic(instance.statistic, means, instance.arguments)


def pooled(instances: Sequence[Instance], drawn: Sequence[np.ndarray] | None = None) -> Interval:
    """Value and interval of the mean of instances, which is taken within each replication or draw (``drawn``)."""
    drawn = [draws(i) for i in instances] if drawn is None else drawn
    count = min(len(values) for values in drawn)
    values = np.mean([v[:count] for v in drawn], axis=0)
    if instances[0].statistic in WITHIN:
        return _students(values, _rounding(instances))
    estimates = [statistic(i.statistic, i.cells.means, i.arguments) for i in instances]
    estimate = float(np.mean(estimates))
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    # draws of ranks and minima are biased: where all of them lie on one side, the interval reaches to the estimate
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def resampled(instances: Sequence[Instance]) -> np.ndarray:
    """Estimates and intervals of instances, and last of their mean, on resamples: (DRAWS, m + 1, 3)."""
    if instances[0].statistic in WITHIN:
        values = [draws(i) for i in instances]
        count = min(map(len, values))
        each = [_students_again(v, _rounding([i])) for i, v in zip(instances, values, strict=True)]
        mean = _students_again(np.mean([v[:count] for v in values], axis=0), _rounding(instances))
        return np.stack([*each, mean], axis=1)
    pairs = [_drawn_again(i) for i in instances]
    estimate, inner = (np.stack([p[k] for p in pairs], axis=1) for k in (0, 1))
    estimate = np.concatenate([estimate, estimate.mean(axis=1, keepdims=True)], axis=1)
    inner = np.concatenate([inner, inner.mean(axis=1, keepdims=True)], axis=1)
    low, high = np.quantile(inner, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1, method="weibull")
    return np.stack([estimate, np.minimum(low, estimate), np.maximum(high, estimate)], axis=-1)


def _students_again(values: np.ndarray, rounding: float) -> np.ndarray:
    """:func:`_students` on each resample of ``values`` (R,): rows of estimate, low and high, (RESAMPLES, 3).

    ``rounding`` is the variance of the mean that is due to rounded prints.
    """
    count = len(values)
    if count < 2:
        return np.tile([values.mean(), -np.inf, np.inf], (RESAMPLES, 1))
    shares, centered = _shares(count), values - values.mean()
    mean = shares @ centered
    variance = (shares @ centered**2 - mean**2).clip(0) / (count - 1)
    half = scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1) * np.sqrt(variance + rounding)
    return np.stack([mean, mean - half, mean + half], axis=-1) + values.mean()


@cache
def _shares_again(replications: int) -> np.ndarray:
    """Share of each replication in each draw of the bootstrap of each resample, shape (DRAWS, INNER, R)."""
    rng, first = np.random.default_rng([replications, 1]), _shares(replications)[:, None]
    return rng.multinomial(replications, np.repeat(first, INNER, axis=1)) / replications


def _drawn_again(instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Estimate on each resample, and in each draw of its own bootstrap: shapes (DRAWS,), (DRAWS, INNER)."""
    samples, step = instance.cells.samples, instance.cells.step
    first, means = _shares(len(samples)) @ samples, _shares_again(len(samples)) @ samples
    if step.any():
        rng = np.random.default_rng(crc32(instance.name.encode()))
        means = means + rng.uniform(-0.5, 0.5, means.shape) * step
    values = (statistic(instance.statistic, y, instance.arguments) for y in (first, means.reshape(-1, means.shape[-1])))
    estimate, inner = values
    return estimate, inner.reshape(means.shape[:2])


def _students(values: np.ndarray, rounding: float) -> Interval:
    """Student's interval of one value per replication; the variance of the rounding is added."""
    count, mean = len(values), float(values.mean())
    if count < 2:
        return Interval(mean, -np.inf, np.inf)
    half = float(scipy.stats.t.ppf((1 + LEVEL) / 2, count - 1) * np.sqrt(values.var(ddof=1) / count + rounding))
    return Interval(mean, mean - half, mean + half)


def _rounding(instances: Sequence[Instance]) -> float:
    """Variance of the mean of weighted sums that is due to the rounding of printed cells; a cell may be in several."""
    if not any(i.cells.step.any() for i in instances):
        return 0.0
    weights: dict[Key, float] = {}
    steps: dict[Key, float] = {}
    for instance in instances:
        cells = instance.cells
        for key, weight, step in zip(cells.keys, _weights(instance), cells.step, strict=True):
            weights[key] = weights.get(key, 0.0) + weight / len(instances)
            steps[key] = step
    return float(sum(w**2 * steps[key] ** 2 / 12 for key, w in weights.items()))


def _weights(instance: Instance) -> Sequence[float] | np.ndarray:
    """Weights (k,) of the cells in the instance's mean over replications.

    Of a dip they are those of the end and the inner place of the curve, 1 and -1.
    """
    if instance.statistic == "linear":
        return instance.arguments["weights"]
    end, inside = dip_places(instance.arguments.get("sign", 1) * instance.cells.samples)
    weights = np.zeros(len(instance.cells.keys))
    weights[[end, inside]] = 1, -1
    return weights
