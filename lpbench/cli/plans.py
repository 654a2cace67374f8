"""Plans as text: settings, blocks, fits, time and tables of what would run."""

from collections.abc import Sequence
from pathlib import Path

from lpbench.cli.options import counted
from lpbench.cli.printed_results import print_beside_print, print_tables
from lpbench.datasets.masks import mask_header
from lpbench.datasets.problems import mask_names
from lpbench.experiments.config import Runner
from lpbench.experiments.job import Job
from lpbench.experiments.plan import Plan
from lpbench.experiments.records import worker_count
from lpbench.experiments.results import Artifact
from lpbench.experiments.store import Store
from lpbench.experiments.timing import estimate
from lpbench.paths import REPRODUCED
from lpbench.pipeline import NOTHING, nothing_to_run, print_gaps
from lpbench.selectors import Selector


def print_plans(jobs: Sequence[Job], results_dir: Path, runner: Runner) -> None:
    """Print what jobs would run and hold: the whole of one, a line for each of several and their sum."""
    store, workers = Store(results_dir / "store", writable=False), worker_count(runner)
    plan = sum((job.plan for job in jobs), Plan(()))
    print_gaps(plan)
    if len(jobs) == 1:
        _print_content(jobs[0], store)
        print(NOTHING if nothing_to_run(plan) else estimate(jobs, store, workers))
    else:
        for job in jobs:
            print(f"{job.name}: {estimate([job], store, workers)}")
        total = counted(len(jobs))
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
        group = job.experiment.groups[0]
        if Selector.parse(group.mask[0]).name == "file":
            drawn = job.experiment.data_set(group.dataset[0])
            print(f"header of a mask file: {mask_header(mask_names(drawn.name, drawn.params))}")
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
    """Print the tables of one job, its settings, and how much of it is stored; ``runner`` is the engine in words."""
    from lpbench.reporting.tables.text import tables_of

    if not job.is_cell:
        artifacts = [Artifact(results_dir / job.folder, job.name)]
        if not job.deviations:  # a checkout has the committed summary
            artifacts.append(Artifact(results_dir / REPRODUCED / job.name, job.name))
            for deviation in artifacts[0].deviations:
                print(f"  its results are not of the registered experiment: {deviation}")
        print_tables(next(filter(None, map(tables_of, artifacts)), []))
        print_beside_print(artifacts[-1], results_dir / REPRODUCED)
    print(
        f"{job.name}: {job.experiment.replications} replications, seed {job.seed}; {runner}, "
        f"at most {job.experiment.work_limit:g} s per cell; results in {results_dir / job.folder}"
    )
    done = sum(store.has(block.key) for block in job.plan.blocks)
    if not job.is_cell and 0 < done < len(job.plan.blocks):
        print(f"{done} of {len(job.plan.blocks)} blocks are stored: lpbench report {job.name} shows what they hold")
