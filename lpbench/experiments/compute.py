"""Compute and store one block, in whatever process."""

from __future__ import annotations

import ctypes
import platform
import sys
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from filelock import Timeout
from threadpoolctl import ThreadpoolController

from lpbench.datasets import Draws
from lpbench.derivation import versions
from lpbench.digest import canonical_json
from lpbench.errors import CellTimeout, ClippingWarning, ConfigurationError, DataError, PrivacyLeakWarning, StoreError
from lpbench.experiments.method import import_object, is_own
from lpbench.experiments.plan import Block
from lpbench.experiments.store import Store
from lpbench.experiments.time_limit import time_limit
from lpbench.paths import own_folders
from lpbench.problem import Problem
from lpbench.seeds import Streams

if TYPE_CHECKING:
    from lpbench.estimators.base import LocalEstimator, SweepResult
    from lpbench.experiments.fits import Spent

#: Size of the data of all replications that a method gets at once; it needs several times as much memory.
BATCH_BYTES = 400_000_000
#: The scenario of this process's last block.
_last: dict[str, Draws] = {}
_give_back = getattr(ctypes.CDLL(None), "malloc_trim", int)  # of glibc, which keeps what is free: see engines


@dataclass(frozen=True)
class Outcome:
    """Result of computing one block: its key, how it ended, seconds, number of fits, and why it failed."""

    key: str
    label: str
    status: str
    seconds: float
    fits: int
    reason: str = ""

    def line(self) -> str:
        """Return the outcome as a line of a run's progress."""
        sign = {"ok": "done", "busy": "busy"}.get(self.status, self.status.upper())
        tail = f"  ({self.reason})" if self.reason else ""
        return f"{sign:8s}{self.seconds:7.2f} s {self.fits:8d} fits  {self.label}{tail}"


def execute(block: Block, spent: Spent | None = None) -> pa.Table:
    """Compute a block's rows (pure: reads data, writes nothing), and enter what its users spend where that is asked."""
    estimator = import_object(block.estimator)(**block.params)
    draw, points = _draws(block).under(block.mask or "all_private", block.mask_params).problem, _Points(block)
    tables, batch = list[pa.Table](), 1
    while len(tables) < block.replications:
        problems = [draw(r) for r in range(len(tables), min(len(tables) + batch, block.replications))]
        if not tables:
            # the first problem tells how many replications the method wants at once, and how many fit into memory
            parts = (getattr(problems[0], matrix) for matrix in ("X_train", "X_test", "X_public"))
            most = max(1, BATCH_BYTES // sum(int(matrix.nbytes) for matrix in parts if matrix is not None))
            batch = min(estimator.replications_per_batch(problems[0]), block.replications, most)
            problems += [draw(r) for r in range(1, batch)]
        tables += _scored(block, estimator, points, problems, len(tables), spent)
        del problems  # the next ones take their place in memory
    return pa.concat_tables(tables).unify_dictionaries()


def _scored(
    block: Block, estimator: LocalEstimator, points: _Points, problems: list[Problem], first: int, spent: Spent | None
) -> list[pa.Table]:
    """Compute the rows of some replications, a table for each of ``problems``; ``first`` is the number of the first.

    In replication 0 methods of the package are fitted once more, so that ``spent`` gets what users spend.
    """
    from lpbench.experiments import fits  # brings the estimators

    wanted = range(first, first + len(problems))
    streams = [method_streams(block.seed, block.dataset, block.mask, r) for r in wanted]
    points.resolve(estimator, problems[0])
    start = time.perf_counter()
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        # classes and ranges are a data set's; features scaled by public rows leave their range, as is documented
        for category in (PrivacyLeakWarning, ClippingWarning):
            warnings.simplefilter("ignore", category)
        by_fits = is_own(block.estimator) and fits.sweeps_by_fits(estimator)
        if by_fits:
            swept, counted = (estimator, block.budgets, points.listed), fits.Spent() if spent is None else spent
            results = [fits.sweep_by_fits(*swept, *pair, counted) for pair in zip(problems, streams, strict=True)]
        else:
            results = estimator.sweep_many(problems, block.budgets, points.listed, streams)
        seconds = (time.perf_counter() - start) / (len(problems) * len(block.budgets) * len(points.listed))
        if spent is not None and first == 0 and not by_fits:
            points.spend(estimator, problems[0], streams[0], spent)
    rows = zip(wanted, problems, results, strict=True)
    return [points.table(r, problem.metric, result, seconds) for r, problem, result in rows]


def _draws(block: Block) -> Draws:
    """Return the block's replications; those drawn for the previous block of the same scenario are reused."""
    scenario = canonical_json([block.dataset, block.dataset_params, block.fingerprint, block.seed])
    if scenario not in _last:
        _last.clear()
        _give_back(0)
        _last[scenario] = Draws(block.dataset, block.dataset_params, seed=block.seed)
    return _last[scenario]


def method_streams(seed: int, dataset: str, mask: str | None, replication: int) -> Streams:
    """Streams of the methods in one replication.

    The method's name is not an axis: methods that privatize the label share its unit-scale noise, which pairs them for
    the signed-rank test. ``mask`` is None for methods that ignore the mask, so that their results are the same under
    every mask.
    """
    axes = {"dataset": dataset, "replication": replication}
    if mask is not None:
        axes["mask"] = mask
    return Streams(seed).child("method", **axes)


class _Points:
    """Grid points of a block, resolved once for all replications; makes the rows of one replication."""

    def __init__(self, block: Block):
        self._block = block
        self._grid: dict[str, Any] | None = None

    def resolve(self, estimator: LocalEstimator, problem: Problem) -> None:
        """List the grid points, with words such as "all" resolved for a problem."""
        from lpbench.estimators.base import expand_grid  # imported where the estimator is: it takes half a second

        block = self._block
        grid = estimator.resolve_grid(block.grid, problem)
        if grid == self._grid:
            return
        self._grid, self.listed = grid, expand_grid(grid)
        if block.extra_point is not None and dict(block.extra_point) not in self.listed:
            self.listed.append(dict(block.extra_point))
        n, budgets = len(self.listed), len(block.budgets)
        labels = pa.array([canonical_json(p) for p in self.listed])
        index = pa.array(np.tile(np.arange(n, dtype=np.int32), budgets))
        self._epsilon = pa.array(np.repeat(np.asarray(block.budgets, dtype=float), n))
        self._params = pa.DictionaryArray.from_arrays(index, labels)

    def spend(self, estimator: LocalEstimator, problem: Problem, streams: Streams, spent: Spent) -> None:
        """Enter into ``spent`` what fits spend that no sweep asked for: one point, of a user's own method every point.

        Each is fitted on ``problem`` at every budget; a point that cannot be run is passed over.
        """
        from lpbench.experiments.fits import spend_once

        for point in reversed(self.listed):  # what was added to the grid is the setting that users are told
            with suppress(ConfigurationError, DataError):  # a point that cannot be run has no score
                spend_once(estimator, problem, self._block.budgets, point, streams, spent)
                if not is_own(self._block.estimator):
                    return

    def table(self, replication: int, metric: str, result: SweepResult, seconds: float) -> pa.Table:
        """Return the rows of one replication, budget by budget; a score that is not finite becomes a failure.

        ValueError if the method's sweep returned another shape than (budgets, grid points).
        """
        budgets, n = len(self._block.budgets), len(self.listed)
        if result.values.shape != (budgets, n):
            name = self._block.estimator
            raise ValueError(f"{name}.sweep returned shape {result.values.shape}, expected {(budgets, n)}")
        values = np.asarray(result.values, dtype=float).ravel()
        outcomes = {b * n + g: words for (b, g), words in result.reasons.items()}
        for i in np.flatnonzero(~np.isfinite(values)):
            outcomes.setdefault(int(i), ("failed", "the score is not finite"))
        return pa.table(
            {
                "epsilon": self._epsilon,
                "params": self._params,
                "replication": np.full(values.size, replication, dtype=np.int32),
                "metric": words(values.size, metric),
                "value": pa.array(values, from_pandas=True),
                "status": words(values.size, "ok", *((i, status) for i, (status, _) in outcomes.items())),
                "reason": words(values.size, "", *((i, reason) for i, (_, reason) in outcomes.items())),
                "seconds": np.full(values.size, seconds),
            }
        )


@lru_cache(maxsize=64)  # pyarrow takes as long to make one as a small fit
def words(size: int, usual: str, *exceptions: tuple[int, str]) -> pa.DictionaryArray:
    """Dictionary-encoded column that has ``usual`` in every row but the ``exceptions`` (row, text)."""
    distinct = list(dict.fromkeys([usual, *(word for _, word in exceptions)]))
    codes = np.zeros(size, dtype=np.int32)
    for row, word in exceptions:
        codes[row] = distinct.index(word)
    return pa.DictionaryArray.from_arrays(codes, distinct)


def run_block(block: Block, root: str, timeout: float, wait: bool = False) -> Outcome:
    """Compute and store a block and record failures; one that another process computes is busy, or waited for."""
    store = Store(root)
    try:
        with store.lock(block.key).acquire(blocking=wait):
            if store.has(block.key):
                return Outcome(block.key, block.label, "ok", 0.0, 0, "computed by another process")
            return _run_locked(block, store, timeout)
    except Timeout:
        return Outcome(block.key, block.label, "busy", 0.0, 0)


@lru_cache(maxsize=1)
def _pools(modules: int) -> ThreadpoolController:
    """Return this process's thread pools, searched again only when more modules are imported, as it is slow."""
    return ThreadpoolController()


def _run_locked(block: Block, store: Store, timeout: float) -> Outcome:
    """Compute a block within its time limit and store it, or store why it failed, so that other methods go on.

    Only a store that cannot be written ends the run.
    """
    from lpbench.experiments.fits import Spent

    start, spent = time.perf_counter(), Spent()
    try:
        with _pools(len(sys.modules)).limit(limits=1), time_limit(timeout):
            table = execute(block, spent)
        seconds = time.perf_counter() - start
        machine = {"python": platform.python_version(), "platform": platform.platform(), "versions": versions()}
        made = {"config": block.config, **block.derivation.stored(), "spent": spent.rows, "seconds": seconds}
        store.write(block.key, table, {**made, "machine": machine})
        return Outcome(block.key, block.label, "ok", seconds, len(table))
    except StoreError:
        raise
    except (Exception, SystemExit) as error:  # a method must not end the run of the others
        status = "timeout" if isinstance(error, CellTimeout) else "failed"
        reason = str(error) if isinstance(error, CellTimeout) else f"{type(error).__name__}: {error}{_place(error)}"
        record = {"status": status, "reason": reason, "label": block.label, "config": block.config}
        store.write_failure(block.key, {**record, "limit": timeout, "traceback": traceback.format_exc()})
        return Outcome(block.key, block.label, status, time.perf_counter() - start, 0, reason)


def _place(error: BaseException) -> str:
    """Return the last line of a user's own code in an error's traceback, as file and line; empty if there is none."""
    folders = {str(folder) for folder in own_folders()}
    frames = [f for f in traceback.extract_tb(error.__traceback__) if str(Path(f.filename).parent) in folders]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
