"""Benchmarks of the kernels and sweeps (``make bench``).

Each benchmark adds rows to ``results/reproduced/bench.csv`` and ``bench.md``. Seconds are processor time of one thread,
which other load on the machine disturbs least; a ratio compares two measurements of the same process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).resolve().parents[1] / "results" / "reproduced"
KEY = ["benchmark", "setting", "quantity"]
COLUMNS = [*KEY, "value", "against", "required", "met"]


@dataclass
class Recorder:
    """Collects the rows of a run."""

    rows: list[dict] = field(default_factory=list)

    def add(
        self,
        benchmark: str,
        setting: str,
        quantity: str,
        value: float,
        *,
        against: str = "",
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> bool:
        """Record a number and say whether it is within its bound, if it has one."""
        bound = f"<= {at_most:g}" if at_most is not None else f">= {at_least:g}" if at_least is not None else ""
        met = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
        shown = ("yes" if met else "no") if bound else ""
        self.rows.append(dict(zip(COLUMNS, (benchmark, setting, quantity, value, against, bound, shown), strict=True)))
        return met

    def exponent(self, benchmark: str, name: str, sizes, seconds, *, at_most: float | None = None) -> bool:
        """Record the least-squares slope of log seconds against log size."""
        slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        setting = f"{name} in {', '.join(f'{s:g}' for s in sizes)}"
        return self.add(benchmark, setting, f"exponent in {name}", slope, at_most=at_most)


def cpu_seconds(function: Callable[[], object], rounds: int = 3) -> float:
    """Least processor time of several calls, in seconds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def timed(benchmark, function: Callable[[], object], rounds: int = 3) -> float:
    """Time the function by pytest-benchmark; least processor time in seconds."""
    benchmark.pedantic(function, rounds=rounds, warmup_rounds=0)
    return benchmark.stats.stats.min


@pytest.fixture(scope="session")
def record() -> Iterator[Recorder]:
    """The recorder of this run; rows of benchmarks that were not run are kept as they stand in the table."""
    recorder = Recorder()
    with threadpool_limits(1):
        yield recorder
    if not recorder.rows:
        return
    path = FOLDER / "bench.csv"
    table = pd.DataFrame(recorder.rows, columns=COLUMNS)
    if path.is_file():
        table = pd.concat([pd.read_csv(path, keep_default_na=False), table]).drop_duplicates(KEY, keep="last")
    table = table.sort_values(KEY, kind="stable")
    FOLDER.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False, float_format="%.4g", lineterminator="\n")
    (FOLDER / "bench.md").write_text(_markdown(table), encoding="utf-8")


def _markdown(table: pd.DataFrame) -> str:
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. Seconds are processor time of one thread; a ratio is within one process.",
        "",
        "| benchmark | setting | quantity | value | against | required | met |",
        "|---|---|---|---:|---|---|---|",
    ]
    for row in table.itertuples(index=False):
        cells = [
            row.benchmark,
            row.setting,
            row.quantity,
            f"{float(row.value):.4g}",
            row.against,
            row.required,
            row.met,
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"
