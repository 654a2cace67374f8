"""Randomizer and Message: all that one user's device sends, in a form that can be audited without the estimator.

A :class:`Randomizer` lists protected values (the public part is fixed inside) and the messages that a device sends for
each of them. A :class:`Message` holds two accounts of the same thing: the mechanism and its inputs, from which the
exact loss follows, and ``send``, the client code that the estimator itself runs, which the empirical audit samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from lpbench.audit.losses import message_losses
from lpbench.errors import ConfigurationError
from lpbench.privacy import MODELS, Device, Mechanism, Records
from lpbench.privacy.payload import Field, payload_bits
from lpbench.seeds import Streams

#: Users simulated by one call of the client code.
_CHUNK = 100_000


@dataclass(frozen=True)
class Path:
    """How ``fit`` or ``sweep`` comes by what the curator learns from the reports of all users.

    Attributes
    ----------
    name : str
        Shown in ``audit.csv``: ``device`` where all users' devices are asked, else the function that draws sums.
    draw : callable (records, question, streams) -> ndarray of shape (k,), optional
        Draws the curator's estimate of the sums. None: the devices' reports are used as they are.
    """

    name: str = "device"
    draw: Callable[[Records, Any, Streams], np.ndarray] | None = None


#: Fit or sweep asks all users' devices.
BY_DEVICE = Path()


@dataclass(frozen=True, eq=False)
class Asked:
    """A device, a question, and records that share their public part; what a message is made from.

    Attributes
    ----------
    device : Device
    question : object
    records : Records
        One row for each protected value.
    fit, sweep : Path
        How ``fit`` and ``sweep`` of the estimator come by the reports.
    """

    device: Device
    question: Any
    records: Records
    fit: Path = BY_DEVICE
    sweep: Path = BY_DEVICE

    def reports(self, records: Records, streams: Streams) -> np.ndarray:
        """Reports of users, ndarray of shape (n,) or (n, k)."""
        return self.device.report(records, self.question, self.device.draws(streams, len(records), self.question))


@dataclass(frozen=True)
class Message:
    """One message of one device.

    Attributes
    ----------
    mechanism : Mechanism
        Randomizer of the message.
    inputs : ndarray of shape (n_values, ...)
        What each protected value puts into the mechanism.
    send : callable (value, n, streams) -> ndarray of shape (n,) or (n, k)
        Reports of n users who hold the protected value of that index, by the code the estimator runs.
    fields : sequence of Field
        What the message looks like on the wire.
    round : int
        1, 2, ...
    asked : Asked, optional
        Device, question and records that the message was made from.
    client : str
        Where there is no device object: the estimator's function that ``send`` calls, and which fit and sweep call for
        all users.
    """

    mechanism: Mechanism
    inputs: np.ndarray
    send: Callable[[int, int, Streams], np.ndarray]
    fields: Sequence[Field] = ()
    round: int = 1
    asked: Asked | None = None
    client: str = ""

    @property
    def device(self) -> str:
        """Name of the device, or of the client function."""
        return type(self.asked.device).__name__ if self.asked else self.client

    @property
    def paths(self) -> tuple[str, str]:
        """How fit and sweep come by the reports: by the device for all users, or by a function that draws sums."""
        return (self.asked.fit.name, self.asked.sweep.name) if self.asked else (BY_DEVICE.name,) * 2

    def losses(self) -> np.ndarray:
        """Largest log-ratio of the probabilities (densities) of a report, for all pairs of values."""
        return message_losses(self.mechanism, self.inputs)


def message_of(
    device: Device, question: Any, records: Records, fit: Path = BY_DEVICE, sweep: Path = BY_DEVICE
) -> Message:
    """Return the message of a device that is asked a question: the law that it states, and its own reports.

    Parameters
    ----------
    device, question, records, fit, sweep
        See :class:`Asked`.

    Raises
    ------
    ConfigurationError
        If the device states a law for another number of records.
    """
    asked = Asked(device, question, records, fit, sweep)
    device.check(question)
    mechanism, inputs = device.law(question, records)
    if len(inputs) != len(records):
        raise ConfigurationError(f"{type(device).__name__}.law returned {len(inputs)} inputs of {len(records)} records")

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return asked.reports(records.repeated(value, n), streams)

    return Message(mechanism, inputs, send, device.fields(question), device.round, asked)


@dataclass(frozen=True)
class GroupMessage(Message):
    """The message of a user who belongs to one of several groups, each of which is asked something else.

    Its values are those of the first part, then those of the second, and so on; losses are between values of one part,
    because the group is public. See :func:`asked_once`.

    Attributes
    ----------
    parts : sequence of Message
        What the device sends in each group; the longest first.
    """

    parts: Sequence[Message] = ()

    @property
    def paths(self) -> tuple[str, str]:
        """Those of all parts that have a device; several are joined by semicolons."""
        named = [part.paths for part in self.parts if part.device] or [super().paths]
        fit, sweep = ("; ".join(dict.fromkeys(names)) for names in zip(*named, strict=True))
        return fit, sweep

    def losses(self) -> np.ndarray:
        """Losses of the parts as blocks; 0 between groups."""
        return block_diag(*(part.losses() for part in self.parts))


@dataclass(frozen=True, eq=False)
class Randomizer:
    """All that one user's device sends, given everything public (features, mask, partition, other users' reports).

    Given the public part the messages are independent of one another, so the exact loss between two protected values
    is the sum of the messages' losses.

    Attributes
    ----------
    name : str
    model : str
        Key of :data:`lpbench.privacy.MODELS`: which part of the record the values are.
    claimed : float
        Epsilon that the method promises.
    messages : sequence of Message
    n_values : int
        Number of protected values that are compared. Central models: of data sets.
    delta : float
        Failure probability of the promise.
    neighbours : boolean ndarray of shape (n_values, n_values)
        Pairs that the promise covers; by default all.
    supremum : float, optional
        Exact epsilon over *all* protected values, where the listed ones only approach it.
    public_bits : float
        Bits of what is sent in the clear because it is not protected.
    bits_down : float
        Bits that everybody receives.
    keep : {"rows", "sums", "counts"}
        Whether the curator needs every report, or their sums or counts of categories alone.
    note : str
    """

    name: str
    model: str
    claimed: float
    messages: Sequence[Message]
    n_values: int
    delta: float = 0.0
    neighbours: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))
    supremum: float | None = None
    public_bits: float = 0.0
    bits_down: float = 0.0
    keep: str = "rows"
    note: str = ""

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r} must be one of {sorted(MODELS)}")
        if self.neighbours.size == 0:
            object.__setattr__(self, "neighbours", ~np.eye(self.n_values, dtype=bool))

    @cached_property
    def losses(self) -> np.ndarray:
        """Exact loss of every ordered pair of values, shape (n_values, n_values); 0 where not neighbours."""
        total = sum((message.losses() for message in self.messages), np.zeros((self.n_values, self.n_values)))
        return np.where(self.neighbours, total, 0.0)

    @property
    def sampled(self) -> tuple[str, str, str]:
        """Devices that are sampled, and how fit and sweep come by their reports; several are joined by semicolons.

        Where nothing is sampled the note says why.
        """
        if not all(message.device for message in self.messages) or not self.messages:
            return (self.note or "not named",) * 3
        fit, sweep = zip(*(message.paths for message in self.messages), strict=True)
        devices = [message.device for message in self.messages]
        return tuple("; ".join(dict.fromkeys(names)) for names in (devices, fit, sweep))  # type: ignore[return-value]

    @property
    def rounds(self) -> int:
        """Number of messages a user sends at different times."""
        return max((message.round for message in self.messages), default=0)

    @property
    def bits_up(self) -> float:
        """Bits of the payload of all rounds, as the wire format packs them, without padding to whole bytes."""
        return self.public_bits + sum(payload_bits(message.fields) for message in self.messages)

    def sample(self, value: int, n: int, streams: Streams) -> np.ndarray:
        """Return the transcripts of ``n`` independent users who hold the given value: ndarray of shape (n, k).

        All messages of a user draw from the same streams, as they do in ``fit``.
        """
        parts = [
            self._sample_chunk(value, min(_CHUNK, n - start), streams.child("chunk", start=start))
            for start in range(0, n, _CHUNK)
        ]
        return np.concatenate(parts)

    def _sample_chunk(self, value: int, n: int, streams: Streams) -> np.ndarray:
        sent = [np.asarray(message.send(value, n, streams), dtype=np.float64) for message in self.messages]
        return np.hstack([report.reshape(n, -1) for report in sent]) if sent else np.zeros((n, 1))


def asked_once(model: str, claimed: float, parts: Sequence[Message], **options: Any) -> Randomizer:
    """Return the device of a method that puts every user into one group and asks each group once.

    Sequentially interactive methods are of this kind: what a group is asked depends on the reports of the groups before
    it, so that the question is public and every user spends the budget of one message. The audit compares values within
    each group and keeps the worst.

    Parameters
    ----------
    model, claimed
        See :class:`Randomizer`.
    parts : sequence of Message
        One for each kind of question, each with protected values of its own: the questions' public settings are fixed
        inside ``inputs`` and ``send``. All are of round 1, the only one that a user takes part in.
    **options
        Other attributes of :class:`Randomizer`.
    """
    parts = sorted(parts, key=lambda part: payload_bits(part.fields), reverse=True)
    sizes = [len(part.inputs) for part in parts]
    owner, first = np.repeat(np.arange(len(parts)), sizes), np.cumsum([0, *sizes])

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        part = parts[owner[value]]
        return part.send(value - first[owner[value]], n, streams)

    # Fields are those of the longest report, which value 0 sends.
    first_part = parts[0]
    message = GroupMessage(
        first_part.mechanism, np.arange(owner.size), send, first_part.fields, client=first_part.device, parts=parts
    )
    neighbours = (owner[:, None] == owner) & ~np.eye(owner.size, dtype=bool)
    return Randomizer("", model, claimed, [message], owner.size, neighbours=neighbours, **options)
