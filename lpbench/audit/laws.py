"""Tests of whether reports follow the mechanism that a device states: user by user, call by call, and in their sums.

Every report is ranked among reports that the stated mechanism draws at the same input. Whatever the mechanism, ranks
(ties broken at random) are exactly uniform and independent if the reports have its law. Their normal scores are tested
by exact laws: means and sums of squares in groups of users and calls, pairs of users and of calls, tails.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.special import bdtr, bdtrc, chdtr, chdtrc, ndtr, ndtri
from scipy.stats import ks_2samp

from lpbench.audit.recording import Asked
from lpbench.errors import ConfigurationError
from lpbench.privacy import Device, Mechanism, Records
from lpbench.privacy.device import question_of, summed
from lpbench.seeds import Streams

#: Draws of the stated mechanism among which a report is ranked; calls of the device; users.
REFERENCE_DRAWS, CALLS, USERS = 39, 80, 240
#: Sums that are drawn by a shortcut and from reports; sequences of users.
SUMS, CHAINS = 400, 150
#: Entries of a report that are tested, where entries are randomized one by one.
ENTRIES = 12
#: Numbers that are drawn at once.
_DRAWN_AT_ONCE = 4_000_000
#: Entries of all users' reports in one call, of reports that are longer than usual.
_WIDE = 40_000


@dataclass(frozen=True)
class LawTest:
    """Smallest p-value ``p`` of a family of tests, corrected for their number, and what was tested."""

    p: float
    what: str


def of_reports(entry: Asked, streams: Streams, more: int = 1) -> LawTest:
    """Test if reports of a recorded answer, and of repeated calls of its device, follow the stated mechanism's law."""
    device, width = entry.device, max(1, int(np.prod(np.shape(entry.answer)[1:], dtype=int)))
    n = min(entry.users.size, len(entry.records), USERS, max(12, _WIDE // width))
    records = entry.records.take(np.arange(n))
    question = question_of(entry.question, np.arange(n))
    name = type(device).__name__
    reports = [np.asarray(entry.answer)[:n]]
    for call in range(more * CALLS):
        draws = device.draws(streams.child("call", number=call), n, question)
        reports.append(np.asarray(device.report(records, question, draws)))
    if not all(np.isfinite(np.asarray(sums, dtype=float)).all() for sums in reports):
        return LawTest(0.0, f"{name} sends reports that are not finite")
    stack = np.stack([np.asarray(sums) for sums in reports])
    scores, repeated = _normal_scores(device, question, records, stack, streams.generator("references"))
    if repeated:
        return LawTest(0.0, f"noise of {name} repeats or lies on a grid that its mechanism does not have")
    tests = [test for g in scores for test in _tests(g)]
    p, what = min(tests)
    return LawTest(min(1.0, p * len(tests)), f"reports of {name}: {what}")


def of_sums(entry: Asked, streams: Streams, more: int = 1, n: int = 40) -> LawTest:
    """Test the exact shortcut of a device against sums of its reports, for some of the users."""
    device, users = entry.device, np.arange(min(n, entry.users.size))
    records, question = entry.records.take(users), question_of(entry.question, users)
    by = None if entry.by is None else np.unique(entry.by[users], return_inverse=True)[1]

    def from_reports(streams: Streams) -> np.ndarray:
        draws = device.draws(streams, users.size, question)
        return summed(device, device.report(records, question, draws), question, by)

    def shortcut(streams: Streams) -> np.ndarray:
        return device.draw_sums(records, question, streams, by)  # type: ignore[no-any-return]

    what = f"sums of {type(device).__name__} by their shortcut"
    return _of_two_laws(what, shortcut, from_reports, streams, more * SUMS)


def of_chain(entry: Asked, streams: Streams, more: int = 1, n: int = 10) -> LawTest:
    """Test the exact shortcut for users who are asked one after the other against asking them so."""
    device, records = entry.device, entry.records.take(np.arange(min(n, len(entry.records))))
    question = replace(entry.question, order=np.arange(len(records)))
    what = f"users of {type(device).__name__} asked one after the other, by their shortcut"

    def shortcut(streams: Streams) -> np.ndarray:
        return _numbers(device.draw_chain(records, question, streams))

    def one_by_one(streams: Streams) -> np.ndarray:
        return _numbers(Device.draw_chain(device, records, question, streams))

    return _of_two_laws(what, shortcut, one_by_one, streams, more * CHAINS)


def of_release(entry: Asked, streams: Streams, more: int = 1) -> LawTest:
    """Test what a curator releases against the stated mechanism at the statistic of the same records."""
    release, records, question = entry.device, entry.records, entry.question
    mechanism, statistic = release.law(question, records)

    def released(streams: Streams) -> np.ndarray:
        sent = release.release(records, question, release.draws(streams, len(records), question))
        return release.to_law(sent, question, records)  # type: ignore[no-any-return]

    def stated(streams: Streams) -> np.ndarray:
        return mechanism.randomize(statistic, streams.generator("reference"))  # type: ignore[no-any-return]

    return _of_two_laws(f"what {type(release).__name__} releases", released, stated, streams, more * SUMS)


def _of_two_laws(
    what: str,
    drawn: Callable[[Streams], np.ndarray],
    stated: Callable[[Streams], np.ndarray],
    streams: Streams,
    times: int,
) -> LawTest:
    """Test if vectors that are drawn in two ways have one law, by ``times`` draws of each.

    ``drawn`` and ``stated`` draw a vector from streams. A different length or infinite entries give p = 0.
    """
    ways = (("drawn", drawn), ("stated", stated))
    first, second = ([np.ravel(draw(streams.child(way, number=k))) for k in range(times)] for way, draw in ways)
    if len(first[0]) != len(second[0]):
        return LawTest(0.0, f"{what} have {len(first[0])} entries, not {len(second[0])}")
    one_way, other_way = np.array([first, second], dtype=float)
    if not (np.isfinite(one_way).all() and np.isfinite(other_way).all()):
        return LawTest(0.0, f"{what} are not finite")
    return LawTest(_same_law(one_way, other_way, streams.generator("projections")), what)


def _numbers(question: Any) -> np.ndarray:
    """Collect the real numbers that a question holds, as one array."""
    if isinstance(question, np.ndarray):
        return question.ravel() if question.dtype.kind == "f" else np.empty(0)
    parts = [getattr(question, f.name) for f in fields(question)] if is_dataclass(question) else []
    if isinstance(question, tuple):
        parts = list(question)
    return np.concatenate([np.empty(0), *(_numbers(member) for member in parts)])


def _same_law(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> float:
    """p-value, corrected, that two samples of vectors (times, k) have one law: entries, projections, distances."""
    columns = rng.permutation(first.shape[1])[:12]
    weights, center = rng.standard_normal((first.shape[1], 3)), second.mean(axis=0)

    def views(sums: np.ndarray) -> np.ndarray:
        far = ((sums - center) ** 2).sum(axis=1, keepdims=True)
        return np.round(np.hstack([sums[:, columns], sums @ weights, far]), 9)

    pairs = zip(views(first).T, views(second).T, strict=True)
    tests = [_smirnov(ours, theirs) for ours, theirs in pairs]
    return min(1.0, min(tests) * len(tests))


def _smirnov(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of Smirnov's two-sample test, exact where it could matter: near p = 1 the exact sum loses its digits."""
    p = float(ks_2samp(first, second, method="asymp").pvalue)
    return p if p > 0.1 else float(ks_2samp(first, second, method="exact").pvalue)


def _normal_scores(
    device: Any, question: Any, records: Records, reports: np.ndarray, rng: np.random.Generator
) -> tuple[list[np.ndarray], bool]:
    """Normal scores of reports' statistics against draws of the mechanism, and whether noise repeats unduly.

    ``reports`` (calls, n, ...) are repeated answers of n users. Each array (calls, n) is standard normal if the device
    keeps the law that it states.
    """
    calls, n = reports.shape[:2]
    scores, repeated = list[np.ndarray](), False
    for alike, mechanism, inputs in _laws(device, question, records):
        answers = np.concatenate([_in_law(device, question, records, reports, users) for users in alike], axis=1)
        users = np.concatenate(alike)
        answers, inputs = _fewer(mechanism, answers, inputs, rng)
        width = max(1, int(np.prod(answers.shape[2:], dtype=int)))
        step = max(1, _DRAWN_AT_ONCE // (REFERENCE_DRAWS * users.size * width))
        for start in range(0, calls, step):
            block = answers[start : start + step]
            again = _tiled(inputs, len(block) * REFERENCE_DRAWS)
            observed = _statistics(mechanism, block.reshape(-1, *answers.shape[2:]), _tiled(inputs, len(block)))
            theirs = _statistics(mechanism, np.asarray(mechanism.randomize(again, rng)), again)
            scores = scores or [np.zeros((calls, n)) for _ in observed]
            for g, one, drawn in zip(scores, observed, theirs, strict=True):
                ranked = one.reshape(len(block), -1), drawn.reshape(len(block), REFERENCE_DRAWS, -1)
                g[start : start + len(block), users] = _score(*ranked, rng)
        repeated = repeated or _repeats(mechanism, answers, inputs)
    return scores, repeated


def _in_law(device: Any, question: Any, records: Records, reports: np.ndarray, users: np.ndarray) -> np.ndarray:
    """Translate some users' reports to those of their mechanism, so that they can be compared with its draws.

    ``reports`` (calls, n, ...) are all users', ``users`` the indices of some who show the same; returned is (calls,
    users, ...).
    """
    again, sent = np.tile(users, len(reports)), reports[:, users]
    answers = np.asarray(
        device.to_law(sent.reshape(-1, *sent.shape[2:]), question_of(question, again), records.take(again))
    )
    return answers.reshape(*sent.shape[:2], *answers.shape[1:])


def _fewer(
    mechanism: Mechanism, reports: np.ndarray, inputs: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Select a few entries of long reports whose entries are independent, each user's largest inputs among them.

    Reports (calls, n, k) and inputs (n, k) keep their first axes; others are returned as they are.
    """
    if not mechanism.by_entry or inputs.ndim < 2 or inputs.shape[1] <= ENTRIES:
        return reports, inputs
    largest = np.argsort(-np.abs(inputs.astype(float)), axis=1, kind="stable")[:, : ENTRIES // 2]
    order = rng.random(inputs.shape)
    np.put_along_axis(order, largest, -1.0, axis=1)
    chosen = np.argsort(order, axis=1)[:, :ENTRIES]
    return np.take_along_axis(reports, chosen[None], axis=2), np.take_along_axis(inputs, chosen, axis=1)


def _laws(device: Any, question: Any, records: Records) -> Iterator[tuple[Sequence[np.ndarray], Mechanism, np.ndarray]]:
    """Yield groups of users whose reports have a common law, with the mechanism and the inputs of each group.

    Users are grouped by the features that they show. Two users may have one mechanism and show different things (each
    of two cells, but not the same two), so that the numbers of their reports mean different cells.
    """
    everybody = np.arange(len(records))
    try:
        mechanism, inputs = device.law(question, records)
    except ConfigurationError:
        pass  # users show different things: one by one
    else:
        if getattr(question, "take", None) is None:
            yield [everybody], mechanism, np.asarray(inputs)
            return
    # a question with a part for each user may have a mechanism for each
    one_by_one = np.split(everybody, everybody.size)
    each = ((user, *device.law(question_of(question, user), records.take(user))) for user in one_by_one)
    for (mechanism, _), several in groupby(each, lambda one: (one[1], np.shape(one[2])[1:])):
        users, _, inputs = zip(*several, strict=True)
        yield users, mechanism, np.concatenate(inputs)


def _tiled(inputs: np.ndarray, times: int) -> np.ndarray:
    return np.tile(inputs, (times, *[1] * (inputs.ndim - 1)))


def _statistics(mechanism: Mechanism, reports: np.ndarray, inputs: np.ndarray) -> list[np.ndarray]:
    """Numbers (m,) by which reports are compared: position, distance from the input, inner product with it."""
    flat = reports.reshape(len(reports), -1)
    position = flat[:, 0] if flat.shape[1] == 1 else flat @ np.sin(np.arange(1, flat.shape[1] + 1) * 1.7)
    statistics = [position, mechanism.distance(reports, inputs)]
    if reports.shape == inputs.shape and inputs.ndim > 1:
        statistics.append(np.einsum("ik,ik->i", flat.astype(float), inputs.reshape(len(inputs), -1).astype(float)))
    return statistics


def _score(observed: np.ndarray, theirs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Normal scores (calls, n) of the rank of each observed number among draws ``theirs`` (calls, REFERENCES, n).

    Ties and the place within a rank are drawn at random.
    """
    observed = np.asarray(observed, dtype=float)[:, None]
    theirs = np.asarray(theirs, dtype=float)
    slack = 1e-9 * (1.0 + np.abs(observed))  # sums of the same numbers in another order are ties
    below = (theirs < observed - slack).sum(axis=1, dtype=np.int16)
    ties = (theirs <= observed + slack).sum(axis=1, dtype=np.int16) - below
    rank = below + np.floor(rng.random(below.shape) * (ties + 1))
    return np.asarray(ndtri((rank + rng.random(below.shape)) / (theirs.shape[1] + 1)))


def _repeats(mechanism: Mechanism, reports: np.ndarray, inputs: np.ndarray) -> bool:
    """Return True if noise repeats itself though the mechanism's never does, or reports lie off their grid.

    ``reports`` are (calls, n, ...), ``inputs`` (n, ...).
    """
    if not mechanism.never_repeats:
        return not all(field.holds(reports) for field in mechanism.fields())
    noise = (reports.reshape(*reports.shape[:2], -1) - inputs.reshape(len(inputs), -1))[:, :, 0]
    again = np.asarray(mechanism.randomize(_tiled(inputs, 2), np.random.default_rng(0)))
    theirs = (again.reshape(2, len(inputs), -1) - inputs.reshape(len(inputs), -1))[:, :, 0]
    return bool(np.any(theirs)) and not _duplicates(theirs) and _duplicates(noise)


def _duplicates(noise: np.ndarray) -> bool:
    """Return True if more than a thousandth of the noise repeats, and more than chance repeats on a fine grid.

    Of 162 numbers on a grid of 2^-28 two coincide about once in 20,000 times, and an audit asks some hundred times.
    """
    values = np.sort(np.round(np.abs(noise).ravel() / (np.abs(noise).max() or 1.0), 12))
    return int((np.diff(values) == 0).sum()) > max(2, values.size / 1000)


def _tests(g: np.ndarray) -> Iterator[tuple[float, str]]:
    """Yield (two-sided p-value, name) of tests of normal scores g (calls, n): groups, spreads, dependence, tails."""
    calls, n = g.shape
    groups: dict[str, np.ndarray] = {"all users": g}
    for period in (2, 3, 5, 10, 20):
        if n >= 2 * period:
            groups |= {f"every {period}th user from {k}": g[:, k::period] for k in range(period)}
    groups |= {"the first user": g[:, :1], "the last user": g[:, -1:], "the recorded call": g[:1]}
    groups |= {"first half of the users": g[:, : n // 2], "second half": g[:, n // 2 :]}
    for name, of_group in groups.items():
        if of_group.size >= 8:
            yield float(2.0 * ndtr(-abs(of_group.sum()) / math.sqrt(of_group.size))), f"the mean of {name}"
            yield _squares(of_group), f"the spread of {name}"
    if g.size >= 8:
        counts = np.bincount(np.minimum((ndtr(g) * 20).astype(int), 19).ravel(), minlength=20)
        yield _binomial(counts, g.size, 1.0 / counts.size), "the shape of all users"
    edge = int((np.abs(g) > -ndtri(1.0 / (REFERENCE_DRAWS + 1))).sum())
    yield _binomial(edge, g.size, 2.0 / (REFERENCE_DRAWS + 1)), "the tails"

    def apart(scores: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        first, second = scores[:, 0 : n - n % 2 : 2], scores[:, 1:n:2][:, : n // 2]
        halves = scores[:, : n // 2], scores[:, n // 2 : 2 * (n // 2)]
        return {"neighbors": (first, second), "users half the sample apart": halves}

    pairs = apart(g) | {"users mirrored": (g[:, : n // 2], g[:, ::-1][:, : n // 2])}
    if calls > 2:
        pairs["successive calls"] = (g[0 : calls - calls % 2 : 2], g[1:calls:2][: calls // 2])
        pairs["the recorded call and the next"] = (g[:1], g[1:2])
    size = np.asarray(ndtri(np.clip(chdtr(1, g**2), 1e-15, 1.0 - 1e-15)))  # normal scores of the sizes
    for kind, several in (("", pairs), ("sizes of ", apart(size))):
        for name, (a, b) in several.items():
            if a.size >= 8:
                yield _squares((a + b) / math.sqrt(2.0)), f"{kind}{name} agree or cancel"
                yield _squares((a - b) / math.sqrt(2.0)), f"{kind}{name} differ or agree"


def _squares(g: np.ndarray) -> float:
    total = float((g**2).sum())
    return float(min(1.0, 2.0 * min(chdtrc(g.size, total), chdtr(g.size, total))))


def _binomial(hits: Any, n: int, p: float) -> float:
    """Smallest p-value of the counts ``hits``, each binomial (n, p) under the law, corrected for their number."""
    tails = np.minimum(bdtrc(hits - 1, n, p), bdtr(hits, n, p))
    return float(min(1.0, 2.0 * np.size(hits) * tails.min()))
