"""Run or plan what Hydra composed: one cell, one experiment, or the end of a multirun."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from lpbench.cli import printed_results as answers
from lpbench.cli.plans import print_plans
from lpbench.disk import write_text
from lpbench.errors import ConfigurationError, MissingDataError
from lpbench.experiments.compute import Outcome
from lpbench.experiments.config import Config, Tracking
from lpbench.experiments.job import Job, job_from, placed
from lpbench.experiments.results import Artifact
from lpbench.experiments.store import Store
from lpbench.pipeline import NOTHING, Result, describe_missing, nothing_to_run, run_jobs, track, write_sweeps

#: File in a job's folder of a multirun: the folder of the cell's results, and what was given.
_CELL = "cell.json"


def run_config(config: Config, overrides: Sequence[str], job_folder: str | None = None) -> int:
    """Run a composed configuration and return the exit code; MissingDataError if no block can run.

    In a multirun ``job_folder`` is the job's, and results are shown at the end. ``overrides`` are the words given.
    """
    [job], results_dir = placed([job_from(config, overrides)]), Path(config.results_dir).resolve()
    if config.dry_run:
        print_plans([job], results_dir, config.runner)
        return 0
    if job.plan.missing:
        print(describe_missing(job.plan.missing), file=sys.stderr)
    if nothing_to_run(job.plan):
        raise MissingDataError(NOTHING)
    tracking = Tracking() if job_folder else config.tracking
    result = run_jobs([job], results_dir, config.runner, audit=config.audit)
    if job.is_cell:
        if job_folder and result.plan.blocks:
            given = dict(word.lstrip("+").partition("=")[::2] for word in overrides)
            write_text(json.dumps({"folder": job.folder, "given": given}), Path(job_folder) / _CELL)
        exit_code = _conclude_cell(job, result, results_dir, config.selection) or result.exit_code
    else:
        _conclude(job, result, results_dir)
        exit_code = result.exit_code
    track([job], results_dir, tracking)
    return exit_code


def _conclude(job: Job, result: Result, results_dir: Path) -> None:
    """Print a run's tables, verdicts, counts and deviations, and write the page of a finished artifact."""
    from lpbench.reporting.publish import report_experiment
    from lpbench.reporting.tables.text import tables_of

    run, folder = result.run, results_dir / job.folder
    artifact = Artifact(folder, job.name)
    answers.print_tables(tables_of(artifact))
    answers.print_verdicts([job.name], artifact.results)
    print(
        f"{len(run.outcomes)} blocks run in place of {run.fits} single fits, {run.reused} reused, "
        f"{len(run.failed)} without a result, {run.seconds:.1f} s; results in {folder}"
    )
    for deviation in job.deviations:
        print(f"not as registered: {deviation}")
    if artifact.is_finished:
        print(f"page: {report_experiment(artifact.results, job.name, result.papers[job.name])}")


def _is_refused(outcome: Outcome) -> bool:
    """Return True if a block did not start because a parameter has an impossible value."""
    return outcome.reason.startswith(f"{ConfigurationError.__name__}: ")


def _conclude_cell(job: Job, result: Result, results_dir: Path, selection: str) -> int:
    """Print the numbers of a cell by ``selection``, or why there are none; return the exit code.

    It is 0, 1 for a failure or 2 for a parameter with an impossible value.
    """
    for cell, reason in result.plan.left_out.items():
        print(f"error: {cell}: {reason}", file=sys.stderr)
        return 1
    for outcome in result.run.failed:
        failure = Store(results_dir / "store").root / "failures" / f"{outcome.key}.json"
        trace = "" if _is_refused(outcome) else f"; the traceback is in {failure}"
        print(f"error: {' '.join(job.folder.split('/')[1:])}: {outcome.reason}{trace}", file=sys.stderr)
    if result.run.failed or result.problems:
        return 2 if not result.problems and all(map(_is_refused, result.run.failed)) else 1
    artifact = Artifact(results_dir / job.folder, job.name)
    if not artifact.was_run:
        reasons = "; ".join(dict.fromkeys(artifact.full.reasons["reason"])) if artifact.full else "no score"
        print(f"error: {' '.join(job.folder.split('/')[1:])}: {reasons}", file=sys.stderr)
        return 1
    if artifact.summary is not None:
        answers.print_cell(artifact.summary, selection, result.run.reused > 0)
    for deviation in job.deviations:
        print(f"not as registered: {deviation}")
    return 0


def conclude_multirun(results_dir: Path, folder: Path, tracking: Tracking) -> None:
    """Print one table of all cells of a multirun, and log them; its ``folder`` has one folder a job."""
    if not (results_dir / "store").is_dir():
        return
    jobs = sorted(folder.glob(f"*/{_CELL}"), key=lambda path: int(path.parent.name))
    cells: dict[str, dict[str, str]] = {}
    for path in jobs:
        try:
            cell = json.loads(path.read_text(encoding="utf-8"))
            if Artifact(results_dir / cell["folder"], "single").was_computed:
                cells.setdefault(cell["folder"], dict(cell["given"]))
        except (OSError, ValueError, LookupError, TypeError) as error:
            print(f"warning: {path} cannot be read ({error}); run this cell again", file=sys.stderr)
    answers.print_sweep(cells, results_dir, folder / "sweep.csv")
    if tracking.backend == "mlflow":
        write_sweeps([Artifact(results_dir / cell, "single") for cell in cells], results_dir)
        print(f"{track(None, results_dir, tracking)} runs written to MLflow")
