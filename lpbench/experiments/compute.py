"""Compute and store one block, in whatever process."""

from __future__ import annotations

import math
import platform
import time
import traceback
import warnings
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from lpbench import registry
from lpbench.datasets import make_problem
from lpbench.errors import PrivacyLeakWarning, StoreError
from lpbench.estimators.base import expand_grid
from lpbench.experiments.fingerprint import canonical_json, versions
from lpbench.experiments.limits import CellTimeout, exceeded, time_limit
from lpbench.experiments.memory import PeakMemory
from lpbench.experiments.plan import Block
from lpbench.experiments.seeds import method_streams
from lpbench.experiments.store import Store
from lpbench.pace import Pace, TooSlow, repeated
from lpbench.pace import limit as pace_limit

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


def execute(block: Block) -> pa.Table:
    """Compute a block's rows (pure: reads data, writes nothing)."""
    estimator = registry.import_object(block.estimator)(**block.params)
    rows: list[pa.Table] = []
    replication = 0
    batch = 1
    pace = Pace(block.replications)
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
        left = math.ceil((block.replications - replication) / len(problems))
        with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings(), repeated(left):
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            results = estimator.sweep_many(problems, block.budgets, points, streams)
        seconds = (time.perf_counter() - start) / (len(problems) * len(block.budgets) * len(points))
        for r, problem, result in zip(wanted, problems, results, strict=True):
            rows.append(_rows(block, labels, r, problem.metric, result, seconds))
        replication += len(problems)
        pace.after(replication)
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
    with store.claims.hold(block.key) as free:
        if not free:
            return Outcome(block.key, block.label, "busy", 0.0, 0)
        if store.has(block.key):
            return Outcome(block.key, block.label, "ok", 0.0, 0, "computed by another process")
        try:
            with threadpool_limits(1), time_limit(timeout), pace_limit(timeout), PeakMemory() as peak:
                table = execute(block)
            seconds = time.perf_counter() - start
            cost = {"seconds": seconds, "peak_mb": peak.megabytes}
            store.write(block.key, table, {"config": block.config, **cost, "machine": _machine()})
            return Outcome(block.key, block.label, "ok", seconds, len(table))
        except StoreError:
            raise
        except Exception as error:
            status = "timeout" if isinstance(error, CellTimeout | TooSlow) else "failed"
            reason = str(error) if isinstance(error, CellTimeout) else f"{type(error).__name__}: {error}"
            if isinstance(error, TooSlow):
                reason = f"would go {exceeded(timeout)}: {error}"
            record = {"status": status, "reason": reason, "label": block.label, "config": block.config}
            traced = {"limit": timeout, "traceback": traceback.format_exc()}
            store.write_failure(block.key, {**record, **traced})
            return Outcome(block.key, block.label, status, time.perf_counter() - start, 0, reason)


def _machine() -> dict:
    return {"python": platform.python_version(), "platform": platform.platform(), "versions": versions()}
