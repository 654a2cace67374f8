"""Progress of a long loop: an estimator reports its steps, and its caller may listen and abort it by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int, int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report_progress(done: int, steps: int) -> None:
    """Report that ``done`` of about ``steps`` steps of a loop are done; 0 when it starts."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(done, steps)


@contextmanager
def progress_to(listener: Listener) -> Iterator[None]:
    """Call ``listener(done, steps)`` for what loops in this block report."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
