"""Members of downloaded zip archives and what files inflate to, within limits of size and depth."""

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Container
from pathlib import Path, PurePosixPath
from typing import IO, Any

from lpbench.errors import DataError, DownloadError

#: Inflated bytes that are read: this many times the archive's own, but at least and at most so many.
RATIO, LEAST, MOST = 100, 64 << 20, 4 << 30
#: Archives inside one another.
DEEPEST = 3
#: Files and folders of one archive.
MOST_ENTRIES = 10_000

#: What reading a damaged file raises.
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    RuntimeError,
    NotImplementedError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    OverflowError,
    MemoryError,
)
#: Ending of a compressed file -> how to open it.
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: Other endings that pandas would inflate.
_REFUSED = (".zst", ".tar", ".tgz")


def check_size(path: Path) -> None:
    """Refuse a file that is damaged, or whose bytes, inflated if it is compressed, exceed the limits."""
    size = path.stat().st_size
    limit = min(max(RATIO * size, LEAST), MOST)
    if path.suffix in _REFUSED:
        raise DataError(f"{path} is compressed in a way that has no limit; unpack it by hand")
    try:
        if path.suffix in COMPRESSED:
            with COMPRESSED[path.suffix](path, "rb") as file:
                _count(file, limit)
        elif path.suffix in (".zip", ".xlsx"):
            with zipfile.ZipFile(path) as content:
                left = limit
                for entry in content.infolist():
                    with content.open(entry) as file:
                        left = _count(file, left)
        elif size > MOST:
            raise _TooLong
    except _TooLong:
        raise DataError(f"{path} has more than {limit >> 20} MiB inflated; cut it, or unpack it by hand") from None
    except DAMAGED as error:
        raise DataError(f"{path} is damaged: {error}") from error


class _TooLong(Exception):
    """More bytes than the limit."""


def _count(file: IO[bytes], left: int) -> int:
    while chunk := file.read(1 << 20):
        left -= len(chunk)
        if left < 0:
            raise _TooLong
    return left


def read_members(archive: bytes, wanted: Container[str], origin: str) -> dict[str, bytes | None]:
    """Base name of every file of an archive -> its content, None if not wanted; nothing is written."""
    return _Reader(wanted, origin, min(max(RATIO * len(archive), LEAST), MOST)).read(archive, 1)


class _Reader:
    """Reads archives inside one another against one limit of bytes."""

    def __init__(self, wanted: Container[str], origin: str, limit: int):
        self._wanted, self._origin, self._limit, self._left = wanted, origin, limit, limit

    def read(self, archive: bytes, depth: int) -> dict[str, bytes | None]:
        if depth > DEEPEST:
            raise DownloadError(f"{self._origin} nests archives more than {DEEPEST} deep; unpack it by hand")
        found: dict[str, bytes | None] = {}
        try:
            with zipfile.ZipFile(io.BytesIO(archive)) as content:
                entries = content.infolist()
                if len(entries) > MOST_ENTRIES:
                    raise DownloadError(f"{self._origin} has more than {MOST_ENTRIES} entries; unpack it by hand")
                for entry in entries:
                    name = PurePosixPath(entry.filename).name
                    if name.endswith(".zip"):
                        found |= self.read(self._inflated(content, entry), depth + 1)
                    elif not entry.is_dir():
                        found[name] = self._inflated(content, entry) if name in self._wanted else None
        # zipfile raises RuntimeError for passwords and NotImplementedError for methods that it does not know.
        except DAMAGED as error:
            if isinstance(error, DownloadError):
                raise
            raise DownloadError(
                f"{self._origin} is not a zip archive that can be read ({archive[:40]!r}...): {error}"
            ) from error
        return found

    def _inflated(self, content: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
        with content.open(entry) as file:
            # What the entry says of its size is its author's word; the bytes are counted.
            data = file.read(self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise DownloadError(f"{self._origin} inflates to more than {self._limit >> 20} MiB; unpack it by hand")
        return data
