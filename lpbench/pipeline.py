"""A whole run: plan, execute, write results, report, track."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lpbench.datasets import describe
from lpbench.datasets.sources import MIRROR_VARIABLE, mirror_folder
from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner, Tracking
from lpbench.experiments.engines import engine
from lpbench.experiments.estimate import writing_seconds
from lpbench.experiments.experiment import Experiment, labelled
from lpbench.experiments.job import Job
from lpbench.experiments.limits import SECONDS_OF_WORK
from lpbench.experiments.plan import Plan, by_name, registered_methods
from lpbench.experiments.records import environment, record_of, stamp_of, worker_count
from lpbench.experiments.results import RECORD, Artefact, Results
from lpbench.experiments.run import RunReport, progress_bar, run_blocks
from lpbench.experiments.store import Store
from lpbench.experiments.timing import timing_table
from lpbench.files import locked, refusal
from lpbench.paths import DOWNLOAD
from lpbench.reporting.paper import sources
from lpbench.selectors import Selector

#: Artefacts written at once at most: a large figure takes gigabytes.
_WRITERS = 4

#: Said where :func:`nothing_to_run` holds.
NOTHING = "nothing can be run without these data"

#: Methods that learn nothing from the features, by task.
_FLOORS = {"regression": "private_mean", "classification": "private_majority"}


@dataclass
class Result:
    """What a workflow did."""

    run: RunReport
    plan: Plan
    written: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 if complete: every planned block has a result and every artefact is written."""
        return int(bool(self.problems or self.run.failed))


def run_jobs(
    jobs: Sequence[Job],
    results_dir: Path,
    runner: Runner | None = None,
    tracking: Tracking | None = None,
    *,
    progress: bool = True,
) -> Result:
    """Run jobs and write ``<results>/<experiment>/`` for each of them.

    A single cell without a result leaves no folder.
    """
    runner, store = runner or Runner(), Store(results_dir / "store")
    plan = sum((job.plan for job in jobs), Plan(()))
    workers = worker_count(runner)
    writing = sum(map(writing_seconds, jobs)) * workers / min(workers, _WRITERS, max(len(jobs), 1))
    result = Result(run=_execute(jobs, plan, runner, store, progress, writing), plan=plan)
    lost = {o.key for o in result.run.failed}
    jobs = [j for j in jobs if not (j.is_cell and (not j.plan.blocks or lost & {b.key for b in j.plan.blocks}))]
    log = _Tracking(results_dir, tracking or Tracking())
    for job, changed, problem in _write_all(jobs, results_dir, runner, store, progress, result.run.work / workers):
        if problem:
            result.problems.append(f"{job.name}: {problem}")
            print(f"error: {job.name}: {problem}", file=sys.stderr)
        elif changed:
            result.written.append(job.folder)
            # this process has nothing else to do while the others write
            log.add([job])
    log.add([job for job in jobs if job.folder not in result.written])
    log.finish()
    return result


class _Tracking:
    """Logs finished artefacts to MLflow; a store that fails is reported once everything else is done."""

    def __init__(self, results_dir: Path, tracking: Tracking):
        self._results_dir, self._tracking = results_dir, tracking
        self._error: LpbenchError | None = None

    def add(self, jobs: Sequence[Job]) -> None:
        """Log the artefacts of jobs, where there are any."""
        if self._tracking.backend == "mlflow" and self._error is None:
            artefacts = [Artefact(self._results_dir / job.folder, job.name) for job in jobs]
            try:
                _track([a for a in artefacts if a.is_finished], self._results_dir, self._tracking.uri)
            except LpbenchError as error:
                self._error = error

    def finish(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error


def _execute(
    jobs: Sequence[Job], plan: Plan, runner: Runner, store: Store, progress: bool, writing: float
) -> RunReport:
    timeouts: dict[str, float] = {}
    for job in jobs:
        for entry in job.plan.entries:
            if entry.block is not None:
                whole = SECONDS_OF_WORK * job.experiment.work_limit * entry.cells
                timeouts[entry.block.key] = max(whole, timeouts.get(entry.block.key, 0.0))
    return run_blocks(plan.blocks, store, runner, progress=progress, timeouts=timeouts, afterwards=writing)


def _write_all(
    jobs: Sequence[Job], results_dir: Path, runner: Runner, store: Store, progress: bool, computed: float
) -> Iterator[tuple[Job, bool, str]]:
    """Write the artefacts that are not up to date, those with the most fits first; yield each when it is done.

    Yields
    ------
    job, changed, problem
        Whether it was written anew, and why it could not be.
    """
    stamps = {job.folder: stamp_of(job, store, sources(job.name)) for job in jobs}
    todo = {job.folder: job for job in jobs if not _is_current(results_dir / job.folder, stamps[job.folder])}
    yield from ((job, False, "") for job in jobs if job.folder not in todo)
    by_size = sorted(todo.values(), key=lambda job: -sum(b.fits for b in job.plan.blocks))
    calls = {job.folder: (job, stamps[job.folder], results_dir, runner) for job in by_size}
    # artefacts are written on this machine, wherever blocks are computed
    local = "loky" if runner.backend != "serial" and len(calls) > 1 else "serial"
    writers = min(runner.workers or os.cpu_count() or 1, _WRITERS)
    seconds = {folder: writing_seconds(job) / min(writers, len(todo)) for folder, job in todo.items()}
    with (
        engine(local, writers) as mapping,
        # goes on where the bar of the blocks has ended
        progress_bar(computed + sum(seconds.values()), computed, progress and bool(todo)) as bar,
    ):
        for folder, problem in mapping(_try_to_write, list(calls.values())):
            bar.update(seconds[folder])
            del calls[folder]
            yield todo[folder], not problem, problem
    for call in calls.values():  # what a worker did not live to write
        folder, problem = _try_to_write(*call)
        yield todo[folder], not problem, problem


def _is_current(folder: Path, stamp: str) -> bool:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    if record.get("stamp") != stamp:
        return False
    try:
        # a file that was cut short is written again
        return all((folder / name).stat().st_size == size for name, size in record["files"].items())
    except (OSError, KeyError, AttributeError):
        return False


def _try_to_write(job: Job, stamp: str, results_dir: Path, runner: Runner) -> tuple[str, str]:
    """Folder of the artefact, and why it could not be written."""
    folder = results_dir / job.folder
    try:
        # whoever reads all of them waits; and another run may be at this one, or have just written it
        with locked(_lock(results_dir), shared=True), locked(_lock(results_dir, job.folder)):
            if not _is_current(folder, stamp):
                write(job, stamp, results_dir, runner)
        return job.folder, ""
    except LpbenchError as error:
        return job.folder, str(error)
    except OSError as error:
        return job.folder, refusal(error, error.filename or folder) or f"{type(error).__name__}: {error}"


def _lock(results_dir: Path, folder: str = "") -> Path:
    """Lock of an artefact, or of all of them."""
    name = hashlib.sha256(folder.encode()).hexdigest()[:16] if folder else "all"
    return results_dir / "store" / "locks" / name


def write(job: Job, stamp: str, results_dir: Path, runner: Runner) -> None:
    """Write scores, summary, comparison, tables, figures and ``run.json`` of one job."""
    # drawing takes a second to import, and most calls find everything written
    from lpbench.reporting.artefact import write_artefact
    from lpbench.reporting.drawings import write_drawing

    folder, store = results_dir / job.folder, Store(results_dir / "store")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RECORD).unlink(missing_ok=True)
    shown, scores = labelled(job.experiment, job.deviations), None
    if job.experiment.kind == "drawing":
        write_drawing(shown, folder, job.seed)
    else:
        scores = assemble(job.plan.entries, store)
        scores.to_parquet(folder / "scores.parquet", compression="zstd", index=False)
        write_artefact(shown, scores, by_name(job.methods), folder, job.seed)
    record = record_of(job, stamp, runner, folder, store, scores)
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def track_results(results_dir: Path, uri: str | None) -> int:
    """Log to MLflow what a results folder holds and MLflow does not; returns the number of runs written."""
    results = Results(results_dir)
    return _track([*results.finished(), *results.cells()], results_dir, uri)


def _track(artefacts: Sequence[Artefact], results_dir: Path, uri: str | None) -> int:
    from lpbench.tracking import rebuild, tracking_uri

    records = [(a.folder, a.record) for a in artefacts if a.summary_file.is_file()]
    return rebuild(tracking_uri(uri, results_dir), results_dir, records) if records else 0


def publish(results_dir: Path, missing: Mapping[str, str], unjudged: Sequence[str] | None = None) -> Path:
    """Copy what is small into ``<results>/reproduced`` and write the report and its pages there.

    Parameters
    ----------
    results_dir : Path
    missing : mapping of str to str
        Data sets that were not at hand -> how to get them.
    unjudged : sequence of str, optional
        Report on these experiments alone and judge no claim: a few replications decide nothing.
    """
    with locked(_lock(results_dir)):
        return _publish(results_dir, missing, unjudged)


def _publish(results_dir: Path, missing: Mapping[str, str], unjudged: Sequence[str] | None) -> Path:
    from lpbench.reporting.causes import write_causes
    from lpbench.reporting.pages.site import write_pages
    from lpbench.reporting.paper import papers
    from lpbench.reporting.report import write_report

    target, results = results_dir / "reproduced", Results(results_dir)
    names = list(catalogue.experiment_names() if unjudged is None else unjudged)
    finished = [artefact for artefact in results.finished() if artefact.name in names]
    ran = {artefact.name for artefact in finished}
    # what runs on request alone is missed by nobody
    registered = catalogue.experiments(name for name in names if name not in ran)
    names = [name for name in names if name in ran or not registered[name].on_request]
    for artefact in finished:
        _copy(artefact, target / artefact.name)
    target.mkdir(parents=True, exist_ok=True)
    timing_table(a.record for a in finished).to_csv(target / "timing.csv", index=False, lineterminator="\n")
    experiments = [results.artefact(name).experiment for name in names]
    content = (results_dir, experiments, sorted(missing.items()), environment(), target)
    if unjudged is None:
        write_causes(papers(), results_dir, target)
    write_report(*content, judged=unjudged is None)
    selectors = dict.fromkeys(m for e in experiments for m in e.methods)
    write_pages(*content, by_name(registered_methods(selectors)))
    shutil.copyfile(target / "claims.csv", results_dir / "claims.csv")
    return target


def publish_experiment(results_dir: Path, name: str) -> Path:
    """Write the page of one finished experiment, if it is older than its results; the report stays as it is.

    Returns
    -------
    Path
        The page.
    """
    # takes a second to import
    from lpbench.reporting.pages.site import alone, write_experiment_page

    artefact = Results(results_dir).artefact(name)
    page, record = results_dir / alone(name), artefact.folder / RECORD
    if not page.is_file() or page.stat().st_mtime < record.stat().st_mtime:
        experiment = artefact.experiment
        write_experiment_page(results_dir, experiment, environment(), by_name(registered_methods(experiment.methods)))
    return page


def _copy(artefact: Artefact, destination: Path) -> None:
    """Copy an artefact without its scores and its record."""
    files = artefact.record["files"]
    for old in destination.glob("*"):
        if old.is_file() and old.name not in files:
            old.unlink()
    for name in files:
        if not name.endswith((".parquet", RECORD)):
            copied = destination / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(artefact.folder / name, copied)


def floor_scores(cells: Sequence[Artefact], results_dir: Path) -> dict[Path, str]:
    """Print the floor beside each single cell: the same replications of the method that learns nothing from features.

    What the store does not hold is computed here; it takes a fraction of a second.

    Returns
    -------
    dict
        Folder of the cell -> the floor's score; cells without one are left out.
    """
    from lpbench.reporting.tables.text import print_score

    store, jobs = Store(results_dir / "store"), {}
    for cell in cells:
        config = cell.record["config"]
        experiment = Experiment.from_record(config["experiment"])
        group = experiment.groups[0]
        task = describe(*_name_and_params(group.dataset[0])).task
        groups = (replace(group, method=(_FLOORS[task],), grid={}),)
        jobs[cell.folder] = Job(replace(experiment, groups=groups), config["seed"])
    plan = sum((job.plan for job in jobs.values()), Plan(()))
    run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False)
    found = {}
    for folder, job in jobs.items():
        values = assemble(job.plan.entries, store)["value"].dropna()
        if len(values):
            found[folder] = print_score(values.mean(), values.sem())
    return found


def _name_and_params(selector: str) -> tuple[str, Mapping[str, Any]]:
    parsed = Selector.parse(selector)
    return parsed.name, parsed.params


def describe_left_out(left_out: Mapping[str, str]) -> str:
    """A paragraph that lists the cells over the work limit of their experiments."""
    lines = [f"{len(left_out)} cell(s) left out by plan, on every machine:"] if left_out else []
    return "\n".join(lines + [f"  {cell}: {reason}" for cell, reason in left_out.items()])


def describe_missing(missing: Mapping[str, str]) -> str:
    """A paragraph that lists missing data sets and how to get them."""
    if not missing:
        return ""
    lines = [f"{len(missing)} data set(s) not at hand; their cells are skipped:"]
    lines += [f"  {name}: {how}" for name, how in sorted(missing.items())]
    mirror = mirror_folder()
    if mirror is None:
        lines.append(f"Set {MIRROR_VARIABLE} to a folder with the files, or run `{DOWNLOAD}`; then the same command.")
    elif not mirror.is_dir():
        lines.append(f"{MIRROR_VARIABLE}={mirror}: the folder does not exist.")
    return "\n".join(lines)


def nothing_to_run(plan: Plan) -> bool:
    """Whether data are missing, and nothing is left to run without them."""
    return bool(plan.missing) and not plan.blocks
