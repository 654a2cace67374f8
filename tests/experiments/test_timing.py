import pytest

from lpbench.experiments.config import Runner
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.experiments.timing import TIMING_COLUMNS, block_times, timing_table
from tests.experiments.helpers import block


def test_shared_blocks_count_once_in_the_total():
    records = [
        {"name": "a", "workers": 2, "block_times": {"k1": [10, 1.5], "k2": [5, 0.5]}},
        {"name": "b", "workers": 2, "block_times": {"k2": [5, 0.5], "k3": [1, 2.0]}},
        {"name": "drawing", "workers": 2},
    ]
    table = timing_table(records)
    assert list(table.columns) == TIMING_COLUMNS
    assert table.to_numpy().tolist() == [
        ["a", 2, 15, 2.0, 2],
        ["b", 2, 6, 2.5, 2],
        ["total", 3, 16, 4.0, 2],
    ]


def test_records_of_an_earlier_version_have_their_seconds():
    """They hold the size of the worker behind the seconds, which says nothing about the block."""
    (row, _) = timing_table([{"name": "a", "workers": 2, "block_times": {"k1": [10, 1.5, 300.0]}}]).to_numpy().tolist()
    assert row == ["a", 1, 10, 1.5, 2]


def test_times_are_those_of_the_stored_blocks(tmp_path):
    store = Store(tmp_path)
    done, absent = block(), block(epsilon=3.0)
    report = run_blocks([done], store, Runner(backend="serial"), progress=False)
    rows, seconds = block_times([done, absent], store)[done.key]
    assert absent.key not in block_times([done, absent], store)
    assert rows == report.fits and seconds == pytest.approx(report.outcomes[0].seconds, abs=1e-4)
