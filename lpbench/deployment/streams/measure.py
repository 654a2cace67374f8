"""Throughput (users per second) and memory of the streaming curators, on simulated users."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lpbench.datasets.synthetic import eta_p, eta_q
from lpbench.deployment.streams.sums import StreamedUsers, SumStream
from lpbench.estimators import LPCT
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.memory import memory_mb
from lpbench.privacy import PublicSample
from lpbench.seeds import Streams

#: Users who are simulated together; part of what their data are.
BLOCK = 1 << 16
#: Points of the curve.
POINTS = 20
COLUMNS = ["method", "step", "users", "seconds", "users_per_second", "memory_mb", "peak_mb", "table_kb"]


@dataclass(frozen=True)
class Progress:
    """Where a stream is: users so far, and bytes the curator holds."""

    step: str
    users: int
    table: int


def lpct_users(streams: Streams, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (BLOCK, 2) and classes (BLOCK,) of a block of users (LPCT section 6.1)."""
    X = streams.generator("X", block=block).random((BLOCK, 2))
    return X, (streams.generator("y", block=block).random(BLOCK) < eta_p(X)).astype(np.intp)


def stream_lpct(users: int, seed: int, report: Callable[[Progress], None]) -> LPCT:
    """Randomised votes of every user in a partition of depth 4 at epsilon = 1, added up."""
    streams = Streams(seed).child("stream", method="lpct")
    rng = streams.generator("public")
    X_public = rng.random((1000, 2))
    y_public = (rng.random(1000) < eta_q(X_public, 0.5)).astype(int)

    def collect(stream: SumStream) -> None:
        for block, start, stop in _blocks(users):
            X, codes = lpct_users(streams, block)
            stream.add_users(X[: stop - start], codes[: stop - start], streams, start)
            report(Progress("votes", stop, stream.nbytes))

    everybody = StreamedUsers(collect, users, 2, classes=np.arange(2), public=PublicSample(X_public, y_public))
    model: LPCT = LPCT(1.0, depth=4, mechanism="rr", random_state=streams).learn_from(everybody)
    return model


def _blocks(users: int) -> Iterator[tuple[int, int, int]]:
    for block, start in enumerate(range(0, users, BLOCK)):
        yield block, start, min(start + BLOCK, users)


METHODS: dict[str, Callable[[int, int, Callable[[Progress], None]], Any]] = {"lpct": stream_lpct}


def measure(method: str, users: int, seed: int = ROOT_SEED) -> pd.DataFrame:
    """Stream users through a curator.

    Parameters
    ----------
    method : {"lpct"}

    Returns
    -------
    DataFrame
        About ``POINTS`` rows per step: users so far, seconds of processor time since the step began, users per second
        (data, reports and aggregation together), memory of the process now and at its peak so far (MB), and what the
        curator holds (KB).
    """
    rows, due = [], 0.0
    began, step = time.process_time(), ""

    def report(progress: Progress) -> None:
        nonlocal began, due, step
        if step not in ("", progress.step):  # the next step begins where the last one ended
            began, due = time.process_time(), 0.0
        step = progress.step
        if progress.users >= min(due, users):
            due = progress.users + users / POINTS
            seconds = time.process_time() - began
            speed, table = progress.users / seconds, progress.table / 1e3
            rows.append([method, step, progress.users, seconds, speed, *memory_mb(), table])

    METHODS[method](users, seed, report)
    return pd.DataFrame(rows, columns=COLUMNS)
