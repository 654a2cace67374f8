"""One user's messages in a recorded run of a method, as a randomizer that can be audited exactly and by sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.audit.accounting import neighbors, paid_answers
from lpbench.audit.methods import learned, recorded_users, settings
from lpbench.audit.randomizers import Message, Randomizer, message
from lpbench.audit.recording import Asked, Recording
from lpbench.audit.samples import planted
from lpbench.estimators.base import LocalEstimator
from lpbench.privacy import Guarantee, Records
from lpbench.privacy.device import question_of
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """Facts about a method for the audit's table, from one recorded run."""

    randomizer: Randomizer  # of the user who spends most
    spent: Guarantee
    devices: str  # what was asked
    shortcuts: str  # which answers are drawn by the exact law of the sums


def randomizer_of(model: LocalEstimator, epsilon: float) -> Randomizer:
    """Return everything that one user sends to an estimator in a small sample, given what the others have sent."""
    return recorded_run(model, epsilon).randomizer


def recorded_run(model: LocalEstimator, epsilon: float) -> RecordedRun:
    """Run a method with sealed users and read the record."""
    configured, sample = next(settings(model, (epsilon,)))
    recording = Recording()
    users = recorded_users(sample, 1, recording)
    learned(configured, users)
    spent = users.spent
    paid = paid_answers(recording)
    devices = "; ".join(dict.fromkeys(type(entry.device).__name__ for entry in paid))
    drawn = {"sums": "draw_sums", "chain": "draw_chain"}
    named = [f"{type(e.device).__name__}.{drawn[e.kind]}" for e in paid if e.kind in drawn]
    shortcuts = "; ".join(dict.fromkeys(named))
    user = _most_asked(paid, len(sample.records))
    public = sample.y_range, 0 if sample.classes is None else sample.classes.size
    values = planted(sample.records, user, *public)
    messages = [_message(entry, k, user, values) for k, entry in enumerate(paid) if user in entry.users]
    n_values = len(values) if messages else 2
    randomizer = Randomizer(spent.model, spent.epsilon, messages, n_values, spent.delta)
    return RecordedRun(randomizer, spent, devices, shortcuts)


def _most_asked(paid: Sequence[Asked], n: int) -> int:
    """The user (of n, by number) who spends most by the devices' own statements."""
    totals = np.zeros(n)
    for entry in paid:
        if entry.kind != "release":
            budgets = np.asarray(entry.device.budgets(entry.records, entry.question), dtype=float)
            totals[entry.users] += np.minimum(budgets, 1e9)
    return int(totals.argmax())


def _message(entry: Asked, number: int, user: int, values: Records) -> Message:
    """One answer of a user as a message, for each value that the user might hold (``values``).

    ``number`` is the answer's, for the noise; a release gets data sets that differ in the user's record.
    """
    position = int(np.flatnonzero(entry.users == user)[0])
    if entry.kind == "release":
        # of data sets that differ in the record of the user
        inputs = neighbors(entry, position, values)
        return message(entry.device.mechanism(entry.question), inputs, "release", number=number)
    device = entry.device

    def asked(n: int) -> Any:
        return question_of(entry.question, np.full(n, position))

    def send(value: int, n: int, streams: Streams) -> np.ndarray:
        draws = device.draws(streams.child("answer", number=number), n, asked(n))
        return np.asarray(device.report(values.repeated(value, n), asked(n), draws))

    mechanism, inputs = device.law(asked(len(values)), values)
    fields = device.fields(entry.question)
    return Message(mechanism, np.asarray(inputs), send, fields)
