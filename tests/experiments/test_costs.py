"""Estimates of time, held against the blocks of a run on two cores as they were recorded."""

from __future__ import annotations

import csv
import heapq
from dataclasses import replace
from pathlib import Path

import pytest

from lpbench.experiments.costs import Size
from lpbench.experiments.estimate import Costs
from lpbench.experiments.run import progress_bar

WORKERS = 2


@pytest.fixture(scope="module")
def recorded() -> list[tuple[Size, float]]:
    with (Path(__file__).parent / "recorded_run.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    numbers = ("replications", "numbers", "fits")
    return [(Size(row["estimator"], *(int(row[k]) for k in numbers)), float(row["seconds"])) for row in rows]


def test_the_bar_is_within_a_factor_two_from_the_first_third_on(recorded):
    blocks = sorted(recorded, key=lambda block: -block[0].seconds)
    workers, ends = [0.0] * WORKERS, []
    for size, seconds in blocks:
        end = heapq.heappop(workers) + seconds
        heapq.heappush(workers, end)
        ends.append((end, size.seconds))
    total, work, done = max(workers), sum(size.seconds for size, _ in blocks), 0.0
    for end, share in sorted(ends):
        done += share
        if end >= total / 3:
            assert 0.5 <= end * work / done / total <= 2


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


def test_the_bar_of_writing_goes_on_where_that_of_the_blocks_ended():
    with progress_bar(30.0, 20.0, False) as bar:
        assert (bar.n, bar.total) == (20.0, 30.0)
