"""Throughput (users per second) and memory of the streaming curators, on simulated users."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.datasets.synthetic import eta_p, eta_q
from lpbench.deployment.lpct import LPCTCurator
from lpbench.deployment.streams.draws import SlicedDraws
from lpbench.deployment.streams.histoftree import CellStream, Design, LabelStream, MaskCounts, Users
from lpbench.deployment.streams.lpct import VoteStream
from lpbench.estimators import LPCT, HistOfTree
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.memory import memory_mb
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


def stream_lpct(users: int, seed: int) -> Iterator[Progress]:
    """Randomised votes of every user in a partition of depth 4 at epsilon = 1, added up."""
    streams = Streams(seed).child("stream", method="lpct")
    rng = streams.generator("public")
    X_public = rng.random((1000, 2))
    y_public = (rng.random(1000) < eta_q(X_public, 0.5)).astype(int)
    model = LPCT(1.0, depth=4, mechanism="rr", random_state=streams)
    stream = VoteStream(LPCTCurator(model, X_public, y_public, [0, 1], b"simulated"))
    for block, start, stop in _blocks(users):
        X, codes = lpct_users(streams, block)
        stream.add_users(X[: stop - start], codes[: stop - start], streams, start)
        yield Progress("votes", stop, stream.nbytes)
    stream.fit()


def histoftree_users(streams: Streams, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (BLOCK, 5) and labels (BLOCK,) of a block of users (HistOfTree section 5.1)."""
    X = streams.generator("X", block=block).random((BLOCK, 5))
    mean = np.sin(X[:, [0, 1, 4]]).sum(axis=1)
    return X, mean + streams.generator("noise", block=block).standard_normal(BLOCK)


def stream_histoftree(users: int, seed: int) -> Iterator[Progress]:
    """Both rounds at epsilon = 1: everybody protects the first feature, and one in ten the second."""
    streams = Streams(seed).child("stream", method="histoftree")
    model = HistOfTree(1.0, n_grid_features=1, bins=4, depth=4, y_range=(-3.0, 5.5), random_state=streams)

    def mask_of(block: int) -> np.ndarray:
        mask = np.zeros((BLOCK, 5), dtype=bool)
        mask[:, 0] = True
        mask[:, 1] = streams.generator("mask", block=block).random(BLOCK) < 0.1
        return mask

    masks = MaskCounts(5)
    for block, start, stop in _blocks(users):
        masks.add(mask_of(block)[: stop - start])
        yield Progress("masks", stop, masks.counts.nbytes)
    design = Design.of(model, masks)

    def simulated(block: int, start: int, stop: int) -> Users:
        X, y = histoftree_users(streams, block)
        part = slice(0, stop - start)
        draws = SlicedDraws(streams, start, stop - start)
        return design.simulate(X[part], y[part], mask_of(block)[part], draws)

    labels = LabelStream(design)
    for place in _blocks(users):
        sent = simulated(*place)
        labels.add(sent.labels(), sent.shown, sent.mask)
        yield Progress("labels", place[2], labels.nbytes)
    tree = labels.grow()
    cells = CellStream(design, tree)
    for place in _blocks(users):
        sent = simulated(*place)
        cells.add(sent.cells(tree), sent.labels(), sent.shown, sent.mask)
        yield Progress("cells", place[2], cells.nbytes)
    cells.fit()


def _blocks(users: int) -> Iterator[tuple[int, int, int]]:
    for block, start in enumerate(range(0, users, BLOCK)):
        yield block, start, min(start + BLOCK, users)


METHODS: dict[str, Callable[[int, int], Iterator[Progress]]] = {"lpct": stream_lpct, "histoftree": stream_histoftree}


def measure(method: str, users: int, seed: int = ROOT_SEED) -> pd.DataFrame:
    """Stream users through a curator.

    Parameters
    ----------
    method : {"lpct", "histoftree"}
    users : int
    seed : int

    Returns
    -------
    DataFrame
        About ``POINTS`` rows per step: users so far, seconds of processor time since the step began, users per second
        (data, reports and aggregation together), memory of the process now and at its peak so far (MB), and what the
        curator holds (KB).
    """
    rows, step, began, due = [], "", 0.0, 0.0
    last = time.process_time()
    for progress in METHODS[method](users, seed):
        now = time.process_time()
        if progress.step != step:
            step, began, due = progress.step, last, 0.0
        if progress.users >= min(due, users):
            due = progress.users + users / POINTS
            seconds = now - began
            speed, table = progress.users / seconds, progress.table / 1e3
            rows.append([method, step, progress.users, seconds, speed, *memory_mb(), table])
        last = now
    return pd.DataFrame(rows, columns=COLUMNS)
