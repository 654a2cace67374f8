"""Estimates of time, held against the blocks of a run on two cores as they were recorded."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lpbench import estimators
from lpbench.estimators.tuning_free import ablations
from lpbench.experiments.costs import Size
from lpbench.experiments.estimate import Costs, seconds_to_write

WORKERS = 2
#: Blocks of all data sets of the first papers on a quiet machine; of all experiments on one that had other work.
RUNS = ("recorded_run.csv", "recorded_full_run.csv")


def rows_of(name: str) -> list[dict[str, str]]:
    with (Path(__file__).parent / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def blocks_of(name: str) -> list[tuple[Size, float]]:
    """Size of every block of a recorded run, and the seconds that it took."""
    found = []
    for row in rows_of(name):
        numbers = [int(row[k]) for k in ("replications", "numbers", "fits")]
        costs = getattr(ablations if row["estimator"] == "RecordScore" else estimators, row["estimator"]).costs
        size = Size(row["estimator"], *numbers, float(row.get("weights", 0)), costs)
        found.append((size, float(row["seconds"])))
    return found


@pytest.fixture(scope="module")
def recorded() -> list[tuple[Size, float]]:
    return blocks_of(RUNS[0])


@pytest.fixture(scope="module")
def written() -> list[tuple[float, float]]:
    """Expected seconds and seconds taken of every artefact that the full run wrote, in its order."""
    rows = rows_of("recorded_writing.csv")
    return [(seconds_to_write(r["kind"], int(r["cells"]), int(r["scores"])), float(r["seconds"])) for r in rows]


def ends_of(tasks: list[tuple[float, float]], start: float) -> list[tuple[float, float]]:
    """When each of some tasks ends, as workers take them in turn, and the seconds expected of it."""
    workers, ends = [start] * WORKERS, []
    for expected, seconds in tasks:
        end = heapq.heappop(workers) + seconds
        heapq.heappush(workers, end)
        ends.append((end, expected))
    return sorted(ends)


def forecasts(ends: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """What the bar makes of the whole run whenever a task ends: (time, forecast)."""
    rest, done = sum(expected for _, expected in ends), 0.0
    for end, expected in ends:
        done += expected
        yield end, end + end * (rest - done) / done


@pytest.mark.parametrize("run", RUNS)
def test_the_bar_is_within_a_factor_two_from_the_first_third_on(run, written):
    """One bar from the first block to the last artefact."""
    blocks = sorted(((size.seconds, seconds) for size, seconds in blocks_of(run)), reverse=True)
    computing = ends_of(blocks, 0.0)
    start = max(end for end, _ in computing)
    writing = ends_of(written, start)
    total = max(end for end, _ in writing)
    seen = forecasts([*computing, *writing])
    assert all(total / 2 <= forecast <= 2 * total for time, forecast in seen if time >= total / 3)


def test_the_time_of_writing_is_within_a_factor_two(written):
    expected, seconds = map(sum, zip(*written, strict=True))
    assert 0.5 <= expected / seconds <= 2


def test_a_plan_is_within_a_factor_two_without_any_stored_block(recorded):
    expected = sum(Costs().seconds(size) for size, _ in recorded)
    assert 0.5 <= expected / sum(seconds for _, seconds in recorded) <= 2


def test_a_slow_machine_is_known_by_what_it_stored(recorded):
    slow = Costs.measured((size, 5 * seconds) for size, seconds in recorded[::2])
    expected = sum(slow.seconds(size) for size, _ in recorded[1::2])
    assert 0.5 <= expected / sum(5 * seconds for _, seconds in recorded[1::2]) <= 2


def test_an_estimator_that_nobody_measured_costs_more_on_more_data():
    size = Size("Unheard", 10, 1000, 5)
    assert replace(size, numbers=10**6).seconds > size.seconds > 0
