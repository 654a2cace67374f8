"""Execute blocks: in this process or in workers, resumable, in any order, with the same bits."""

from __future__ import annotations

import os
import platform
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from lpbench import registry
from lpbench.datasets import make_problem
from lpbench.errors import ConfigurationError, PrivacyLeakWarning, StoreError
from lpbench.estimators.base import expand_grid
from lpbench.experiments.engines import check_backend, engine
from lpbench.experiments.fingerprint import canonical_json, versions
from lpbench.experiments.limits import CellTimeout, time_limit
from lpbench.experiments.memory import PeakMemory
from lpbench.experiments.plan import Block
from lpbench.experiments.seeds import method_streams
from lpbench.experiments.store import CorruptBlockError, Store

#: Size of the data of all replications that a method gets at once.
BATCH_BYTES = 400_000_000


@dataclass(frozen=True)
class Outcome:
    """What became of one block."""

    key: str
    label: str
    status: str
    seconds: float
    fits: int
    reason: str = ""

    def line(self) -> str:
        """Summary line for the console."""
        sign = {"ok": "done", "busy": "busy"}.get(self.status, self.status.upper())
        tail = f"  ({self.reason})" if self.reason else ""
        return f"{sign:8s}{self.seconds:7.2f} s {self.fits:8d} fits  {self.label}{tail}"


@dataclass
class RunReport:
    """What a run did."""

    outcomes: list[Outcome] = field(default_factory=list)
    reused: int = 0
    recomputed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> list[Outcome]:
        """Blocks without a result."""
        return [o for o in self.outcomes if o.status in {"failed", "timeout"}]

    @property
    def fits(self) -> int:
        """Fits that were replaced by this run's sweeps."""
        return sum(o.fits for o in self.outcomes if o.status == "ok")


def execute(block: Block) -> pa.Table:
    """Compute a block's rows (pure: reads data, writes nothing)."""
    estimator = registry.import_object(block.estimator)(**block.params)
    rows: list[pa.Table] = []
    replication = 0
    batch = 1
    labelled: list[dict] = []
    while replication < block.replications:
        wanted = range(replication, min(replication + batch, block.replications))
        problems = [_problem(block, r) for r in wanted]
        if replication == 0:
            # the first problem tells how many replications the method wants at once
            batch = min(estimator.replications_per_batch(problems[0]), block.replications, _fitting(problems[0]))
            problems += [_problem(block, r) for r in range(1, batch)]
            wanted = range(batch)
        streams = [method_streams(block.seed, block.dataset, block.mask, r) for r in wanted]
        points = _points(block, estimator, problems[0])
        if points != labelled:
            # nearly always once a block: writing a large grid as JSON takes as long as sweeping it
            labelled, labels = points, pa.array([canonical_json(p) for p in points])
        start = time.perf_counter()
        with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            results = estimator.sweep_many(problems, block.budgets, points, streams)
        seconds = (time.perf_counter() - start) / (len(problems) * len(block.budgets) * len(points))
        for r, problem, result in zip(wanted, problems, results, strict=True):
            rows.append(_rows(block, labels, r, problem.metric, result, seconds))
        replication += len(problems)
    return pa.concat_tables(rows).unify_dictionaries()


def _fitting(problem) -> int:
    """How many replications may be in memory at once; methods need several times the size of their data."""
    arrays = (problem.X_train, problem.X_test, problem.X_public)
    return max(1, BATCH_BYTES // sum(a.nbytes for a in arrays if a is not None))


def _problem(block: Block, replication: int):
    mask, mask_params = (block.mask, block.mask_params) if block.mask is not None else ("all_private", {})
    return make_problem(block.dataset, dict(block.dataset_params), mask, dict(mask_params), replication, block.seed)


def _points(block: Block, estimator, problem) -> list[dict]:
    points = expand_grid(estimator.resolve_grid(block.grid, problem))
    if block.extra_point is not None and dict(block.extra_point) not in points:
        points.append(dict(block.extra_point))
    return points


def _rows(block: Block, labels: pa.Array, replication: int, metric: str, result, seconds: float) -> pa.Table:
    budgets, n = len(block.budgets), len(labels)
    total = budgets * n
    if result.values.shape != (budgets, n):
        raise ValueError(f"{block.estimator}.sweep returned shape {result.values.shape}, expected {(budgets, n)}")
    index = np.tile(np.arange(n, dtype=np.int32), budgets)
    status, reason = ["ok"] * total, [""] * total
    for (b, g), (state, why) in result.reasons.items():
        status[b * n + g], reason[b * n + g] = state, why
    values = np.asarray(result.values, dtype=float).ravel()
    for i in np.flatnonzero(~np.isfinite(values)):
        if status[i] == "ok":
            status[i], reason[i] = "failed", "the score is not finite"
    return pa.table(
        {
            "epsilon": np.repeat(np.asarray(block.budgets, dtype=float), n),
            "params": pa.DictionaryArray.from_arrays(pa.array(index), labels),
            "replication": np.full(total, replication, dtype=np.int32),
            "metric": pa.array([metric] * total).dictionary_encode(),
            "value": pa.array(values, from_pandas=True),
            "status": pa.array(status).dictionary_encode(),
            "reason": pa.array(reason).dictionary_encode(),
            "seconds": np.full(total, seconds),
        }
    )


def run_block(block: Block, root: str, timeout: float) -> Outcome:
    """Compute and store one block; failures are recorded, not raised (except Ctrl-C and an unwritable store)."""
    store = Store(root)
    start = time.perf_counter()
    if not store.claim(block.key):
        return Outcome(block.key, block.label, "busy", 0.0, 0)
    try:
        if store.has(block.key):
            return Outcome(block.key, block.label, "ok", 0.0, 0, "computed by another process")
        with threadpool_limits(1), time_limit(timeout), PeakMemory() as peak:
            table = execute(block)
        seconds = time.perf_counter() - start
        cost = {"seconds": seconds, "peak_mb": peak.megabytes}
        store.write(block.key, table, {"config": block.config, **cost, "machine": _machine()})
        return Outcome(block.key, block.label, "ok", seconds, len(table))
    except StoreError:
        raise
    except Exception as error:
        status = "timeout" if isinstance(error, CellTimeout) else "failed"
        reason = str(error) if status == "timeout" else f"{type(error).__name__}: {error}"
        record = {"status": status, "reason": reason, "label": block.label, "config": block.config, "limit": timeout}
        store.write_failure(block.key, {**record, "traceback": traceback.format_exc()})
        return Outcome(block.key, block.label, status, time.perf_counter() - start, 0, reason)
    finally:
        store.release(block.key)


def _machine() -> dict:
    return {"python": platform.python_version(), "platform": platform.platform(), "versions": versions()}


def run_blocks(
    blocks: Sequence[Block],
    store: Store,
    *,
    backend: str = "loky",
    workers: int | None = None,
    cell_timeout: float = 3600.0,
    order: str = "longest_first",
    progress: bool = True,
    timeouts: Mapping[str, float] | None = None,
    address: str | None = None,
) -> RunReport:
    """Run the blocks that the store does not hold yet.

    Parameters
    ----------
    blocks : sequence of Block
    store : Store
    backend : {"loky", "serial", "dask", "ray"}
        Worker processes, this process, or a cluster, see :mod:`lpbench.experiments.engines`.
    workers : int, optional
        Number of blocks computed at once; default: one per core of this machine.
    cell_timeout : float
        Seconds a cell (one method on one scenario at one budget, all replications) may take; a block over the limit
        of its cells together is recorded as ``timeout`` and tried again only under a larger limit.
    order : {"plan", "longest_first", "shuffle"}
        Order of execution; it never changes a number.
    progress : bool
        Show a progress bar with the time left and a line per block.
    timeouts : mapping of str to float, optional
        Limit of a whole block by its key, where it is not ``cell_timeout`` times its budgets.
    address : str, optional
        Of a running cluster, for the backends ``dask`` and ``ray``; default: processes on this machine.
    """
    check_backend(backend)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ConfigurationError(f"runner.workers={workers!r} must be a whole number >= 1, or null for one per core")
    start = time.perf_counter()
    limits = {b.key: (timeouts or {}).get(b.key, cell_timeout * len(b.budgets)) for b in blocks}
    report = RunReport()
    pending = []
    for block in blocks:
        if _is_done(block, store, limits[block.key], report):
            report.reused += 1
        else:
            pending.append(block)
    pending = _ordered(pending, order)
    if pending:
        with engine(backend, workers or os.cpu_count() or 1, address) as mapping:
            _run_pending(pending, store, mapping, limits, progress, report)
    report.seconds = time.perf_counter() - start
    return report


def _is_done(block: Block, store: Store, limit: float, report: RunReport) -> bool:
    if store.has(block.key):
        try:
            store.read(block.key)
            return True
        except CorruptBlockError as error:
            print(f"warning: {error}", file=sys.stderr)
            store.discard(block.key)
            report.recomputed.append(block.key)
            return False
    failure = store.read_failure(block.key)
    return failure is not None and failure["status"] == "timeout" and failure.get("limit", 0) >= limit


def _ordered(blocks: list[Block], order: str) -> list[Block]:
    if order == "longest_first":
        return sorted(blocks, key=lambda b: -b.fits)
    if order == "shuffle":
        return random.Random(0).sample(blocks, len(blocks))
    if order == "plan":
        return blocks
    raise ConfigurationError(f"runner.order={order!r} must be plan, longest_first or shuffle")


def _run_pending(
    pending: list[Block],
    store: Store,
    mapping: Callable,
    limits: Mapping[str, float],
    progress: bool,
    report: RunReport,
) -> None:
    total = sum(b.fits for b in pending)
    waiting = {b.key: b for b in pending}
    with tqdm(total=total, unit="fit", unit_scale=True, disable=not progress, dynamic_ncols=True) as bar:

        def take(outcome: Outcome) -> None:
            block = waiting.pop(outcome.key)
            if outcome.status == "busy":
                outcome = _await_other(block, store, limits[block.key])
            report.outcomes.append(outcome)
            bar.update(block.fits)
            if progress:
                bar.write(f"[{len(pending) - len(waiting)}/{len(pending)}] {outcome.line()}")

        def compute(blocks: Sequence[Block]) -> None:
            for outcome in mapping(run_block, [(b, str(store.root), limits[b.key]) for b in blocks]):
                take(outcome)

        while waiting:
            before = len(waiting)
            compute(list(waiting.values()))
            # only a lost worker leaves blocks behind: some are stored, although nobody was left to say so,
            for block in [b for b in waiting.values() if store.has(b.key)]:
                metadata, rows = store.footer(block.key)
                take(Outcome(block.key, block.label, "ok", metadata["seconds"], rows))
            # and those that workers died on are tried one by one, each in a fresh worker
            for block in [b for b in waiting.values() if store.is_abandoned(b.key)] or list(waiting.values())[:1]:
                compute([block])
                if block.key in waiting:
                    take(_lost(block, store))
            if len(waiting) == before:
                raise RuntimeError("no block finished although blocks are waiting")


def _lost(block: Block, store: Store) -> Outcome:
    """A block that kills its worker even when it runs alone."""
    reason = "the worker process died while computing this block (out of memory?)"
    store.release(block.key)
    store.write_failure(block.key, {"status": "failed", "reason": reason, "label": block.label, "traceback": ""})
    return Outcome(block.key, block.label, "failed", 0.0, 0, reason)


def _await_other(block: Block, store: Store, limit: float) -> Outcome:
    """Another process is computing this block: wait for it, and take over if it dies."""
    while store.is_claimed(block.key):
        time.sleep(0.2)
    if store.has(block.key):
        return Outcome(block.key, block.label, "ok", 0.0, 0, "computed by another process")
    return run_block(block, str(store.root), limit)
