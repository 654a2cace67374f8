"""The store: one parquet file per finished block, written atomically, addressed by its content key."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock

from lpbench.disk import atomic_write, refusal, write_text
from lpbench.errors import StoreError

_BLOCKS_KEPT = ": finished blocks are kept"
#: Seconds of a block that is worth waiting for the disk.
_LONG = 1.0
#: Rows that take twice as long to write and read if they are compressed, and no less space.
_FEW = 200
#: Columns of a stored block; experiment, panel, names and x are added when an experiment is assembled.
BLOCK_SCHEMA = pa.schema(
    [
        ("epsilon", pa.float64()),
        ("params", pa.dictionary(pa.int32(), pa.string())),
        ("replication", pa.int32()),
        ("metric", pa.dictionary(pa.int32(), pa.string())),
        ("value", pa.float64()),
        ("status", pa.dictionary(pa.int32(), pa.string())),
        ("reason", pa.dictionary(pa.int32(), pa.string())),
        ("seconds", pa.float64()),
    ]
)


def lock_of(root: Path) -> Path:
    """File to be locked while all artifacts of a results folder are read, and shared while one is written."""
    return root / "locks" / "all"


class CorruptBlockError(StoreError):
    """A stored block does not parse or its checksum does not match."""


def _checksum(table: pa.Table) -> str:
    """Hash of a table's content as hex digits, the same for any encoding of the file."""
    digest = hashlib.sha256()
    for name in table.column_names:
        digest.update(name.encode())
        column = table.column(name)
        if pa.types.is_dictionary(column.type):  # by the text of every row, whatever the arrangement of the dictionary
            array = column.combine_chunks()
            texts = b"".join(hashlib.sha256(text.encode()).digest()[:8] for text in array.dictionary.to_pylist())
            digest.update(np.frombuffer(texts, dtype=np.uint64).take(array.indices).tobytes())
        else:
            if column.null_count:  # what stands behind a null is not written
                digest.update(pc.is_null(column).to_numpy().tobytes())
                column = pc.fill_null(column, pa.scalar(0, column.type))
            for buffer in column.combine_chunks().buffers():
                if buffer is not None:
                    digest.update(memoryview(buffer)[: buffer.size])
    return digest.hexdigest()


class Store:
    """Stored blocks, failures and locks under one folder, which is created unless the store is only read."""

    def __init__(self, root: Path | str, *, writable: bool = True):
        self.root = Path(root)
        if writable:
            self._prepare()

    def _prepare(self) -> None:
        """Create the store's folders and try to write there; StoreError says why it is not possible."""
        try:
            for folder in ("blocks", "failures", "locks"):
                (self.root / folder).mkdir(parents=True, exist_ok=True)
            descriptor, probe = tempfile.mkstemp(dir=self.root, prefix=".probe-")
            os.close(descriptor)
            os.unlink(probe)
        except OSError as error:
            otherwise = f"cannot write to {self.root}: {error.strerror}; choose another one with results_dir=DIR"
            reason = refusal(error, self.root)
            raise StoreError(f"results folder: {reason + _BLOCKS_KEPT if reason else otherwise}") from error

    def lock(self, key: str) -> FileLock:
        """Lock that a process holds while it computes a block; the system lets go of it when the process dies."""
        return FileLock(self.root / "locks" / key)

    def path(self, key: str) -> Path:
        """Return the file of a block by its key."""
        return self.root / "blocks" / key[:2] / f"{key}.parquet"

    def has(self, key: str) -> bool:
        """Return True if the block's file exists; :meth:`read` verifies its content."""
        return self.path(key).is_file()

    def write(self, key: str, table: pa.Table, metadata: Mapping[str, Any]) -> None:
        """Write a finished block atomically.

        A block that took a moment is not synced to disk: it is computed again if damaged.
        """
        table = table.cast(BLOCK_SCHEMA)
        stored = {"lpbench": json.dumps({**metadata, "key": key, "checksum": _checksum(table)}, sort_keys=True)}
        target = self.path(key)
        try:
            sink, packing = pa.BufferOutputStream(), "zstd" if len(table) > _FEW else "none"
            table = table.replace_schema_metadata(stored)
            pq.write_table(table, sink, compression=packing, write_statistics=False)
            with atomic_write(target, durable=metadata.get("seconds", _LONG) >= _LONG) as file:
                file.write(sink.getvalue())
        except OSError as error:
            reason = refusal(error, target)
            raise StoreError(reason + _BLOCKS_KEPT if reason else f"cannot write {target}: {error}") from error
        self._failure(key).unlink(missing_ok=True)

    def read(self, key: str) -> tuple[pa.Table, dict[str, Any]]:
        """Return a block's rows and metadata; CorruptBlockError if the file or its checksum is damaged."""
        with self._parsed(key) as (file, metadata):
            table = file.read(use_threads=False).replace_schema_metadata(None)
            if not table.schema.equals(BLOCK_SCHEMA) or metadata["checksum"] != _checksum(table):
                raise ValueError("its checksum is another")
        return table, metadata

    def footer(self, key: str) -> tuple[dict[str, Any], int]:
        """Return a block's metadata and number of rows without reading (nor verifying) the rows."""
        with self._parsed(key) as (file, metadata):
            return metadata, file.metadata.num_rows

    @contextmanager
    def _parsed(self, key: str) -> Iterator[tuple[pq.ParquetFile, dict[str, Any]]]:
        """Context with a block's open parquet file and its metadata.

        FileNotFoundError if the block is not stored. A damaged file is removed, so that the block is computed again,
        and CorruptBlockError is raised.
        """
        path = self.path(key)
        try:
            with pq.ParquetFile(path, pre_buffer=False) as file:  # small: a thread that reads ahead takes longer
                metadata = json.loads(file.metadata.metadata[b"lpbench"])
                if metadata["key"] != key:
                    raise ValueError("it is of another block")
                yield file, metadata
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException, LookupError, AttributeError, TypeError, ValueError) as error:
            with suppress(OSError):
                path.unlink()
            raise CorruptBlockError(f"stored block {path} is damaged ({error}); it will be recomputed") from error

    def keys(self) -> set[str]:
        """Return the keys of all stored blocks."""
        return {entry.stem for entry in (self.root / "blocks").glob("??/*.parquet")}

    # failures: kept beside the blocks, never instead of them

    def _failure(self, key: str) -> Path:
        return self.root / "failures" / f"{key}.json"

    def write_failure(self, key: str, record: Mapping[str, Any]) -> None:
        """Record why a block did not finish (``status``, ``reason``, ``traceback``, ...)."""
        write_text(json.dumps(dict(record), sort_keys=True, indent=1), self._failure(key))

    def read_failure(self, key: str) -> dict[str, Any] | None:
        """Return the record of a block's last failure, or None if there is none that can be read."""
        try:
            return json.loads(self._failure(key).read_text())
        except (FileNotFoundError, ValueError):
            return None
