"""Mutants: changes of what users answer that break one promise of any method; the audit must catch each.

A mutant stands between the method and the sealed users. It exchanges the device for one that misbehaves, or asks for
more than the method says. No method is named here.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lpbench.audit.methods import complaints_in, recorded_users, settings
from lpbench.audit.recording import RecordedUsers, Recording
from lpbench.audit.samples import AuditSample
from lpbench.estimators.base import LocalEstimator
from lpbench.privacy import Device, Guarantee, Records, Users
from lpbench.privacy.device import question_of
from lpbench.privacy.users import content_hash
from lpbench.seeds import Streams


@dataclass(frozen=True)
class Corrupted(Device[Any]):
    """Device that passes everything on to ``inner``, another device; each mutant overrides a part.

    ``time`` tells answers to one question apart.
    """

    inner: Any = None
    time: int = 0  # tells answers to one question apart

    def inputs(self, records: Records, question: Any) -> np.ndarray:
        """Return the inputs of the device that is replaced."""
        return np.asarray(self.inner.inputs(records, question))


for _name in "mechanism draws report law to_law columns fields budget delta budgets check addends estimate".split():

    def _delegate(self: Any, *args: Any, _name: str = _name) -> Any:
        return getattr(self.inner, _name)(*args)

    setattr(Corrupted, _name, _delegate)


def taken(draws: Any, who: Any) -> Any:
    """Select some users' part of random draws: arrays whose last axis is the users, or tuples of them."""
    if isinstance(draws, tuple):
        return tuple(taken(array, who) for array in draws)
    return draws[..., who] if isinstance(draws, np.ndarray) else draws.take(who)


def _distance(device: Any, reports: np.ndarray, records: Records, question: Any) -> np.ndarray:
    """Return the distance of each report from the device's input, by its mechanism's measure."""
    mechanism, inputs = device.law(question, records)
    return np.asarray(mechanism.distance(device.to_law(reports, question, records), inputs))


def _better(self: Corrupted, records: Records, question: Any, draws: Any, users: np.ndarray) -> np.ndarray:
    """Reports of n users, of which those of ``users`` (indices) are the nearer to the truth of two draws."""
    reports = np.asarray(self.inner.report(records, question, draws))
    second_draws = self.inner.draws(Streams(_seed(draws)), len(records), question)
    second = np.asarray(self.inner.report(records, question, second_draws))
    affected, for_them = records.take(users), question_of(question, users)
    nearer = _distance(self.inner, second[users], affected, for_them) < _distance(
        self.inner, reports[users], affected, for_them
    )
    result = reports.copy()
    result[users[nearer]] = second[users[nearer]]
    return result


def _seed(draws: Any) -> int:
    """A number below 2^56 that differs from call to call, from a hash of the draws."""
    return int.from_bytes(content_hash(draws)[:7], "little")


@dataclass(frozen=True)
class _Nearer(Corrupted):
    """Mutant: users, or some of them, send the nearer of two reports, which costs about twice the stated budget."""

    begin: float = 0.0  # share of the users before the first of them
    every: int = 1  # one of how many

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send the better of two reports for some of the users."""
        users = np.arange(int(self.begin * len(records)), len(records), self.every)
        return _better(self, records, question, draws, users)


class _Shared(Corrupted):
    """Mutant: two neighboring users draw the same randomness."""

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send reports of which two consecutive users share the randomness."""
        n = len(records)
        if not isinstance(draws, np.random.Generator):
            return np.asarray(self.inner.report(records, question, taken(draws, np.arange(n) // 2 * 2)))
        first, second = np.arange(0, n, 2), np.arange(1, n, 2)
        state = copy.deepcopy(draws)
        one = np.asarray(self.inner.report(records.take(first), question_of(question, first), draws))
        two = np.asarray(self.inner.report(records.take(second), question_of(question, second), state))
        reports = np.empty((n, *one.shape[1:]), dtype=one.dtype)
        reports[first], reports[second] = one, two
        return reports


class _Repeated(Corrupted):
    """Mutant: every call draws the same randomness."""

    def draws(self, streams: Streams, n: int, question: Any) -> Any:
        """Return the same draws in every call."""
        return self.inner.draws(Streams(11), n, question)


class _Swapped(Corrupted):
    """Mutant: users report each other's values."""

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send reports of another user's label, or of the other's record."""
        order = np.roll(np.arange(len(records)), len(records) // 3)
        moved = Records(records.X, records.y[order], records.mask)
        if records.mask is None:
            moved = Records(records.X[order], records.y[order], None)
        return np.asarray(self.inner.report(moved, question, draws))


class _NoTails(Corrupted):
    """Mutant: reports far from the truth are drawn again."""

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Draw the tenth of the reports that is farthest from the truth again."""
        reports = np.asarray(self.inner.report(records, question, draws))
        distances = _distance(self.inner, reports, records, question)
        far = distances > np.quantile(distances, 0.9) - 1e-12
        if np.all(distances == distances[0]):
            far = np.arange(len(records)) % 10 == 0
        nearer = _better(self, records, question, draws, np.arange(len(records)))
        return np.where(far.reshape(-1, *[1] * (reports.ndim - 1)), nearer, reports)


class _WidthFromData(Corrupted):
    """Labels are winsorized at private quantiles before they are randomized.

    Classes below a share become the most frequent one; near that share every cohort decides anew.
    """

    def inputs(self, records: Records, question: Any) -> np.ndarray:
        """Return the inputs of records with winsorized labels."""
        return np.asarray(self.inner.inputs(self._moved(records), question))

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send reports of records with winsorized labels."""
        return np.asarray(self.inner.report(self._moved(records), question, draws))

    def law(self, question: Any, records: Records) -> Any:
        """State the law at records with winsorized labels."""
        return self.inner.law(question, self._moved(records))

    @staticmethod
    def _moved(records: Records) -> Records:
        lo, hi = np.quantile(records.y, (0.2, 0.8))
        if records.y.dtype.kind in "iu":
            most = np.bincount(records.y).argmax()
            moved = np.where(np.bincount(records.y)[records.y] <= 0.47 * len(records), most, records.y)
            return Records(records.X - records.X.mean(axis=0) + 0.5, moved, records.mask)
        return Records(records.X - records.X.mean(axis=0) + 0.5, np.clip(records.y, lo, hi), records.mask)


class _Understated(Corrupted):
    """Mutant: the device states half of what it spends."""

    def budget(self, question: Any) -> float:
        """State half of the epsilon."""
        return float(self.inner.budget(question)) / 2.0

    def budgets(self, records: Records, question: Any) -> Any:
        """State half of each user's epsilon."""
        return np.asarray(self.inner.budgets(records, question)) / 2.0


class _NotFinite(Corrupted):
    """Mutant: users with a label above the middle sometimes send NaN."""

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send NaN for the first user whose label is above the median."""
        reports = np.asarray(self.inner.report(records, question, draws)).astype(float)
        reports[np.flatnonzero(records.y > np.median(records.y) - 1e-9)[:1]] = np.nan
        return reports


class _Revealing(Corrupted):
    """Mutant: the first user sends the truth, as near as 24 draws come."""

    def report(self, records: Records, question: Any, draws: Any) -> np.ndarray:
        """Send, for the first user, the report nearest to the truth among 24."""
        reports, one = np.asarray(self.inner.report(records, question, draws)).copy(), np.zeros(24, dtype=int)
        first = records.take(one)
        tries = self.inner.draws(Streams(_seed(draws)), 24, question)
        sent = np.asarray(self.inner.report(first, question_of(question, one), tries))
        best = int(np.argmin(_distance(self.inner, sent, first, question_of(question, one))))
        reports[0] = sent[best]
        return reports


#: Name -> device that takes the place of a correct one.
DEVICES: Mapping[str, Callable[..., Corrupted]] = {
    "less_noise": _Nearer,
    "less_noise_for_every_20th_user": partial(_Nearer, every=20),
    "less_noise_in_the_second_half": partial(_Nearer, begin=0.5),
    "noise_shared_by_neighbors": _Shared,
    "noise_repeated_in_every_call": _Repeated,
    "values_of_other_users": _Swapped,
    "tails_drawn_again": _NoTails,
    "width_from_private_quantiles": _WidthFromData,
    "budget_understated": _Understated,
    "reports_not_finite": _NotFinite,
    "first_user_revealed": _Revealing,
}


class _Door(RecordedUsers):
    """Recorded users of a mutant run, whose answers are wrong in the way that the mutant's name says."""

    mutant = ""

    def ask(self, device: Device, question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Answer as recorded users do, changed by the mutant."""
        return np.asarray(self._mutated(RecordedUsers.ask, device, question, who))

    def chain(self, device: Device, question: Any) -> Any:
        """Answer a chain as recorded users do, changed by the mutant."""
        return self._mutated(RecordedUsers.chain, device, question)

    def sums(self, device: Device, question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Answer with sums as recorded users do, changed by the mutant."""
        return np.asarray(self._mutated(RecordedUsers.sums, device, question, by))

    def _mutated(self, send: Callable[..., Any], device: Device, *question: Any) -> Any:
        """Answer by ``send``, a method of RecordedUsers, changed as the mutant's name says."""
        if self.mutant in DEVICES:
            device = DEVICES[self.mutant](inner=device)
        answer = send(self, device, *question)
        if self.mutant == "asked_again":
            for more in range(3):  # a method may leave half of its budget, so that a second time would keep its promise
                send(self, Corrupted(inner=device, time=more + 1), *question)
        if self.mutant == "records_revealed":
            self.reveal()
        return answer

    @property
    def spent(self) -> Guarantee:
        """State the guarantee, lowered by a tenth in the mutant of that name."""
        spent = super().spent
        if self.mutant == "guarantee_lowered":
            return replace(spent, epsilon=0.9 * spent.epsilon)
        return spent


#: All mutants; the last three go wrong in the users themselves.
MUTANTS = (*DEVICES, "asked_again", "records_revealed", "guarantee_lowered")


def mutated_users(mutant: str) -> Callable[[AuditSample, int, Recording], Users]:
    """Return users for :func:`~lpbench.audit.methods.complaints_in` with which a mutant is at work."""
    kind = type(f"Door_{mutant}", (_Door,), {"mutant": mutant})
    return lambda sample, seed, recording: kind(sample.users(seed), recording)


@dataclass(frozen=True)
class MutantRow:
    """A mutant of a method and the check that was first to catch it: a line of ``audit_mutants.csv``."""

    method: str
    mutant: str
    caught_by: str


def mutant_rows(method: str, model: LocalEstimator, mutants: Sequence[str] = MUTANTS) -> list[MutantRow]:
    """Audit each mutant of a method and return its row; ``caught_by`` has the reason where a mutant does not apply."""
    why_not, rows = _not_applicable(model), []
    for m in mutants:
        if m in why_not:
            first = f"does not apply: {why_not[m]}"
        else:
            caught = (
                c for configured, sample in settings(model) for c in complaints_in(configured, sample, mutated_users(m))
            )
            first = next((complaint.check for complaint in caught), "")
        rows.append(MutantRow(method, m, first))
    return rows


def _not_applicable(model: LocalEstimator) -> dict[str, str]:
    """Return the mutants that cannot be made of a method, with the reason for each."""
    recording = Recording()
    configured, sample = next(settings(model))
    try:
        configured.learn_from(recorded_users(sample, 1, recording))
    except (Exception, SystemExit) as error:
        return dict.fromkeys(MUTANTS, f"the method itself fails: {error}")
    if recording.revealed:
        return dict.fromkeys(MUTANTS, "the method protects nothing")
    kinds = {entry.kind for entry in recording.asked}
    if not kinds:
        return dict.fromkeys(MUTANTS, "nobody is asked")
    if kinds == {"release"}:
        others = (mutant for mutant in MUTANTS if mutant != "guarantee_lowered")
        return dict.fromkeys(others, "a trusted curator releases; no device reports")
    return {}
