"""Working range of the label: some users report in which bin of the declared range their label lies.

A declared range that is many times too wide puts the noise of every report on the scale of the range. Some users
therefore send the bin of their label by subset selection, at their whole budget. Their reports are weighed under laws
of many locations, scales and shapes (Bayes), and the range is narrowed to the part whose expected error is least: a
narrow part has little noise, and cuts off the labels beyond it. The next users are asked about the bins of that part.
All reports count for the posterior, so that a part in a wrong place is left again. Nobody is asked any more once
that lowers the expected error by less than the users cost.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtr

from lpbench.estimators.tuning_free import level_reports as levels
from lpbench.privacy import Device, Records, SubsetSelection, Users

#: Fewest and most bins that are asked about; in between as many as make a subset of one bin the best report.
FEWEST_BINS, MOST_BINS = 8, 24
#: Information that a batch is to hold (users times :func:`_information`), its fewest users and least share of them.
_ENOUGH, _FEWEST, _LEAST_PART = 22.0, 25, 0.02
#: Largest share of the users in the first batch, beyond which nothing is checked, and in all batches.
_MOST_FIRST, _MOST_ASKED = 0.05, 0.4
#: Budget from which on a report is taken for exact.
_EXACT = 30.0
#: Standard deviations of the laws, in widths of the range, and number of centers.
_SCALES, _CENTERS = np.geomspace(0.4, 1.0 / 288.0, 20), 49
#: Standard deviation from which on a law suits the declared range, and prior probability that it does.
_USUAL, _SUITS = 1.0 / 14.0, 0.5
#: Prior probability of labels with few values; numbers of steps between these, and numbers of centers and scales.
_FEW, _STEPS, _FEW_GRID = 0.1, (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 20), (17, 5)
#: Shapes of such labels before they are rounded, and their least standard deviation, in steps.
_FEW_SHAPES, _FEW_SCALE = (1, 3, 4), 0.5
#: Share of labels that may lie anywhere; prior probability that it is larger, and how large it is then.
_ANYWHERE, _ELSEWHERE, _MANY = 0.1, 0.03, 0.3
#: Error of a model: labels that are cut off count so often, and noise of variance v in n reports :data:`_NOISE` (v /
#: n)^.6, in squared half-widths; an error is relative to the variance of the label. The power is that of a smooth
#: regression function.
_CUT, _NOISE, _POWER = 4.0, 0.83, 0.6
#: Share of the error that a share of one of the users costs. As long as the range suits its labels, k batches leave a
#: doubt that falls as 1 / k, so that one more gains 1 / (k + 1) of what knowing the law would.
_PRICE = 0.5
#: A part of the range is no narrower than so many bins that were asked about, and so many laws are weighed in choosing.
_LEAST_BINS, _HEAVIEST = 2.0, 200
#: Difference of log posteriors from which on a law is given up.
_GIVEN_UP = 20.0


@dataclass(frozen=True)
class BinQuestion:
    """Ask in which of equally wide bins of a range the label lies; labels outside are in the first or last bin."""

    y_range: tuple[float, float]
    mechanism: SubsetSelection  # on the bins


class BinDevice(Device[BinQuestion]):
    """Locate the own label among the bins; features are not read."""

    def inputs(self, records: Records, question: BinQuestion) -> np.ndarray:
        """Bin of each label, shape (n,)."""
        (lo, hi), bins = question.y_range, question.mechanism.n_categories
        return np.floor(np.clip((records.y - lo) / (hi - lo), 0.0, 1.0 - 0.5 / bins) * bins).astype(np.int64)


BIN = BinDevice()


def _lognormal(z: np.ndarray) -> np.ndarray:
    """Distribution function of a lognormal with standard deviation .8 of the logarithm, standardized."""
    shape = 0.8
    mean = math.exp(shape**2 / 2.0)
    deviation = mean * math.sqrt(math.expm1(shape**2))
    return np.asarray(ndtr(np.log(np.maximum(z * deviation + mean, 1e-12)) / shape))


#: Where standardized laws are tabulated, and their distribution functions (shapes, points): flat, normal, heavy-tailed,
#: skewed to either side, of two groups, and a normal law many of whose labels lie elsewhere.
_GRID = np.linspace(-10.0, 10.0, 2001)
_Z = np.sinh(_GRID)
_BELOW = np.array(
    [
        np.clip(0.5 + _Z / math.sqrt(12.0), 0.0, 1.0),
        ndtr(_Z),
        stdtr(2.5, 1.4 * _Z),
        _lognormal(_Z),
        1.0 - _lognormal(-_Z),
        (ndtr((_Z - 0.97) / 0.25) + ndtr((_Z + 0.97) / 0.25)) / 2.0,
        ndtr(_Z),
    ]
)
SHAPES = len(_BELOW)


def _beyond(above: np.ndarray) -> np.ndarray:
    """Mean squares of what a label exceeds each point by, (shapes, points), from the probabilities that it does."""
    for factor in (1.0, 2.0):
        steps = factor * np.diff(_Z) * (above[:, 1:] + above[:, :-1]) / 2.0
        above = np.pad(np.cumsum(steps[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return above


#: Mean squares of what labels exceed a point by, and of what they fall short of it.
_OVER, _SHORT = _beyond(1.0 - _BELOW), _beyond(_BELOW[:, ::-1])[:, ::-1]


def _look_up(table: np.ndarray, shape: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Values of a ``table`` (shapes, points) for laws of some ``shape`` (laws,) at points ``z`` (laws, k)."""
    place = np.clip((np.arcsinh(z) - _GRID[0]) / (_GRID[1] - _GRID[0]), 0.0, _GRID.size - 1.001)
    left = place.astype(np.int64)
    values, index = table.ravel(), shape[:, None] * _GRID.size + left
    return np.asarray(values[index] + (place - left) * (values[index + 1] - values[index]))


@dataclass(frozen=True, eq=False)
class Answers:
    """Reports of a batch; ``member`` (m, bins) is 1 for bins in a user's subset, and the ends are those of the bins.

    Here and below, ends and scales are in units of the declared range, which is [0, 1].
    """

    low: float
    high: float
    member: np.ndarray

    @property
    def bin_width(self) -> float:
        """Width of one bin."""
        return (self.high - self.low) / self.member.shape[1]

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Different rows of ``member``, and how many users sent each."""
        rows, counts = np.unique(self.member, axis=0, return_counts=True)
        return rows, counts.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of the label, all arrays of shape (laws,).

    ``steps`` is the number of steps between equally spaced values of the declared range, to the nearest of which labels
    are rounded; 0: they are not.
    """

    center: np.ndarray
    scale: np.ndarray
    shape: np.ndarray  # a row of the tables above
    log_weight: np.ndarray
    steps: np.ndarray

    @classmethod
    def declared(cls) -> Self:
        """Return laws of the declared range: those of :meth:`of`, and laws of labels with few equally spaced values."""
        laws, few = cls.of(0.0, 1.0), []
        for number in _STEPS:
            scales = np.geomspace(_SCALES[0], max(_FEW_SCALE / number, _USUAL), _FEW_GRID[1])
            grid = np.meshgrid(np.linspace(0.0, 1.0, _FEW_GRID[0]), scales, _FEW_SHAPES)
            few.append([*(g.ravel() for g in grid), np.full(grid[0].size, number)])
        center, scale, shape, steps = (np.concatenate(column) for column in zip(*few, strict=True))
        weight = np.full(center.size, math.log(_FEW / center.size))
        laws = replace(laws, log_weight=laws.log_weight + math.log1p(-_FEW))
        return laws.and_(cls(center, scale, shape, weight, steps))

    @classmethod
    def of(cls, low: float, high: float) -> Self:
        """Return laws with centers in a part of the declared range and their prior densities.

        Centers are uniform and scales log-uniform; those that suit the declared range have probability
        :data:`_SUITS` together.
        """
        width, many = high - low, (_SCALES > _USUAL).sum()
        center, scale = (g.ravel() for g in np.meshgrid(np.linspace(low, high, _CENTERS), width * _SCALES))
        suits = scale > _USUAL
        prior = np.where(suits, _SUITS / many, (1.0 - _SUITS) / (_SCALES.size - many)) * width / _CENTERS
        shares = np.full(SHAPES, (1.0 - _ELSEWHERE) / (SHAPES - 1))
        shares[-1] = _ELSEWHERE
        shape = np.repeat(np.arange(SHAPES), center.size)
        weight = (shares[:, None] * prior).ravel()
        keep = (shape < SHAPES - 1) | np.tile(~suits, SHAPES)
        none = np.zeros(shape.size, dtype=np.int64)
        columns = np.tile(center, SHAPES), np.tile(scale, SHAPES), shape, np.log(weight), none
        return cls(*(column[keep] for column in columns))

    def where(self, chosen: np.ndarray) -> Self:
        """Return some of the laws, by a mask or by their numbers."""
        return type(self)(*(column[chosen] for column in vars(self).values()))

    def and_(self, others: Self) -> Self:
        """Return these laws and ``others``."""
        pairs = zip(vars(self).values(), vars(others).values(), strict=True)
        return type(self)(*(np.concatenate(pair) for pair in pairs))

    def shares(self, low: float, high: float, bins: int) -> np.ndarray:
        """Probability of each of the bins, (laws, bins), which divide [low, high]; no label is outside [0, 1]."""
        edges = np.clip(np.linspace(low, high, bins + 1), 0.0, 1.0)
        edges[[0, -1]] = 0.0, 1.0
        below = np.broadcast_to(edges, (self.steps.size, edges.size))
        if self.steps.any():
            steps, places = np.maximum(self.steps, 1)[:, None], np.append(edges[:-1], 1.0 + 1e-6)
            below = np.where(self.steps[:, None] > 0, (np.ceil(places * steps - 1e-9) - 0.5) / steps, edges)
        inside = np.diff(_look_up(_BELOW, self.shape, (below - self.center[:, None]) / self.scale[:, None]), axis=1)
        inside /= np.maximum(inside.sum(axis=1, keepdims=True), 1e-9)
        anywhere = np.where(self.shape == SHAPES - 1, _MANY, _ANYWHERE)[:, None]
        return np.asarray((1.0 - anywhere) * inside + anywhere * np.diff(edges))

    def given(self, answers: Sequence[Answers], budget: float) -> Self:
        """Return the laws weighted by Bayes' rule, without those that the answers all but exclude."""
        laws = self
        for batch in answers:
            member, counts = batch.distinct
            inside = laws.shares(batch.low, batch.high, member.shape[1]) @ member.T
            likelihood = np.log1p(math.expm1(min(budget, _EXACT)) * inside) @ counts
            laws = replace(laws, log_weight=laws.log_weight + likelihood)
            laws = laws.where(laws.log_weight > laws.log_weight.max() - _GIVEN_UP)
        return laws

    @property
    def weights(self) -> np.ndarray:
        """Posterior probabilities, (laws,)."""
        weights: np.ndarray = np.exp(self.log_weight - self.log_weight.max())
        return weights / weights.sum()

    def best_part(self, ends: np.ndarray, least: float, noise: float) -> tuple[float, float, float]:
        """Return the ends of the part of the range with the least expected error, and what knowing the law would gain.

        Parts begin and end at ``ends`` (k,) and are at least ``least`` wide; ``noise`` is the error that a part of
        width one brings. Errors are logarithmic: half the error counts the same whatever the law.
        """
        z = (ends - self.center[:, None]) / self.scale[:, None]
        short, over = _CUT * _look_up(_SHORT, self.shape, z), _CUT * _look_up(_OVER, self.shape, z)
        short[:, ends <= 0.0] = 0.0
        over[:, ends >= 1.0] = 0.0
        start, stop = np.triu_indices(ends.size, 1)
        wide = ends[stop] - ends[start] >= least * (1.0 - 1e-9)
        start, stop = start[wide], stop[wide]
        errors = noise * ((ends[stop] - ends[start]) / self.scale[:, None]) ** 2 + short[:, start] + over[:, stop]
        expected = self.weights @ np.log1p(errors)
        best = int(expected.argmin())
        possible = np.minimum(_least_errors(noise)[self.shape], noise / self.scale**2)
        gain = float(expected[best] - self.weights @ np.log1p(possible))
        return float(ends[start[best]]), float(ends[stop[best]]), gain


@lru_cache(maxsize=64)
def _least_errors(noise: float) -> np.ndarray:
    """Least error of a part of the range for each shape, (shapes,), of known laws with standard deviation 1."""
    one_side = np.geomspace(0.05, 8.0, 25)
    ends = np.concatenate([-one_side[::-1], [0.0], one_side])
    short, over = (np.array([np.interp(ends, _Z, row) for row in table]) for table in (_SHORT, _OVER))
    start, stop = np.triu_indices(ends.size, 1)
    errors = noise * (ends[stop] - ends[start]) ** 2 + _CUT * (short[:, start] + over[:, stop])
    return np.asarray(errors.min(axis=1))


_declared = lru_cache(maxsize=1)(Laws.declared)


def _information(budget: float) -> float:
    """Information of one report about a bin's share: one over its variance under subset selection among many bins."""
    return (math.expm1(min(budget, _EXACT)) / 2.0) ** 2 / math.exp(min(budget, _EXACT))


@lru_cache(maxsize=64)
def _noise_of_report(budget: float) -> float:
    """Noise variance of a later report, in squared half-widths, of a label that may be anywhere in the range."""
    report = levels.LevelReport(budget, levels.best_levels(budget, levels.RANGE_WIDTH))
    places = np.linspace(-0.8, 0.8, 101)
    return float(np.mean(report.noise_at(places[:, None], np.ones(1))))


@dataclass(eq=False)
class RangeCheck:
    """Narrowing of a declared range by the reports of some users.

    ``rest`` are the users (numbers) in the order of asking; :meth:`run` leaves the working range in ``y_range`` and
    those who were not asked in ``rest``.
    """

    users: Users
    y_range: tuple[float, float]
    budget: float
    rest: np.ndarray
    _answers: list[Answers] = field(default_factory=list, init=False)
    _kept: tuple[tuple[float, float], Laws, int] = field(init=False)  # a part, its laws, and answers they are given

    def __post_init__(self) -> None:
        n = self.rest.size
        size = math.ceil(max(_ENOUGH / _information(self.budget), _FEWEST, _LEAST_PART * n))
        #: Number of users who are asked at a time; 0 where these would be too many.
        self.batch = size if size <= _MOST_FIRST * n else 0
        self._batches = int(_MOST_ASKED * n) // size
        bins = min(max(FEWEST_BINS, round(1.0 + math.exp(min(self.budget, _EXACT)))), MOST_BINS)
        self._mechanism = SubsetSelection.least_variance(self.budget, bins)

    def run(self) -> Self:
        """Ask batches of users as long as that pays, and narrow the range to the best part of it."""
        if not self.batch or not self.y_range[1] > self.y_range[0]:
            return self
        part, laws = (0.0, 1.0), _declared()
        self._kept, suited = (part, laws, 0), 0
        for _ in range(self._batches):
            self._ask(*part)
            laws = laws.given(self._answers[-1:], self.budget)
            before = part
            part, gain = self._best(laws, *part)
            if part != before:
                part, gain = self._best(laws, *part)  # on the finer grid of this part
            suited = suited + 1 if part == (0.0, 1.0) else 1
            if gain / (suited + 1) < _PRICE * self.batch / self.rest.size:
                break
        if part != (0.0, 1.0):
            self.y_range = self._place(part[0]), self._place(part[1])
        return self

    def _place(self, end: float) -> float:
        lo, hi = self.y_range
        return lo + end * (hi - lo)

    def _ask(self, low: float, high: float) -> None:
        """Ask a batch about the bins of a part; every other time bins are moved by half a bin, to tell their ends."""
        bins = self._mechanism.n_categories
        margin = len(self._answers) % 2 * (high - low) / (2.0 * bins)
        low, high = low - margin, high + margin
        asked, self.rest = self.rest[: self.batch], self.rest[self.batch :]
        reports = self.users.ask(BIN, BinQuestion((self._place(low), self._place(high)), self._mechanism), asked)
        member = np.zeros((len(reports), bins))
        np.put_along_axis(member, reports.reshape(len(reports), -1), 1.0, axis=1)
        self._answers.append(Answers(low, high, member))

    def _finer(self, low: float, high: float) -> Laws:
        """Return laws with centers in a part, given all answers; those of the latest part are kept."""
        part, laws, answered = self._kept
        if part != (low, high):
            laws, answered = Laws.of(low, high), 0
        laws = laws.given(self._answers[answered:][::-1], self.budget)
        self._kept = (low, high), laws, len(self._answers)
        return laws

    def _best(self, laws: Laws, low: float, high: float) -> tuple[tuple[float, float], float]:
        """Return the best part by ``laws`` and finer ones within a part, and what knowing the law would gain."""
        ends, width = np.linspace(low, high, _CENTERS), high - low
        if width < 1.0:
            replaced = (
                (laws.center >= low) & (laws.center <= high) & (laws.scale < width * _SCALES[0]) & (laws.steps == 0)
            )
            laws = laws.where(~replaced).and_(self._finer(low, high))
            around = np.clip(np.linspace(low - width, high + width, _CENTERS // 2 + 1), 0.0, 1.0)
            ends = np.unique(np.concatenate([[0.0, 1.0], ends, around]))
        laws = laws.where(np.argsort(-laws.log_weight, kind="stable")[:_HEAVIEST])
        noise = _NOISE * (_noise_of_report(self.budget) / self.rest.size) ** _POWER / 4.0
        least = _LEAST_BINS * min(batch.bin_width for batch in self._answers)
        *part, gain = laws.best_part(ends, least, noise)
        return (part[0], part[1]), gain
