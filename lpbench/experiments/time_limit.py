"""Time limit of a block: what it runs is interrupted after some seconds."""

import ctypes
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from lpbench.errors import CellTimeout


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Raise :class:`CellTimeout` in this thread after the given seconds (0 or inf: never).

    In the main thread a signal interrupts whatever is running. Workers of a cluster compute in other threads, where
    the exception comes as soon as the interpreter runs again: a call that sleeps is not woken.
    """
    if not (seconds and math.isfinite(seconds)):
        return nullcontext()
    by_signal = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    return _by_signal(seconds) if by_signal else _by_exception(seconds)


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    """Context that is interrupted by CellTimeout after some seconds, by the alarm signal of the main thread."""

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
    """Interrupt the calling thread by CellTimeout after some seconds, where signals are not available."""
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
        # the timer's exception is the bare class
        raise CellTimeout(_exceeded(seconds)) from None
    finally:
        with lock:
            over = True
            # an exception that was set but has not arrived yet must not hit what runs next
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)
        timer.cancel()


def _exceeded(seconds: float) -> str:
    return f"over the time limit of {seconds:g} s"
