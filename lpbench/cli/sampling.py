"""A sample of an experiment's blocks, run and summarised alone: what ``lpbench verify`` compares by default."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from lpbench.analysis import write_csv
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner
from lpbench.experiments.job import Job
from lpbench.experiments.plan import Entry, Plan, by_name
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.pipeline import Result
from lpbench.reporting.artefact import summarise_experiment

#: Where the summaries of a sample are written; a whole run has the experiment's own folder.
FOLDER = "sample"
#: Numbers that a block reads which is sampled, unless a method has none as small.
_SMALL = 100_000


def sample(plan: Plan) -> Plan:
    """One entry for each experiment and method, the same whenever and wherever it is drawn."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in plan.entries:
        if entry.block is not None:
            groups.setdefault((entry.experiment, entry.method), []).append(entry)
    return Plan(tuple(_drawn(entries) for entries in groups.values()))


def _drawn(entries: Sequence[Entry]) -> Entry:
    small = [e for e in entries if e.wanted.numbers <= _SMALL]
    return min(small, key=_lot) if small else min(entries, key=lambda e: (e.wanted.numbers, _lot(e)))


def _lot(entry: Entry) -> str:
    """A number drawn from the entry's names: neither the code nor the order of the plan moves it."""
    names = [entry.experiment, entry.panel, entry.dataset, entry.mask, entry.method, str(entry.x_value)]
    return hashlib.sha256("|".join(names).encode()).hexdigest()


def run_sample(jobs: Sequence[Job], results: Path, runner: Runner) -> Result:
    """Run a sample of the jobs' blocks and write ``<results>/sample/<experiment>/summary.csv`` of it."""
    store = Store(results / "store")
    plans = {job.name: sample(job.plan) for job in jobs}
    whole = sum((job.plan for job in jobs), Plan(()))
    run = run_blocks(sum(plans.values(), Plan(())).blocks, store, runner)
    for job in jobs:
        scores = assemble(plans[job.name].entries, store)
        table = summarise_experiment(job.experiment, scores, by_name(job.methods)).table
        write_csv(table, results / FOLDER / job.name / "summary.csv")
    return Result(run=run, plan=whole)
