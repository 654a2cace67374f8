"""Hashes by content, of values and of files: no time and no place of a file enters them."""

import hashlib
import json
from pathlib import Path


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces; infinities as ``Infinity``."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=True)


def hash_of(value: object) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_hash(folder: Path, *patterns: str) -> str:
    """Hash of the names, within their folder, and contents of the files that match (default: all)."""
    files = sorted({path for pattern in patterns or ("**/*",) for path in folder.glob(pattern) if path.is_file()})
    return hash_of([[path.relative_to(folder).as_posix(), file_hash(path)] for path in files])
