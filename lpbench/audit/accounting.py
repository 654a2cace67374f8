"""Account: budgets added up again from the devices' mechanisms, independently of the users' own accounts."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from lpbench.audit.recording import Asked, Recording
from lpbench.audit.samples import planted
from lpbench.privacy import Guarantee, Records, Release
from lpbench.privacy.device import question_of

#: Rounding error allowed to an exact loss, relative and absolute.
TOLERANCE = 1e-9
#: Users whose exact loss is computed, for each answer.
_USERS = 5
#: Answers of which they are.
_ANSWERS = 60


def wrong_account(
    recording: Recording, stated: Guarantee, n: int, y_range: tuple[float, float] | None, n_classes: int
) -> Iterator[str]:
    """Yield sentences about a run's guarantee where it contradicts the recorded answers."""
    if recording.revealed and stated.model != "none":
        yield f"records were revealed, and the guarantee says {stated.model}"
        return
    totals, infinite, deltas = [Fraction(0)] * n, np.zeros(n, dtype=bool), [Fraction(0)] * n
    paid = paid_answers(recording)
    for entry in paid[:: len(paid) // _ANSWERS + 1]:
        yield from more_than_stated(entry, y_range, n_classes)
    for entry in paid:
        for user, epsilon in zip(entry.users.tolist(), _stated(entry).tolist(), strict=True):
            if math.isinf(epsilon):
                infinite[user] = True
            else:
                totals[user] += Fraction(epsilon)
            released = entry.device.mechanism(entry.question) if isinstance(entry.device, Release) else None
            deltas[user] += Fraction(float(entry.device.delta(entry.question) if released is None else released.delta))
    most = math.inf if infinite.any() else float(max(totals))
    if most > stated.epsilon * (1.0 + TOLERANCE) + TOLERANCE:
        yield f"a user spent {most:.9g}, and the guarantee says {stated.epsilon:.9g}"
    if float(max(deltas)) > stated.delta * (1.0 + TOLERANCE):
        yield f"a user spent delta = {float(max(deltas)):.3g}, and the guarantee says {stated.delta:.3g}"
    central = any(entry.kind == "release" for entry in recording.asked)
    if central and stated.model not in ("cdp", "label_cdp"):
        yield f"a curator saw the records, and the guarantee says {stated.model}"
    masks = [entry.records.mask for entry in recording.asked]
    shows_features = any(mask is not None and not mask.all() for mask in masks)
    if recording.shown_read and stated.model == "ldp" and shows_features:
        yield "features left their users in the clear, and the guarantee says ldp"


def paid_answers(recording: Recording) -> list[Asked]:
    """Return the recorded answers that cost privacy: all but exact repetitions of an earlier question."""
    paid: list[Asked] = []
    alike: dict[tuple[type, bytes, bytes], list[Asked]] = {}
    for entry, digest in zip(recording.asked, recording.questions(), strict=True):
        before = alike.setdefault((type(entry.device), digest, entry.users.tobytes()), [])
        if not any(np.array_equal(entry.answer, b.answer) for b in before):
            before.append(entry)
            paid.append(entry)
    return paid


def _stated(entry: Asked) -> np.ndarray:
    """Epsilon of each asked user, shape (m,), as the device states it."""
    if isinstance(entry.device, Release):
        return np.full(entry.users.size, entry.device.budget(entry.question))
    budgets = entry.device.budgets(entry.records, entry.question)
    return np.broadcast_to(np.asarray(budgets, dtype=float), entry.users.shape)


def more_than_stated(entry: Asked, y_range: tuple[float, float] | None, n_classes: int) -> Iterator[str]:
    """Compare statements with the exact losses of the mechanisms at planted values."""
    device, stated, central = entry.device, _stated(entry), isinstance(entry.device, Release)
    chosen = np.argsort(stated, kind="stable")[np.linspace(0, stated.size - 1, _USERS).astype(int)]
    for user in (0, len(entry.records) // 2) if central else np.unique(chosen).tolist():
        values = planted(entry.records, user, y_range, n_classes)
        if central:
            mechanism, inputs = device.mechanism(entry.question), neighbors(entry, user, values)
        else:
            question = question_of(entry.question, np.full(len(values), user))
            mechanism, inputs = device.law(question, values)
        exact = float(np.max(mechanism.losses(inputs), initial=0.0))
        if exact > stated[user] * (1.0 + TOLERANCE) + TOLERANCE:
            yield f"{type(device).__name__} loses {exact:.9g}, and states {stated[user]:.9g}"
            return
        if not central and np.ptp(np.asarray(device.budgets(values, question), dtype=float)) > 0:
            yield f"the budget of {type(device).__name__} depends on protected values"
            return


def neighbors(entry: Asked, user: int, values: Records) -> np.ndarray:
    """The statistics of a release for data sets that differ in the record of one user, one row per data set."""
    statistics = []
    for value in range(len(values)):
        X, y = entry.records.X.copy(), entry.records.y.copy()
        X[user], y[user] = values.X[value], values.y[value]
        statistics.append(entry.device.law(entry.question, Records(X, y, entry.records.mask))[1])
    return np.stack(statistics)
