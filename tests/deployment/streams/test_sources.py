"""Data sets on disk, chunk by chunk."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from lpbench.deployment.streams import StreamedUsers, read_chunks
from lpbench.errors import DataError
from lpbench.estimators import LPCT
from lpbench.estimators.lpct.votes import VOTE
from lpbench.privacy import PublicSample
from lpbench.privacy.payload import pack

COLUMNS = {"X": ["a", "b"], "y": "y", "payload": "payload"}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    raw = rng.integers(0, 256, size=(1000, 3), dtype=np.uint8)
    payload = pa.FixedSizeBinaryArray.from_buffers(pa.binary(3), 1000, [None, pa.py_buffer(raw.tobytes())])
    columns = {"a": rng.random(1000), "b": rng.random(1000), "y": rng.integers(0, 2, 1000)}
    return pa.table({**columns, "payload": payload}), columns, raw


def together(chunks):
    starts, parts = zip(*chunks, strict=True)
    assert list(starts) == np.cumsum([0, *(len(p["y"]) for p in parts[:-1])]).tolist()
    return {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}


@pytest.mark.parametrize("chunk", [64, 10_000])
def test_parquet_files_in_order(tmp_path, table, chunk):
    content, columns, raw = table
    pq.write_table(content.slice(0, 700), tmp_path / "part-0.parquet", row_group_size=150)
    pq.write_table(content.slice(700), tmp_path / "part-1.parquet")
    chunks = list(read_chunks(tmp_path, COLUMNS, chunk=chunk))
    assert max(len(part["y"]) for _, part in chunks) <= chunk
    found = together(chunks)
    np.testing.assert_array_equal(found["X"], np.column_stack([columns["a"], columns["b"]]))
    np.testing.assert_array_equal(found["y"], columns["y"])
    np.testing.assert_array_equal(found["payload"], raw)


def test_arrow_files_and_missing_numbers(tmp_path):
    pyarrow.feather.write_feather(pa.table({"a": [1.0, None], "m": [[1, 0], [0, 1]]}), tmp_path / "x.feather")
    ((start, found),) = read_chunks(tmp_path / "x.feather", {"a": "a"}, format="feather")
    assert start == 0 and found["a"][0] == 1 and np.isnan(found["a"][1])


def test_what_cannot_be_read_is_named(tmp_path, table):
    pq.write_table(table[0], tmp_path / "x.parquet")
    with pytest.raises(DataError, match="no column 'z'; it has a, b, y, payload"):
        list(read_chunks(tmp_path / "x.parquet", {"X": ["a", "z"]}))
    (tmp_path / "y.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        list(read_chunks(tmp_path / "y.parquet", {"a": "a"}))


@pytest.mark.parametrize("kind", ["rows", "reports"])
def test_model_from_disk_is_that_from_memory(tmp_path, kind):
    """Rows are simulated as they are read; reports are added up as they were sent."""
    rng = np.random.default_rng(0)
    X, X_public = rng.random((900, 2)), rng.random((50, 2))
    y = (X[:, 0] > 0.4).astype(int)
    public = PublicSample(X_public, (X_public[:, 0] > 0.4).astype(int))
    model, sent = LPCT(2.0, 2, 1.0, mechanism="rr", min_samples_leaf=0, random_state=1), []
    fields = []

    def from_memory(stream):
        original, fields[:] = stream.add, VOTE.fields(stream.question)
        stream.add = lambda reports: (sent.append(reports), original(reports))
        stream.add_users(X, y, model._streams())

    def from_disk(stream):
        if kind == "rows":
            for start, part in read_chunks(tmp_path / "x.parquet", {"X": ["a", "b"], "y": "y"}, chunk=100):
                stream.add_users(part["X"], part["y"], model._streams(), start)
        else:
            for _, part in read_chunks(tmp_path / "x.parquet", {"report": "report"}, chunk=100):
                stream.add_payloads(part["report"])
        assert stream.accepted == 900

    memory = clone(model).learn_from(StreamedUsers(from_memory, 900, 2, classes=[0, 1], public=public))
    if kind == "rows":
        pq.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "y": y}), tmp_path / "x.parquet")
    else:
        raw = pack(fields, np.concatenate(sent).reshape(900, 8))
        reports = pa.FixedSizeBinaryArray.from_buffers(pa.binary(1), 900, [None, pa.py_buffer(raw.tobytes())])
        pq.write_table(pa.table({"report": reports}), tmp_path / "x.parquet")
    disk = clone(model).learn_from(StreamedUsers(from_disk, 900, 2, classes=[0, 1], public=public))
    np.testing.assert_array_equal(disk.leaf_probability_, memory.leaf_probability_)
