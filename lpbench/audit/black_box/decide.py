"""The black-box audit: a confidence sequence of lower bounds on the loss that stops when a claim is refuted.

Reports are drawn in stages of growing size. In every stage an event is chosen on the first half of the reports drawn so
far and tested on the second, by Clopper and Pearson's limits or by a bet on both probabilities together
(:mod:`~lpbench.audit.black_box.joint`); the failure probability is divided among stages and directions, so that the
largest bound of all stages holds, and the audit may stop after any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lpbench.audit.black_box.claims import Claim
from lpbench.audit.black_box.joint import joint_bound
from lpbench.audit.black_box.reports import Columns
from lpbench.audit.black_box.sources import Source
from lpbench.audit.black_box.values import show_value
from lpbench.audit.black_box.witness import Event, find_events
from lpbench.errors import DataError

#: Reports of each value in the first stage, and the factor to the next.
_FIRST, _GROWTH = 1000, 4
#: Fewest reports of each value.
FEWEST = 200
#: Numbers that are held in memory for each value.
_MOST_NUMBERS = 40_000_000
#: Rounds of the search for the worst pair of values: reports of each value, pairs that go on.
_ROUNDS = ((1000, 4), (4000, 1))
#: Distinct reports up to which losses are counted one by one, and the fewest of a report that are not pooled.
_MOST_REPORTS, _POOLED = 64, 20
_BOTH = [(0, 1), (1, 0)]
#: Rounding error allowed to a bound.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Verdict:
    """What an audit found."""

    name: str
    claim: Claim
    bound: float  # lower bound on the loss
    confidence: float  # probability that ``bound`` is one, both directions and all stages together
    values: tuple[Any, Any]  # the one under which the event is likelier, and the other
    rule: str  # the event
    hits: tuple[int, int]  # how often the event occurred under each of them, among ``tested`` reports
    tested: int  # reports of each value that tested the event
    samples: int  # reports of each value that were drawn
    estimate: float | None  # loss of the counted frequencies, where reports are few; nothing is proven by it
    n_reports: int  # distinct reports behind ``estimate``
    samples_of: tuple[Columns, Columns]  # reports of the two values, for a picture
    event: Event

    @property
    def violated(self) -> bool:
        """Whether the sample refutes the claim."""
        return self.bound > self.claim.epsilon + _TOLERANCE

    def __str__(self) -> str:
        loss = "Renyi divergence" if math.isfinite(self.claim.order) else "epsilon"
        first, second = (f"{100 * hits / self.tested:.3g} %" for hits in self.hits)
        shown = [show_value(value) for value in self.values]
        lines = [
            f"{self.name}: {'VIOLATED' if self.violated else 'no violation found'}; claims {self.claim}, loses at "
            f"least {self.bound:.4g} ({loss}, confidence {100 * self.confidence:.6g} %)"
        ]
        if self.bound > 0:
            lines.append(f"  {self.rule}: {first} against {second} (value {shown[0]} against {shown[1]})")
        if self.estimate is not None:
            loss = "infinity" if math.isinf(self.estimate) else f"{self.estimate:.4g}"
            lines.append(f"  {self.n_reports} distinct reports, counted: {loss} (an estimate, which proves nothing)")
        lines.append(f"  {self.samples} reports of each value drawn, {self.tested} of them to test the event")
        return "\n".join(lines)


def audit(source: Source, claim: Claim, samples: int = 1_000_000, failure: float = 1e-3) -> Verdict:
    """Hold a randomizer to its claim; fewer samples are drawn if the claim is refuted earlier."""
    pair, start = _worst_pair(source, claim, failure)
    room = min(samples, source.size - start)
    if room < FEWEST:
        raise DataError(f"{source.name}: {room:g} reports of a value are too few; an audit needs {FEWEST} or more")
    stages = _stages(int(room))
    reports: list[Columns] = [{}, {}]
    best: tuple[float, Event, tuple[int, int], int] | None = None
    for n in stages:
        drawn = len(next(iter(reports[0].values()))) if reports[0] else 0
        reports = [_join(old, source.draw(v, start + drawn, start + n)) for old, v in zip(reports, pair, strict=True)]
        if reports[0].keys() != reports[1].keys():
            raise DataError(
                f"{source.name}: reports of {source.values[pair[0]]!r} and {source.values[pair[1]]!r} differ in shape"
            )
        share = failure / len(stages) / 2
        for event in find_events(_slice(reports[0], 0, n // 2), _slice(reports[1], 0, n // 2), _BOTH, claim, share):
            pilot, hits = (_hits(event, reports, *half) for half in ((0, n // 2), (n // 2, n)))
            bound = _bound(claim, hits, n - n // 2, pilot, n // 2, share)
            if best is None or bound > best[0]:
                best = bound, event, hits, n - n // 2
        if best is not None and best[0] > claim.epsilon + _TOLERANCE:
            break
        if n * len(reports[0]) * _GROWTH > _MOST_NUMBERS:
            break
    assert best is not None
    bound, event, hits_, tested = best
    shown = reports[event.direction[0]], reports[event.direction[1]]
    values = source.values[pair[event.direction[0]]], source.values[pair[event.direction[1]]]
    estimate, n_reports = _counted(*shown, claim)
    return Verdict(
        source.name, claim, bound, 1 - failure, values, event.rule, hits_, tested, n, estimate, n_reports, shown, event
    )


def _hits(event: Event, reports: list[Columns], start: int, stop: int) -> tuple[int, int]:
    first, second = (int(event.happens(_slice(reports[i], start, stop)).sum()) for i in event.direction)
    return first, second


def _bound(claim: Claim, hits: tuple[int, int], n: int, pilot: tuple[int, int], n_pilot: int, failure: float) -> float:
    """Bound from the tested half by the one of two methods that would have proven more on the pilot half."""
    apart = float(claim.proven(*pilot, n_pilot, failure))
    if math.isinf(claim.order) and joint_bound(pilot, n_pilot, pilot, n_pilot, claim.delta, failure) > apart:
        return joint_bound(hits, n, pilot, n_pilot, claim.delta, failure)
    return float(claim.proven(*hits, n, failure))


def _stages(samples: int) -> list[int]:
    """Sizes of the stages, the last of which is all."""
    sizes = [_FIRST]
    while sizes[-1] * _GROWTH < samples:
        sizes.append(sizes[-1] * _GROWTH)
    return [n for n in sizes if 2 * n <= samples] + [samples]


def _worst_pair(source: Source, claim: Claim, failure: float) -> tuple[tuple[int, int], int]:
    """Return the pair of values that pilot reports tell apart best, and how many reports were used up."""
    pairs = list(combinations(range(len(source.values)), 2))
    start = 0
    for wanted, survivors in _ROUNDS:
        n = int(min(wanted, source.size // 10))
        if len(pairs) <= survivors or n < 40:
            continue
        pilots = {v: source.draw(v, start, start + n) for v in sorted(set(sum(pairs, ())))}
        scores = [_pilot_score(pilots[v], pilots[w], n, claim, failure) for v, w in pairs]
        pairs = [pairs[i] for i in np.argsort(scores, kind="stable")[::-1][:survivors]]
        start += n
    return pairs[0], start


def _pilot_score(first: Columns, second: Columns, n: int, claim: Claim, failure: float) -> float:
    """Bound from a pilot sample; comparing needs no guarantee, and a generous failure probability makes it sharper."""
    if first.keys() != second.keys():
        return math.inf
    halves = [_slice(part, 0, n // 2) for part in (first, second)]
    bounds = []
    for event in find_events(halves[0], halves[1], _BOTH, claim, failure):
        hits = [int(event.happens(_slice((first, second)[i], n // 2, n)).sum()) for i in event.direction]
        bounds.append(float(claim.proven(hits[0], hits[1], n - n // 2, 0.3)))
    return max(bounds)


def _slice(columns: Columns, start: int, stop: int) -> Columns:
    return {name: column[start:stop] for name, column in columns.items()}


def _join(old: Columns, new: Columns) -> Columns:
    return {name: np.concatenate([old[name], column]) for name, column in new.items()} if old else new


def _counted(first: Columns, second: Columns, claim: Claim) -> tuple[float | None, int]:
    """Loss of the frequencies of reports, if there are few distinct ones; reports that are rare are pooled."""
    n = len(next(iter(first.values())))
    codes = np.zeros(2 * n, dtype=np.int64)
    for name in first:
        both = np.concatenate([first[name], second[name]])
        seen, code = np.unique(both.astype(str) if both.dtype == object else both, return_inverse=True)
        if seen.size > _MOST_REPORTS:
            return None, seen.size
        distinct, codes = np.unique(codes * seen.size + code, return_inverse=True)
        if distinct.size > _MOST_REPORTS:
            return None, distinct.size
    counts = np.array([np.bincount(part, minlength=int(codes.max()) + 1) for part in (codes[:n], codes[n:])])
    rare = counts.sum(axis=0) < _POOLED
    kept = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)]) if rare.any() else counts
    return claim.of_frequencies(kept[0] / n, kept[1] / n), counts.shape[1]
