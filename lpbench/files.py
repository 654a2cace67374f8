"""Atomic writing: a file appears under its name once it is whole, and replaces an older one in one step."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


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
    try:
        with open(temporary, "xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(text: str, path: Path) -> None:
    """Write UTF-8 text with LF line ends, atomically."""
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
