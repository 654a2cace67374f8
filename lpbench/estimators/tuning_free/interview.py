"""Sequentially interactive regression: groups of users are asked in turn, each about the error of the current model.

Every user belongs to one group and sends one report at the whole budget. The question to a group (centres and widths of
the intervals, which protected feature goes along) depends on public data and on the reports of the groups before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.estimators.tuning_free import level_reports as levels
from lpbench.estimators.tuning_free.bin_effects import bin_of, estimate_effects
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.estimators.tuning_free.placed_readings import Placed
from lpbench.privacy import Channel, Device, Laplace, Records
from lpbench.privacy.users import REAL_BITS
from lpbench.seeds import Streams

REPORTS = ("levels", "laplace")
READINGS = ("symmetric", "placed")
#: Part of the residual's variance for which alone protected features are asked about where reports are placed. Under
#: heavy tails an effect as small as the one that joint reports else allow for is not told from noise.
_LEAST_GAIN_OF_PLACED = 0.001
#: Shares of the users in the first groups; the rest are asked last, one group for each protected feature.
SHARES = (0.25, 0.25)
#: Fewer users than this are asked all at once.
_FEWEST_ADAPTIVE = 12
#: Smallest group that is asked about a protected feature, and its smallest number of users per bin.
_FEWEST_PER_FEATURE, _FEWEST_PER_BIN = 60, 20
#: Numbers of bins of a protected feature.
BINS = (2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Question:
    """Broadcast of the curator to one group of users.

    Attributes
    ----------
    users : int ndarray of shape (m,)
    centre, half_width : ndarrays of shape (m,)
        Interval to which each user's residual is clipped; functions of the features that the user shows.
    report : LevelReport or Laplace
        The randomizer; of Laplace the sensitivity is that of a residual in units of the half-width.
    width : float
        Half-width in standard deviations that the curator expects.
    column : int
        Protected feature whose bin goes along; -1: none.
    effects : mapping of int to ndarray
        Estimated effects of protected features, which the device adds to its own centre.
    """

    users: np.ndarray
    centre: np.ndarray
    half_width: np.ndarray
    report: LevelReport | Laplace
    width: float
    column: int = -1
    effects: Mapping[int, np.ndarray] = field(default_factory=dict)

    @property
    def bins(self) -> int:
        """Bins of the protected feature; 1: none is asked for."""
        return 1 if isinstance(self.report, Laplace) else self.report.bins

    @property
    def broadcast_bits(self) -> float:
        """Bits that one user is told: the interval and the effects."""
        return REAL_BITS * (2 + sum(effect.size for effect in self.effects.values()))

    def take(self, places: np.ndarray) -> Question:
        """The question to some of the users, by their places in ``users``."""
        return replace(self, users=self.users[places], centre=self.centre[places], half_width=self.half_width[places])


def effects_at(X: np.ndarray, effects: Mapping[int, np.ndarray]) -> np.ndarray:
    """Sum of the effects of protected features at rows X (m, d) in [0, 1], shape (m,)."""
    parts = (effect[bin_of(X[:, column], effect.size)] for column, effect in effects.items())
    return sum(parts, np.zeros(len(X)))


class ResidualDevice(Device[Question]):
    """Clip the error of the current model to the interval that was broadcast, and send it with a bin or alone."""

    draws_for_all = True

    def mechanism(self, question: Question) -> LevelReport | Laplace:
        """The randomizer of the question; a clipped residual moves by at most 2."""
        return question.report

    def inputs(self, records: Records, question: Question) -> np.ndarray:
        """Clipped residuals in units of the half-width, shape (n,), or pairs with the bin, shape (n, 2)."""
        residuals = (records.y - question.centre - effects_at(records.X, question.effects)) / question.half_width
        residuals = np.clip(residuals, -1.0, 1.0)
        if isinstance(question.report, Laplace):
            return residuals
        column = records.X[:, question.column] if question.bins > 1 else np.zeros(len(records))
        return np.column_stack([residuals, bin_of(column, question.bins)])

    def draws(self, streams: Streams, n: int, question: Question) -> np.ndarray:
        """A unit Laplace variable of each user, shape (n,), or three uniforms, (3, n), whatever else is asked."""
        if isinstance(question.report, Laplace):
            return streams.generator("label").laplace(size=n)
        return streams.generator("report").random((3, n))

    def report(self, records: Records, question: Question, draws: np.ndarray) -> np.ndarray:
        """Noisy residuals in units of the half-width, or categories: shape (n,); the question names these users."""
        mechanism, inputs = question.report, self.inputs(records, question)
        if isinstance(mechanism, Laplace):
            return inputs + mechanism.scale * draws
        return mechanism.randomize_by(inputs, draws)

    def law(self, question: Question, records: Records) -> tuple[Laplace | Channel, np.ndarray]:
        """Laplace noise on the clipped residual, or rounding followed by the channel, a row of its table a record."""
        mechanism, inputs = question.report, self.inputs(records, question)
        return (
            (mechanism, inputs) if isinstance(mechanism, Laplace) else (mechanism.at(inputs), np.arange(len(records)))
        )

    def check(self, question: Question) -> None:
        """Intervals must be finite and have a width: 0 / 0 would tell a label at the centre from all others."""
        super().check(question)
        finite = all(np.isfinite(part).all() for part in (question.centre, *question.effects.values()))
        if not finite or not ((question.half_width > 0) & np.isfinite(question.half_width)).all():
            raise ConfigurationError(
                f"half_width={question.half_width!r} must be finite and > 0, and centre={question.centre!r} and the "
                "effects finite; ask about an interval of the label"
            )


RESIDUAL = ResidualDevice()


class Answers(Protocol):
    """What a curator has learned from the answers: targets and noise of every user, who was asked, effects, a model."""

    targets: np.ndarray
    noise: np.ndarray
    seen: np.ndarray
    effects: dict[int, np.ndarray]

    def result(self) -> GaussianAverage:
        """Return the model fitted to the answers."""


class Curator:
    """The curator: asks questions chosen from public data and earlier reports, and fits the reports.

    Parameters
    ----------
    features : list of ndarrays of shape (n, m_k)
        Kernel features of the users' public columns (:class:`~.kernel_features.KernelFeatures`).
    hidden : int ndarray
        Columns that are too seldom shown, candidates for a joint report.
    order : int ndarray of shape (n,)
        Random order of the users.
    y_range : (float, float)
    epsilon : float
    report : {"levels", "laplace"}
    adaptive : bool
        False: one group, the whole range of the label.
    ask_hidden : bool
    reading : {"symmetric", "placed"}
        How reports of levels are read: as if the label were expected in the middle of its interval, or where it is
        (:mod:`.placed_readings`).
    """

    def __init__(
        self,
        features: list[np.ndarray],
        hidden: np.ndarray,
        order: np.ndarray,
        y_range: tuple[float, float],
        epsilon: float,
        report: str = "levels",
        adaptive: bool = True,
        ask_hidden: bool = True,
        reading: str = "symmetric",
    ) -> None:
        self.features, self.y_range, self.epsilon, self.report = features, y_range, epsilon, report
        self.reading = reading
        self.effects: dict[int, np.ndarray] = {}
        self.targets, self.noise = np.empty(order.size), np.empty(order.size)
        self.model: GaussianAverage | None = None
        self.seen = np.empty(0, dtype=np.int64)
        self._plan = self._groups(order, hidden if ask_hidden and report == "levels" else hidden[:0], adaptive)

    def _groups(self, order: np.ndarray, hidden: np.ndarray, adaptive: bool) -> list[tuple[np.ndarray, int, int]]:
        """(users, protected feature or -1, bins) of each group, from n, epsilon and the mask alone."""
        n = order.size
        if not adaptive or n < _FEWEST_ADAPTIVE:
            return [(order, -1, 1)]
        first, second = np.ceil(np.cumsum(SHARES) * n).astype(int)
        plan = [(order[:first], -1, 1), (order[first:second], -1, 1)]
        last = order[second:]
        columns = hidden[: last.size // _FEWEST_PER_FEATURE]
        bins = levels.most_bins(self.epsilon, n, BINS) if columns.size else 1
        if self.reading == "placed" and levels.most_bins(self.epsilon, n, BINS, _LEAST_GAIN_OF_PLACED) == 1:
            bins = 1
        if bins == 1:
            return [*plan, (last, -1, 1)]
        parts = np.array_split(last, columns.size)
        return plan + [
            (part, int(column), max(2, min(bins, part.size // _FEWEST_PER_BIN)))
            for part, column in zip(parts, columns, strict=True)
        ]

    def questions(self) -> Iterator[Question]:
        """Yield the questions; :meth:`learn` must be called with the answers before the next one is asked."""
        for users, column, bins in self._plan:
            yield self.question(users, column, bins)

    def question(self, users: np.ndarray, column: int = -1, bins: int = 1) -> Question:
        """Return the question to users, given the reports so far; ``column`` and ``bins`` go with a joint report."""
        (lo, hi), m = self.y_range, users.size
        centre, half, width = np.full(m, (lo + hi) / 2), np.full(m, (hi - lo) / 2), levels.RANGE_WIDTH
        if self.model is not None:
            features = [F[users] for F in self.features]
            width = levels.best_width(self.epsilon, self.targets.size, bins)
            deviation = np.sqrt(self.model.variance(features) + self.model.residual_variance)
            half = np.minimum(width * deviation, (hi - lo) / 2)
            centre = np.clip(self.model.predict(features), lo + half, hi - half)
        return Question(users, centre, half, self._randomizer(width, bins), width, column, dict(self.effects))

    def _randomizer(self, width: float, bins: int) -> LevelReport | Laplace:
        if self.report == "laplace":
            return Laplace.for_budget(self.epsilon, sensitivity=2.0)
        return LevelReport(self.epsilon, levels.best_levels(self.epsilon, width, bins), bins)

    def learn(self, question: Question, reports: np.ndarray) -> None:
        """Read the reports of a group and refit."""
        users, half = question.users, question.half_width
        if isinstance(question.report, Laplace):
            unit, variance = reports, question.report.variance
        else:
            unit, variance = question.report.residuals(reports), question.report.noise_variance(question.width)
        lo, hi = self.y_range
        if self.reading == "placed" and isinstance(question.report, LevelReport):
            placed = self._placed(question, question.report, unit)
            scale = half / placed.slope
            self.targets[users] = question.centre + half * placed.expected + scale * (unit - placed.clipped)
            self.noise[users] = scale**2 * placed.noise
            middle = scale * placed.clipped
        else:
            # An interval as wide as the range clips nothing; a narrower one shrinks the residual's mean.
            slope = np.ones(users.size)
            if self.model is not None:
                slope = np.where(half < (hi - lo) / 2, levels.slope_of_clipping(half / self._deviation(users)), 1.0)
            scale, middle = half / slope, np.zeros(users.size)
            self.targets[users] = question.centre + scale * unit
            self.noise[users] = scale**2 * variance
        if question.column >= 0 and isinstance(question.report, LevelReport):
            self._learn_effect(question, question.report, reports, scale, middle)
        self._refit(users)

    def _deviation(self, users: np.ndarray) -> np.ndarray:
        """Standard deviation of the label that the model expects of users."""
        model = self.result()
        return np.sqrt(model.variance([F[users] for F in self.features]) + model.residual_variance)

    def _placed(self, question: Question, report: LevelReport, unit: np.ndarray) -> Placed:
        """Where the labels are expected in their intervals; of the first group, about the mean of its own reports."""
        (lo, hi), users, half = self.y_range, question.users, question.half_width
        if self.model is None:
            expected = np.full(users.size, np.clip(unit.mean(), -1.0, 1.0))
            deviation = np.full(users.size, 1.0 / question.width)
        else:
            expected = (self.model.predict([F[users] for F in self.features]) - question.centre) / half
            deviation = self._deviation(users) / half
        margin = 1e-9 * (hi - lo)
        ends = np.array([question.centre - half <= lo + margin, question.centre + half >= hi - margin])
        return Placed.of(report, expected, deviation, ends)

    def _learn_effect(
        self, question: Question, report: LevelReport, reports: np.ndarray, scale: np.ndarray, middle: np.ndarray
    ) -> None:
        indicators = report.indicators(reports)
        # What is expected of the residual without the feature is no effect of it.
        products = scale[:, None] * report.products(reports) - middle[:, None] * indicators
        effect = estimate_effects(products, indicators, self.result().residual_variance)
        self.effects[question.column] = effect
        # The public features are fitted to the residuals of the protected one.
        self.targets[question.users] -= indicators @ effect

    def result(self) -> GaussianAverage:
        """Return the model fitted to the answers so far.

        Raises
        ------
        RuntimeError
            Nobody has answered yet.
        """
        if self.model is None:
            raise RuntimeError("no group of users has answered yet")
        return self.model

    def _refit(self, users: np.ndarray) -> None:
        self.seen = np.concatenate([self.seen, users])
        features = [F[self.seen] for F in self.features]
        self.model = GaussianAverage(features, self.targets[self.seen], self.noise[self.seen], self.y_range)
