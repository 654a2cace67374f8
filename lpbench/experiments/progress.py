"""Progress of a run: a bar on a terminal, a line every minute in a log."""

import sys
import threading
from datetime import timedelta
from types import TracebackType
from typing import Self

#: Seconds between two lines of a log.
PERIOD = 60.0
#: Name of the thread that writes them.
THREAD = "lpbench-progress"


class Progress:
    """Progress bar of a run with the time left, on standard error; a log gets a line every minute."""

    def __init__(self, live: bool = True):
        """Prepare a bar for a terminal; elsewhere a thread that logs progress, unless nothing is to be shown."""
        # its import draws from Python's own generator
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        terminal = sys.stderr.isatty()
        columns = (TextColumn("{task.percentage:3.0f} %"), BarColumn(None), TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Bar(
            *columns,
            console=Console(stderr=True),
            disable=not (live and terminal),
            redirect_stdout=sys.stdout.isatty(),
            speed_estimate_period=float("inf"),
        )
        self._bar.add_task("", total=0.0)
        [self._task] = self._bar.tasks
        self._shown, self._ended = live, threading.Event()
        self._logging = threading.Thread(target=self._log, name=THREAD, daemon=True) if not terminal and live else None

    def __enter__(self) -> Self:
        self._bar.start()
        if self._logging is not None:
            self._logging.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        if self._logging is not None:
            self._logging.join()
        self._bar.stop()

    def expect(self, work: float) -> None:
        """Add work to the total, in any unit that grows with time."""
        self._bar.update(self._task.id, total=(self._task.total or 0.0) + work)

    def advance(self, work: float) -> None:
        """Add completed work, in the unit of the total."""
        self._bar.advance(self._task.id, work)

    def write(self, text: str) -> None:
        """Print a line to standard output, above the bar."""
        if self._shown:
            print(text, flush=True)

    def stage(self, text: str) -> None:
        """Print to standard error the name of a step during which the bar does not move."""
        if self._shown:
            print(f"{text} ...", file=sys.stderr, flush=True)

    def line(self) -> str:
        """The progress in words: ``12% done after 0:03:20, about 0:25:00 left``."""
        elapsed, remaining = (
            "-" if s is None else timedelta(seconds=round(s)) for s in (self._task.elapsed, self._task.time_remaining)
        )
        return f"{self._task.percentage:.0f}% done after {elapsed}, about {remaining} left"

    def _log(self) -> None:
        while not self._ended.wait(PERIOD):
            print(self.line(), file=sys.stderr, flush=True)
