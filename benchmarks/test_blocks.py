"""Very many blocks: planned, found stored, and assembled."""

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lpbench.experiments.assemble import assemble
from lpbench.experiments.compute import execute
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.plan import Plan, plan_experiment
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store

SIZES = (10_000, 100_000)
#: Seconds and bytes that the largest number may take in all.
MOST_SECONDS, MOST_BYTES = 120.0, 1e9


def planned(count: int) -> Plan:
    """A block a budget, of one method on one data set."""
    one = Group(dataset=("diabetes_progression",), mask=("aligned",), method=("private_mean",))
    groups = tuple(replace(one, epsilon=(1.0 + k * 1e-5,)) for k in range(count))
    plan = plan_experiment(Experiment(name="many", kind="table", replications=2, groups=groups))
    assert len({block.key for block in plan.blocks}) == count
    return plan


def fill(store: Store, plan: Plan) -> None:
    """Store made-up rows of every block, as a run would."""
    rows = execute(plan.blocks[0])
    for block in plan.blocks:
        if not store.has(block.key):
            own = rows.set_column(0, "epsilon", pa.array(np.full(len(rows), block.budgets[0])))
            store.write(block.key, own, {"config": block.config, "seconds": 0.0, "peak_mb": 1.0})


def test_blocks_are_planned_found_and_assembled_in_linear_time(benchmark, tmp_path, record):
    benchmark.pedantic(lambda: None)  # is timed below, step by step
    store, seconds = Store(tmp_path), dict[str, list[float]]()
    runner = Runner(backend="serial")
    for count in SIZES:

        def step(name: str, run: Callable[[], Any]) -> Any:
            start = time.process_time()
            found = run()
            seconds.setdefault(name, []).append(time.process_time() - start)
            return found

        plan = step("plan", lambda count=count: planned(count))
        fill(store, plan)
        report = step("resume", lambda plan=plan: run_blocks(plan.blocks, store, runner, progress=False))
        assert report.reused == count and not report.outcomes
        assert len(step("assemble", lambda plan=plan: assemble(plan.entries, store))) == 2 * count
    total = sum(times[-1] for times in seconds.values())
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, times in seconds.items():
        record.add("blocks", f"{SIZES[-1]} blocks", f"{name} (s)", times[-1])
        record.exponent(f"blocks, {name}", "blocks", SIZES, times)
    assert record.add("blocks", f"{SIZES[-1]} blocks", "in all (s)", total, at_most=MOST_SECONDS)
    assert record.add("blocks", f"{SIZES[-1]} blocks", "peak memory (GB)", peak / 1e9, at_most=MOST_BYTES / 1e9)
