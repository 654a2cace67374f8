"""Marks: what holds in a process, for the processes that it has started or will start."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from tempfile import NamedTemporaryFile, gettempdir


def mark(what: str) -> Path:
    """Create a marker file by which other processes see that this one runs (``what`` says for which purpose).

    The mark ends when the returned file is removed, or with the process.
    """
    folder = _folder(what)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _, started = _about(os.getpid())
    with NamedTemporaryFile(prefix=f"{os.getpid()}.{started}.", dir=folder, delete=False) as file:
        return Path(file.name)


def marked_above(what: str) -> int:
    """Return the number of the nearest marked process among those that have started this one; 0 without any."""
    with suppress(OSError):
        if marks := {name.rpartition(".")[0] for name in os.listdir(_folder(what))}:
            return next((pid for pid, started in _above() if f"{pid}.{started}" in marks), 0)
    return 0


@cache
def _folder(what: str) -> str:
    return os.path.join(gettempdir(), f"lpbench-{what}-{os.getuid()}")


def _above() -> Iterator[tuple[int, str]]:
    """Yield (id, start time) of this process's ancestors, and of the process that asked a server for it."""
    client = parent_process()
    if client is not None and client.pid is not None:
        yield client.pid, _about(client.pid)[1]
    above = os.getppid()
    while above:
        further, started = _about(above)
        yield above, started
        above = further


def _about(pid: int) -> tuple[int, str]:
    """Parent's id of a process and when it began, as text, because ids are given again.

    (0, "") where the system does not say.
    """
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0, ""
    return int(words[1]), words[19]
