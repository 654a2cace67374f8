"""Users whose label is replaced by a public function of their record, such as the residual of a broadcast model.

Any device and any method composes with it. What is broadcast is the question together with the public function, which
the device evaluates at its own complete record before it answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from lpbench.privacy import Device, Guarantee, Mechanism, PublicSample, Records, Users
from lpbench.privacy.device import proven, question_of
from lpbench.privacy.payload import Field
from lpbench.seeds import Streams


class Relabelling(Protocol):
    """A public function of a record that takes the place of its label."""

    def labels(self, records: Records) -> np.ndarray:
        """Return the label that each record is asked about, shape (n,)."""


@dataclass(frozen=True)
class Indicator:
    """Whether the record is of a class: 0 or 1."""

    code: int

    def labels(self, records: Records) -> np.ndarray:
        """Indicators of the class, int ndarray."""
        return (records.y == self.code).astype(np.int64)


@dataclass(frozen=True)
class RelabelledQuestion:
    """A question about what a public function makes of the record."""

    question: Any
    relabelling: Relabelling

    def take(self, users: Any) -> RelabelledQuestion:
        """The question to some of the users."""
        return RelabelledQuestion(question_of(self.question, users), self.relabelling)


@proven
@dataclass(frozen=True)
class RelabelledDevice(Device[RelabelledQuestion]):
    """Relabel the own record, and answer as another device does."""

    device: Device[Any] = field(kw_only=True)

    def mechanism(self, question: RelabelledQuestion) -> Mechanism:
        return self.device.mechanism(question.question)

    def inputs(self, records: Records, question: RelabelledQuestion) -> np.ndarray:
        return self.device.inputs(_relabelled(records, question), question.question)

    def draws(self, streams: Streams, n: int, question: RelabelledQuestion) -> Any:
        return self.device.draws(streams, n, question.question)

    def report(self, records: Records, question: RelabelledQuestion, draws: Any) -> np.ndarray:
        return self.device.report(_relabelled(records, question), question.question, draws)

    def law(self, question: RelabelledQuestion, records: Records) -> tuple[Mechanism, np.ndarray]:
        return self.device.law(question.question, _relabelled(records, question))

    def to_law(self, reports: np.ndarray, question: RelabelledQuestion, records: Records) -> np.ndarray:
        return self.device.to_law(reports, question.question, _relabelled(records, question))

    def columns(self, question: RelabelledQuestion) -> int:
        return self.device.columns(question.question)

    def fields(self, question: RelabelledQuestion) -> tuple[Field, ...]:
        return self.device.fields(question.question)

    def budget(self, question: RelabelledQuestion) -> float:
        return self.device.budget(question.question)

    def delta(self, question: RelabelledQuestion) -> float:
        return self.device.delta(question.question)

    def budgets(self, records: Records, question: RelabelledQuestion) -> float | np.ndarray:
        return self.device.budgets(_relabelled(records, question), question.question)

    def check(self, question: RelabelledQuestion) -> None:
        self.device.check(question.question)

    def addends(self, reports: np.ndarray, question: RelabelledQuestion) -> np.ndarray:
        return self.device.addends(reports, question.question)

    def estimate(self, sums: np.ndarray, question: RelabelledQuestion, n: Any) -> np.ndarray:
        return self.device.estimate(sums, question.question, n)

    def draw_sums(
        self, records: Records, question: RelabelledQuestion, streams: Streams, by: np.ndarray | None = None
    ) -> np.ndarray:
        return self.device.draw_sums(_relabelled(records, question), question.question, streams, by)


def _relabelled(records: Records, question: RelabelledQuestion) -> Records:
    """The records with their new labels, which keep what devices remember of them."""
    relabelling = question.relabelling
    return records.remembered(
        ("relabelled", relabelling), lambda: Records(records.X, relabelling.labels(records), records.mask)
    )


class RelabelledUsers(Users):
    """Users whose label is what a public function makes of their record."""

    def __init__(
        self,
        users: Users,
        relabelling: Relabelling,
        y_range: tuple[float, float],
        public: PublicSample | None = None,
    ) -> None:
        self._users, self._relabelling, self.range = users, relabelling, y_range
        self.n, self.n_features = users.n, users.n_features
        self.y_range, self.classes, self.public = y_range, None, public
        self.groups, self.units = users.groups, users.units

    @property
    def mask(self) -> np.ndarray:
        return self._users.mask

    @property
    def public_features(self) -> np.ndarray:
        return self._users.public_features

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        return self._users.ask(RelabelledDevice(device=device), RelabelledQuestion(question, self._relabelling), who)

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        return self._users.sums(RelabelledDevice(device=device), RelabelledQuestion(question, self._relabelling), by)

    def _part(self, who: np.ndarray) -> Self:
        return type(self)(self._users.take(who), self._relabelling, self.range, self.public)

    @property
    def spent(self) -> Guarantee:
        return self._users.spent

    def note(self, text: str) -> None:
        self._users.note(text)
