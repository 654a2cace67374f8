"""Measured seconds: of an artifact's blocks, of one fit, and what a run is likely to take by them.

Two runs of one commit give the same report, but for the files named here.
"""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import PurePath
from typing import Any

import pandas as pd

from lpbench.experiments.job import Job
from lpbench.experiments.plan import Block
from lpbench.experiments.store import Store
from lpbench.paths import COMMITTED

#: Files of a report that hold seconds, memory or facts of the machine; ``*seconds*`` are those of timing experiments.
MEASURED = ("*seconds*", "timing.csv", "about.html", "bench.csv", "bench_*.svg")
#: Summary, comparison and table of a timing experiment.
SECONDS_FILE, COMPARED_SECONDS, SECONDS_TABLE = "seconds.csv", "seconds_comparison.csv", "seconds.tex"
TIMING_COLUMNS = ["artifact", "blocks", "fits_replaced", "seconds", "workers"]
#: Median seconds of one fit of each method in the leaderboard (columns method, seconds; scripts/measure_fits.py).
FIT_SECONDS = "fit_seconds.csv"


def is_measured(path: PurePath) -> bool:
    """Return True if a file of a report holds measured times, which differ from run to run."""
    return any(fnmatch(path.name, pattern) for pattern in MEASURED)


def block_times(blocks: Iterable[Block], store: Store) -> dict[str, list[Any]]:
    """Return the number of fits and the seconds of each stored block, by key."""
    times = {}
    for block in blocks:
        if store.has(block.key):
            metadata, rows = store.footer(block.key)
            times[block.key] = [rows, round(float(metadata["seconds"]), 4)]
    return times


def timing_table(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate the records of ``run.json``.

    An artifact's seconds are the sum over its blocks, each measured in the worker that computed it, so that the time on
    the clock is about seconds / workers. A block that serves several artifacts counts in each of them and once in the
    last row, ``total``. ``workers`` are those of the run that wrote the artifact. Memory is left out: a worker keeps
    what its earlier blocks have read, and its size says nothing about one block.
    """
    rows: list[list[Any]] = []
    distinct: dict[str, Any] = {}
    workers = 0
    for record in records:
        times = record.get("block_times") or {}
        if times:
            distinct |= times
            workers = max(workers, record["workers"])
            rows.append(_row(record["name"], times, record["workers"]))
    if rows:
        rows.append(_row("total", distinct, workers))
    return pd.DataFrame(rows, columns=TIMING_COLUMNS)


def _row(name: str, times: Mapping[str, list[Any]], workers: int) -> list[Any]:
    fits, seconds = int(sum(t[0] for t in times.values())), round(sum(t[1] for t in times.values()), 2)
    return [name, len(times), fits, seconds, workers]


def estimate(jobs: Sequence[Job], store: Store, workers: int, *, with_missing: bool = False) -> str:
    """Describe the number of blocks and the run time of jobs, estimated from committed seconds."""
    of_job: dict[str, tuple[str, Block]] = {}  # of the first job that has the block
    for job in jobs:
        for block in job.plan.wanted if with_missing else job.plan.blocks:
            of_job.setdefault(block.key, (job.name, block))
    to_do = [(name, block.fits) for key, (name, block) in of_job.items() if not store.has(key)]
    table = pd.read_csv(COMMITTED / "timing.csv") if (COMMITTED / "timing.csv").is_file() else timing_table([])
    times = {row.artifact: row.seconds / row.fits_replaced for row in table.itertuples()}
    seconds = sum(fits * times[name] for name, fits in to_do if name in times) / workers
    untimed = {name for name, _ in to_do if name not in times}
    timed = [f"about {max(seconds, 1):.0f} s"] if seconds or not untimed else []
    counts = timed + ([f"not timed yet{f' ({len(untimed)} experiments)' if timed else ''}"] if untimed else [])
    return f"{len(of_job)} blocks, {len(to_do)} to do: {sum(n for _, n in to_do)} fits, {', '.join(counts)}"


def fit_seconds() -> dict[str, float]:
    """Median seconds of one fit alone of each method in the leaderboard, as they were measured."""
    path = COMMITTED / FIT_SECONDS
    return dict(pd.read_csv(path).itertuples(index=False)) if path.is_file() else {}
