"""What each artefact cost: seconds and memory of its blocks, as they were measured when the blocks were computed.

Two runs of one commit give the same report, but for the files named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from pathlib import PurePath
from typing import Any

import pandas as pd

from lpbench.experiments.plan import Block
from lpbench.experiments.store import Store

#: Files of a report that hold seconds, memory or facts of the machine; ``*seconds*`` are those of timing experiments.
MEASURED = ("*seconds*", "timing.csv", "checks.html", "bench.csv", "bench_*.svg")
#: Summary, comparison and table of a timing experiment.
SECONDS, COMPARED_SECONDS, SECONDS_TABLE = "seconds.csv", "seconds_comparison.csv", "seconds.tex"
COLUMNS = ["artefact", "blocks", "fits_replaced", "seconds", "workers", "peak_mb"]


def is_measured(path: PurePath) -> bool:
    """Whether a file of a report may differ from run to run."""
    return any(fnmatch(path.name, pattern) for pattern in MEASURED)


def block_times(blocks: Iterable[Block], store: Store) -> dict[str, list[Any]]:
    """Return the rows (fits that a loop would do), the seconds and the peak memory of each stored block, by key."""
    found = {}
    for block in blocks:
        if store.has(block.key):
            metadata, rows = store.footer(block.key)
            found[block.key] = [rows, round(float(metadata["seconds"]), 4), metadata.get("peak_mb")]
    return found


def timing_table(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Tabulate the records of ``run.json``.

    An artefact's seconds are the sum over its blocks, each measured in the worker that computed it, so that the time on
    the clock is about seconds / workers. A block that serves several artefacts counts in each of them and once in the
    last row, ``total``.

    Returns
    -------
    DataFrame
        Columns artefact, blocks, fits_replaced, seconds, workers (those of the run that wrote the artefact), peak_mb
        (largest resident memory of one worker in 10^6 bytes; missing where the system does not tell).
    """
    rows: list[list[Any]] = []
    distinct: dict[str, Any] = {}
    workers = 0
    for record in records:
        times = record.get("block_times") or {}
        if times:
            distinct |= times
            workers = max(workers, record["workers"])
            rows.append([record["name"], *_sums(times), record["workers"], _peak(times)])
    if rows:
        rows.append(["total", *_sums(distinct), workers, _peak(distinct)])
    return pd.DataFrame(rows, columns=COLUMNS)


def _peak(times: Mapping[str, list[Any]]) -> float | None:
    return max((t[2] for t in times.values() if len(t) > 2 and t[2] is not None), default=None)


def _sums(times: Mapping[str, list[Any]]) -> tuple[int, int, float]:
    return len(times), int(sum(t[0] for t in times.values())), round(sum(t[1] for t in times.values()), 2)
