"""Benchmarks of the kernels and sweeps (``make bench``).

Each benchmark adds rows to ``results/reproduced/bench.csv``. Seconds are processor time of one thread, which other
load on the machine disturbs least; a ratio compares two measurements of the same process. Fitted exponents
are drawn in ``bench_exponents.svg``.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from lpbench.reporting.figures import style

FOLDER = Path(__file__).resolve().parents[1] / "results" / "reproduced"
#: Bytes copied to measure the memory: far more than any cache holds.
COPIED = 1 << 28
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

    @cached_property
    def bandwidth(self) -> float:
        """Bytes per second that a copy reads and writes, measured in this run."""
        source = np.ones(COPIED // 8)
        target = source.copy()
        seconds = cpu_seconds(lambda: np.copyto(target, source), rounds=5)
        found = 2 * COPIED / seconds
        self.add("memory", f"copy of {COPIED >> 20} MB", "GB/s", found / 1e9)
        return found

    def against_memory(self, benchmark: str, setting: str, seconds: float, n_bytes: int) -> None:
        """Record how many times longer it takes than to move its input and output once at the memory's bandwidth."""
        against = f"moving its {n_bytes / 1e6:.3g} MB once"
        self.add(benchmark, setting, "ratio to memory", seconds * self.bandwidth / n_bytes, against=against)

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
    _draw_exponents(table[table["quantity"].str.startswith("exponent in ")])


def _draw_exponents(table: pd.DataFrame) -> None:
    """Draw every fitted exponent; the dashed line is linear growth."""
    names = [f"{row.benchmark}: {row.setting}" for row in table.itertuples()]
    with style.look():
        figure, ax = plt.subplots(figsize=(7.2, 0.8 + 0.24 * len(names)))
        ax.axvline(1.0, color=style.GRAY, linestyle="--", linewidth=1.0)
        ax.scatter(table["value"].astype(float), range(len(names)), color=style.COLORS[0], zorder=3)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlabel("fitted exponent of the processor time (1: linear)")
        ax.set_xlim(left=min(0.0, float(table["value"].astype(float).min()) - 0.1))
        style.save(figure, FOLDER, "bench_exponents")
