"""The clock of a block, a safety net: interrupted when it runs longer, aborted early when it is projected to.

What is too much work is left out by plan (:mod:`lpbench.experiments.costs`); a block that the clock stops has no
result, and the run is incomplete.
"""

from __future__ import annotations

import ctypes
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lpbench.errors import CellTimeout

#: Seconds that the clock allows for a unit of work, which is a second where costs were measured.
SECONDS_OF_WORK = 10.0
#: Seconds before run time is projected, and by which a projection must miss the limit.
LEAST = 5.0
#: Factor by which a projection must miss the limit.
MARGIN = 1.5

#: Limit in seconds and its end on the monotonic clock.
_LIMIT: ContextVar[tuple[float, float]] = ContextVar("limit", default=(math.inf, math.inf))


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`CellTimeout` in this thread after the given seconds (0 or inf: never).

    In the main thread a signal interrupts whatever is running. Workers of a cluster compute in other threads, where
    the exception comes as soon as the interpreter runs again: a call that sleeps is not woken.
    """
    if not (seconds and math.isfinite(seconds)):
        yield
        return
    by_signal = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    token = _LIMIT.set((seconds, time.monotonic() + seconds))
    try:
        with _by_signal(seconds) if by_signal else _by_exception(seconds):
            yield
    finally:
        _LIMIT.reset(token)


class Projection:
    """Abort a loop whose projected run time exceeds the limit of :func:`time_limit`.

    An instance is called with the steps done and the steps in all; later steps are taken to last as long as earlier
    ones. With 0 steps done a loop begins.

    Parameters
    ----------
    loops : int
        Number of loops alike to come, this one included.
    """

    def __init__(self, loops: int = 1):
        self._loops, self._start = loops, time.monotonic()

    def __call__(self, done: int, steps: int) -> None:
        """Raise :class:`CellTimeout` if the projected rest exceeds ``MARGIN`` x the time left + ``LEAST`` seconds."""
        now, (seconds, end) = time.monotonic(), _LIMIT.get()
        if done == 0:
            self._start = now
            return
        elapsed, left = now - self._start, end - now
        rest = elapsed * (steps * self._loops / done - 1)
        if elapsed > LEAST and rest > MARGIN * left + LEAST:
            loop = f" of one of {self._loops} loops" if self._loops > 1 else ""
            spent = f"{done} of {steps} steps{loop} took {elapsed:.0f} s, {max(left, 0.0):.0f} s are left"
            raise CellTimeout(f"would go {_exceeded(seconds)}: {spent}")


def _exceeded(seconds: float) -> str:
    return f"over the time limit of {seconds:g} s, {SECONDS_OF_WORK:g} times the work limit (raise work_limit)"


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def expire(signum: int, frame: object) -> None:
        raise CellTimeout(_exceeded(seconds))

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _by_exception(seconds: float) -> Iterator[None]:
    lock, over = threading.Lock(), False
    thread = ctypes.c_ulong(threading.get_ident())

    def expire() -> None:
        with lock:
            if not over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(CellTimeout))

    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except CellTimeout as error:
        if error.args:
            raise
        # the timer's exception is the bare class
        raise CellTimeout(_exceeded(seconds)) from None
    finally:
        with lock:
            over = True
            # an exception that was set but has not arrived yet must not hit what runs next
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
        timer.cancel()
