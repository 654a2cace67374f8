"""Progress of a run: one bar from its start to its end on a terminal, a line every minute in a log."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from tqdm import tqdm

#: Blocks differ too much for a rate: the bar shows the share of the expected time, the time taken and the time left.
_BAR = "{percentage:3.0f} %|{bar}| {elapsed}, {remaining} left"
#: Seconds between two lines of a log.
PERIOD = 60.0
#: Name of the thread that writes them.
THREAD = "lpbench-progress"


class Progress:
    """How much of a run is done, in seconds that it is expected to take.

    What is left is known from the average speed since the start. On a terminal this is a bar; elsewhere a line is
    printed every :data:`PERIOD` seconds, whether or not a block has ended since. Both go to standard error.

    Parameters
    ----------
    shown : bool
    """

    def __init__(self, shown: bool = True):
        self._shown, self._start = shown, time.monotonic()
        self.total, self.done = 0.0, 0.0
        self._bar: tqdm | None = None
        self._logging: threading.Thread | None = None
        self._ended = threading.Event()

    def __enter__(self) -> Progress:
        if self._shown and sys.stderr.isatty():
            self._bar = tqdm(total=0.0, smoothing=0, bar_format=_BAR, dynamic_ncols=True)
        elif self._shown:
            self._logging = threading.Thread(target=self._log, name=THREAD, daemon=True)
            self._logging.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        if self._logging is not None:
            self._logging.join()
        if kind is None:
            # what was expected and proved to be done already is no time left
            self.advance(self.total - self.done)
        if self._bar is not None:
            self._bar.close()

    def expect(self, seconds: float) -> None:
        """Add to what is to be done."""
        self.total += seconds
        if self._bar is not None:
            self._bar.total = self.total
            self._bar.refresh()

    def advance(self, seconds: float) -> None:
        """Add to what is done."""
        self.done += seconds
        if self._bar is not None:
            self._bar.update(seconds)

    def write(self, text: str) -> None:
        """Print a line to standard output, above the bar."""
        if self._shown:
            tqdm.write(text)

    def stage(self, text: str) -> None:
        """Name, on standard error, what happens while the bar stands still."""
        if self._shown:
            tqdm.write(f"{text} ...", file=sys.stderr)

    def left(self) -> float:
        """Seconds left by the average speed since the start."""
        if self.done <= 0:
            return self.total
        return (self.total - self.done) * (time.monotonic() - self._start) / self.done

    def line(self) -> str:
        """``12 % done after 3 min 20 s, about 25 min left``."""
        share = self.done / self.total if self.total else 0.0
        return f"{share:.0%} done after {in_units(time.monotonic() - self._start)}, about {in_units(self.left())} left"

    def _log(self) -> None:
        while not self._ended.wait(PERIOD):
            print(self.line(), file=sys.stderr, flush=True)


def in_units(seconds: float) -> str:
    """Seconds in words of two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
