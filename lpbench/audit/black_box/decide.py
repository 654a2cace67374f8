"""The black-box audit: a confidence sequence of lower bounds on the loss that stops when a claim is refuted.

Reports are drawn in stages of growing size. In every stage an event is chosen on the first half of the reports drawn so
far and tested on the second, by Clopper and Pearson's limits or by a bet on both probabilities together
(:func:`joint_bound`); the failure probability is divided among stages and directions, so that the
largest bound of all stages holds, and the audit may stop after any of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaln, xlog1py, xlogy

from lpbench.audit.black_box.claims import PrivacyClaim
from lpbench.audit.black_box.interfaces import Counts, Decision, Subject
from lpbench.audit.black_box.reports import Columns, part_of
from lpbench.audit.black_box.sources import DeviceSource
from lpbench.audit.black_box.values import show_value
from lpbench.audit.black_box.witness import Event, find_events
from lpbench.audit.randomizers import Randomizer
from lpbench.errors import DataError
from lpbench.seeds import Streams

#: Reports of each value in the first stage, and the factor to the next.
_FIRST, _GROWTH = 1000, 4
#: Fewest reports of each value.
FEWEST = 200
#: Numbers that are held in memory for each value.
_MOST_NUMBERS = 40_000_000
#: Rounds of the search for the worst pair of values: reports of each value, pairs that go on.
_ROUNDS = ((1000, 4), (4000, 1))
_QUICK_ROUNDS = ((3000, 3), (10_000, 1))
#: Rounding error allowed to a bound.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Verdict:
    """Result of a black-box audit: a lower bound on the loss, and the event and values that show it.

    The event (``rule``) is likelier under the first of ``values``; ``hits`` are its counts under each among ``tested``
    reports, and ``confidence`` is the probability that ``bound`` holds.
    """

    name: str
    claim: PrivacyClaim
    bound: float  # lower bound on the loss
    confidence: float  # probability that ``bound`` is one, both directions and all stages together
    values: tuple[Any, Any]  # the one under which the event is likelier, and the other
    rule: str  # the event
    hits: tuple[int, int]  # how often the event occurred under each of them, among ``tested`` reports
    tested: int  # reports of each value that tested the event
    samples: int  # reports of each value that were drawn
    unit: str = Subject.unit
    remarks: tuple[str, ...] = ()  # about reports that are not independent, or of which a part cannot be learned

    @property
    def violated(self) -> bool:
        """True if the lower bound exceeds the claimed epsilon."""
        return self.bound > self.claim.epsilon + _TOLERANCE

    def __str__(self) -> str:
        """Describe the verdict: its bound, the event with its two frequencies, the numbers of reports, remarks."""
        loss = "Renyi divergence" if math.isfinite(self.claim.order) else "epsilon"
        first, second = (f"{100 * hits / self.tested:.3g} %" for hits in self.hits)
        texts = [show_value(value) for value in self.values]
        lines = [
            f"{self.name}: {'VIOLATED' if self.violated else 'no violation found'}; claims {self.claim}, loses at "
            f"least {self.bound:.4g} ({loss}, confidence {100 * self.confidence:.6g} %)"
        ]
        if self.bound > 0:
            lines.append(f"  {self.rule}: {first} against {second} (value {texts[0]} against {texts[1]})")
        lines.append(f"  {self.samples} {self.unit} drawn, {self.tested} of them to test the event")
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join(lines)


def audit(
    source: Subject, claim: PrivacyClaim, samples: int = 1_000_000, failure: float = 1e-3, quick: bool = False
) -> Verdict:
    """Audit a randomizer's claim; stop early, on fewer samples, once it is refuted.

    With ``quick`` all samples are drawn at once, and no readable rules are sought.
    """
    pair, start = worst_pair(source, claim, failure, quick)
    room = min(samples, source.size - start)
    if room < FEWEST and not quick:
        raise DataError(f"{source.name}: {room:g} reports of a value are too few; an audit needs {FEWEST} or more")
    stages = [int(room)] if quick else _stages(int(room))
    share, drawn = failure / len(stages) / 2, 0
    reports: list[Columns] = [{}, {}]
    proven: list[tuple[float, Event, Counts]] = []
    for n in stages:
        reports = [_join(old, source.draw(v, start + drawn, start + n)) for old, v in zip(reports, pair, strict=True)]
        drawn = n
        if reports[0].keys() != reports[1].keys():
            raise DataError(
                f"{source.name}: reports of {source.values[pair[0]]!r} and {source.values[pair[1]]!r} differ in shape"
            )
        first, second = (part_of(part, 0, n // 2) for part in reports)
        for event in find_events(first, second, claim, share, not quick):
            pilot, tested = (_counts(event, reports, *half) for half in ((0, n // 2), (n // 2, n)))
            proven.append((_bound(claim, tested, pilot, share), event, tested))
        bound, event, tested = max(proven, key=lambda one: one[0])
        violated = bound > claim.epsilon + _TOLERANCE
        if violated or n * len(reports[0]) * _GROWTH > _MOST_NUMBERS:
            break
    likelier, other = event.direction
    values = source.values[pair[likelier]], source.values[pair[other]]
    remarks = _remarks(values, (reports[likelier], reports[other]), violated)
    return Verdict(
        source.name,
        claim,
        bound,
        1 - failure,
        values,
        event.rule,
        tested[:2],
        tested[2],
        drawn,
        source.unit,
        tuple(remarks),
    )


def lower_bound(randomizer: Randomizer, samples: int, streams: Streams, failure: float) -> Verdict:
    """Bound the loss of a device from below: nothing is stopped early, so that the bound is as large as it can be."""
    claim = PrivacyClaim(0.0, randomizer.delta)
    return audit(DeviceSource(randomizer, streams), claim, samples, failure, quick=True)


def detectable(samples: int, failure: float) -> float:
    """Largest :func:`lower_bound`: half of the samples test an event that always occurs against one that never does."""
    half = samples // 2
    return _bound(PrivacyClaim(0.0), (half, 0, half), (half, 0, half), failure / 2.0)


def _remarks(values: tuple[Any, Any], reports: tuple[Columns, Columns], violated: bool) -> Iterator[str]:
    """Yield remarks for the verdict: a value's reports are all equal, or a column differs in every report.

    ``reports`` are the two values' columns. Such reports are not independent, or cannot be learned from.
    """
    alone = [name for name in reports[0] if all(_is_a_name(of_value[name]) for of_value in reports)]
    for value, columns in zip(values, reports, strict=True):
        informative = [column for name, column in columns.items() if name not in alone]
        if informative and all((column == column[0]).all() for column in informative):
            yield (
                f"all reports of value {show_value(value)} are the same: is a seed or a memory inside? An audit needs "
                "independent runs"
            )
    if alone and not violated:
        yield (
            f"{', '.join(alone)}: another in every report, so that what depends on it is not learned from reports; "
            "give --features CODE, which makes numbers of it"
        )


def _is_a_name(column: np.ndarray) -> bool:
    """Return True if a column has another text or whole number in every report; noise has fractions."""
    is_discrete = column.dtype == object or (np.isfinite(column) & (column == np.floor(column))).all()
    return bool(is_discrete) and np.unique(column.astype(str) if column.dtype == object else column).size == column.size


def _counts(event: Event, reports: Sequence[Columns], start: int, stop: int) -> Counts:
    likelier, less_likely = (int(event.happens(part_of(reports[i], start, stop)).sum()) for i in event.direction)
    return likelier, less_likely, stop - start


class Limits:
    """Rule that bounds the loss by exact confidence limits of the two probabilities of an event."""

    paper: ClassVar[str] = "C. Clopper, E. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934"

    def bound(self, claim: PrivacyClaim, tested: Counts, pilot: Counts, failure: float) -> float:
        """Bound the loss from the tested counts alone, with a failure probability."""
        return float(claim.proven(*tested, failure))


class Bet:
    """Rule that bounds the loss by a likelihood ratio of both counts together; it needs fewer reports than two limits.

    It is not made for Renyi divergences; see :func:`joint_bound`.
    """

    paper: ClassVar[str] = "L. Wasserman, A. Ramdas, S. Balakrishnan, Universal inference, PNAS 117, 2020"

    def bound(self, claim: PrivacyClaim, tested: Counts, pilot: Counts, failure: float) -> float:
        """Bound the loss by the likelihood of the tested counts, weighted by what the pilot counts suggest."""
        return joint_bound(tested, pilot, claim.delta, failure) if math.isinf(claim.order) else 0.0


#: Of these the one that would have proven more on the pilot half is taken.
DECISIONS: Sequence[Decision] = (Limits(), Bet())


def _bound(claim: PrivacyClaim, tested: Counts, pilot: Counts, failure: float) -> float:
    best = max(DECISIONS, key=lambda rule: rule.bound(claim, pilot, pilot, failure))
    return best.bound(claim, tested, pilot, failure)


def _stages(samples: int) -> list[int]:
    """Numbers of reports, increasing, after which the audit may stop early; the last one is ``samples``."""
    sizes = [_FIRST]
    while sizes[-1] * _GROWTH < samples:
        sizes.append(sizes[-1] * _GROWTH)
    return [n for n in sizes if 2 * n <= samples] + [samples]


def worst_pair(
    source: Subject, claim: PrivacyClaim, failure: float, quick: bool = False
) -> tuple[tuple[int, int], int]:
    """Return the pair of values that pilot reports tell apart best, and how many reports were used up."""
    pairs = source.pairs
    start = 0
    for wanted, survivors in _QUICK_ROUNDS if quick else _ROUNDS:
        n = int(min(wanted, source.size // 10))
        if len(pairs) <= survivors or n < 40:
            continue
        pilots = {v: source.draw(v, start, start + n) for v in sorted(set(sum(pairs, ())))}
        scores = [pilot_score(pilots[v], pilots[w], n, claim, failure, quick) for v, w in pairs]
        pairs = [pairs[i] for i in np.argsort(scores, kind="stable")[::-1][:survivors]]
        start += n
    return pairs[0], start


def pilot_score(
    first: Columns, second: Columns, n: int, claim: PrivacyClaim, failure: float, quick: bool = True
) -> float:
    """Bound from a pilot sample; comparing needs no guarantee, and a generous failure probability makes it sharper."""
    if first.keys() != second.keys():
        return math.inf
    halves = [part_of(columns, 0, n // 2) for columns in (first, second)]
    events = find_events(halves[0], halves[1], claim, failure, not quick)
    return max(float(claim.proven(*_counts(event, (first, second), n // 2, n), 0.3)) for event in events)


def _join(old: Columns, new: Columns) -> Columns:
    return {name: np.concatenate([old[name], column]) for name, column in new.items()} if old else new


def joint_bound(tested: Counts, pilot: Counts, delta: float, failure: float) -> float:
    """Lower bound on epsilon from the counts of an event under two values, which needs fewer reports than two limits.

    Split likelihood ratio (Wasserman, Ramdas and Balakrishnan, "Universal inference", 2020): the pilot half of the
    reports says which probabilities to bet on, the tested half is the bet. If (p, q) keeps a claim, the ratio of the
    likelihood averaged over the pilot's beliefs to the largest likelihood under the claim has mean 1 at most, and so
    exceeds 1 / failure with that probability at most. A larger epsilon allows more, so that the ratio falls with it,
    and the largest epsilon at which it is still above is a lower bound on the loss.
    """
    (*hits, n), (*guesses, n_pilot) = tested, pilot
    bet = sum(
        betaln(a + h + 1, n_pilot - a + n - h + 1) - betaln(a + 1, n_pilot - a + 1)
        for h, a in zip(hits, guesses, strict=True)
    ) + math.log(failure)

    def margin(epsilon: float) -> float:
        return float(bet - _likelihood(hits, n, math.exp(epsilon), delta))

    room = hits[0] - delta * n
    if room <= hits[1] or margin(0.0) <= 0.0:
        return 0.0
    # a claim that the counts keep is not refuted, nor is one above log(n) + 1
    most = min(math.log(room / hits[1]) if hits[1] else math.inf, math.log(n) + 1.0)
    return float(brentq(margin, 0.0, most, xtol=_TOLERANCE)) - _TOLERANCE


def _likelihood(hits: Sequence[int], n: int, weight: float, delta: float) -> float:
    """Largest log-likelihood of two counts ``hits`` of ``n`` under p = weight q + delta, over q.

    It is the edge of the claim, to which counts that break the claim come nearest.
    """

    def unlikely(q: float) -> float:
        pairs = zip((min(weight * q + delta, 1.0), q), hits, strict=True)
        return -float(sum(xlogy(h, p) + xlog1py(n - h, -p) for p, h in pairs))

    end = (1.0 - delta) / weight
    inside = minimize_scalar(unlikely, bounds=(0.0, end), method="bounded", options={"xatol": 1e-13}).fun
    return -min(float(inside), unlikely(end))
