"""A time limit on whatever runs in this thread."""

from __future__ import annotations

import ctypes
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lpbench.errors import CellTimeout


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`CellTimeout` in this thread after the given seconds (0 or inf: never).

    In the main thread a signal interrupts whatever is running. Workers of a cluster compute in other threads, where
    the exception comes as soon as the interpreter runs again: a call that sleeps is not woken.
    """
    if not (seconds and math.isfinite(seconds)):
        yield
    elif threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _by_signal(seconds):
            yield
    else:
        with _by_exception(seconds):
            yield


def exceeded(seconds: float) -> str:
    """Name a limit that was or would be exceeded."""
    return f"over the time limit of {seconds:g} s for all budgets and replications (cell_timeout)"


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    def expire(signum, frame):
        raise CellTimeout(exceeded(seconds))

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
    except CellTimeout:
        # the interpreter raises the bare class
        raise CellTimeout(exceeded(seconds)) from None
    finally:
        with lock:
            over = True
            # an exception that was set but has not arrived yet must not hit what runs next
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
        timer.cancel()
