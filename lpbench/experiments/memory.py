"""Memory of this process: now, at its peak, and at the peak of a piece of work."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def memory_mb() -> tuple[float, float]:
    """Resident memory of this process now and at its peak, in MB of 10^6 bytes (Linux; nan elsewhere)."""
    try:
        lines = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="utf-8").splitlines())
    except OSError:
        return float("nan"), float("nan")
    now, peak = (int(lines[key].split()[0]) * 1024 / 1e6 for key in ("VmRSS", "VmHWM"))
    return now, peak


class PeakMemory:
    """Largest resident memory of this process inside a ``with`` block.

    Workers are used again for block after block, so the process's own high-water mark says nothing about one block;
    Linux lets a process set its mark back to what it holds now. Elsewhere the peak is not known.

    Attributes
    ----------
    megabytes : float or None
        10^6 bytes, everything in the process included (interpreter and libraries take about 200); None if not known.
    """

    megabytes: float | None = None

    def __enter__(self) -> PeakMemory:
        try:
            _RESET.write_text("5", encoding="ascii")
            self._known = True
        except OSError:
            self._known = False
        return self

    def __exit__(self, *exc: object) -> None:
        if self._known:
            self.megabytes = round(memory_mb()[1], 1)
