"""Helpers to write randomizers for the audit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from lpbench.audit.randomizers import Message
from lpbench.privacy.payload import Reals
from lpbench.seeds import Streams


def repeat(value: ArrayLike, n: int) -> np.ndarray:
    """The same record for n users: ndarray of shape (n, ...)."""
    return np.repeat(np.asarray(value)[None], n, axis=0)


def real_message(
    mechanism, inputs: np.ndarray, send: Callable[[int, int, Streams], np.ndarray], round: int = 1, client: str = ""
) -> Message:
    """A message of real numbers."""
    return Message(
        mechanism, inputs, send, (Reals(int(np.prod(np.shape(inputs)[1:], dtype=int))),), round, client=client
    )
