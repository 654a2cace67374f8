"""Users whose records no attribute leads to and whose every answer is recorded, so that a run can be replayed."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from lpbench.errors import PrivacyError
from lpbench.privacy import Device, Guarantee, Records, Release, SimulatedUsers, Users
from lpbench.privacy.users import Simulation, content_hash


@dataclass(frozen=True, eq=False)
class Asked:
    """One answer that the users gave."""

    kind: str  # {"ask", "sums", "chain", "release", "simulated"}; simulated: a family of questions of a sweep
    device: Any
    question: Any
    users: np.ndarray  # shape (m,); who was asked, by their numbers in the whole sample
    records: Records  # their records, in that order; the audit knows them
    answer: Any  # what the method got
    by: np.ndarray | None = None  # groups of sums


@dataclass(eq=False)
class Recording:
    """Everything that left the users of one run, in order."""

    asked: list[Asked] = field(default_factory=list)
    revealed: bool = False
    shown_read: bool = False
    replayed: Recording | None = None  # answers of another run that are given instead of the users' own

    def enter(self, entry: Asked) -> Any:
        """Add an answer; returns what the method gets."""
        place = len(self.asked)
        # a method may write to what it gets
        self.asked.append(replace(entry, answer=copy.deepcopy(entry.answer)))
        if self.replayed is None:
            return entry.answer
        before = self.replayed.asked[place] if place < len(self.replayed.asked) else None
        if before is None or before.kind != entry.kind or not np.array_equal(before.users, entry.users):
            raise PrivacyError("with the same reports other users were asked: the method has seen a private value")
        return copy.deepcopy(before.answer)

    def questions(self) -> list[bytes]:
        """Digests of all questions, in order."""
        return [content_hash((type(entry.device).__qualname__, entry.question)) for entry in self.asked]


def not_public(name: str) -> PrivacyError:
    """What a method is told that reads another attribute of its users."""
    return PrivacyError(
        f"users.{name} is not public: a method sees n, mask, public_features, public, y_range, classes and what "
        "ask, sums or release return; compute with private values inside a Device"
    )


#: The users behind each sealed object; a method holds the sealed one alone.
_BEHIND: WeakKeyDictionary[SealedUsers, tuple[SimulatedUsers, Records, np.ndarray, Recording]] = WeakKeyDictionary()


class SealedUsers(Users):
    """Users for the audit: :class:`~lpbench.privacy.SimulatedUsers` whose records no attribute leads to."""

    def __init__(
        self, users: SimulatedUsers, records: Records, recording: Recording, index: np.ndarray | None = None
    ) -> None:
        self.n, self.n_features = users.n, users.n_features
        self.y_range, self.classes, self.public = users.y_range, users.classes, users.public
        self.groups, self.units = users.groups, users.units
        _BEHIND[self] = users, records, np.arange(users.n) if index is None else index, recording

    def __getattr__(self, name: str) -> Any:
        raise not_public(name)

    @property
    def mask(self) -> np.ndarray:
        return _BEHIND[self][0].mask

    @property
    def public_features(self) -> np.ndarray:
        users, _, _, recording = _BEHIND[self]
        recording.shown_read = True
        return users.public_features

    def ask(self, device: Device, question: Any, who: np.ndarray | None = None) -> np.ndarray:
        users, records, index, recording = _BEHIND[self]
        answer = users.ask(device, question, who)
        if who is not None:
            records, index = records.take(who), index[who]
        return recording.enter(Asked("ask", device, question, index, records, answer))  # type: ignore[no-any-return]

    def sums(self, device: Device, question: Any, by: np.ndarray | None = None) -> np.ndarray:
        users, records, index, recording = _BEHIND[self]
        answer = users.sums(device, question, by)
        return recording.enter(Asked("sums", device, question, index, records, answer, by))  # type: ignore[no-any-return]

    def chain(self, device: Device, question: Any) -> Any:
        users, records, index, recording = _BEHIND[self]
        last = users.chain(device, question)
        asked = records.take(question.order)
        return recording.enter(Asked("chain", device, question, index[question.order], asked, last))

    def release(self, release: Release, question: Any) -> np.ndarray:
        users, records, index, recording = _BEHIND[self]
        answer = users.release(release, question)
        return recording.enter(Asked("release", release, question, index, records, answer))  # type: ignore[no-any-return]

    def reveal(self) -> Records:
        users, _, _, recording = _BEHIND[self]
        recording.revealed = True
        return users.reveal()

    def _part(self, who: np.ndarray) -> Self:
        users, records, index, recording = _BEHIND[self]
        return type(self)(users.take(who), records.take(who), recording, index[who])

    def fresh(self) -> SealedUsers:
        """The same users before anything was asked, as sweeps simulate them again."""
        users, records, index, recording = _BEHIND[self]
        return type(self)(users.fresh(), records, recording, index)

    @property
    def spent(self) -> Guarantee:
        return _BEHIND[self][0].spent

    def note(self, text: str) -> None:
        _BEHIND[self][0].note(text)

    def __reduce__(self) -> Any:
        raise PrivacyError("users cannot be pickled: a fitted model must keep reports only, not its users")

    def __deepcopy__(self, memo: Any) -> Any:
        raise PrivacyError("users cannot be copied: a fitted model must keep reports only, not its users")


@dataclass(frozen=True, eq=False)
class RecordedSimulation(Simulation):
    """What a sweep asks of sealed users."""

    _recording: Recording

    def together(self, others: Sequence[Simulation], device: Device, family: Any) -> Any:
        answer, index = super().together(others, device, family), np.arange(len(self._records))
        return self._recording.enter(Asked("simulated", device, family, index, self._records, answer))
