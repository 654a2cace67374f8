"""Row by row: a device treats every record alike and by itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from lpbench.audit.recording import Asked
from lpbench.audit.samples import planted, planted_densely
from lpbench.errors import ConfigurationError, DataError
from lpbench.privacy import Channel, Records, Release
from lpbench.privacy.device import own_statements, question_of

#: Users whose protected values are changed one at a time.
_USERS = 6


def broken_rows(entry: Asked, y_range: tuple[float, float] | None, n_classes: int) -> Iterator[str]:
    """Yield what in a recorded answer depends on more than the own record."""
    device, name = entry.device, type(entry.device).__name__
    if isinstance(device, Release):
        return
    if not own_statements(type(device)):  # the harness draws by the mechanism, so that inputs must lie in its domain
        dense = planted_densely(entry.records, y_range, n_classes)
        mechanism, inputs = device.law(question_of(entry.question, np.zeros(len(dense), dtype=int)), dense)
        try:
            mechanism.check_inputs(inputs)
        except DataError as error:
            yield f"{name}, with some value that a user may hold: {error}"
    records, question, n = entry.records, entry.question, entry.users.size
    users = np.arange(n)
    whole = _inputs(device, question, records)
    order = np.random.default_rng(5).permutation(n)
    if not _same(_inputs(device, question_of(question, order), records.take(order)), _take(whole, order)):
        yield f"inputs of {name} change with the order of the users"
    half = np.arange(0, n, 2)
    if not _same(_inputs(device, question_of(question, half), records.take(half)), _take(whole, half)):
        yield f"inputs of {name} change with who else is asked"
    for user in np.unique(np.linspace(0, n - 1, _USERS).astype(int)).tolist():
        # a user's mechanism may be weaker than the one that all share; what goes into it differs by rounding alone
        alone = _inputs(device, question_of(question, np.array([user])), records.take([user]))[-1]
        among = whole[-1][[user]]
        numbers = alone.dtype.kind in "fiub" and among.dtype.kind in "fiub"
        if numbers and not np.allclose(alone.astype(float), among.astype(float), rtol=1e-9, atol=1e-9):
            yield f"inputs of {name} change with who else is asked"
            return
        values = planted(records, user, y_range, n_classes)
        for k in (0, len(values) - 1):
            X, y = records.X.copy(), records.y.copy()
            X[user], y[user] = values.X[k], values.y[k]
            moved = _inputs(device, question, Records(X, y, records.mask))
            others = np.delete(users, user)
            if not _same(_take(moved, others), _take(whole, others)):
                yield f"inputs of {name} change with the value of another user"
                return


def _inputs(device: Any, question: Any, records: Records) -> list[np.ndarray]:
    """What each record puts into its mechanism, one entry a user, with the mechanism's own description."""
    try:
        mechanism, inputs = device.law(question, records)
        if isinstance(mechanism, Channel):  # a row of its table for each record
            return [mechanism.probabilities[np.asarray(inputs)]]
        return [np.asarray([repr(mechanism)] * len(records)), np.asarray(inputs)]
    except ConfigurationError:
        # users who show different things have mechanisms of their own
        single = [device.law(question_of(question, np.array([i])), records.take([i])) for i in range(len(records))]
        return [np.asarray([repr(m) for m, _ in single]), np.asarray([repr(np.asarray(v).tolist()) for _, v in single])]


def _take(inputs: list[np.ndarray], users: np.ndarray) -> list[np.ndarray]:
    return [part[users] for part in inputs]


def _same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(first, second, strict=True))
