"""A folder outside of which nothing may be written while a case runs; an attempt is stopped before it does anything."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_STARTS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pty.spawn", "socket.connect")
_allowed: list[Path] = []


class Escape(BaseException):
    """Something was about to happen outside; no ``except Exception`` hides it."""


def _watch(event: str, arguments: tuple) -> None:
    if not _allowed:
        return
    if event in _STARTS:
        raise Escape(f"{event}{arguments!r}")
    if event == "open":
        paths = arguments[:1] if arguments[2] & _WRITING else ()
    elif event in _CHANGES:
        paths = arguments[:2] if event in ("os.rename", "os.link") else arguments[1:2] * (event == "os.symlink")
        paths = paths or arguments[:1]
    else:
        return
    for path in paths:
        if not isinstance(path, (str, bytes, os.PathLike)):
            continue  # a descriptor, which was opened before
        place = Path(os.path.realpath(os.fsdecode(path)))
        # what Python compiles when a module is imported for the first time
        compiled = place.parent.name == "__pycache__" or place.name == "__pycache__"
        if not compiled and place != Path(os.devnull) and not any(place.is_relative_to(a) for a in _allowed):
            raise Escape(f"{event} of {place}")


# A hook cannot be taken away; this one sleeps between cases.
sys.addaudithook(_watch)


@contextmanager
def only_inside(*folders: Path) -> Iterator[None]:
    """Stop every change of files outside of some folders, and every start of a program, while the block runs."""
    _allowed[:] = [Path(os.path.realpath(folder)) for folder in folders]
    try:
        yield
    finally:
        _allowed.clear()
