"""Sequentially interactive rounds: groups of users are asked in turn, each about the error of the current model.

Every user belongs to one group and sends one report at the whole budget. The question to a group (centers and widths of
the intervals, which protected feature goes along) depends on public data and on the reports of the groups before it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from lpbench.errors import ConfigurationError, DataError
from lpbench.estimators.result_cache import Shared
from lpbench.estimators.tuning_free import level_reports as levels
from lpbench.estimators.tuning_free.bin_effects import LINEAR, Binning, estimate_effects
from lpbench.estimators.tuning_free.gaussian_average import GaussianAverage, Moments
from lpbench.estimators.tuning_free.kernel_features import KernelFeatures, ShownFeatures
from lpbench.estimators.tuning_free.level_reports import LevelReport, Part, Placed
from lpbench.privacy import Device, Records, Users
from lpbench.privacy.device import proven
from lpbench.privacy.exact import words
from lpbench.privacy.users import REAL_BITS
from lpbench.seeds import Streams

#: Bins of a protected feature, and what each adds to the label.
Effect = tuple[Binning, np.ndarray]

#: Shares of the users in the first groups; the rest are asked last, in :data:`STAGES` where there are protected
#: features that can be asked for.
SHARES, STAGES = (0.25, 0.25), 4
#: Fewer users than this are asked all at once.
_FEWEST_IN_ROUNDS = 12
#: Smallest group that is asked about a protected feature, and its smallest number of users per bin.
_FEWEST_PER_FEATURE, _FEWEST_PER_BIN = 60, 20
#: Least probabilities of an effect at which the users of the last two stages are asked for the feature.
_MAY_PAY, _PAYS = 0.1, 0.5
#: Numbers of bins of a protected feature, and of the cells that may become its bins; largest standard error of a
#: cell's share, and factor by which cells may raise the variance of a report.
BINS, _CELL_NUMBERS, _MOST_DOUBT, _DEARER = (2, 3, 4, 6, 8), (16, 8, 4), 0.1, 2.5
#: Least budget at which several features are told together, factor by which that must pay, and most joint cells.
_LEAST_TOGETHER, _PAYS_TOGETHER, _MOST_JOINT = 4.0, 1.25, 4096
#: Numbers of features that may be told together.
_TOGETHER = range(1, 13)
#: Part of an effect's variance that so many bins of a feature are taken to keep; few are trusted less than for a line.
_WORTH = {2: 0.35, 3: 0.6, 4: 0.85, 6: 0.9, 8: 0.95, 16: 1.0}
#: Times that the effects of features in one report are estimated in turn, each without the others.
_SWEEPS = 2
#: Rows whose kernel features are held at a time, and most users whose features are kept for all questions and budgets.
BLOCK, _KEPT = 8192, 16384
#: Users who show the same are pooled from so many places on, where more than this share of them are not alone and the
#: variance of labels within a place is at most this share of that of all.
_FEWEST_PLACES, _NOT_ALONE, _WITHIN = 20, 0.5, 0.5
#: What users show and its kernel features, whatever is asked.
_ENROLLED = Shared(1)


@dataclass(frozen=True, eq=False)
class Enrolled:
    """Facts about the users that all rounds and budgets share: their public features, order and hidden columns.

    ``hidden`` has the columns of each protected feature (several if one-hot: ``levels`` is True), ``Z`` (n, k) the
    standardized shown features, ``order`` (n,) the order of asking, and ``units`` the person of each row, None: all
    differ.
    """

    shown: ShownFeatures
    hidden: list[tuple[int, ...]]  # protected features; the columns of a group that is asked about as one are together
    levels: list[bool]  # whether they are a group's
    Z: np.ndarray  # (n, k), standardized features
    kernels: KernelFeatures
    order: np.ndarray  # random order of the users
    streams: Streams  # the curator's randomness
    units: np.ndarray | None = None  # person of each user's row, numbered at random; None: everybody has one

    @classmethod
    def of(cls, users: Users, streams: Streams, scales: tuple[float, ...] = (1.0,)) -> Self:
        """Read what users show; landmarks and order are drawn from the curator's streams.

        ``scales`` are those of the Gaussian kernels, see :class:`.KernelFeatures`.
        """
        inputs = users.public_features, users.groups, users.units, streams, scales
        return _ENROLLED(inputs, lambda: cls._read(*inputs))

    @classmethod
    def _read(
        cls, features: np.ndarray, groups: Any, units: np.ndarray | None, streams: Streams, scales: tuple[float, ...]
    ) -> Self:
        """Read the public ``features`` (n, d), NaN where protected, and draw the order in which users are asked.

        ``groups`` (d,) numbers the features whose one-hot columns belong together, -1 for a single column (None: all
        single), and ``units`` (n,) the person of each row. DataError if there is one person only.
        """
        features_shown = ShownFeatures(features)
        Z = features_shown.transform(features)
        order = streams.generator("order").permutation(len(Z))
        group = np.full(features.shape[1], -1) if groups is None else groups
        together = [
            tuple(features_shown.hidden[group[features_shown.hidden] == group[k]]) if group[k] >= 0 else (k,)
            for k in features_shown.hidden
        ]
        hidden = list(dict.fromkeys(together))
        levels = [bool(group[columns[0]] >= 0) for columns in hidden]
        if units is not None:
            if units.max() == 0:
                raise DataError(
                    "units names one person in all rows, and predictions are checked on other persons: name two"
                )
            units = streams.generator("units").permutation(units.max() + 1)[units]
        kernels = KernelFeatures(Z, streams.generator("landmarks"), scales)
        return cls(features_shown, hidden, levels, Z, kernels, order, streams, units)

    @property
    def persons(self) -> int:
        """Number of persons: users, or the units that their rows belong to."""
        return len(self.Z) if self.units is None else int(self.units.max()) + 1

    def blocks(self, users: np.ndarray) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Users, some at a time, and their features under each kernel."""
        for start in range(0, users.size, BLOCK):
            block = users[start : start + BLOCK]
            is_stored = len(self.Z) <= _KEPT
            yield block, [F[block] for F in self._features] if is_stored else self.kernels.transform(self.Z[block])

    def compared(self, users: np.ndarray) -> Iterable[tuple[np.ndarray, list[np.ndarray]]]:
        """Return :meth:`blocks` of users whose reports compare models: the last are kept, since all classes share them.

        They are few enough to keep their features.
        """
        if len(self.Z) <= _KEPT:
            return self.blocks(users)
        if not self._compared or not np.array_equal(self._compared[0], users):
            self._compared[:] = users, list(self.blocks(users))
        return self._compared[1]

    @cached_property
    def _compared(self) -> list[Any]:
        return []

    @cached_property
    def _features(self) -> list[np.ndarray]:
        return self.kernels.transform(self.Z)


@dataclass(frozen=True)
class Question:
    """Broadcast of the curator to one group of users.

    Each of ``users`` (k,) reports her label's deviation from ``center`` (k,), clipped to and divided by ``half_width``
    (k,), under ``report``; with ``features`` also her bin of each. ``effects`` of features are added to the center on
    her device.
    """

    users: np.ndarray  # (m,)
    center: np.ndarray  # of the interval to which each user's residual is clipped, by the features that the user shows
    half_width: np.ndarray
    report: LevelReport
    width: float  # half-width in standard deviations that the curator expects
    features: tuple[int, ...] = ()  # numbers of the protected features whose bins go along
    binnings: tuple[Binning, ...] = ()
    effects: Mapping[int, Effect] = field(default_factory=dict)  # which the device adds to its own center

    @property
    def bins(self) -> int:
        """Joint bins of the protected features; 1: none is asked for."""
        return self.report.bins

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return what the joint bins say of each feature."""
        return levels.parts_of([binning.bins for binning in self.binnings])

    @property
    def broadcast_bits(self) -> float:
        """Bits that one user is told: the interval, the effects, and where bins end."""
        bins = sum(binning.bins for binning in self.binnings)
        return REAL_BITS * (2 + bins + sum(2 * effect.size for _, effect in self.effects.values()))

    def take(self, places: np.ndarray) -> Self:
        """The question to some of the users, by their places in ``users``."""
        return replace(self, users=self.users[places], center=self.center[places], half_width=self.half_width[places])


def effects_at(X: np.ndarray, effects: Mapping[int, Effect]) -> np.ndarray:
    """Sum of the effects of protected features at rows X (m, d) in [0, 1], shape (m,)."""
    return sum((effect[binning.of(X)] for binning, effect in effects.values()), np.zeros(len(X)))


@proven
class ResidualDevice(Device[Question]):
    """Clip the error of the current model to the interval that was broadcast, and send it with bins or alone."""

    def mechanism(self, question: Question) -> LevelReport:
        """Return the randomizer that the question names."""
        return question.report

    def inputs(self, records: Records, question: Question) -> np.ndarray:
        """Clipped residuals in units of the half-width, and bins: shape (n, 2)."""
        residuals = (records.y - question.center - effects_at(records.X, question.effects)) / question.half_width
        residuals = np.clip(residuals, -1.0, 1.0)
        bins = np.zeros(len(records))
        for part, binning in zip(question.parts, question.binnings, strict=True):
            bins += part.unit * binning.of(records.X)
        return np.column_stack([residuals, bins])

    def draws(self, streams: Streams, n: int, question: Question) -> np.ndarray:
        """Three whole numbers of each user, (3, n), whatever is asked."""
        return words(streams.generator("report"), (3, n))

    def report(self, records: Records, question: Question, draws: np.ndarray) -> np.ndarray:
        """Categories, shape (n,); the question names these users."""
        return question.report.randomize_by(self.inputs(records, question), draws)

    def check(self, question: Question) -> None:
        """Intervals must be finite and have a width: 0 / 0 would tell a label at the center from all others."""
        super().check(question)
        finite = all(
            np.isfinite(numbers).all()
            for numbers in (question.center, *(effect for _, effect in question.effects.values()))
        )
        if not finite or not ((question.half_width > 0) & np.isfinite(question.half_width)).all():
            raise ConfigurationError(
                f"half_width={question.half_width!r} must be finite and > 0, and center={question.center!r} and the "
                "effects finite; ask about an interval of the label"
            )


RESIDUAL = ResidualDevice()


@dataclass(eq=False)
class Told:
    """Joint reports of one group: what they say of each protected feature, in the bins that it has today."""

    question: Question
    reports: np.ndarray  # (m,)
    scale: np.ndarray  # (m,), units of the label in one of the reports
    middle: np.ndarray  # (m,), what is expected of the residual without the features, in units of the label
    joined: dict[int, np.ndarray] = field(default_factory=dict)  # today's bin of each bin that was reported

    def of(self, feature: int, effects: Mapping[int, Effect]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Products and indicators (m, bins) of a feature, least variances of the products (m,), and users (m,).

        The ``effects`` of the other features that the reports tell are taken off.
        """
        question, report = self.question, self.question.report
        parts = dict(zip(question.features, zip(question.parts, question.binnings, strict=True), strict=True))
        part, _ = parts.pop(feature)
        indicators = report.indicators(self.reports, part)
        # What is expected of the residual without the feature is no effect of it.
        products = self.scale[:, None] * report.products(self.reports, part) - self.middle[:, None] * indicators
        for k, (other, asked) in parts.items():
            if k in effects:
                binning, values = effects[k]
                values = values if binning is asked else values[self.joined.get(k, slice(None))]
                products -= report.joint_sums(self.reports, part, other, values)
        if feature in self.joined:
            bin_of = self.joined[feature]
            member = np.eye(bin_of.max() + 1)[bin_of]
            products, indicators = products @ member, indicators @ member
        floors = self.scale**2 * (report.empty_variance * (report.bins // part.bins))
        return products, indicators, floors, question.users


class Curator:
    """The curator: asks questions chosen from public data and earlier reports, and fits the reports.

    Where a joint report costs little, the last half of the users is asked for protected features, by successive
    halving: the first quarter of them for all features, in fine cells that are joined to bins with about as many users
    each; the second for the more probable half; the third for those that may have an effect; the last for those that
    have one as far as reports tell, or for the most probable one. Where not all features have enough users, a random
    part of them is asked for. Where the budget is large enough that it pays, a report has the bins of several features,
    in few bins until the last two stages; the second quarter of the users then tells the cells already, if fewer
    features are shown than protected.
    """

    targets: np.ndarray  # (n,), estimates of the labels from the reports, without the effects of protected features
    noise: np.ndarray  # (n,), their noise variances
    seen: np.ndarray  # users who have answered

    def __init__(
        self,
        enrolled: Enrolled,
        y_range: tuple[float, float],
        epsilon: float,
        in_rounds: bool = True,  # False: one group, the whole range of the label
        ask_protected: bool = True,  # False: protected features are never asked for
        order: np.ndarray | None = None,  # users who may still be asked, in the order of asking; None: all
    ) -> None:
        """Start with no report: arrays for one target a user, in the order of enrollment.

        ``in_rounds`` and ``ask_protected`` False are the ablations that ask once, and for no protected feature.
        """
        self.enrolled, self.y_range, self.epsilon = enrolled, y_range, epsilon
        self.order = enrolled.order if order is None else order
        self.effects: dict[int, Effect] = {}
        self.targets, self.noise, self._expected, self._deviation = np.empty((4, enrolled.order.size))
        self.seen = np.empty(0, dtype=np.int64)
        self._moments = Moments(y_range)
        self._model: GaussianAverage | None = None
        self._joint: dict[int, list[Told]] = {}
        # Most joint bins of a report, in the stage that tells cells and in later ones; 1: one feature a user.
        self._most_cells = self._most = 1
        self._early = False  # whether the second quarter tells cells already
        self._bins_of_levels = 1
        self._finer: dict[tuple[int, int], Binning] = {}  # by feature and number of bins
        self._binning: dict[int, Binning] = {}
        self._probability: dict[int, float] = {}
        self._in_rounds, self._ask_protected = in_rounds and self.order.size >= _FEWEST_IN_ROUNDS, ask_protected

    def questions(self) -> Iterator[Question]:
        """Yield the questions; :meth:`learn` must be called with the answers before the next one is asked."""
        order = self.order
        if not self._in_rounds:
            yield self.question(order)
            return
        n = order.size
        first, second = np.ceil(np.cumsum(SHARES) * n).astype(int)
        yield self.question(order[:first])
        bins = self._affordable(n // STAGES)
        groups = np.array_split(order[second:], STAGES if bins else 1)
        if self._early:
            groups = [order[first:second], *groups]
        else:
            yield self.question(order[first:second])
        if not bins:
            yield self.question(groups[0])
            return
        for number, group in enumerate(groups):
            asked = self._asked(max(0, number + STAGES - len(groups)))
            blocks = self._blocks(asked, self._most if number else self._most_cells) or [()]
            for users, features in zip(np.array_split(group, len(blocks)), blocks, strict=True):
                yield self.question(users, features)
            if number == 0:
                for feature in asked:
                    self._join(feature, bins)

    def _blocks(self, features: Sequence[int], most: int) -> list[tuple[int, ...]]:
        """Cut features into blocks of about the same size, whose bins make at most ``most`` joint ones each."""
        blocks: list[tuple[int, ...]] = []
        for number in range(1, len(features) + 1):
            blocks = [tuple(features[k] for k in block) for block in np.array_split(np.arange(len(features)), number)]
            if all(len(block) == 1 or self._joint_bins(block) <= most for block in blocks):
                break
        return blocks

    def _joint_bins(self, features: Sequence[int]) -> int:
        return math.prod(self._binning[k].bins for k in features)

    def _affordable(self, pilot: int) -> int:
        """Number of bins of a protected feature that users can be asked for; 0: none. Sets the first binnings.

        ``pilot`` is the number of users of that stage; the noise of a joint report and too few users a bin limit it.
        """
        count, fit = len(self.enrolled.hidden) * self._ask_protected, pilot // _FEWEST_PER_FEATURE
        bins = levels.most_bins(self.epsilon, self.targets.size, BINS) if count and fit else 1
        if bins == 1:
            return 0
        chosen = self._drawn(count, fit)
        users = pilot // len(chosen)
        bins = max(2, min(bins, users // _FEWEST_PER_BIN))
        single = max(filter(partial(self._bearable, bins, users), (*_CELL_NUMBERS, bins)))
        self._bins_of_levels = bins
        if count > 1 and self.epsilon >= _LEAST_TOGETHER:
            few, together = self._together(BINS)
            if together > 1 and self._worth(few, together) > _PAYS_TOGETHER * self._worth(single, 1):
                bins, single = few, max(filter(partial(self._bearable, few, users), (*_CELL_NUMBERS, few)))
                chosen = self._drawn(count, fit * together)
                self._most, self._most_cells = bins**together, single ** self._together((single,))[1]
                self._early = self.enrolled.shown.columns.size < count
        for k in chosen:
            columns, several = self.enrolled.hidden[k], self.enrolled.levels[k]
            cells = len(columns) + 1 if several else single
            most = min(cells, max(bins, BINS[-1])) if several else cells
            self._binning[k] = Binning(columns, np.arange(cells) * most // cells, several)
        return bins

    def _drawn(self, count: int, fit: int) -> list[int]:
        """Return the numbers of ``fit`` of the ``count`` protected features, drawn at random where not all fit."""
        if fit >= count:
            return list(range(count))
        return self.enrolled.streams.generator("features").permutation(count)[:fit].tolist()

    def _together(self, choices: Iterable[int]) -> tuple[int, int]:
        """Return the number of bins among ``choices``, and that of features told together, that teach the most."""
        pairs = [(bins, number) for bins in choices for number in _TOGETHER if bins**number <= _MOST_JOINT]
        return max(pairs, key=lambda pair: self._worth(*pair))

    def _worth(self, bins: int, together: int) -> float:
        """Information in a report on so many features, in so many bins each, about their effects."""
        joint = bins**together
        width = levels.best_width(self.epsilon, self.targets.size, joint)
        return _WORTH[bins] * together / levels.total_variance(self.epsilon, width, joint)

    def _bearable(self, bins: int, users: int, cells: int) -> bool:
        """Return True if half of the users can be asked for cells instead of bins, without much more noise or doubt."""
        if cells <= bins:
            return cells == bins
        width = levels.best_width(self.epsilon, self.targets.size, cells)
        doubt = levels.doubt_of_shares(self.epsilon, width, cells) / math.sqrt(max(users // 2, 1))
        dearer = levels.total_variance(self.epsilon, width, cells) > _DEARER * levels.total_variance(
            self.epsilon, width, bins
        )
        return doubt <= _MOST_DOUBT and not dearer

    def _asked(self, stage: int) -> list[int]:
        """Indices of the protected features of which a stage (0 to 3) asks, the more probable to matter first."""
        coarse = [k for k in self._binning if k < len(self.enrolled.hidden)]
        ranked = sorted(coarse, key=lambda k: -self._probability.get(k, 0.0))
        if stage < 2:
            return ranked[: -(-len(ranked) // (stage + 1))]
        enough = [k for k in ranked if self._probability[k] >= (_MAY_PAY if stage == 2 else _PAYS)]
        return self._refined(enough or ranked[: stage - 2])

    def _refined(self, features: list[int]) -> list[int]:
        """Return the features, or their finer bins as features of their own where so few can be told finely.

        What the coarser bins have taught is taken off on the device, and the finer ones add to it.
        """
        if self._most == 1 or not features:
            return features
        number = len(features)
        affordable = [bins for bins in BINS if bins**number <= _MOST_JOINT]
        bins = max(affordable, key=lambda bins: self._worth(bins, number), default=1)
        finer = {}
        for k in features:
            binning, finer[k] = self._finer.get((k, bins)), len(self.enrolled.hidden) + k
            if finer[k] not in self._binning and binning is not None and binning.bins > self._binning[k].bins:
                self._binning[finer[k]] = binning
        return [finer[k] if finer[k] in self._binning else k for k in features]

    def _join(self, feature: int, bins: int) -> None:
        """Join the equal cells of a feature (by index), about which the first stage asked, to at most ``bins`` bins.

        Earlier reports count in these bins from now on, unless labels decided the bins: then they are dropped.
        """
        binning = self._binning[feature]
        products, indicators, *_ = self._told(feature)
        if binning.levels:
            bins = self._bins_of_levels
        elif self._most > 1:
            for more in filter(bins.__lt__, BINS):
                finer, _ = binning.joined(products, indicators, more)
                self._finer[feature, more] = replace(binning, bin_of_cell=finer[binning.bin_of_cell])
        bin_of, by_label = binning.joined(products, indicators, bins)
        self._binning[feature] = replace(binning, bin_of_cell=bin_of[binning.bin_of_cell])
        for told in self._joint[feature]:
            told.joined[feature] = bin_of
        if by_label:  # these reports would find again what they have chosen
            self._joint.pop(feature)
            return
        self._estimate(feature)

    def _told(self, feature: int) -> list[np.ndarray]:
        """Return what all joint reports say of a feature: see :meth:`Told.of`."""
        told = zip(*[told.of(feature, self.effects) for told in self._joint[feature]], strict=True)
        return [np.concatenate(arrays) for arrays in told]

    def question(self, users: np.ndarray, features: tuple[int, ...] = ()) -> Question:
        """Return the question to users, given the reports so far, for some protected features or none.

        ``users`` are indices, ``features`` numbers among the hidden ones.
        """
        binnings, bins = tuple(self._binning[k] for k in features), self._joint_bins(features)
        (lo, hi), m = self.y_range, users.size
        center, half, width = np.full(m, (lo + hi) / 2), np.full(m, (hi - lo) / 2), levels.RANGE_WIDTH
        if self._model is not None:
            model, width = self._model, levels.best_width(self.epsilon, self.targets.size, bins)
            for block, kernels in self.enrolled.blocks(users):
                self._expected[block] = model.predict(kernels)
                self._deviation[block] = np.sqrt(model.variance(kernels) + model.residual_variance)
            half = np.minimum(width * self._deviation[users], half)
            center = np.clip(self._expected[users], lo + half, hi - half)
        report = LevelReport(self.epsilon, levels.best_levels(self.epsilon, width, bins), bins)
        effects = {k: effect for k, effect in self.effects.items() if k not in features}
        return Question(users, center, half, report, width, features, binnings, effects)

    def learn(self, question: Question, reports: np.ndarray) -> None:
        """Read the reports of a group and refit."""
        (lo, hi), users, half = self.y_range, question.users, question.half_width
        unit = question.report.residuals(reports)
        if self._model is None:
            expected, deviation = np.full(users.size, np.clip(unit.mean(), -1.0, 1.0)), 1.0 / question.width
        else:
            expected, deviation = (self._expected[users] - question.center) / half, self._deviation[users] / half
        margin = 1e-9 * (hi - lo)
        ends = np.array([question.center - half <= lo + margin, question.center + half >= hi - margin])
        placed = Placed.of(question.report, expected, np.broadcast_to(deviation, users.shape), ends)
        scale = half / placed.slope
        self.targets[users] = question.center + half * placed.expected + scale * (unit - placed.clipped)
        self.noise[users] = scale**2 * placed.noise
        if question.features:
            self._learn_effects(Told(question, reports, scale, scale * placed.clipped))
        self.seen = np.concatenate([self.seen, users])
        self._refit(users)

    def _refit(self, users: np.ndarray) -> None:
        """Add the reports of ``users`` (indices) to the moments, and fit the Gaussian average to these."""
        for block, features in self.enrolled.blocks(users):
            self._moments.add(features, self.targets[block], self.noise[block])
        self._model = GaussianAverage(self._moments)

    def _learn_effects(self, answers: Told) -> None:
        """Store joint reports on protected features, estimate their effects, take them off the labels."""
        question, features = answers.question, answers.question.features
        for feature in features:
            self._joint.setdefault(feature, []).append(answers)
        for _ in range(1 if len(features) == 1 else _SWEEPS):
            for feature in features:
                self._estimate(feature)
        # The public features are fitted to the residuals of the protected ones.
        for feature, part in zip(features, question.parts, strict=True):
            self.targets[question.users] -= question.report.indicators(answers.reports, part) @ self.effects[feature][1]

    def _estimate(self, feature: int) -> np.ndarray:
        """Estimate a feature's effects (bins,) from all joint reports; keep them and their probability.

        ``feature`` is its index among the hidden ones.
        """
        products, indicators, floors, users = self._told(feature)
        units = None if self.enrolled.units is None else self.enrolled.units[users]
        binning, variance = self._binning[feature], self.result().residual_variance
        linear = 0.0 if binning.levels else LINEAR
        effects = estimate_effects(products, indicators, variance, float(floors.mean()), linear, units)
        self.effects[feature], self._probability[feature] = (binning, effects.values), effects.probability
        return effects.values

    def pool_repeats(self) -> None:
        """Take users who show the same features for one, where most do and their labels agree.

        Rows of one person predict each other better than they predict anybody else: a model that is judged by reports
        left out one by one would trust itself too much. The mean of a place has the noise of its reports and the
        variance of labels within places.
        """
        users = self.seen
        rows = np.ascontiguousarray(self.enrolled.Z[users])
        rows = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
        _, first, index, counts = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
        if counts.size < _FEWEST_PLACES or (counts[index] > 1).mean() <= _NOT_ALONE:
            return
        weight = 1.0 / (self.noise[users] + 1e-9 * self._moments.typical)
        total = np.bincount(index, weight)
        mean = np.bincount(index, weight * self.targets[users]) / total
        # Analysis of variance: what the labels add to the noise, within places and in all.
        freedom = users.size - counts.size
        scale = float(weight @ (1.0 - weight / total[index]))
        within = (weight @ (self.targets[users] - mean[index]) ** 2 - freedom) / scale
        spread = weight @ (self.targets[users] - weight @ self.targets[users] / weight.sum()) ** 2
        label = (spread - users.size + 1) / (weight.sum() - weight @ weight / weight.sum())
        if within + 2.0 * np.sqrt(2.0 * freedom) / scale > _WITHIN * label:
            return
        self.seen = users[first]
        self.targets[self.seen], self.noise[self.seen] = mean, 1.0 / total + np.maximum(within, 0.0) / counts
        self._moments = Moments(self.y_range)
        self._refit(self.seen)

    def result(self) -> GaussianAverage:
        """Return the model fitted to all reports so far; RuntimeError before any group has answered."""
        if self._model is None:
            raise RuntimeError("no group of users has answered yet")
        return self._model
