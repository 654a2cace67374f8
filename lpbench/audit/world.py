"""The small world in which methods are audited, and helpers to write randomizers in it.

Ranges and positions are chosen so that a forgotten factor shows: the label range is neither centred nor of length 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from lpbench.audit.randomizers import Message, Randomizer
from lpbench.privacy import Laplace
from lpbench.privacy.payload import Reals
from lpbench.seeds import Streams

#: Public range of the label, and its audited values.
Y_RANGE = (-1.0, 3.0)
LABELS = np.array([-1.0, 0.5, 3.0])

#: Number of features; users beside the audited one, who shape the public part.
N_FEATURES, N_OTHERS = 3, 400

#: Feature 0 is protected by everybody, feature 1 by a fifth of the users, feature 2 by nobody.
OTHERS_MASK = np.column_stack(
    [np.ones(N_OTHERS, dtype=bool), np.arange(N_OTHERS) % 5 == 0, np.zeros(N_OTHERS, dtype=bool)]
)
#: The audited user protects features 0 and 1.
USER_MASK = np.array([True, True, False])
#: What the audited user shows.
SHOWN = np.array([0.0, 0.0, 0.3])

#: Seed of the public part.
PUBLIC = Streams(20240501)


def repeat(value: ArrayLike, n: int) -> np.ndarray:
    """The same record for n users: ndarray of shape (n, ...)."""
    return np.repeat(np.asarray(value)[None], n, axis=0)


def raw_record(values: np.ndarray) -> Message:
    """A message that is not randomised at all, for the references without protection."""
    values = np.asarray(values, dtype=np.float64)
    rows = values.reshape(len(values), -1)
    return Message(Laplace(0.0), rows, lambda v, n, streams: repeat(rows[v], n), (Reals(rows.shape[1]),))


def real_message(
    mechanism, inputs: np.ndarray, send: Callable[[int, int, Streams], np.ndarray], round: int = 1, client: str = ""
) -> Message:
    """A message of real numbers."""
    return Message(
        mechanism, inputs, send, (Reals(int(np.prod(np.shape(inputs)[1:], dtype=int))),), round, client=client
    )


def unprotected(name: str = "") -> Randomizer:
    """What a reference without privacy does: the record leaves the device as it is."""
    return Randomizer(name, "none", float("inf"), [raw_record(np.array([0.0, 1.0]))], 2, note="no protection")


def silent(name: str = "") -> Randomizer:
    """What a method does that asks private users nothing."""
    return Randomizer(name, "ldp", 0.0, [], 2, note="nothing leaves the device")
