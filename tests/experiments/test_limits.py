"""Loops that cannot meet a time limit end early; those that can are left alone."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from lpbench.errors import CellTimeout
from lpbench.estimators.progress import progress_to, report_progress
from lpbench.experiments import limits
from lpbench.experiments.config import Runner
from lpbench.experiments.limits import Projection, time_limit
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import cell


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""
    now = [100.0]
    monkeypatch.setattr(limits.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("seconds", "done"), [(60.0, 10), (14.0, 50), (0, 1), (math.inf, 1)])
def test_a_loop_that_may_end_in_time_is_left_alone(clock, seconds, done):
    with time_limit(seconds):
        projection = Projection()
        clock[0] += 6.0
        projection(done, 100)


def test_a_loop_that_cannot_end_in_time_is_ended_and_says_what_it_saw(clock):
    with time_limit(30.0):
        projection = Projection()
        clock[0] += 4.0
        projection(1, 100)
        clock[0] += 6.0
        message = r"would go over the time limit of 30 s.*: 2 of 100 steps took 10 s, 20 s are left"
        with pytest.raises(CellTimeout, match=message):
            projection(2, 100)
    Projection()(1, 100)


def test_a_thread_keeps_the_words_of_a_projection(clock):
    def loop():
        with time_limit(30.0):
            projection = Projection()
            clock[0] += 10.0
            projection(1, 100)

    with ThreadPoolExecutor(1) as pool, pytest.raises(CellTimeout, match="1 of 100 steps took 10 s"):
        pool.submit(loop).result()


def test_loops_to_come_count(clock):
    with time_limit(60.0):
        for loops, message in ((2, ""), (20, "50 of 100 steps of one of 20 loops took 6 s, 54 s are left")):
            clock[0] = 100.0
            projection = Projection(loops)
            clock[0] += 6.0
            if message:
                with pytest.raises(CellTimeout, match=message):
                    projection(50, 100)
            else:
                projection(50, 100)


def test_an_estimator_reports_steps_and_a_new_loop_starts_the_clock_again(clock):
    report_progress(1, 100)  # nobody listens
    with time_limit(60.0), progress_to(Projection()):
        clock[0] += 30.0
        report_progress(0, 100)
        clock[0] += 6.0
        report_progress(15, 100)
        with pytest.raises(CellTimeout, match="5 of 100 steps took 6 s"):
            report_progress(5, 100)


def test_a_block_that_cannot_end_in_time_is_recorded_like_one_that_did_not(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "LEAST", 0.0)
    plan, store = cell(params={"mode": "slow"}, replications=50), Store(tmp_path)
    seconds = {b.key: 1.0 for b in plan.blocks}
    report = run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False, timeouts=seconds)
    assert [o.status for o in report.failed] == ["timeout"]
    assert "would go over the time limit of 1 s" in report.failed[0].reason
