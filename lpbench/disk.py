"""Files that several processes write: atomically, under locks, and what to do when the disk refuses.

A file appears under its name once it is whole, and replaces an older one in one step.
"""

import errno
import os
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

from filelock import ReadWriteLock

from lpbench.errors import DataError

_ELSEWHERE = (
    "make the folder writable or choose another one with --results DIR (runs: results_dir=DIR, make: RESULTS=DIR)"
)
#: What the system says of a disk that cannot be written -> the way out.
_REFUSED = {
    errno.ENOSPC: "disk full; free space",
    errno.EDQUOT: "quota used up; free space",
    errno.EFBIG: "no file may be that large (`ulimit -f`); raise the limit",
    errno.EIO: "the disk fails; choose another one",
    errno.ESTALE: "the network's disk has gone; mount it again",
    errno.EROFS: f"read-only; {_ELSEWHERE}",
    errno.EACCES: f"no permission; {_ELSEWHERE}",
    errno.EPERM: f"not allowed; {_ELSEWHERE}",
    errno.ENOTDIR: f"a file stands where a folder should; {_ELSEWHERE}",
    errno.EEXIST: f"a file stands where a folder should; {_ELSEWHERE}",
    errno.EISDIR: f"a folder stands where a file should; {_ELSEWHERE}",
    errno.ELOOP: f"links lead in a circle; {_ELSEWHERE}",
    errno.ENAMETOOLONG: f"the name is too long; {_ELSEWHERE}",
}
#: Bytes of the longest name that file systems take, less what temporary names add.
_LONGEST_NAME = 200
#: Temporary files that this process is writing.
_UNFINISHED: set[Path] = set()


@contextmanager
def atomic_write(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Yield a temporary file beside ``path`` that replaces it when the block ends without error.

    With ``durable`` it does so only once the disk holds the content.
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
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        error.filename = error.filename or str(path)  # the system does not say what it could not write
        raise
    finally:
        temporary.unlink(missing_ok=True)
        _UNFINISHED.discard(temporary)


def _sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder: a rename is the folder's, not the file's."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def discard_unfinished() -> None:
    """Remove the temporary files of this process, which is about to exit at once."""
    for path in list(_UNFINISHED):
        path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock that other processes respect, alone or shared: an empty file, created with its folder, that stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = ReadWriteLock(path, is_singleton=False)  # one object would let the threads of a process in together
    with closing(lock), lock.read_lock() if shared else lock.write_lock():
        yield


def refusal(error: OSError, path: Path | str) -> str:
    """Describe why a file could not be written, such as a full disk; empty if the error is about something else."""
    if error.errno == errno.ENOENT and error.filename is None:
        return f"{error.strerror}: the working folder was removed, or no folder takes temporary files (set TMPDIR)"
    way_out = _REFUSED.get(error.errno or 0)
    return f"cannot write to {path}: {way_out} and run the same command again" if way_out else ""


def relative_name(name: str, what: str) -> PurePosixPath:
    """Return a path stated in somebody else's file, if it is relative and stays below its folder."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise DataError(f"{what}={name!r} must be a relative path inside its folder, without '..'")
    if PureWindowsPath(name).drive or max(map(len, map(os.fsencode, path.parts))) > _LONGEST_NAME:
        raise DataError(f"{what}={name!r} must be a path of names of at most {_LONGEST_NAME} bytes, without a drive")
    return path


def inside(folder: Path, name: str, what: str = "file") -> Path:
    """Return ``folder / name`` for a name that somebody else gave; DataError if it leads out, also by a link."""
    path = folder / relative_name(name, what)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{what}={name!r} leads out of {folder} by a link; put the file itself there")
    return path


def write_text(text: str, path: Path) -> None:
    """Write UTF-8 text with LF line ends, atomically."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
