"""A whole run: plan, execute, write results, track."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from lpbench.analysis.summary import NO_AUDIT, NO_PRIVACY, OVER_AS_PUBLISHED, Summary, barred
from lpbench.datasets import describe
from lpbench.datasets.sources import MIRROR_VARIABLE, mirror_folder
from lpbench.derivation import PICTURES, Derivation, record_in
from lpbench.digest import hash_of
from lpbench.disk import atomic_write, locked, write_text
from lpbench.errors import ConfigurationError, TrackingError
from lpbench.experiments import catalog
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner, Tracking
from lpbench.experiments.derive import make_all
from lpbench.experiments.experiment import labeled
from lpbench.experiments.job import Job
from lpbench.experiments.method import is_own
from lpbench.experiments.plan import Plan, by_name
from lpbench.experiments.progress import Progress
from lpbench.experiments.records import begin, begun, end, files_of, record_of, rows_of
from lpbench.experiments.results import RECORD, Artifact, Results
from lpbench.experiments.run import RunReport, run_blocks
from lpbench.experiments.spent import costs_of
from lpbench.experiments.store import Store, lock_of
from lpbench.members import CONSTANTS, member
from lpbench.paths import DOWNLOAD
from lpbench.reporting.derived import drawn_from
from lpbench.reporting.paper import Paper, paper_of, sources

#: Said where :func:`nothing_to_run` holds.
NOTHING = "nothing can be run without these data"


@dataclass
class Result:
    """Account of a run: its plan and blocks, the names of what was written, and the methods barred from ranks.

    ``problems`` are sentences about what could not be written.
    """

    run: RunReport
    plan: Plan
    written: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    #: Methods that have neither rank nor star, and why.
    barred: dict[str, str] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)  # of the experiments, by their names

    @property
    def is_complete(self) -> bool:
        """True if every planned block has a result and every artifact is written."""
        return not (self.problems or self.run.failed)

    @property
    def exit_code(self) -> int:
        """0 if complete, and no method broke its promise."""
        return int(not self.is_complete or any(map(is_broken, self.barred.values())))


def audited(jobs: Sequence[Job], run: bool = True) -> list[Job]:
    """Add the audit's verdict on each method of somebody's own to its jobs; ``run`` audits where there is none."""
    user_methods = {m.name: m for job in jobs for m in job.methods.values() if is_own(m.estimator)}
    if not user_methods:
        return list(jobs)
    from lpbench.audit.own_methods import audit_of  # brings every estimator

    verdicts = {name: audit_of(method, run) for name, method in user_methods.items()}
    names = [{m.name for m in job.methods.values()} & verdicts.keys() for job in jobs]
    pairs = zip(jobs, names, strict=True)
    return [replace(job, audits={n: verdicts[n] for n in sorted(of_job)}) if of_job else job for job, of_job in pairs]


def is_broken(audit: str) -> bool:
    """Return True if a verdict names a broken promise, not only one that was not made or not audited."""
    return not audit.startswith((NO_AUDIT, NO_PRIVACY, OVER_AS_PUBLISHED))


def tell_barred(barred: Mapping[str, str]) -> None:
    """Say on the screen which methods have neither rank nor star, and why."""
    for name, why in barred.items():
        kind = "error" if is_broken(why) else "note"
        print(f"{kind}: {name} has neither rank nor star: {why}", file=sys.stderr)


def run_jobs(jobs: Sequence[Job], results_dir: Path, runner: Runner | None = None, audit: bool = True) -> Result:
    """Run jobs and write their artifacts; cells without data have none."""
    runner, store, jobs = runner or Runner(), Store(results_dir / "store"), audited(jobs, audit)
    plan = sum((job.plan for job in jobs), Plan(()))
    begin(jobs, store)
    with Progress() as bar:
        try:
            result = Result(run=_execute(jobs, plan, runner, store, bar), plan=plan, papers=papers_of(jobs))
        except KeyboardInterrupt:
            print(f"\n{_stored(plan, store)}; `lpbench report` shows what they hold", file=sys.stderr)
            raise
        jobs = [job for job in jobs if job.plan.blocks or not job.is_cell]
        for job, changed, problem in _write_all(jobs, result.papers, results_dir, runner, bar):
            if problem:
                result.problems.append(f"{job.name}: {problem}")
                print(f"error: {job.name}: {problem}", file=sys.stderr)
                continue
            end(job, store)
            if changed:
                result.written.append(job.folder)
    for job in jobs:
        result.barred |= barred(costs_of(job, store))
    tell_barred(result.barred)
    return result


def summarized(job: Job, results_dir: Path, runner: Runner, audit: bool = True) -> Summary:
    """Run the blocks of one method and summarize them, without writing an artifact.

    It is refused where a block has no result, unless the method broke its promise, which is said on the screen.
    """
    from lpbench.reporting.artifact import summarize_experiment  # drawing takes a second to import

    store, [job] = Store(results_dir / "store"), audited([job], audit)
    run = run_blocks(job.plan.blocks, store, runner)
    scores, costs = assemble(job.plan.entries, store), costs_of(job, store)
    bars = barred(costs)
    if (run.failed or not scores["value"].notna().any()) and not any(map(is_broken, bars.values())):
        reasons = "; ".join(dict.fromkeys(outcome.reason for outcome in run.failed)) or NOTHING
        raise ConfigurationError(f"{', '.join(method.name for method in job.overridden.values())}: {reasons}")
    tell_barred(bars)
    return summarize_experiment(job.experiment, scores, job.methods, costs=costs)


def track(jobs: Sequence[Job] | None, results_dir: Path, tracking: Tracking) -> int:
    """Log what jobs wrote, or all there is, and return the number of runs; a refusal of MLflow's is a warning."""
    if tracking.backend != "mlflow":
        return 0
    sys.stdout.flush()  # numbers are not held up by a server
    try:
        if jobs is None:
            return track_results(results_dir, tracking.uri)
        artifacts = [Artifact(results_dir / job.folder, job.name) for job in jobs]
        return _track([a for a in artifacts if a.was_computed], results_dir, tracking.uri)
    except TrackingError as error:
        where = f"--tracking-uri {tracking.uri}" if tracking.uri else "--tracking mlflow"
        later = f"lpbench report --results {results_dir} {where}"
        print(f"warning: not logged to MLflow: {error}. No result is lost; `{later}` makes it up", file=sys.stderr)
        return 0


def _stored(plan: Plan, store: Store) -> str:
    keys = store.keys()
    return f"{sum(block.key in keys for block in plan.blocks)} of {len(plan.blocks)} blocks are stored"


def _execute(jobs: Sequence[Job], plan: Plan, runner: Runner, store: Store, bar: Progress) -> RunReport:
    """Compute the blocks of a plan within each one's time limit, the largest of the jobs that need it."""
    seconds: dict[str, float] = {}
    timed = {block.key for job in jobs if job.experiment.kind == "timing" for block in job.plan.blocks}
    for job in jobs:
        for entry in job.plan.entries:
            if entry.block is not None:
                limit = job.experiment.work_limit * entry.cells
                seconds[entry.block.key] = max(limit, seconds.get(entry.block.key, 0.0))
    return run_blocks(plan.blocks, store, runner, timeouts=seconds, bar=bar, timed=timed)


def papers_of(jobs: Sequence[Job]) -> dict[str, Paper]:
    """Papers of jobs by their names; a single cell is of no paper, and papers load matplotlib."""
    return {job.name: paper_of(job.name) for job in jobs if not job.is_cell}


def _write_all(
    jobs: Sequence[Job], papers: Mapping[str, Paper], results_dir: Path, runner: Runner, bar: Progress
) -> Iterator[tuple[Job, bool, str]]:
    """Write artifacts that are not current, drawings first: yield job, True if written, and the error or ""."""
    by_size = sorted(jobs, key=lambda j: (j.experiment.kind != "drawing", -sum(b.fits for b in j.plan.blocks)))
    made = {job.folder: job for job in by_size}
    if len(made) > 1:
        bar.stage(f"writing what is outdated of {len(made)} artifacts")
    workers = 1 if runner.backend == "serial" else runner.workers  # of this machine, wherever blocks are computed
    artifacts = [artifact_of(job, papers.get(job.name), results_dir, runner) for job in by_size]
    for derivation, written, problem in make_all(artifacts, workers):
        yield made[derivation.name], written, problem


def artifact_of(job: Job, paper: Paper | None, results_dir: Path, runner: Runner) -> Derivation:
    """Tables and figures of a job as what follows from its blocks, its configuration and the code that writes them."""
    inputs = drawn_from(job.experiment, job.seed, job.methods, paper)
    inputs |= {"rows": rows_of(job, Store(results_dir / "store", writable=False)), "deviations": list(job.deviations)}
    record, write = record_in(results_dir / job.folder, "artifact"), partial(_write, job, results_dir, runner, paper)
    return Derivation(job.folder, inputs | {"audits": job.audits}, sources(job.name), PICTURES, record, write)


def write_sweeps(cells: Sequence[Artifact], results_dir: Path) -> None:
    """Write the cells of a multirun as a table for each seed, and each setting that it has no column for.

    Cells whose method is not as registered stay alone, for only they know it.
    """
    sweeps: dict[str, list[Artifact]] = {}
    for cell in cells:
        if not cell.deviations:
            sweeps.setdefault(repr([cell.seed, replace(cell.experiment, groups=())]), []).append(cell)
    jobs = []
    for cell, *others in sweeps.values():
        groups = tuple(group for one in (cell, *others) for group in one.experiment.groups)
        title = f"Sweep of {', '.join(dict.fromkeys(name for group in groups for name in group.method))}"
        experiment = replace(cell.experiment, kind="table", title=title, groups=groups)
        folder = f"single/sweep-{hash_of(repr([cell.seed, experiment]))[:12]}"
        jobs += [Job(experiment, cell.seed, folder=folder)] if others else []
    for job, _, problem in _write_all(jobs, {}, results_dir, Runner(backend="serial"), Progress(False)):
        if problem:
            print(f"warning: {job.folder} is not written: {problem}", file=sys.stderr)


def write_unfinished(results_dir: Path, names: Sequence[str] = ()) -> list[str]:
    """Write the artifacts of interrupted runs (default: all) from the stored blocks; returns a line for each."""
    if not (results_dir / "store").is_dir():
        return []
    store = Store(results_dir / "store")
    jobs = [job for job in begun(store) if not names or job.name in names]
    stored = store.keys()
    with_blocks = [job for job in jobs if any(block.key in stored for block in job.plan.blocks)]
    lines = [f"{job.folder}: {_stored(job.plan, store)}, the command that was interrupted goes on" for job in jobs]
    with Progress() as bar:
        for job, _, problem in _write_all(with_blocks, papers_of(with_blocks), results_dir, Runner(), bar):
            lines += [f"error: {job.folder}: {problem}"] if problem else []
    return lines


def _write(job: Job, results_dir: Path, runner: Runner, paper: Paper | None) -> list[Path]:
    """Write scores, summary, comparison, tables, figures and ``run.json`` of one job; return all files."""
    # drawing takes a second to import, and most calls find everything written
    from lpbench.reporting.artifact import write_artifact, write_drawing

    folder, store = results_dir / job.folder, Store(results_dir / "store")
    with locked(lock_of(store.root), shared=True):  # who reads all artifacts waits
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RECORD).unlink(missing_ok=True)
        titled, scores = labeled(job.experiment, job.deviations), None
        if job.experiment.kind == "drawing":
            write_drawing(titled, folder, job.seed, paper)
        else:
            scores = assemble(job.plan.entries, store)
            with atomic_write(folder / "scores.parquet") as file:
                scores.to_parquet(file, compression="zstd", index=False, write_statistics=["replication"])
            write_artifact(titled, scores, by_name(job.methods), folder, job.seed, costs_of(job, store), paper)
        record = record_of(job, runner, folder, store, scores)
        write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", folder / RECORD)
        return files_of(folder)


def track_results(results_dir: Path, uri: str | None) -> int:
    """Log to MLflow what a results folder holds and MLflow does not; returns the number of runs written."""
    results = Results(results_dir)
    deviating = [artifact for run in results.runs() for artifact in run.finished()]
    cells = list(results.cells())
    swept = {key for cell in cells if "group" not in cell.record for key in cell.record["block_times"]}
    alone = [c for c in cells if "group" not in c.record or not swept & c.record["block_times"].keys()]
    return _track([*results.finished(), *deviating, *alone], results_dir, uri)


def _track(artifacts: Sequence[Artifact], results_dir: Path, uri: str | None) -> int:
    from lpbench.tracking import rebuild, tracking_uri

    todo = [(a.folder, a.record) for a in artifacts if a.was_computed or a.summary_file.is_file()]
    return rebuild(tracking_uri(uri, results_dir), results_dir, todo) if todo else 0


def baseline_scores(cells: Sequence[Artifact], results_dir: Path) -> dict[Path, tuple[float, float]]:
    """Mean and standard error of each cell's constant, by its folder; what is not stored is computed here."""
    store, jobs = Store(results_dir / "store"), {}
    for cell in cells:
        experiment, group = cell.experiment, cell.experiment.groups[0]
        dataset = member(group.dataset[0])
        task = describe(dataset.name, dataset.params).task
        constant = next(name for name in CONSTANTS if catalog.method(name).task == task)
        groups = (replace(group, method=(constant,), grid={}),)
        jobs[cell.folder] = Job(replace(experiment, groups=groups), cell.seed)
    plan = sum((job.plan for job in jobs.values()), Plan(()))
    run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False)
    means = {}
    for folder, job in jobs.items():
        values = assemble(job.plan.entries, store)["value"].dropna()
        if len(values):
            means[folder] = (float(values.mean()), float(values.sem()))
    return means


def print_gaps(plan: Plan) -> None:
    """Print which data sets are missing, and which cells the experiments leave out."""
    if plan.missing:
        print(describe_missing(plan.missing))
    if plan.left_out:
        print(f"{len(plan.left_out)} cell(s) left out by plan, on every machine:")
    for cell, reason in plan.left_out.items():
        print(f"  {cell}: {reason}")
    sys.stdout.flush()


def describe_missing(missing: Mapping[str, str]) -> str:
    """A paragraph that lists missing data sets and how to get them."""
    lines = [f"{len(missing)} data set(s) not at hand; their cells are skipped:"]
    lines += [f"  {name}: {how}" for name, how in sorted(missing.items())]
    mirror = mirror_folder()
    if mirror is None:
        lines.append(f"Set {MIRROR_VARIABLE} to a folder with the files, or run `{DOWNLOAD}`; then the same command.")
    elif not mirror.is_dir():
        lines.append(f"{MIRROR_VARIABLE}={mirror}: the folder does not exist.")
    return "\n".join(lines)


def nothing_to_run(plan: Plan) -> bool:
    """Return True if data are missing and no block of the plan can be computed without them."""
    return bool(plan.missing) and not plan.blocks
