"""A long loop says how far it is, so that a time limit which it cannot meet ends it early instead of late."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lpbench.errors import TooSlow

#: Seconds before a pace is judged, and by which a forecast must miss the limit.
LEAST = 5.0
#: Factor by which a forecast must miss the limit.
MARGIN = 1.5

_DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)
_TIMES: ContextVar[int] = ContextVar("times", default=1)


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Let loops in this block know that they have the given seconds (0 or inf: no limit)."""
    token = _DEADLINE.set(time.monotonic() + seconds if seconds else math.inf)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


@contextmanager
def repeated(times: int) -> Iterator[None]:
    """Let loops in this block know that they are the first of so many alike."""
    token = _TIMES.set(times)
    try:
        yield
    finally:
        _TIMES.reset(token)


class Pace:
    """The pace of a loop whose later steps take no less time than its earlier ones.

    Parameters
    ----------
    steps : int
        Number of steps in all.
    """

    def __init__(self, steps: int):
        self._steps, self._start = steps, time.monotonic()

    def after(self, done: int) -> None:
        """Say that ``done`` steps are done.

        Raises
        ------
        TooSlow
            The rest and the loops alike would take :data:`MARGIN` times as long as is left, and :data:`LEAST` seconds.
        """
        now = time.monotonic()
        elapsed, left = now - self._start, _DEADLINE.get() - now
        times = _TIMES.get()
        rest = elapsed * (self._steps * times / max(done, 1) - 1)
        if elapsed > LEAST and rest > MARGIN * left + LEAST:
            alike = f" of one of {times} loops" if times > 1 else ""
            raise TooSlow(f"{done} of {self._steps} steps{alike} took {elapsed:.0f} s, {max(left, 0.0):.0f} s are left")
