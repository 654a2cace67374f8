"""Users whose label is replaced by a public function of their record, such as the residual of a broadcast model.

Any device and any method composes with it. What is broadcast is the question together with the public function, which
the device evaluates at its own complete record before it answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from lpbench.privacy import Device, Guarantee, PublicSample, Records, Users
from lpbench.privacy.device import proven, question_of


class Relabelling(Protocol):
    """Public function of a record whose value takes the place of the record's label."""

    def labels(self, records: Records) -> np.ndarray:
        """Return the label that each record is asked about, shape (n,)."""


@dataclass(frozen=True)
class Indicator:
    """Label 1 for records of the class with this code, 0 for others."""

    code: int

    def labels(self, records: Records) -> np.ndarray:
        """Return the indicators as integers, shape (n,)."""
        return (records.y == self.code).astype(np.int64)


@dataclass(frozen=True)
class RelabeledQuestion:
    """Question about records whose label is replaced by a public function of the record."""

    question: Any
    relabeling: Relabelling

    def take(self, users: Any) -> RelabeledQuestion:
        """Return the question for some of the users asked, by position."""
        return RelabeledQuestion(question_of(self.question, users), self.relabeling)


def _relabeled(records: Records, question: RelabeledQuestion) -> Records:
    """Copy records with the labels that the question asks about, keeping the cached work of devices."""
    relabeling = question.relabeling
    return records.remembered(
        ("relabeled", relabeling), lambda: Records(records.X, relabeling.labels(records), records.mask)
    )


def _answered(name: str) -> Callable[..., Any]:
    """Build the method ``name`` of RelabeledDevice, which forwards a call to the wrapped device's method.

    Of the arguments, records get the new labels, and the question about relabeled records becomes the wrapped one.
    """

    def answer(self: RelabeledDevice, *given: Any) -> Any:
        relabeling = next(argument for argument in given if isinstance(argument, RelabeledQuestion))
        arguments = (
            _relabeled(argument, relabeling) if isinstance(argument, Records) else argument for argument in given
        )
        return getattr(self.device, name)(
            *(relabeling.question if argument is relabeling else argument for argument in arguments)
        )

    return answer


@proven
@dataclass(frozen=True)
class RelabeledDevice(Device[RelabeledQuestion]):
    """Relabel the own record, and answer as another device does."""

    device: Device[Any] = field(kw_only=True)

    mechanism, inputs, draws, report = map(_answered, ("mechanism", "inputs", "draws", "report"))
    law, to_law, columns, fields = map(_answered, ("law", "to_law", "columns", "fields"))
    budget, delta, budgets, check = map(_answered, ("budget", "delta", "budgets", "check"))
    addends, estimate, draw_sums = map(_answered, ("addends", "estimate", "draw_sums"))


class RelabeledUsers(Users):
    """Wrapper of users whose label is replaced by a public function of their record, such as a class's indicator."""

    def __init__(
        self, users: Users, relabeling: Relabelling, y_range: tuple[float, float], public: PublicSample | None = None
    ) -> None:
        self._users, self._relabelling, self.range = users, relabeling, y_range
        self.n, self.n_features = users.n, users.n_features
        self.y_range, self.classes, self.public = y_range, None, public
        self.groups, self.units = users.groups, users.units

    @property
    def mask(self) -> np.ndarray:
        """Return the mask of the wrapped users: relabeling changes no feature."""
        return self._users.mask

    @property
    def public_features(self) -> np.ndarray:
        """Return the public features of the wrapped users; reading them is recorded there."""
        return self._users.public_features

    def ask(self, device: Device[Any], question: Any, who: np.ndarray | None = None) -> np.ndarray:
        """Ask the wrapped users, whose devices relabel their record before they report."""
        return self._users.ask(RelabeledDevice(device=device), RelabeledQuestion(question, self._relabelling), who)

    def sums(self, device: Device[Any], question: Any, by: np.ndarray | None = None) -> np.ndarray:
        """Ask the wrapped users for sums of reports about relabeled records."""
        return self._users.sums(RelabeledDevice(device=device), RelabeledQuestion(question, self._relabelling), by)

    def _part(self, who: np.ndarray) -> Self:
        return type(self)(self._users.take(who), self._relabelling, self.range, self.public)

    @property
    def spent(self) -> Guarantee:
        """Return the guarantee of the wrapped users, these questions included."""
        return self._users.spent

    def note(self, text: str) -> None:
        """Add a caveat to the guarantee of the wrapped users."""
        self._users.note(text)
