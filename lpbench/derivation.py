"""A result as what follows from inputs and code: one answer to the question if it is still current.

The key of a :class:`Derivation` hashes its inputs, the source of the code that makes it and the versions of the
libraries that decide its bits. Key and inputs are stored beside the result, which is current as long as the key and the
contents of its files are what is stored. Times of files decide nothing (``docs/derivations.md``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lpbench.digest import canonical_json, file_hash, hash_of
from lpbench.disk import inside, locked, write_text
from lpbench.errors import DataError
from lpbench.paths import cache_folder
from lpbench.source import modules, source_hash

#: Folder of the records beside results.
RECORDS = ".derived"
#: Libraries that decide bits of scores.
LIBRARIES = ("numpy", "scipy", "scikit-learn")
#: And of tables, and of pictures.
TABLES = (*LIBRARIES, "pandas", "pyarrow")
PICTURES = (*TABLES, "matplotlib")
#: Longest text of an input that is stored as it is; others are stored as hashes.
_LONGEST = 80


@cache
def versions(libraries: tuple[str, ...] = LIBRARIES) -> dict[str, str]:
    """Versions of libraries by name."""
    return {name: version(name) for name in libraries}


@dataclass(frozen=True, eq=False)
class Derivation:
    """A result, what it is made from, and how it is written.

    Parameters
    ----------
    name : str
        Name in messages; no part of the key.
    inputs : mapping
        Values that JSON can hold, such as settings and hashes of contents; of a mapping each entry is an input.
    code : tuple of str
        Modules that make the result; all that they import counts.
    libraries : tuple of str
        Distributions whose versions decide the result.
    record : Path, optional
        File for key and inputs, beside the result's files.
    write : callable, optional
        Writes the result and returns its files, which lie below the folder of :data:`RECORDS`.
    """

    name: str
    inputs: Mapping[str, Any]
    code: tuple[str, ...] = ()
    libraries: tuple[str, ...] = LIBRARIES
    record: Path = Path()
    write: Callable[[], Iterable[Path]] = tuple

    @cached_property
    def parts(self) -> dict[str, str]:
        """Everything that the key hashes, by name: inputs (long ones as hashes), sources, versions."""
        texts = dict(_texts(self.inputs))
        texts |= {f"code of {module}": source_hash(module) for module in self.code}
        return texts | {f"version of {name}": version for name, version in versions(self.libraries).items()}

    @cached_property
    def key(self) -> str:
        """Hash of the inputs, the code and the versions."""
        return hash_of(self.parts)[:32]

    def changes(self) -> list[str]:
        """Return what differs from the record, and files that are not as written; empty if the result is current."""
        try:
            stored = json.loads(self.record.read_text(encoding="utf-8"))
            if stored["key"] != self.key:
                return differences(stored["inputs"], self.parts)
            files = {inside(self._folder, name): digest for name, digest in stored["files"].items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, DataError):
            return ["it was not made here"]
        return [
            f"{path.name} is not as it was written"
            for path, digest in files.items()
            if not path.is_file() or file_hash(path) != digest
        ]

    def make(self) -> bool:
        """Write the result unless it is current, one process at a time; True if it was written."""
        if not self.changes():
            return False
        with locked(self.record.with_suffix(".lock")):
            if not self.changes():
                return False
            self.record.unlink(missing_ok=True)
            files = {path.relative_to(self._folder).as_posix(): file_hash(path) for path in self.write()}
            write_text(json.dumps(self.stored() | {"files": files}, indent=1), self.record)
        return True

    def stored(self) -> dict[str, Any]:
        """Return what is stored beside the result; the cache lists the modules behind the hashes of sources."""
        for module in self.code:
            if not (path := _listed(source_hash(module))).is_file():
                with suppress(OSError):
                    write_text(json.dumps(modules(module)), path)
        return {"name": self.name, "key": self.key, "inputs": self.parts}

    @property
    def _folder(self) -> Path:
        return self.record.parents[1]


def record_in(folder: Path, name: str) -> Path:
    """File of the record of a result in a folder."""
    return folder / RECORDS / f"{name}.json"


def remembered(
    name: str,
    compute: Callable[[], Any],
    inputs: Mapping[str, Any],
    code: Iterable[str] = (),
    libraries: tuple[str, ...] = LIBRARIES,
) -> Any:
    """Return a JSON value from the cache if its inputs, code and libraries are unchanged; else compute and cache it."""
    record = cache_folder() / "values" / f"{hash_of(name)[:32]}.json"
    derivation = Derivation(name, inputs, tuple(code), libraries, record)
    with suppress(OSError, ValueError, LookupError, TypeError):
        stored = json.loads(derivation.record.read_text(encoding="utf-8"))
        if stored["key"] == derivation.key:
            return stored["value"]
    value = compute()
    with suppress(OSError):  # entries stay in the order in which they were found
        write_text(json.dumps(derivation.stored() | {"files": {}, "value": value}), derivation.record)
    return value


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Say which inputs, modules or versions differ between two results, a line each."""
    lines = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, "nothing"), now.get(name, "nothing")
        if old != new:
            lines.append(_of_code(name, old) if name.startswith("code of ") else f"{name}: {old} -> {new}")
    return lines


def _of_code(name: str, old: str) -> str:
    """Name the modules that differ between two source hashes, if the cache still lists the former ones.

    ``name`` is "code of" and a module, ``old`` the former hash.
    """
    try:
        before, now = json.loads(_listed(old).read_text(encoding="utf-8")), modules(name.removeprefix("code of "))
    except (OSError, ValueError):
        return f"{name}: changed"
    changed = sorted(m for m in before.keys() | now.keys() if before.get(m) != now.get(m))
    return f"{name}: {', '.join(changed)} changed"


def _listed(source: str) -> Path:
    """File of the cache with the modules behind a hash of sources."""
    return cache_folder() / "sources" / f"{source}.json"


def _texts(inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in inputs.items():
        entries = {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, Mapping) else {name: value}
        for key, one in entries.items():
            text = canonical_json(one)
            yield key, text if len(text) <= _LONGEST else hash_of(one)[:32]
