"""What runs on a user's device: one record, a limit on the budget, one answer to each question of any method."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.checks import check_choice, check_number, check_whole
from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.codec import from_json, question_type
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.ledger import Ledger, Progress
from lpbench.deployment.wire import seal
from lpbench.errors import ConfigurationError, LpbenchError
from lpbench.privacy import Device, Records
from lpbench.privacy.device import question_of
from lpbench.privacy.payload import LARGEST_REAL, Field, Integers, Reals, pack, payload_bytes
from lpbench.seeds import Streams

#: Bytes of the longest payload that a device sends.
MOST_REPORT = 1 << 16
#: Largest feature of a classifier: forests compare in single precision.
LARGEST_FEATURE = float(np.finfo(np.float32).max)
#: Rounds that the header of a report can number.
_MOST_ROUNDS = 255
#: What a broadcast that makes no sense may raise.
_NONSENSE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, MemoryError)
#: Name under which a round is announced that asks for the unprotected features alone.
ENROLMENT = "enrolment"


@dataclass(frozen=True)
class Knowledge:
    """What is public about a campaign; a device holds it itself and does not learn it from a curator.

    Attributes
    ----------
    classes : tuple, optional
        All classes that a user may have, in increasing order.
    """

    n_features: int
    classes: tuple[Any, ...] | None = None

    def clipped(self, X: np.ndarray) -> np.ndarray:
        """Features as devices hold them: in the unit cube for regression, in single precision for classification."""
        lowest, largest = self._ends
        return np.clip(X, lowest, largest)

    @property
    def _ends(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.classes is None else (-LARGEST_FEATURE, LARGEST_FEATURE)

    def probes(self, record: Records) -> Records:
        """Records that this user might hold: the same public part, extreme protected values."""
        y = np.array([-LARGEST_REAL, -1.0, 0.0, 1.0, LARGEST_REAL])
        if self.classes is not None:
            y = np.arange(len(self.classes))
        mask = np.ones(record.X.shape, dtype=bool) if record.mask is None else record.mask
        rows = np.vstack([np.where(mask, value, record.X) for value in (*self._ends, 0.0, 0.4, 0.5)])
        X = np.repeat(rows, len(y), axis=0)
        return Records(X, np.tile(y, len(rows)), np.repeat(mask, len(X), axis=0))


@dataclass(frozen=True)
class Answer:
    """How a device would answer a broadcast; everything but the values is public.

    Attributes
    ----------
    cost : float
        Epsilon that the answer spends.
    fields : sequence of Field
        The payload.
    values : callable () -> ndarray of shape (columns,)
        Randomises the record.
    """

    cost: float
    fields: Sequence[Field]
    values: Callable[[], np.ndarray]


class Client:
    """A user's device: answers each question once, in order, and never beyond its limit.

    Parameters
    ----------
    user : int
        Number given at enrolment.
    token : bytes
        Key given at enrolment, see :func:`lpbench.deployment.wire.user_token`.
    limit : float
        Largest epsilon that the user agrees to spend over all rounds (and campaigns, if clients share a ledger).
    devices : sequence of Device
        The code that the user runs; a curator names one of them.
    x : array-like of shape (d,)
        Features as the method takes them.
    y : object
        Label, or class.
    protected : boolean array-like of shape (d,), optional
        Features that never leave in the clear; None: all.
    classes : array-like, optional
        Public list of classes; None: ``y`` is a number.
    campaign : str
        Name under which rounds are counted in the ledger.
    draws : callable (device, question) -> object, optional
        Randomness of the device, for tests; None: from the operating system.
    ledger : Ledger, Path or str, optional
        Where spending is entered before a report leaves. None: in memory, so that a restart would forget it.
    """

    def __init__(
        self,
        user: int,
        token: bytes,
        limit: float,
        devices: Sequence[Device],
        x: ArrayLike,
        y: Any,
        protected: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        campaign: str = "campaign",
        draws: Callable[[Device, Any], Any] | None = None,
        ledger: Ledger | Path | str | None = None,
    ):
        self.user, self.limit, self.campaign = user, limit, campaign
        self._token, self._draws = token, draws
        self._devices = {type(device).__name__: device for device in devices}
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        X = features_of(x)
        mask = None if protected is None else np.asarray(protected, dtype=bool).reshape(X.shape)
        if classes is None:
            label = np.clip([check_number("y", y)], -LARGEST_REAL, LARGEST_REAL)
            self.knowledge = Knowledge(X.shape[1])
        else:
            listed = np.asarray(classes)
            if listed.ndim != 1 or not np.array_equal(np.unique(listed), listed):
                raise ConfigurationError(f"classes={classes!r} must be a list of distinct classes in increasing order")
            check_choice("y", y, listed.tolist())
            label = np.flatnonzero(listed == y)[:1]
            self.knowledge = Knowledge(X.shape[1], tuple(listed.tolist()))
        self._arrays = self.knowledge.clipped(X), label, mask

    @property
    def _record(self) -> Records:
        """The user's record; what a device remembers of it lasts for one answer."""
        return Records(*self._arrays)

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
            If the broadcast is of another campaign, makes no sense, is out of order, does not follow from the round
            answered before, asks for more than is left of the limit or for a report longer than ``MOST_REPORT`` bytes,
            or if the ledger cannot be written. Nothing is sent or spent then.
        """
        broadcast = Broadcast.decode(content)
        before = self._ledger.progress(self.campaign)
        try:
            number = self._check_order(broadcast.settings, before)
            with np.errstate(all="ignore"):
                answer = self._plan(broadcast.settings)
                self._ledger.check(answer.cost, self.limit)
                values = np.asarray(answer.values(), dtype=np.float64)
                payload = pack(answer.fields, values[None]).tobytes()
            report = seal(campaign_of(content), number, self.user, payload, self._token)
        except ProtocolError:
            raise
        except LpbenchError as error:
            raise ProtocolError(f"the broadcast makes no sense: {error}") from error
        except _NONSENSE as error:
            raise ProtocolError(f"the broadcast makes no sense: {error!r}") from error
        # What may leave is spent, even if the report is lost on its way.
        changes = {"round": number, "campaign": campaign_of(content).hex()}
        self._ledger.spend(self.campaign, answer.cost, limit=self.limit, after=before, **changes)
        return report

    def _check_order(self, settings: dict, progress: Progress) -> int:
        """Return the round; ProtocolError unless it is the next one of this campaign."""
        if settings.get("campaign") != self.campaign:
            raise ProtocolError(f"broadcast of campaign {settings.get('campaign')!r}, not {self.campaign!r}")
        number = check_whole("round", settings.get("round"), least=1, most=_MOST_ROUNDS)
        if number != progress.round + 1:
            raise ProtocolError(f"asked for round {number!r} after answering {progress.round}; each is answered once")
        if number > 1 and settings.get("after") != progress.campaign:
            raise ProtocolError(f"round {number} does not follow from the broadcast answered before")
        return int(number)

    def _plan(self, settings: dict) -> Answer:
        """Plan the answer from what is public; an error, whatever the protected values, if it makes no sense."""
        expected = {"n_features": self.knowledge.n_features, "classes": self.knowledge.classes}
        for name, known in expected.items():
            told = settings.get(name)
            # As text: True is no 1.
            if json.dumps(told) != json.dumps(known):
                raise ProtocolError(f"the broadcast's {name}={told!r} is not {known!r}, which the device knows")
        if settings.get("device") == ENROLMENT:
            return Answer(0.0, shown_fields(self.knowledge.n_features), lambda: shown_values(self._record))
        device = self._devices.get(str(settings.get("device")))
        if device is None:
            raise ProtocolError(f"the broadcast asks {settings.get('device')!r}, which this user does not run")
        question = from_json(settings.get("question"), device)
        if not isinstance(question, question_type(type(device))):
            raise ProtocolError(f"the question is not one that {type(device).__name__} answers")
        return self._checked(device, question)

    def _checked(self, device: Device, question: Any) -> Answer:
        """Try the question on extreme records first, so that no refusal depends on this one."""
        record, name = self._record, type(device).__name__
        device.check(question)
        fields, cost = device.fields(question), float(np.max(device.budgets(record, question)))
        if continuous(device, question):
            raise ProtocolError(f"{name} would send continuous noise; devices send discrete noise alone")
        if payload_bytes(fields) > MOST_REPORT:
            raise ProtocolError(f"{name} would send {payload_bytes(fields)} bytes; a report has at most {MOST_REPORT}")
        probes = self.knowledge.probes(record)
        several = question_of(question, np.zeros(len(probes), dtype=np.int64))
        if device.budget(question) > 0:
            device.mechanism(several).check_inputs(device.inputs(probes, several))
        for part in np.array_split(np.arange(len(probes)), max(1, len(probes) * payload_bytes(fields) >> 20)):
            several = question_of(question, np.zeros(part.size, dtype=np.int64))
            trial = device.report(probes.take(part), several, device.draws(Streams(0), part.size, several))
            pack(fields, np.asarray(trial, dtype=np.float64).reshape(part.size, -1))

        def values() -> np.ndarray:
            draws = device.draws(fresh_streams(), 1, question) if self._draws is None else self._draws(device, question)
            return np.ravel(device.report(record, question, draws)[0])

        return Answer(cost, fields, values)


def continuous(device: Device[Any], question: Any) -> bool:
    """Whether a report would carry continuous noise, whose low-order bits can give the value away."""
    return device.budget(question) > 0 and not device.mechanism(question).discrete


def fresh_streams() -> Streams:
    """Return streams seeded by the operating system; a device must never take its seed from anybody."""
    return Streams(secrets.randbits(128))


def shown_fields(n_features: int) -> tuple[Field, ...]:
    """Which features a user protects, and the features (0 where protected)."""
    return Integers(2, n_features), Reals(n_features)


def shown_values(record: Records) -> np.ndarray:
    """Values of :func:`shown_fields`, shape (2 d,)."""
    mask = np.ones(record.X.shape, dtype=bool) if record.mask is None else record.mask
    return np.concatenate([mask[0], np.where(mask, 0.0, record.X)[0]])


def features_of(x: ArrayLike) -> np.ndarray:
    """Check a record's features: finite numbers of shape (d,), returned with shape (1, d)."""
    row = np.asarray(x, dtype=np.float64)
    if row.ndim != 1 or not np.isfinite(row).all():
        raise ConfigurationError("x must be a list of finite numbers, one for each feature")
    return row[None]
