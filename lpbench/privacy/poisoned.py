"""Users of whom some lie: false records through honest devices, or false reports; and the influence of one report.

The wrapper knows no method and no mechanism: a lie is a record, and the worst report is found among what the device may
send. What a method sees, and what honest users spend, stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_number
from lpbench.privacy.device import Device, question_of, summed
from lpbench.privacy.records import Records
from lpbench.privacy.users import SimulatedUsers
from lpbench.seeds import Streams

#: What liars send: honest reports on false records, or the report of their device that argues most for the lie.
POISONS = ("input", "output")
#: What they want: ``error``, the label farthest from one's own; ``point``, a wrong prediction at one place, whose
#: features all of them claim; ``flip``, one class for everybody (of numbers: the upper end).
GOALS = ("error", "point", "flip")
#: What the curator does: ``clip`` cuts reports beyond which an honest one lies with probability :data:`BEYOND`;
#: ``median`` fits :data:`PARTS` groups of users apart and predicts the median, or the most frequent class.
DEFENSES = ("none", "clip", "median")
BEYOND, PARTS = 1e-6, 9
#: Honest reports among which a liar chooses; numbers in all reports drawn for that; what stands for "without bound".
TRIED, _MOST_NUMBERS, _HUGE = 64, 10_000_000, 1e9


@dataclass(frozen=True)
class Liars:
    """Share, aim and means of users who report falsely, and the curator's robust aggregation.

    Parameters
    ----------
    share : float
        Share of the users, in [0, 1].
    poison : {"input", "output"}
        False records through honest devices, or the report that argues most for the lie.
    goal : {"error", "point", "flip"}
        Farthest label, a wrong prediction at one place, or one class for everybody.
    defense : {"none", "clip", "median"}
        Robust aggregation by the curator.
    point : (ndarray of shape (d,), object), optional
        Features and label (or class code) that ``goal="point"`` claims.
    """

    share: float  # of the users
    poison: str = "input"
    goal: str = "error"
    defense: str = "none"
    #: Features and label (or class code) of the record that ``goal="point"`` claims: an end of the range, or a class.
    point: tuple[np.ndarray, Any] | None = None

    @property
    def parts(self) -> int:
        """Number of groups of users from whom the curator learns separately (1 without the median)."""
        return PARTS if self.defense == "median" else 1

    @property
    def by_records(self) -> bool:
        """Return True if false records are the only deviation: honest devices, and no robust aggregation."""
        return self.poison == "input" and self.defense == "none"

    def __post_init__(self) -> None:
        check_number("liars", self.share, least=0, most=1)
        check_choice("poison", self.poison, POISONS)
        check_choice("goal", self.goal, GOALS)
        check_choice("defense", self.defense, DEFENSES)


def farthest(y: np.ndarray, y_range: tuple[float, float] | None, classes: np.ndarray | None) -> np.ndarray:
    """For each label (n,) the lie: the end of the range that is farther off, or the next class code."""
    if classes is not None:
        return (y + 1) % len(classes)
    assert y_range is not None
    ends = np.where(np.isfinite(y_range), y_range, [y.min(), y.max()])
    return np.asarray(np.where(y - ends[0] > ends[1] - y, ends[0], ends[1]))


class PoisonedUsers(SimulatedUsers):
    """Simulated users of whom a share lies; with share 0 every answer is that of the users as they are.

    Parameters
    ----------
    records : Records
        Records in the users' devices.
    root : Streams
        The users' randomness.
    y_range, classes, public, notes
        As of :class:`SimulatedUsers`; :meth:`of` makes users of whom some lie.
    """

    _liars: Liars
    _lying: np.ndarray  # (n,), who of these users lies
    _opposite: Records  # records that argue against each lie

    @classmethod
    def of(cls, users: SimulatedUsers, liars: Liars, streams: Streams) -> PoisonedUsers:
        """Let a share of users lie, drawn by ``streams`` whatever the share: more liars contain fewer.

        Parameters
        ----------
        users : SimulatedUsers
            Honest users, which stay as they are.
        liars : Liars
            Share, aim and means of those who lie.
        streams : Streams
            Randomness that chooses who lies.

        Returns
        -------
        PoisonedUsers
            The same users, some of them with false records.
        """
        twin = object.__new__(cls)
        vars(twin).update(vars(users))
        records, n = users._records, users.n
        rank = streams.generator("liars").permutation(n)
        twin._liars, twin._lying = liars, rank < round(liars.share * n)
        X, y = records.X, records.y
        if liars.share:
            claimed = farthest(y, users.y_range, users.classes)
            if liars.goal == "flip":
                claimed = np.full_like(y, len(users.classes) - 1 if users.classes is not None else claimed.max())
            elif liars.goal == "point" and liars.point is not None:
                X = np.where(twin._lying[:, None], liars.point[0], X)
                claimed = np.full_like(y, liars.point[1])
            y = np.where(twin._lying, claimed, y)
            twin._records = Records(X, y, records.mask)
            against = np.where(twin._lying, farthest(y, users.y_range, users.classes), y)
        twin._opposite = Records(X, against if liars.share else y, records.mask)
        return twin

    @property
    def records(self) -> Records:
        """Records in the users' devices, false ones included; for the harness alone."""
        return self._records

    def _part(self, who: np.ndarray) -> Any:
        twin = super()._part(who)
        twin._lying, twin._opposite = self._lying[who], self._opposite.take(who)
        return twin

    def _writes(self, who: np.ndarray | None = None) -> np.ndarray:
        """Positions, among the users asked, of those who send false reports."""
        lying = self._lying if who is None else self._lying[who]
        return np.flatnonzero(lying & (self._liars.poison == "output"))

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Ask users for reports; false reporters write theirs, and robust aggregation clips all of them."""
        reports, places = super().ask(device, question, who), self._writes(who)
        users = np.arange(self.n) if who is None else np.asarray(who)
        if places.size:
            reports = reports.copy()
            reports[places] = self._written(device, question_of(question, places), users[places])
        return self._cut(reports, device, question, users)

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Draw the estimate from the honest users' sum, by its exact law, and the false reports."""
        liars = self._writes()
        if not liars.size or device.columns(question) * liars.size > _MOST_NUMBERS:  # too long to write: false records
            return super().sums(device, question, by)
        honest, asked_liars = np.flatnonzero(~self._lying), question_of(question, liars)
        groups = (None, None) if by is None else (by[honest], by[liars])
        honest_sums: Any = SimulatedUsers.sums(self.take(honest), device, question_of(question, honest), groups[0])
        if not isinstance(honest_sums, np.ndarray):  # sums that are drawn when they are looked up
            return super().sums(device, question, by)
        reports = self._cut(self._written(device, asked_liars, liars), device, asked_liars, liars)
        theirs = summed(device, reports, asked_liars, groups[1])
        if by is not None:
            honest_sums, theirs = (
                np.pad(sums, ((0, by.max() + 1 - len(sums)), (0, 0))) for sums in (honest_sums, theirs)
            )
        return np.asarray(honest_sums + theirs)

    def chain(self, device: Device[Any], question: Any) -> Any:
        """Ask users one after the other; false reporters write theirs, and robust aggregation clips all of them."""
        liars = self._writes()
        if not liars.size and self._liars.defense != "clip":
            return super().chain(device, question)
        super().chain(device, question)  # which is charged; the reports are drawn again, one after the other
        streams, lying = self._root.child("poisoned chain"), self._lying if liars.size else np.zeros(self.n, dtype=bool)
        for position, user in enumerate(question.order):
            one = np.array([user])
            if lying[user]:
                report = self._written(device, question, one)
            else:
                draws = device.draws(streams.child("step", place=position), 1, question)
                report = device.report(self._records.take(one), question, draws)
            question = question.after(self._cut(report, device, question, one)[0])
        return question

    def _written(self, device: Device[Any], question: Any, users: np.ndarray) -> np.ndarray:
        """The false reports of liars (``users``), as far to the lie as reports can be; ``question`` is that to them."""
        streams = self._root.child("lies")
        return worst_reports(device, question, self._records.take(users), self._opposite.take(users), streams)

    def _cut(self, reports: np.ndarray, device: Device[Any], question: Any, users: np.ndarray) -> np.ndarray:
        """Clip reports to where an honest one of any label lies with probability :data:`BEYOND`; the ends are public.

        Without that defense, and under mechanisms that add no noise, reports stay as they are.
        """
        reach = device.mechanism(question).tail(BEYOND)
        ends = self.y_range if self.classes is None else (0, len(self.classes) - 1)
        if self._liars.defense != "clip" or ends is None or not np.isfinite([*ends, reach]).all():
            return reports
        records = self._records.take(users)
        alike = [Records(records.X, np.full_like(records.y, end), records.mask) for end in ends]
        inputs = np.concatenate([device.inputs(records, question) for records in alike])
        return np.clip(reports, inputs.min(axis=0) - reach, inputs.max(axis=0) + reach)


def worst_reports(device: Device[Any], question: Any, lie: Records, opposite: Records, streams: Streams) -> np.ndarray:
    """Return one report per liar, of those that devices may send: the one that argues most for her lie.

    Noisy numbers are the largest that fit into the report; of finitely many, the most telling of :data:`TRIED` honest
    reports on the lie: of a category by the mechanism's distances, else along the difference of the inputs, or of the
    mean reports.
    """
    mechanism = device.mechanism(question)
    claimed, against = (np.asarray(device.inputs(records, question)) for records in (lie, opposite))
    towards = claimed.astype(float) - against
    if mechanism.tail(BEYOND) < math.inf and mechanism.epsilon < math.inf:
        most = device.fields(question)[0].largest
        huge = min(most, _HUGE * (1.0 + mechanism.tail(BEYOND)))
        return np.clip(claimed + np.sign(towards) * huge, -most, most)
    n, tried = len(lie), max(1, min(TRIED, _MOST_NUMBERS // max(1, len(lie) * device.columns(question))))
    trials = np.repeat(np.arange(n), tried)

    def drawn(records: Records, name: str) -> np.ndarray:
        repeated = question_of(question, trials)
        draws = device.draws(streams.child(name), trials.size, repeated)
        reports = np.asarray(device.report(records.take(trials), repeated, draws))
        return reports.reshape(n, tried, *reports.shape[1:])

    sent = drawn(lie, "lie")
    flat = sent.reshape(n, tried, -1).astype(float)
    named, alike = claimed.dtype.kind in "iu" and sent.dtype.kind in "iu", claimed.shape == sent[:, 0].shape
    if named and claimed.ndim == 1:
        each = sent.reshape(n * tried, *sent.shape[2:])
        far, near = (mechanism.distance(each, inputs[trials]) for inputs in (against, claimed))
        with np.errstate(invalid="ignore"):
            score = np.nan_to_num(far - near).reshape(n, tried)
    elif named and alike:
        return claimed  # reports name what they are about: the truth of the lie is the most telling
    else:
        along = towards.reshape(n, -1)
        if not (sent.dtype.kind == "f" and alike):
            along = flat.mean(axis=1) - drawn(opposite, "opposite").reshape(n, tried, -1).mean(axis=1)
        score = np.einsum("ijk,ik->ij", flat, along)
    return sent[np.arange(n), score.argmax(axis=1)]
