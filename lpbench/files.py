"""Files that several processes write: atomically, under locks, and what to do when the disk refuses.

A file appears under its name once it is whole, and replaces an older one in one step.
"""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_ELSEWHERE = "make the folder writable or choose another one with results_dir=... (make: RESULTS=...)"
#: What the system says of a disk that cannot be written -> the way out.
_REFUSED = {
    errno.ENOSPC: "disk full; free space",
    errno.EDQUOT: "quota used up; free space",
    errno.EROFS: f"read-only; {_ELSEWHERE}",
    errno.EACCES: f"no permission; {_ELSEWHERE}",
}
#: Temporary files that this process is writing.
_UNFINISHED: set[Path] = set()


@contextmanager
def atomic_write(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path``; rename it when the block ends well, remove it when it does not.

    Parameters
    ----------
    path : Path
        File to write; its folder is created.
    durable : bool, default False
        Wait until the disk holds the bytes, so that the file survives a power cut; for results that took long.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Writers are threads, processes and machines that share a folder: the temporary name is unique among them all.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    _UNFINISHED.add(temporary)
    try:
        with open(temporary, "xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
        _UNFINISHED.discard(temporary)


def discard_unfinished() -> None:
    """Remove the temporary files of this process, which is about to end without notice."""
    for path in list(_UNFINISHED):
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock that other processes respect: alone, or shared with others that share it.

    Parameters
    ----------
    path : Path
        An empty file, created with its folder; it stays.
    shared : bool, default False
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def refusal(error: OSError, path: Path | str) -> str:
    """A sentence for a file that could not be written; empty if the error is about something else."""
    way_out = _REFUSED.get(error.errno or 0)
    return (
        f"cannot write to {path}: {way_out} and run the same command again: finished blocks are kept" if way_out else ""
    )


def write_text(text: str, path: Path) -> None:
    """Write UTF-8 text with LF line ends, atomically."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
