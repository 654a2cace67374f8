"""Randomizer and Message: all that one user's device sends, in a form that can be audited without the estimator.

A :class:`Randomizer` lists protected values (the public part is fixed inside) and the messages that a device sends for
each of them. A :class:`Message` holds two accounts of the same thing: the mechanism and its inputs, from which the
exact loss follows, and ``send``, the client code that the estimator itself runs, which the empirical audit samples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.privacy import MODELS, Mechanism
from lpbench.privacy.payload import Field, payload_bits
from lpbench.seeds import Streams

#: Users simulated by one call of the client code.
_USERS_A_CALL = 100_000


@dataclass(frozen=True)
class Message:
    """One message of a device: its mechanism, the input for each protected value, and the code that sends it.

    ``send(value index, n, streams)`` draws n reports of users who hold that value.
    """

    mechanism: Mechanism  # randomizer of the message
    inputs: np.ndarray  # shape (n_values, ...); what each protected value puts into the mechanism
    # shape (n,); reports of n users who hold the protected value of that index, by the code the estimator runs
    send: Callable[[int, int, Streams], np.ndarray]
    fields: Sequence[Field] = ()  # the payload

    def losses(self) -> np.ndarray:
        """Largest log-ratio of the probabilities (densities) of a report, for all pairs of values."""
        return self.mechanism.losses(self.inputs)


def repeat(value: ArrayLike, n: int) -> np.ndarray:
    """Repeat one record for n users: ndarray of shape (n, ...)."""
    return np.repeat(np.asarray(value)[None], n, axis=0)


def message(mechanism: Any, inputs: ArrayLike, purpose: str = "label", **axes: int) -> Message:
    """Make a message that is the mechanism on each value's input, drawn from the stream ``purpose`` with these axes."""
    values = np.asarray(inputs)

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return np.asarray(mechanism.randomize(repeat(values[value], n), streams.generator(purpose, **axes)))

    return Message(mechanism, values, send)


@dataclass(frozen=True)
class ExactLoss:
    """Exact epsilon of a randomizer over listed values, and the pair that attains it."""

    epsilon: float  # exact epsilon over the listed values
    pair: tuple[int, int]  # those that attain it: the one that makes the report more likely, and the other


@dataclass(frozen=True, eq=False)
class Randomizer:
    """All that one user's device sends, given what is public: messages are then independent, and losses add up.

    ``claimed`` and ``delta`` are the promise, ``n_values`` the values compared, and ``neighbors`` (n_values, n_values)
    the pairs that the promise covers (default: all).
    """

    model: str  # key of :data:`lpbench.privacy.MODELS`: which part of the record the values are
    claimed: float  # epsilon that the method promises
    messages: Sequence[Message]
    n_values: int  # number of protected values that are compared. Central models: of data sets
    delta: float = 0.0  # failure probability of the promise
    # shape (n_values, n_values); pairs that the promise covers; by default all
    neighbors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"model={self.model!r} must be one of {sorted(MODELS)}")
        if self.neighbors.size == 0:
            object.__setattr__(self, "neighbors", ~np.eye(self.n_values, dtype=bool))

    @cached_property
    def losses(self) -> np.ndarray:
        """Exact loss of every ordered pair of values, shape (n_values, n_values); 0 where not neighbors."""
        total = sum((message.losses() for message in self.messages), np.zeros((self.n_values, self.n_values)))
        return np.where(self.neighbors, total, 0.0)

    @property
    def bits_up(self) -> float:
        """Bits of the payload of all messages, without padding to whole bytes."""
        return float(sum(payload_bits(message.fields) for message in self.messages))

    def sample(self, value: int, n: int, streams: Streams) -> np.ndarray:
        """Transcripts, (n, k), of ``n`` users who hold a value; a user's messages share streams, as in ``fit``."""
        parts = []
        for start in range(0, n, _USERS_A_CALL):
            size, chunk_streams = min(_USERS_A_CALL, n - start), streams.child("chunk", start=start)
            sent = [np.asarray(message.send(value, size, chunk_streams), dtype=np.float64) for message in self.messages]
            parts.append(np.hstack([report.reshape(size, -1) for report in sent]) if sent else np.zeros((size, 1)))
        return np.concatenate(parts)


def exact_loss(randomizer: Randomizer) -> ExactLoss:
    """Return the exact epsilon of a randomizer, both directions of every pair of neighboring values included."""
    losses = randomizer.losses
    if losses.size == 0 or not randomizer.neighbors.any():
        return ExactLoss(0.0, (0, 0))
    pair = np.unravel_index(np.argmax(losses), losses.shape)
    return ExactLoss(float(losses[pair]), (int(pair[0]), int(pair[1])))
