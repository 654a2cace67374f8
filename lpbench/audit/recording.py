"""Users whose every answer is recorded, so that a run can be replayed."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lpbench.errors import PrivacyError
from lpbench.privacy import Device, PublicSample, Records, Release, SimulatedUsers
from lpbench.privacy.users import content_hash


@dataclass(frozen=True, eq=False)
class Asked:
    """One recorded answer: device, question, the users asked with their records, and what the method got."""

    kind: str  # {"ask", "sums", "chain", "release"}
    device: Any
    question: Any
    users: np.ndarray  # shape (m,); who was asked, by their numbers in the whole sample
    records: Records  # their records, in that order; the audit knows them
    answer: Any  # what the method got
    by: np.ndarray | None = None  # groups of sums


@dataclass(eq=False)
class Recording:
    """Everything that left the users of one run, in order: answers, and what was read in the clear.

    ``replayed`` is another run's recording whose answers are given instead of the users' own.
    """

    asked: list[Asked] = field(default_factory=list)
    revealed: bool = False
    shown_read: bool = False
    sample_read: bool = False
    replayed: Recording | None = None  # answers of another run that are given instead of the users' own

    def enter(self, entry: Asked) -> Any:
        """Append an answer and return its content, which the method gets."""
        position = len(self.asked)
        # a method may write to what it gets
        self.asked.append(replace(entry, answer=copy.deepcopy(entry.answer)))
        if self.replayed is None:
            return entry.answer
        before = self.replayed.asked[position] if position < len(self.replayed.asked) else None
        if before is None or before.kind != entry.kind or not np.array_equal(before.users, entry.users):
            raise PrivacyError("with the same reports other users were asked: the method has seen a private value")
        return copy.deepcopy(before.answer)

    def questions(self) -> list[bytes]:
        """Digests of the questions asked, in order, with the class of their device."""
        return [content_hash((type(entry.device).__qualname__, entry.question)) for entry in self.asked]


class RecordedUsers(SimulatedUsers):
    """Simulated users who enter each of their answers into a recording."""

    def __init__(self, users: SimulatedUsers, recording: Recording) -> None:
        vars(self).update(vars(users))
        self._recording = recording

    @property
    def public(self) -> PublicSample | None:  # type: ignore[override]
        """Public sample of the users, whose reading is recorded."""
        sample: PublicSample | None = vars(self)["public"]
        self._recording.sample_read |= sample is not None
        return sample

    @property
    def public_features(self) -> np.ndarray:
        """Public features; reading them is recorded."""
        self._recording.shown_read = True
        return super().public_features

    def ask(self, device: Device, question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Ask users, and record the reports."""
        return self._entry("ask", device, question, super().ask(device, question, who), who)  # type: ignore[no-any-return]

    def sums(self, device: Device, question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask for sums, and record them."""
        return self._entry("sums", device, question, super().sums(device, question, by), by=by)  # type: ignore[no-any-return]

    def chain(self, device: Device, question: Any) -> Any:
        """Ask users one after the other, and record the last question."""
        return self._entry("chain", device, question, super().chain(device, question), question.order)

    def release(self, release: Release, question: Any) -> np.ndarray:
        """Let a trusted curator release a statistic, and record it."""
        return self._entry("release", release, question, super().release(release, question))  # type: ignore[no-any-return]

    def reveal(self) -> Records:
        """Return the records, and record that they were read."""
        self._recording.revealed = True
        return super().reveal()

    def _entry(self, kind: str, device: Any, question: Any, answer: Any, who: Any = None, by: Any = None) -> Any:
        return self._recording.enter(self.entry(kind, device, question, answer, who, by))

    def entry(self, kind: str, device: Any, question: Any, answer: Any, who: Any = None, by: Any = None) -> Asked:
        """Return a record of one answer: the question, the users asked with their records, and the answer."""
        index, records = np.arange(self.n) if self._index is None else self._index, self._records
        if who is not None:
            index, records = index[who], records.take(who)
        return Asked(kind, device, question, index, records, answer, by)
