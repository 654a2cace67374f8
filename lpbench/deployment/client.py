"""What runs on a user's device: one record, a limit on the budget, and one answer per round."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.ledger import Ledger
from lpbench.deployment.wire import seal
from lpbench.errors import ConfigurationError
from lpbench.privacy import Device, Records
from lpbench.privacy.payload import LARGEST_REAL, Field, Integers, Reals, pack, payload_bytes

#: Bytes of the longest payload that a device sends.
MOST_REPORT = 1 << 16
#: Rounds that the header of a report can number.
_MOST_ROUNDS = 255
#: What a broadcast that makes no sense may raise.
_NONSENSE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, MemoryError)


def fresh_generator() -> np.random.Generator:
    """Return a generator seeded by the operating system; a device must never take its seed from anybody."""
    return np.random.default_rng(secrets.randbits(256))


@dataclass(frozen=True)
class Answer:
    """How a device would answer a broadcast; everything but the values is public.

    Attributes
    ----------
    cost : float
        Largest epsilon that the answer can spend.
    fields : sequence of Field
        The payload.
    values : callable () -> ndarray of shape (columns,)
        Randomises the record.
    promised : tuple of float
        Budgets of later rounds that the broadcast announces.
    """

    cost: float
    fields: Sequence[Field]
    values: Callable[[], np.ndarray]
    promised: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        device: Device,
        record: Records,
        question: Any,
        draws: Any,
        shows: bool = False,
        promised: tuple[float, ...] = (),
    ) -> Answer:
        """Plan to ask an estimator's device for the report of one record; errors if the question is impossible.

        Parameters
        ----------
        device, record, question, draws
            See :class:`lpbench.privacy.Device`.
        shows : bool
            Whether the features that the user does not protect go along.
        promised : tuple of float
        """
        device.check(question)
        fields = device.fields(question)

        def values() -> np.ndarray:
            report = np.ravel(device.report(record, question, draws)[0])
            return np.concatenate([report, shown_values(record)]) if shows else report

        shown = shown_fields(record.X.shape[1]) if shows else ()
        return cls(device.budget(question), (*fields, *shown), values, promised)


class Client(ABC):
    """Base of all clients: answers each round once, in order, and never beyond its limit.

    Parameters
    ----------
    user : int
        Number given at enrolment.
    token : bytes
        Key given at enrolment, see :func:`lpbench.deployment.wire.user_token`.
    limit : float
        Largest epsilon that the user agrees to spend over all rounds (and protocols, if clients share a ledger).
    record : Records
        Of the user alone.
    draws : object, optional
        Randomness of the estimator's device; None: from the operating system.
    ledger : Ledger, Path or str, optional
        Where spending is entered before a report leaves. None: in memory, so that a restart would forget it.
    """

    #: Name of the protocol that the client speaks.
    protocol: str

    def __init__(
        self, user: int, token: bytes, limit: float, record: Records, draws: Any, ledger: Ledger | Path | str | None
    ):
        self.user, self.limit = user, limit
        self._token, self._record = token, record
        self._draws = self._fresh_draws(record.X.shape[1]) if draws is None else draws
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)

    @property
    def spent(self) -> float:
        """Epsilon spent so far."""
        return self._ledger.spent

    def answer(self, content: bytes) -> bytes:
        """Answer a broadcast with a serialised report.

        Whether it is answered, and the length of the report, depend on the broadcast, the public part of the record
        and what was answered before, never on protected values.

        Raises
        ------
        ProtocolError
            If the broadcast is of another protocol, makes no sense, is out of order, a second question of the same
            round, does not follow from the round answered before, asks for more than is left of the limit or for a
            report longer than ``MOST_REPORT`` bytes, or if the ledger cannot be written. Nothing is sent or spent then.
        """
        broadcast = Broadcast.decode(content)
        try:
            number = self._check_order(broadcast.settings)
            with np.errstate(all="ignore"):
                answer = self._plan(broadcast)
                self._check_cost(number, answer)
                values = np.asarray(answer.values(), dtype=np.float64)
                payload = pack(answer.fields, values[None]).tobytes()
            report = seal(campaign_of(content), number, self.user, payload, self._token)
        except ProtocolError:
            raise
        except ConfigurationError as error:
            raise ProtocolError(f"the broadcast makes no sense: {error}") from error
        except _NONSENSE as error:
            raise ProtocolError(f"the broadcast makes no sense: {error!r}") from error
        changes: dict[str, Any] = {"round": number, "campaign": campaign_of(content).hex()}
        if answer.promised:
            changes["promised"] = answer.promised
        try:
            # What may leave is spent, even if the report is lost on its way.
            self._ledger.record(self.protocol, answer.cost, **changes)
        except OSError as error:
            raise ProtocolError(f"the ledger cannot be written, so nothing is sent: {error}") from error
        return report

    def _check_order(self, settings: dict) -> int:
        """Return the round; ProtocolError unless it is the next one of this protocol."""
        progress = self._ledger.progress(self.protocol)
        if settings.get("protocol") != self.protocol:
            raise ProtocolError(f"broadcast of protocol {settings.get('protocol')!r}, not {self.protocol!r}")
        number = check_whole("round", settings.get("round"), least=1, most=_MOST_ROUNDS)
        if number != progress.round + 1:
            raise ProtocolError(f"asked for round {number!r} after answering {progress.round}; each is answered once")
        if number > 1 and settings.get("after") != progress.campaign:
            raise ProtocolError(f"round {number} does not follow from the broadcast answered before")
        return int(number)

    def _check_cost(self, number: int, answer: Answer) -> None:
        left = self.limit - self.spent
        if not 0 <= answer.cost <= left + 1e-12 * self.limit:
            raise ProtocolError(f"round {number} costs {answer.cost!r}, but only {left:g} is left")
        size = payload_bytes(answer.fields)
        if size > MOST_REPORT:
            raise ProtocolError(f"round {number} asks for {size} bytes; a report has at most {MOST_REPORT}")

    @property
    def _promised(self) -> tuple[float, ...]:
        """Budgets of later rounds that the first round announced."""
        return self._ledger.progress(self.protocol).promised

    @abstractmethod
    def _fresh_draws(self, n_features: int) -> Any:
        """Draw the randomness of the device; it must never take a seed from anybody."""

    @abstractmethod
    def _plan(self, broadcast: Broadcast) -> Answer:
        """Plan the answer from what is public; an error, whatever the protected values, if it makes no sense."""


class RegressionClient(Client):
    """A device with features, of which the user protects some, and a label.

    Parameters
    ----------
    user, token, limit, draws, ledger
        See :class:`Client`.
    x : ndarray of shape (d,)
        Clipped to [0, 1].
    y : float
        Clipped to the range that is announced.
    protected : boolean ndarray of shape (d,)
    """

    def __init__(
        self,
        user: int,
        token: bytes,
        limit: float,
        x: ArrayLike,
        y: float,
        protected: ArrayLike,
        draws: Any = None,
        ledger: Ledger | Path | str | None = None,
    ):
        X = np.clip(features_of(x), 0.0, 1.0)
        label = np.clip([check_number("y", y)], -LARGEST_REAL, LARGEST_REAL)
        record = Records(X, label, np.asarray(protected, dtype=bool).reshape(X.shape))
        super().__init__(user, token, limit, record, draws, ledger)


class ClassificationClient(Client):
    """A device with features, all of which are protected, and a class.

    Parameters
    ----------
    user, token, limit, draws, ledger
        See :class:`Client`.
    x : ndarray of shape (d,)
        Features as the method takes them.
    y : object
        Class of the record, one of ``classes``.
    classes : array-like of shape (n_classes,)
        The public list of classes; a broadcast that names others is refused.
    """

    def __init__(
        self,
        user: int,
        token: bytes,
        limit: float,
        x: ArrayLike,
        y: Any,
        classes: ArrayLike,
        draws: Any = None,
        ledger: Ledger | Path | str | None = None,
    ):
        self._classes = ClassList(classes)
        record = Records(features_of(x), np.array([self._classes.code_of(y)]))
        super().__init__(user, token, limit, record, draws, ledger)


class ClassList:
    """The public list of classes that a device holds: it neither learns classes from a curator nor tells its own.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        All classes that a user may have, in increasing order.
    """

    def __init__(self, classes: ArrayLike):
        self.values = np.asarray(classes)
        if self.values.ndim != 1 or not np.array_equal(np.unique(self.values), self.values):
            raise ConfigurationError(f"classes={classes!r} must be a list of distinct classes in increasing order")

    @property
    def size(self) -> int:
        """Number of classes."""
        return int(self.values.size)

    def as_json(self) -> list:
        """The list as a broadcast names it."""
        return list(self.values.tolist())

    def check(self, settings: dict) -> None:
        """Raise a ProtocolError unless a broadcast names the same classes."""
        asked = settings.get("classes")
        if json.dumps(asked) != json.dumps(self.as_json()):
            raise ProtocolError(f"the broadcast's classes={asked!r} are not the classes of the device")

    def code_of(self, label: Any) -> int:
        """Position of a class in the list; ConfigurationError if it is not in it."""
        check_choice("y", label, self.values.tolist())
        return int(np.flatnonzero(self.values == label)[0])


def shown_fields(n_features: int) -> tuple[Field, ...]:
    """Which features a user protects, and the features (0 where protected)."""
    return Integers(2, n_features), Reals(n_features)


def shown_values(record: Records) -> np.ndarray:
    """Values of :func:`shown_fields`, shape (2 d,)."""
    if record.mask is None:
        raise ConfigurationError("mask=None: the record protects every feature and shows nothing; pass its mask")
    return np.concatenate([record.mask[0], np.where(record.mask, 0.0, record.X)[0]])


def features_of(x: ArrayLike) -> np.ndarray:
    """Check a record's features: finite numbers of shape (d,), returned with shape (1, d)."""
    row = np.asarray(x, dtype=np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise ConfigurationError("x must be a list of finite numbers, one for each feature")
    return row[None]


def budget_of(settings: dict, name: str) -> float:
    """Read a budget from a broadcast: a finite number > 0."""
    return check_number(name, settings.get(name), above=0)


def bounded(settings: dict, name: str) -> float:
    """Read a number of size at most ``LARGEST_REAL`` from a broadcast."""
    return check_number(name, settings.get(name), least=-LARGEST_REAL, most=LARGEST_REAL)
