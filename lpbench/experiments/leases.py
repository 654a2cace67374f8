"""Who is working on a block right now: one file per lease, which a process leaves behind if it dies.

A lease of a dead process is taken over. On the machine of the holder the process table says whether it lives; for
leases of other machines (a store on a shared file system) only the age of the file does: holders touch it while they
work.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lpbench.files import locked

#: Seconds after which a lease from another machine that was not touched is taken for dead.
EXPIRY = 300.0
#: Seconds between two touches.
HEARTBEAT = 30.0


class Leases:
    """The leases in one folder.

    Parameters
    ----------
    folder : Path
        Must exist.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def take(self, key: str) -> bool:
        """Take the block for this thread; False if somebody alive has it."""
        path = self._folder / key
        mine = json.dumps(_identity())
        if _create(path, mine):
            return True
        holder = self.holder(key)
        if holder is not None and self._is_alive(key, holder):
            return holder == _identity()
        # Two processes may see the same dead lease: only one at a time may replace it, after looking again.
        with self._alone():
            holder = self.holder(key)
            if holder is not None and self._is_alive(key, holder):
                return False
            path.unlink(missing_ok=True)
            return _create(path, mine)

    @contextmanager
    def hold(self, key: str) -> Iterator[bool]:
        """Take the block and give it back in the end; yields whether it was free. The lease is kept young meanwhile."""
        if not self.take(key):
            yield False
            return
        done = threading.Event()
        touching = threading.Thread(target=self._touch, args=(key, done), daemon=True)
        touching.start()
        try:
            yield True
        finally:
            done.set()
            touching.join()
            if self.holder(key) == _identity():
                self.release(key)

    def release(self, key: str) -> None:
        """Remove a lease, whoever has it."""
        (self._folder / key).unlink(missing_ok=True)

    def holder(self, key: str) -> dict[str, Any] | None:
        """Who has the block (``host``, ``pid``, ``thread``, ``start``), or None."""
        path = self._folder / key
        for _ in range(20):
            try:
                found: dict[str, Any] = json.loads(path.read_text())
                return found
            except FileNotFoundError:
                return None
            except ValueError:
                # the holder has created the file and is about to write its name
                time.sleep(0.01)
        return {"host": socket.gethostname(), "pid": -1, "start": ""}

    def is_held(self, key: str) -> bool:
        """Whether somebody alive is working on the block."""
        holder = self.holder(key)
        return holder is not None and self._is_alive(key, holder)

    def is_abandoned(self, key: str) -> bool:
        """Whether whoever was working on the block is dead."""
        holder = self.holder(key)
        return holder is not None and not self._is_alive(key, holder)

    def _is_alive(self, key: str, holder: Mapping[str, Any]) -> bool:
        if holder.get("host") == socket.gethostname():
            return _runs(int(holder.get("pid", -1)), holder.get("start", ""))
        try:
            touched = (self._folder / key).stat().st_mtime
        except FileNotFoundError:
            return False
        # the clock of the file system, which stamps both
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix=".now-") as now:
            # a stamp from the future is of a clock that was set back: whoever lives touches it again
            return abs(os.fstat(now.fileno()).st_mtime - touched) < EXPIRY

    def _touch(self, key: str, done: threading.Event) -> None:
        while not done.wait(HEARTBEAT):
            try:
                os.utime(self._folder / key)
            except OSError:
                # taken over, or the file system is away: the block is computed all the same
                continue

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with locked(self._folder / ".takeover"):
            yield


def _identity() -> dict[str, Any]:
    pid = os.getpid()
    thread = threading.get_native_id()
    return {"host": socket.gethostname(), "pid": pid, "thread": thread, "start": _process_start(pid)}


def _create(path: Path, content: str) -> bool:
    try:
        with open(path, "x", encoding="utf-8") as handle:
            handle.write(content)
        return True
    except FileExistsError:
        return False


def _process_stat(pid: int) -> list[str]:
    """State and later fields of a process (Linux); empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _process_start(pid: int) -> str:
    """Start time of a process (Linux), which tells a reused process id from the original."""
    stat = _process_stat(pid)
    return stat[19] if len(stat) > 19 else ""


def _runs(pid: int, start: str) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    # a dead process stays in the table until its parent has asked for its end
    return _process_stat(pid)[:1] not in (["Z"], ["X"]) and _process_start(pid) == start
