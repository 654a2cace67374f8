"""A finished block is never lost, an unfinished one never half there."""

import numpy as np
import pyarrow as pa
import pytest

from lpbench.errors import StoreError
from lpbench.experiments.compute import execute
from lpbench.experiments.store import CorruptBlockError, Store
from tests.experiments.helpers import block


@pytest.fixture
def stored(tmp_path):
    store, b = Store(tmp_path), block()
    store.write(b.key, execute(b), {"seconds": 1.0})
    return store, b


def test_round_trip_keeps_rows_and_metadata(stored):
    store, b = stored
    table, metadata = store.read(b.key)
    assert table.to_pandas().equals(execute(b).to_pandas().assign(seconds=table.to_pandas()["seconds"]))
    assert metadata["seconds"] == 1.0 and metadata["key"] == b.key
    assert store.keys() == {b.key} and not list(store.root.rglob(".*")), "a temporary file is left"


def test_scores_that_are_missing_keep_the_checksum(tmp_path):
    """What lies in memory behind a null is not written, and must not count."""
    store, b = Store(tmp_path), block()
    table = execute(b)
    place, name = table.column_names.index("value"), table.schema.field("value")
    values = table.column("value").combine_chunks().to_numpy().copy()
    missing = np.arange(values.size) % 2 == 0
    table = table.set_column(place, name, pa.array(values, mask=missing))
    store.write(b.key, table, {"seconds": 1.0})
    assert store.read(b.key)[0].column("value").null_count == missing.sum()


def test_flipped_byte_is_detected_or_harmless(stored):
    store, b = stored
    intact = store.path(b.key).read_bytes()
    expected, _ = store.read(b.key)
    detected = 0
    for position in range(0, len(intact), 7):
        data = bytearray(intact)
        data[position] ^= 0xFF
        store.path(b.key).write_bytes(data)
        try:
            table, _ = store.read(b.key)
        except CorruptBlockError as error:
            assert b.key in str(error)
            detected += 1
        else:
            # some bytes (column statistics, padding) carry no content
            assert table.equals(expected)
    assert detected > 0.5 * len(intact) / 7


def test_unwritable_folder_is_a_clear_error(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StoreError, match="results folder: cannot write"):
        Store(blocker / "store")
