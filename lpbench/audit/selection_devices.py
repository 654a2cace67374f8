"""Devices of private selection: a user trains or validates, which is public; both devices are audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lpbench import estimators as models
from lpbench.audit.devices import builds, randomizer_of
from lpbench.audit.randomizers import GroupMessage, Message, Randomizer, message_of
from lpbench.audit.world import LABELS, SHOWN, Y_RANGE, repeat
from lpbench.estimators.any_learner.numbers import NUMBER, NumberQuestion
from lpbench.estimators.private_selection.candidates import candidates_of
from lpbench.estimators.private_selection.selection import difference_question, label_question
from lpbench.privacy import Channel, Records
from lpbench.privacy.payload import payload_bits
from lpbench.seeds import Streams

#: Differences of two losses that a validating user may hold, beyond the range included.
DIFFERENCES = np.array([-3.0, -2.0, 0.5, 2.0, 3.0])


@builds(models.PrivateSelectionRegressor)
def selected_regressor(model: models.PrivateSelectionRegressor) -> Randomizer:
    """A user who trains, one who validates by the label, or one who validates by a difference of squared errors."""
    asked = (label_question(Y_RANGE, model.epsilon), LABELS), (difference_question(2.0, model.epsilon), DIFFERENCES)
    return _either(model, asked)


@builds(models.PrivateSelectionClassifier)
def selected_classifier(model: models.PrivateSelectionClassifier) -> Randomizer:
    """A user who trains, or one who validates by a difference of errors."""
    return _either(model, [(difference_question(1.0, model.epsilon), np.array([-1.0, 0.0, 1.0]))])


def _either(model: Any, asked: Sequence[tuple[NumberQuestion, np.ndarray]]) -> Randomizer:
    """Return the randomizer of a user of either kind: losses are compared within a kind, and the worst is kept."""
    candidates = candidates_of(model.estimator, model.candidates, model.shared)
    trained = candidates.build().set_params(**candidates.points[0])
    if trained.uses_epsilon:
        trained.set_params(epsilon=model.epsilon)
    inner = randomizer_of(trained)
    validating = [message_of(NUMBER, q, Records(repeat(SHOWN, v.size), v)) for q, v in asked]
    sizes = [inner.n_values, *(len(message.inputs) for message in validating)]
    longest = max(validating, key=lambda message: payload_bits(message.fields))
    trains = sum(payload_bits(m.fields) for m in inner.messages) >= payload_bits(longest.fields)
    messages = [_of_kind(sizes, 0, _fitted_alone(message), trains) for message in inner.messages]
    messages += [_of_kind(sizes, k, m, m is longest and not trains) for k, m in enumerate(validating, start=1)]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    neighbours = (owner[:, None] == owner) & ~np.eye(owner.size, dtype=bool)
    neighbours[: inner.n_values, : inner.n_values] = inner.neighbours
    return Randomizer(
        "", inner.model, max(inner.claimed, model.epsilon), messages, owner.size,
        neighbours=neighbours, public_bits=inner.public_bits, bits_down=inner.bits_down,
        note="each user either trains or validates",
    )  # fmt: skip


def _fitted_alone(message: Message) -> Message:
    """The same message of a candidate, which a sweep fits as well."""
    return message if message.asked is None else replace(message, asked=replace(message.asked, sweep=message.asked.fit))


def _of_kind(sizes: Sequence[int], kind: int, message: Message, counted: bool) -> GroupMessage:
    """A message that users of one kind send and the others do not; its bits count if the kind sends most."""
    silent = Channel(np.ones((1, 1)))
    nothing = [Message(silent, np.zeros(size, dtype=int), lambda value, n, streams: np.zeros(n)) for size in sizes]
    parts = [message if k == kind else other for k, other in enumerate(nothing)]
    owner, first = np.repeat(np.arange(len(sizes)), sizes), np.cumsum([0, *sizes])

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        return parts[owner[value]].send(value - first[owner[value]], n, streams)

    fields = message.fields if counted else ()
    return GroupMessage(
        message.mechanism, np.arange(owner.size), send, fields, message.round, client=message.device, parts=parts
    )
