import errno
import os
import time

import pyarrow as pa
import pytest

from lpbench.errors import StoreError
from lpbench.experiments.config import Runner
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import BLOCK_SCHEMA, Store
from tests.experiments.helpers import block


def _fill(store: Store, start: int, stop: int) -> None:
    """Copy one stored block under many names: listing and looking up never open the files."""
    store.write("0" * 32, pa.table({f.name: pa.array([], f.type) for f in BLOCK_SCHEMA}), {"seconds": 0.0})
    source = store.path("0" * 32)
    for i in range(start, stop):
        target = store.path(f"{i * 2654435761 % 2**32:08x}{i:024x}")
        target.parent.mkdir(exist_ok=True)
        os.link(source, target)


def _seconds(store: Store) -> float:
    """Processor time of listing all blocks and asking for each of them, as a resumed run does; least of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        assert all(store.has(key) for key in store.keys())
        found.append(time.process_time() - start)
    return min(found)


def test_listing_and_looking_up_are_linear(tmp_path):
    store = Store(tmp_path)
    _fill(store, 1, 2_000)
    small = _seconds(store)
    _fill(store, 2_000, 10_001)
    assert len(store.keys()) == 10_001
    # five times the blocks; a quadratic listing would take 25 times as long
    assert _seconds(store) < 12 * small


def test_full_disk_is_a_clean_error_and_keeps_what_is_done(tmp_path, monkeypatch):
    store, done, refused = Store(tmp_path), block(), block(epsilon=3.0)
    run_blocks([done], store, Runner(backend="serial"), progress=False)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreError, match=r"disk full.*finished blocks are kept"):
            run_blocks([refused], store, Runner(backend="serial"), progress=False)
    assert store.keys() == {done.key}
    with store.lock(refused.key).acquire(blocking=False):
        pass  # nobody holds it
    assert not list(store.path(refused.key).parent.glob(".*")), "a temporary file was left behind"
    report = run_blocks([done, refused], store, Runner(backend="serial"), progress=False)
    assert report.reused == 1 and store.keys() == {done.key, refused.key}
