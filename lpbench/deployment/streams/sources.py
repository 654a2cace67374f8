"""Chunks of rows or reports, read from Parquet or Arrow data sets larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from lpbench.errors import DataError

#: Rows that are in memory at once.
CHUNK = 1 << 18


def read_chunks(
    source: Path | str | Sequence[str],
    columns: Mapping[str, Sequence[str] | str],
    *,
    chunk: int = CHUNK,
    format: str = "parquet",
) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Read a data set chunk by chunk, in the order of its files and rows.

    Parameters
    ----------
    source : path or sequence of paths
        A file, a folder of files, or several files.
    columns : mapping of str to a column's name or several columns' names
        What to return, and from which columns: one name gives an array of shape (m,) (of shape (m, k) if its values are
        lists or byte strings of length k), several give one of shape (m, number of names). Missing numbers become NaN.
    chunk : int
        Largest number of rows in memory.
    format : {"parquet", "feather", "arrow"}

    Yields
    ------
    start, arrays : the number of the first row, and an array for each entry of ``columns``

    Raises
    ------
    DataError
        If the data set cannot be read or has no such column.
    """
    wanted = {key: [names] if isinstance(names, str) else list(names) for key, names in columns.items()}
    try:
        data = ds.dataset(source, format=format)
        missing = [n for names in wanted.values() for n in names if n not in data.schema.names]
        if missing:
            raise DataError(f"{source} has no column {missing[0]!r}; it has {', '.join(data.schema.names)}")
        names = list(dict.fromkeys(n for some in wanted.values() for n in some))
        # read ahead as little as possible: the memory is that of two batches, whatever the number of files
        batches = data.to_batches(columns=names, batch_size=chunk, batch_readahead=1, fragment_readahead=1)
        start = 0
        for batch in batches:
            if batch.num_rows == 0:
                continue
            yield start, {key: _array(batch, some, columns[key]) for key, some in wanted.items()}
            start += batch.num_rows
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{source} cannot be read as {format}: {error}") from error


def _array(batch: pa.RecordBatch, names: Sequence[str], asked: Sequence[str] | str) -> np.ndarray:
    if not isinstance(asked, str):
        return np.column_stack([_column(batch.column(name)) for name in names])
    return _column(batch.column(names[0]))


def _column(values: pa.Array) -> np.ndarray:
    if pa.types.is_fixed_size_binary(values.type):
        width = values.type.byte_width
        raw = np.frombuffer(values.buffers()[1], dtype=np.uint8)
        return raw[values.offset * width : (values.offset + len(values)) * width].reshape(len(values), width)
    if pa.types.is_fixed_size_list(values.type):
        return values.flatten().to_numpy(zero_copy_only=False).reshape(len(values), values.type.list_size)
    return values.to_numpy(zero_copy_only=False)
