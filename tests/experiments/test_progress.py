"""Progress: one bar from start to end, a line a minute in a log, the time left by the speed since the start."""

from __future__ import annotations

import re
import threading
import time

import pytest

from lpbench.experiments import progress
from lpbench.experiments.config import Runner
from lpbench.experiments.plan import Plan
from lpbench.experiments.progress import Progress, in_units
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import cell


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_by_the_speed_since_the_start_and_what_comes_later_counts(clock):
    bar = Progress(False)
    bar.expect(100)
    bar.expect(50)
    assert bar.left() == 150, "nothing is known of the speed yet"
    clock[0] = 60.0
    bar.advance(30)
    assert bar.left() == 240 and bar.line() == "20% done after 1 min 0 s, about 4 min 0 s left"


def test_what_proved_to_be_there_already_is_no_time_left():
    with Progress(False) as bar:
        bar.expect(26)
        bar.expect(10)
        bar.advance(10)
    assert bar.done == bar.total


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (61, "1 min 1 s"), (7325, "2 h 2 min")]
)
def test_units(seconds, words):
    assert in_units(seconds) == words


def test_a_log_gets_lines_while_no_block_ends_and_a_terminal_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PERIOD", 0.05)
    plan = cell(params={"mode": "slow"}) + cell(epsilon=2.0, params={"mode": "slow"})
    run_blocks(plan.blocks, Store(tmp_path), Runner(backend="serial"))
    said = capsys.readouterr()
    lines = [line for line in said.err.splitlines() if "left" in line]
    assert lines and all(re.fullmatch(r"\d+% done after .+, about .+ left", line) for line in lines)
    assert said.out.count("done") == 2, "a line for each block"
    assert not any(thread.name == progress.THREAD and thread.is_alive() for thread in threading.enumerate())


def test_one_bar_serves_blocks_and_what_follows(tmp_path):
    plan = sum([cell(epsilon=e) for e in (1.0, 2.0)], Plan(()))
    with Progress(False) as bar:
        bar.expect(5.0)
        run_blocks(plan.blocks, Store(tmp_path), Runner(backend="serial"), bar=bar)
        computed = sum(block.work for block in plan.blocks)
        assert (bar.total, bar.done) == (pytest.approx(5.0 + computed), pytest.approx(computed))


def test_a_check_of_many_stored_blocks_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lpbench.experiments.run._MANY", 1)
    plan = cell() + cell(epsilon=2.0)
    for _ in range(2):
        run_blocks(plan.blocks, Store(tmp_path), Runner(backend="serial"))
    assert capsys.readouterr().err.count("checking the stored blocks ...") == 1
