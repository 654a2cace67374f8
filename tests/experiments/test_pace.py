"""Loops that cannot meet a time limit end early; those that can are left alone."""

from __future__ import annotations

import math

import pytest

from lpbench import pace
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import cell


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""
    now = [100.0]
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("seconds", "done"), [(60.0, 10), (14.0, 50), (0, 1), (math.inf, 1)])
def test_a_loop_that_may_end_in_time_is_left_alone(clock, seconds, done):
    with pace.limit(seconds):
        steps = pace.Pace(100)
        clock[0] += 6.0
        steps.after(done)


def test_a_loop_that_cannot_end_in_time_is_ended_and_says_what_it_saw(clock):
    with pace.limit(30.0):
        steps = pace.Pace(100)
        clock[0] += 4.0
        steps.after(1)
        clock[0] += 6.0
        with pytest.raises(pace.TooSlow, match="2 of 100 steps took 10 s, 20 s are left"):
            steps.after(2)
    pace.Pace(100).after(1)


def test_loops_to_come_count(clock):
    with pace.limit(60.0):
        for times, message in ((2, ""), (20, "50 of 100 steps of one of 20 loops took 6 s, 54 s are left")):
            clock[0] = 100.0
            with pace.repeated(times):
                steps = pace.Pace(100)
                clock[0] += 6.0
                if message:
                    with pytest.raises(pace.TooSlow, match=message):
                        steps.after(50)
                else:
                    steps.after(50)


def test_a_block_that_cannot_end_in_time_is_recorded_like_one_that_did_not(tmp_path, monkeypatch):
    monkeypatch.setattr(pace, "LEAST", 0.0)
    plan, store = cell(params={"mode": "slow"}, replications=50), Store(tmp_path)
    report = run_blocks(plan.blocks, store, backend="serial", cell_timeout=1.0, progress=False)
    assert [o.status for o in report.failed] == ["timeout"]
    assert "would go over the time limit of 1 s" in report.failed[0].reason and report.failed[0].seconds < 1.0
    assert run_blocks(plan.blocks, store, backend="serial", cell_timeout=1.0, progress=False).outcomes == []
