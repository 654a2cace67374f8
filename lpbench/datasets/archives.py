"""Limits of size and depth for compressed files, and downloaded zip archives unpacked within them."""

import bz2
import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
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
                _inflated(content, limit)
        elif size > MOST:
            raise _TooLong
    except _TooLong:
        raise DataError(f"{path} has more than {limit >> 20} MiB inflated; cut it, or unpack it by hand") from None
    except DAMAGED as error:
        raise DataError(f"{path} is damaged: {error}") from error


class _TooLong(Exception):
    """Error of a file that inflates to more bytes than the limit."""


def _count(file: IO[bytes], limit: int) -> int:
    while chunk := file.read(1 << 20):
        limit -= len(chunk)
        if limit < 0:
            raise _TooLong
    return limit


def _inflated(content: zipfile.ZipFile, limit: int) -> int:
    """Inflate all entries of an archive and return the bytes left of ``limit``; stated sizes are not trusted.

    _TooLong if they are more.
    """
    for entry in content.infolist():
        with content.open(entry) as file:
            limit = _count(file, limit)
    return limit


def unpack(archive: Path, origin: str) -> dict[str, Path]:
    """Unpack a zip archive beside itself, and the archives in it: base name of every file -> where it lies.

    Raises
    ------
    DownloadError
        It is damaged, or exceeds a limit of bytes, entries or depth; ``origin`` names it in the message.
    """
    from pooch import Unzip  # runs import this package and never download

    limit = remaining = min(max(RATIO * archive.stat().st_size, LEAST), MOST)
    files, archives = {}, [(archive, 1)]
    try:
        for path, depth in archives:
            if depth > DEEPEST:
                raise DownloadError(f"{origin} nests archives more than {DEEPEST} deep; unpack it by hand")
            with zipfile.ZipFile(path) as content:
                if len(content.infolist()) > MOST_ENTRIES:
                    raise DownloadError(f"{origin} has more than {MOST_ENTRIES} entries; unpack it by hand")
                remaining = _inflated(content, remaining)
            for file in map(Path, Unzip()(str(path), "download", None)):
                if file.suffix == ".zip":
                    archives.append((file, depth + 1))
                else:
                    files[file.name] = file
    except _TooLong:
        raise DownloadError(f"{origin} inflates to more than {limit >> 20} MiB; unpack it by hand") from None
    except DownloadError:
        raise
    except DAMAGED as error:
        raise DownloadError(f"{origin} is not a zip archive that can be read: {error}") from error
    return files
