"""``lpbench show``, also called ``plan``: what cells and experiments run, what it costs, and the tables they have."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import experiments, names, options
from lpbench.cli.completion import Override
from lpbench.errors import ConfigurationError
from lpbench.paths import REPRODUCED

if TYPE_CHECKING:
    from lpbench.experiments.config import Runner
    from lpbench.experiments.job import Job
    from lpbench.experiments.store import Store

#: Keys that ``lpbench reproduce`` takes as options.
_OPTIONS = {
    "replications": "--replications",
    "seed": "--seed",
    "results_dir": "--results",
    "experiment.work_limit": "--work-limit",
    "runner": "--backend",
    "runner.backend": "--backend",
    "runner.workers": "--workers",
    "runner.address": "--address",
    "runner.order": "--order",
    "tracking": "--tracking",
    "tracking.uri": "--tracking-uri",
}


@click.command(epilog="Next: lpbench reproduce with the same experiments.")
@click.argument("words", nargs=-1, type=Override("experiment"), metavar="[EXPERIMENT | KEY=VALUE]...")
@click.option("--results", type=options.FOLDER, metavar="DIR", help="Results folder.  [default: that of a run]")
def command(words: Sequence[str], results: Path | None) -> int:
    """Print settings, blocks, fits, time and tables of a run, without running it.

    EXPERIMENT is a name or a pattern such as 'histoftree/*'; several are added up.
    """
    named = [word for word in words if "=" not in word and not word.startswith("~")]
    overrides = [word for word in words if word not in named]
    names.check_names(overrides)
    twice = [word for word in overrides if word.startswith("experiment=")] if named else []
    if twice:
        raise ConfigurationError(f"{twice[0]!r} stands beside {', '.join(named)}: write lpbench show NAME NAME")
    from lpbench.cli.hydra_app import compose
    from lpbench.experiments.job import job_from, placed

    chosen = experiments.matching(named) if named else []
    configs = [compose([f"experiment={name}", *overrides]) for name in chosen] or [compose(overrides)]
    if results:
        configs = [replace(config, results_dir=str(results)) for config in configs]
        overrides.append(f"results_dir={results}")
    jobs = placed([job_from(config, overrides) for config in configs])
    print_plans(jobs, Path(configs[0].results_dir).resolve(), configs[0].runner)
    for line in _next(named, chosen, overrides) if words else []:
        print(f"Next: {line}")
    if len(jobs) == 1 and not jobs[0].is_cell:
        print("Next: lpbench explain DATASET METHOD EPSILON (a cell of the table)")
    return 0


def print_plans(jobs: Sequence[Job], results_dir: Path, runner: Runner) -> None:
    """Print what jobs would run and hold: the whole of one, a line for each of several and their sum."""
    from lpbench.experiments.estimate import estimate
    from lpbench.experiments.plan import Plan
    from lpbench.experiments.records import worker_count
    from lpbench.experiments.store import Store
    from lpbench.pipeline import NOTHING, describe_left_out, describe_missing, nothing_to_run

    store, workers = Store(results_dir / "store", writable=False), worker_count(runner)
    plan = sum((job.plan for job in jobs), Plan(()))
    for text in filter(None, (describe_missing(plan.missing), describe_left_out(plan.left_out))):
        print(text)
    if len(jobs) == 1:
        _print_content(jobs[0], store)
        print(NOTHING if nothing_to_run(plan) else estimate(jobs, store, workers))
    else:
        for job in jobs:
            print(f"{job.name}: {estimate([job], store, workers)}")
        total = experiments.counted(len(jobs))
        print(f"{total}, blocks that they share counted once: {estimate(jobs, store, workers)}")
    if plan.missing:
        print(f"with the missing data: {estimate(jobs, store, workers, with_missing=True)}")
    if len(jobs) == 1:
        _print_state(jobs[0], results_dir, store, f"{runner.backend}, {workers} at once, {runner.order}")
    else:
        print(f"results in {results_dir / jobs[0].folder.removesuffix(jobs[0].name)}")
    for deviation in dict.fromkeys(d for job in jobs for d in job.deviations):
        print(f"not as registered: {deviation}")


def _print_content(job: Job, store: Store) -> None:
    """Print the blocks of a cell; title, groups and notes of an experiment."""
    if job.is_cell:
        for block in job.plan.blocks:
            print(f"{'stored' if store.has(block.key) else 'to do':7s}{block.fits:9d} fits  {block.label}")
        return
    print(f"{job.name}: {job.experiment.title} ({job.experiment.kind})")
    for group in job.experiment.groups:
        print(
            f"  {' '.join(group.dataset)}\n    mask {', '.join(group.mask)}; "
            f"epsilon {', '.join(f'{e:g}' for e in group.epsilon)}\n    {', '.join(group.method)}"
        )
    for note in job.experiment.notes:
        print(f"  - {note}")


def _print_state(job: Job, results_dir: Path, store: Store, runner: str) -> None:
    """Print the tables of one job, its settings, and how much of it is stored."""
    from lpbench.cli.answers import print_tables
    from lpbench.experiments.results import Artefact
    from lpbench.reporting.tables.text import tables_of

    if not job.is_cell:
        artefacts = [Artefact(results_dir / job.folder, job.name)]
        if not job.deviations:  # a checkout has the committed summary
            artefacts.append(Artefact(results_dir / REPRODUCED / job.name, job.name))
            for deviation in artefacts[0].deviations:
                print(f"  its results are not of the registered experiment: {deviation}")
        print_tables(next(filter(None, map(tables_of, artefacts)), []))
    print(
        f"{job.name}: {job.experiment.replications} replications, seed {job.seed}; {runner}, "
        f"work limit {job.experiment.work_limit:g} for a cell; results in {results_dir / job.folder}"
    )
    done = sum(store.has(block.key) for block in job.plan.blocks)
    if not job.is_cell and 0 < done < len(job.plan.blocks):
        print(f"{done} of {len(job.plan.blocks)} blocks are stored: lpbench report {job.name} shows what they hold")


def _next(named: Sequence[str], chosen: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """Commands that run what was planned: one where ``lpbench reproduce`` has an option for every setting."""
    if not named:
        return [f"{shlex.join(['lpbench', *overrides])} (runs it)"]
    given = dict(word.split("=", 1) for word in overrides)
    if given.keys() <= _OPTIONS.keys():
        words = [word for key, value in given.items() for word in (_OPTIONS[key], value)]
        return [f"{shlex.join(['lpbench', 'reproduce', *named, *words])} (runs {'it' if len(chosen) == 1 else 'them'})"]
    return [f"{shlex.join(['lpbench', f'experiment={name}', *overrides])} (runs it)" for name in chosen]
