"""Claims of papers: a claim is a sentence with checks, a check compares cells of a table and has an outcome.

The same check runs on the published numbers and on ours.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import scipy

from lpbench.analysis.instances import RESAMPLES, Instance, draws, pooled, resampled
from lpbench.analysis.rates import LEVEL, Interval

AGREES, CONTRADICTS, UNDECIDED = "agrees", "contradicts", "undecided"
HOLDS, MOSTLY, FAILS = "holds", "mostly", "fails"
#: At most this share of the instances may contradict a check that holds mostly.
EXCEPTIONS = 0.2
#: Chance with which a check of enough replications sees an effect of its size.
POWER = 0.8
#: Share of resamples of the replications that must keep a verdict.
STABLE = 0.8

NOT_PRINTED, NO_VERDICT = "not printed", "no verdict"
#: The contrary of a sentence, which a check with power refutes.
OPPOSITE = "if the true effect has the opposite sign"
#: Outcome of an undecided check that would not see its effect, or the contrary, in half of such runs.
CANNOT_DECIDE = "cannot decide"
#: Power below which a check that is undecided could not have been decided.
LEAST_POWER = 0.5
#: Outcomes of a check, the weakest last.
OUTCOMES = (HOLDS, MOSTLY, UNDECIDED, CANNOT_DECIDE, FAILS, NO_VERDICT)


#: Maps a source of numbers to the instances of a check.
Finder = Callable[[Any], Iterable[Instance]]


@dataclass(frozen=True)
class Region:
    """Open interval of values of a statistic in which a check holds, with a margin included in its ends."""

    low: float = -np.inf
    high: float = np.inf

    def judge(self, interval: Interval) -> str:
        """Return ``agrees`` for an interval in the region, ``contradicts`` outside, ``undecided`` across its border."""
        agrees, reach = self.reach(np.array([interval.estimate, interval.low, interval.high]))
        return AGREES if agrees else CONTRADICTS if reach > 1 else UNDECIDED

    def reach(self, intervals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return True for intervals inside the region, and the half-widths by which others lie outside.

        Intervals stand on the last axis: estimate, lower end, upper end.
        """
        low, high = self.low, self.high
        estimate, least, most = np.moveaxis(intervals, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            sides = [(low - estimate) / (most - estimate), (estimate - high) / (estimate - least)]
        return (least > low) & (most < high), np.nan_to_num(np.maximum(*sides), nan=0.0).clip(0, 1e6)


@dataclass(frozen=True)
class Check:
    """Statistic of a claim's instances, with the region in which the claim holds and the rule that combines them."""

    name: str  # unique within its claim
    find: Finder  # raises NotRunError
    region: Region
    words: str = ""  # its rule; by default the first paragraph of the finder's docstring
    #: Empty: on average over the instances. ``every``: the sentence says "always" or "all", and no instance may lie
    #: beyond its margin. ``each``: it names its instances, and all must agree. ``some``: it says that there are such
    #: instances, so that one suffices and not all may agree.
    quantifier: Literal["", "every", "each", "some"] = ""
    not_counted_because: str = ""  # why the claim does not rest on it, although it is shown
    rule_changes: str = ""  # what was changed after results were known, and why
    #: Effect that the replications must suffice for, in standard deviations of the pooled value of one replication.
    effect: float = 1.0

    @property
    def counts(self) -> bool:
        """True if the claim rests on the check."""
        return not self.not_counted_because

    @property
    def rule(self) -> str:
        """The rule as one sentence."""
        text = self.words or inspect.getdoc(self.find) or self.name
        return " ".join(text.split("\n\n")[0].split())

    @property
    def replications(self) -> int:
        """Number of replications that keep :attr:`effect` with a chance of :data:`POWER`; a verdict needs as many."""
        return replications_for(self.effect) if self.effect else 1

    def outcomes(
        self, parts: np.ndarray, pooled_interval: np.ndarray, freedom: int, confirmed: np.ndarray | None = None
    ) -> np.ndarray:
        """Outcomes by the intervals of the instances that can tell, and by the pooled one.

        Contradictions count after Holm's correction within the check; below five instances none may contradict. Where
        "every" instance must agree, one wholly beyond its margin is enough not to hold, and to fail if the run of
        another seed contradicts it, too (``confirmed``, shape (m,)).
        ``parts`` has shape (B, m, 3) and ``pooled_interval`` (B, 3): estimate, low and high, one row per sample of the
        replications. ``freedom`` are the degrees of freedom behind them.
        """
        agrees, reach = self.region.reach(parts)
        if self.quantifier == "some":
            lucky = agrees.any(axis=-1) & ~agrees.all(axis=-1)
            return np.where((reach > 1).all(axis=-1), FAILS, np.where(lucky, HOLDS, UNDECIDED))
        p = 2 * scipy.stats.t.sf(np.sort(reach)[..., ::-1] * scipy.stats.t.ppf((1 + LEVEL) / 2, freedom), freedom)
        size = p.shape[-1]
        against = np.cumprod(p < (1 - LEVEL) / (size - np.arange(size)), axis=-1).sum(axis=-1)
        inside, outside = self.region.reach(pooled_interval)
        fails = (outside > 1) | (against > (0 if self.quantifier in ("every", "each") else int(EXCEPTIONS * size)))
        inside = np.asarray(agrees.all(axis=-1) if self.quantifier == "each" else inside)
        if self.quantifier == "every":
            inside = inside & ~(reach > 1).any(axis=-1)
            fails = fails if confirmed is None else fails | ((reach > 1) & confirmed).any(axis=-1)
        return np.where(fails, FAILS, np.where(~inside, UNDECIDED, np.where(against > 0, MOSTLY, HOLDS)))

    def simulated(self, instance: Instance, spread: float, mirrored: bool = False) -> tuple[Instance, float]:
        """Return a simulated instance under the claim, or its contrary, for the power of the check, and the shift.

        A curve's means are put in the claimed order, or in its reverse; elsewhere the value lies :attr:`effect`
        standard deviations of a replication inside the region (in its middle, where it has one), or as far outside.
        """
        cells, side = instance.cells, -1 if mirrored else 1
        if instance.statistic == "trend":
            order = np.argsort(np.argsort(side * np.asarray(instance.arguments["x"])))
            shift = np.sort(cells.means)[order] - cells.means
            return replace(instance, cells=replace(cells, samples=cells.samples + shift)), 0.0
        low, high, estimate = self.region.low, self.region.high, pooled([instance]).estimate
        # what is computed and not drawn has no spread, and is mirrored at the border
        away = self.effect * spread if self.effect else abs(estimate - (high if high < np.inf else low))
        aim = high - side * away if high < np.inf else low + side * away
        return instance, ((low + high) / 2 if np.isfinite(high - low) and not mirrored else aim) - estimate


@cache
def replications_for(effect: float) -> int:
    """Smallest number of replications whose verdict sees ``effect``, and is kept, with a chance of :data:`POWER`."""
    count = 2
    while power(effect, count) < POWER:
        count += 1
    return count


def power(effect: float, replications: int) -> float:
    """Chance of a verdict on an effect, in standard deviations of one replication.

    A paired t test must see it, and :data:`STABLE` of the resamples of the replications too: as their means spread
    like the mean itself, the statistic must lie beyond the test's edge by :func:`stable_margin`. So a verdict is one at
    level .005 and not .05.
    """
    edge = scipy.stats.t.ppf((1 + LEVEL) / 2, replications - 1) + stable_margin(replications)
    return float(scipy.stats.nct.sf(edge, replications - 1, effect * np.sqrt(replications)))


def stable_margin(replications: int) -> float:
    """Standard errors beyond the edge of a test at which :data:`STABLE` of the resamples keep its outcome."""
    return float(scipy.stats.norm.ppf(STABLE) * np.sqrt(1 - 1 / replications))


@dataclass(frozen=True)
class Judged:
    """Outcome of a check on one source (our scores or the printed numbers), with its interval and instances.

    ``stability`` is the share of resamples with the same outcome, ``power`` that with which a true claim would hold,
    ``mirror`` that with which the contrary would fail, and ``counts`` how many instances agree, contradict, are
    undecided.
    """

    instances: tuple[Instance, ...]
    intervals: tuple[Interval, ...]  # one an instance
    overall: Interval  # of the mean of the instances that can tell
    outcome: str  # undecided, or cannot decide, where too few resamples keep it
    stability: float = np.nan  # share of resamples of the replications that keep the verdict
    power: float = np.nan  # chance that the check holds if its sentence is true, simulated with the noise measured
    mirror: float = np.nan  # chance that it fails where the contrary is true, as far from the border
    reason: str = ""  # why it is undecided without looking at intervals
    counts: tuple[int, int, int] = (0, 0, 0)  # instances that agree, are undecided, contradict

    @property
    def replications(self) -> int:
        """Smallest number of replications behind any instance; 0 without instances."""
        return min((len(i.cells.samples) for i in self.instances), default=0)


def judge(check: Check, instances: Sequence[Instance], confirmed: Collection[str] = ()) -> Judged:
    """Judge what a check found on a source: its region, quantifier and effect decide.

    ``confirmed`` names the instances that a run of another seed contradicts.
    """
    samples = [draws(instance) for instance in instances]
    intervals = tuple(pooled([instance], [values]) for instance, values in zip(instances, samples, strict=True))
    telling = [k for k, instance in enumerate(instances) if not instance.silent]
    if not telling:
        overall = Interval(float(np.mean([i.estimate for i in intervals])), np.nan, np.nan)
        silent = (0, len(instances), 0)
        return Judged(tuple(instances), intervals, overall, UNDECIDED, reason=instances[0].silent, counts=silent)
    speaking, values = [instances[k] for k in telling], [samples[k] for k in telling]
    parts, twice = [intervals[k] for k in telling], np.array([i.name in confirmed for i in speaking])
    overall = pooled(speaking, values)
    freedom = max(min(len(i.cells.samples) for i in speaking) - 1, 1)
    table = np.array([[i.estimate, i.low, i.high] for i in (*parts, overall)])
    again = resampled(speaking)
    first = str(check.outcomes(table[None, :-1], table[None, -1], freedom, twice)[0])
    others = [as_verdict(o) for o in check.outcomes(again[:, :-1], again[:, -1], freedom, twice)]
    stability = float(np.mean([o == as_verdict(first) for o in others]))
    outcome = first if stability >= STABLE else UNDECIDED
    power, mirror = (_power(check, speaking, parts, again, freedom, side) for side in (False, True))
    reason = ""
    if nameless := [i.name for i, interval in zip(speaking, parts, strict=True) if np.isnan(interval.estimate)]:
        power = mirror = 0.0
        outcome, reason = CANNOT_DECIDE, f"{len(nameless)} instances have no number, such as “{nameless[0]}”"
    elif outcome == UNDECIDED and min(power, mirror) < LEAST_POWER:
        reason = (
            f"the power is {power:.0%} if the sentence is true and {mirror:.0%} {OPPOSITE}, but a verdict needs a "
            f"power of {LEAST_POWER:.0%} in both cases"
        )
        outcome = CANNOT_DECIDE
    elif stability < STABLE:
        shares = {o: others.count(o) / len(others) for o in (HOLDS, FAILS)}
        side = max(shares, key=shares.__getitem__)
        kept = f"{shares[side]:.0%} of {RESAMPLES:,} bootstrap samples"
        reason = f"the check {side} in {kept}, but a verdict needs {STABLE:.0%} of the samples"
    elif check.quantifier == "some" and all(check.region.judge(interval) == AGREES for interval in parts):
        reason = "every instance agrees with the rule, although the sentence speaks of some"
    words = [check.region.judge(interval) for interval in parts] + [UNDECIDED] * (len(instances) - len(telling))
    counts = words.count(AGREES), words.count(UNDECIDED), words.count(CONTRADICTS)
    if check.quantifier == "every" and outcome == UNDECIDED and not reason and counts[2]:
        reason = "another seed does not confirm the instances that contradict the rule"
    return Judged(tuple(instances), intervals, overall, outcome, stability, power, mirror, reason, counts)


def _power(
    check: Check,
    speaking: Sequence[Instance],
    parts: Sequence[Interval],
    again: np.ndarray,
    freedom: int,
    mirrored: bool,
) -> float:
    """Share of resamples on which the check holds, and keeps that outcome, if the claim is true.

    ``speaking`` are the instances that can be judged, ``parts`` their intervals, and ``again`` their resampled
    estimates with the overall one last. With ``mirrored``: share on which it fails if the contrary is true. NaN where
    nothing varies.
    """
    edge = scipy.stats.t.ppf((1 + LEVEL) / 2, freedom)
    scale = np.sqrt(freedom + 1) / edge / 2
    spreads = [float(scale * (interval.high - interval.low)) for interval in parts]
    if check.effect and (not max(spreads) < np.inf or (max(spreads) == 0 and speaking[0].statistic != "trend")):
        return np.nan
    if check.quantifier == "some":  # which some are meant it does not say: as they are, or all beyond the margin
        spreads = [max(spreads)] * len(spreads)
    if check.quantifier != "some" or mirrored:
        pairs = [check.simulated(i, s, mirrored) for i, s in zip(speaking, spreads, strict=True)]
        instances, shifts = zip(*pairs, strict=True)
        again = resampled(instances) if any(i is not j for i, j in zip(instances, speaking, strict=True)) else again
        again = again + np.array([*shifts, np.mean(shifts)])[:, None]
    again = again[..., :1] + (again - again[..., :1]) * (1 + stable_margin(freedom + 1) / edge)
    wanted = FAILS if mirrored else HOLDS
    return float(np.mean([as_verdict(o) == wanted for o in check.outcomes(again[:, :-1], again[:, -1], freedom)]))


def as_verdict(outcome: str) -> str:
    """Return a check's outcome as a claim's verdict: "mostly holds" is printed as "holds", the others as they are."""
    return HOLDS if outcome == MOSTLY else outcome


def weakest(outcomes: Iterable[str]) -> str:
    """The weakest of several outcomes; "not printed" does not count, unless all are."""
    printed = [o for o in outcomes if o != NOT_PRINTED]
    return max(printed, key=OUTCOMES.index) if printed else NOT_PRINTED


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the checks that it rests on: it holds as far as its weakest check does."""

    name: str  # unique over all papers: H1
    artifact: str  # the table or figure that the sentence is about
    statement: str
    checks: tuple[Check, ...] = ()
    counted_apart: bool = False  # stated after the first full run, whose claims stay comparable
    section: str = ""  # of the paper, where the statement is a quotation of it; empty: a paraphrase

    @property
    def title(self) -> str:
        """The sentence quoted, with its section; a paraphrase without quotation marks."""
        return quoted(self.statement, self.section) + (f" ({place(self.section)})" if self.section else "")

    def concerns(self, leaf: str) -> bool:
        """True if the sentence is about an artifact, the last part of an experiment's name (``4b`` is in ``4a-b``)."""
        if "-" not in self.artifact:
            return leaf == self.artifact
        first, _, last = self.artifact.partition("-")
        return leaf[:-1] == first[:-1] and first[-1] <= leaf[-1] <= last


def quoted(statement: str, section: str) -> str:
    """Quote a sentence; a paraphrase has no section, and no quotation marks."""
    return f"“{statement}”" if section else statement


def place(section: str) -> str:
    """Name a section of a paper in words."""
    return f"section {section}" if section[1:2] == "." else section.lower()


@dataclass
class Checks:
    """Checks by claim; an instance is a decorator: ``checks = Checks()``, then ``@checks("H1", "trend", above(0))``."""

    by_claim: dict[str, list[Check]] = field(default_factory=dict)

    def __call__(self, claim: str, name: str, region: Region, **options: Any) -> Callable[[Finder], Finder]:
        """Register the decorated function as a check of a claim."""

        def register(function: Finder) -> Finder:
            self.add(claim, name, region, "", function, **options)
            return function

        return register

    def add(self, claim: str, name: str, region: Region, words: str, find: Finder, **options: Any) -> None:
        """Register a check of a claim whose rule is said in words."""
        checks = self.by_claim.setdefault(claim, [])
        if any(check.name == name for check in checks):
            raise ValueError(f"claim {claim} has two checks named {name!r}")
        checks.append(Check(name, find, region, words, **options))


def above(base: float = 0.0, margin: float = 0.0) -> Region:
    """Values above ``base - margin``; a negative margin is a demand beyond the base, here and below."""
    return Region(low=base - margin)


def below(base: float = 0.0, margin: float = 0.0) -> Region:
    """Return the region of values below ``base + margin``."""
    return Region(high=base + margin)


def within(margin: float) -> Region:
    """Values within ``margin`` of zero: an equivalence."""
    return Region(-margin, margin)
