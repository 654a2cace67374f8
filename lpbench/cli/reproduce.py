"""``lpbench reproduce``: run experiments, write their results, the report and its pages."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, MissingDataError
from lpbench.experiments import catalog
from lpbench.experiments.config import ORDERS, Runner, Tracking
from lpbench.experiments.experiment import WORK_LIMIT
from lpbench.paths import CONF

if TYPE_CHECKING:
    from lpbench.pipeline import Result
    from lpbench.reporting.publish import Report

QUICK_REPLICATIONS = 2
#: What a quick run is of, unless experiments are named: a few of each kind, without download.
QUICK_EXPERIMENTS = ("extensions/embedded_*", "histoftree/figure2c", "lpct/figure4c")
_RUNNERS = sorted(path.stem for path in (CONF / "runner").glob("*.yaml"))


@click.command(epilog="Interrupted? The same command goes on; lpbench report shows what is done.")
@options.experiments()
@options.count("--replications", "Of every experiment.")
@click.option("--quick", is_flag=True, help=f"A minute: {QUICK_REPLICATIONS} replications, no verdicts.")
@options.seed()
@options.choice("--backend", _RUNNERS, "loky")
@options.count("--workers", "Processes.  [default: one per core]")
@click.option("--address", metavar="HOST", help="Of a running Dask or Ray cluster.")
@options.above_0("--work-limit", "W", f"Seconds of a cell.  [default: {WORK_LIMIT:g}]")
@options.choice("--order", ORDERS, "longest_first")
@click.option("--sealed", is_flag=True, help="Read sealed data sets; `make sealed` does, once.")
@options.tracking("mlflow")
@options.tracking_uri()
@click.option("--overwrite", is_flag=True, hidden=True)
@options.audit()
@options.results()
def command(
    experiments: Sequence[str],
    replications: int | None,
    quick: bool,
    seed: int,
    backend: str,
    workers: int | None,
    address: str | None,
    work_limit: float | None,
    order: str,
    sealed: bool,
    tracking: str,
    tracking_uri: str | None,
    overwrite: bool,
    audit: bool,
    results: Path,
) -> int:
    """Re-run experiments; write their results, a report of the run and its pages.

    EXPERIMENT is a name or a pattern such as 'histoftree/*' (default: all). The committed
    report stays as it is: lpbench report --replace replaces it.
    """
    if overwrite:
        raise ConfigurationError("a run does not replace the committed report: lpbench report --replace does")
    start = time.perf_counter()
    chosen = options.matching(experiments or (QUICK_EXPERIMENTS if quick else ()))
    if len(chosen) > 1:
        print(f"planning {options.counted(len(chosen))} ...", file=sys.stderr, flush=True)
    from lpbench.experiments.job import job_of, placed
    from lpbench.experiments.plan import Plan
    from lpbench.pipeline import NOTHING, nothing_to_run, print_gaps, run_jobs, track
    from lpbench.reporting.publish import report_run

    runner = Runner(backend, workers, address, order)
    replications = replications or (QUICK_REPLICATIONS if quick else None)
    registered = [replace(e, sealed=sealed) for e in catalog.experiments(chosen).values()]
    jobs = placed([job_of(e, replications=replications, work_limit=work_limit, seed=seed) for e in registered])
    within = jobs[0].folder.removesuffix(jobs[0].name).rstrip("/")
    plan = sum((job.plan for job in jobs), Plan(()))
    print_gaps(plan)
    if nothing_to_run(plan):
        raise MissingDataError(NOTHING)
    logged = Tracking("mlflow" if tracking_uri else tracking, tracking_uri)
    result = run_jobs(jobs, results, runner, audit)
    print("judging claims, writing the report and its pages ...", file=sys.stderr, flush=True)
    reports = report_run(results, chosen, within)
    _print_result(result, time.perf_counter() - start, chosen, results / within, quick)
    print_reports(reports)
    if within:
        print(f"runs: {results / within}")
    track(jobs, results, logged)
    if logged.backend == "mlflow":
        _print_opening(tracking_uri, results)
    return result.exit_code


def _print_opening(uri: str | None, results: Path) -> None:
    """Print the command that opens the tracking store, if it is a file that is there."""
    from lpbench import tracking
    from lpbench.cli.new_method import shown

    store = tracking.tracking_uri(uri, results)
    if store.startswith("sqlite") and tracking.has_file(store):
        program = shown(Path(sys.executable).with_name("mlflow"))
        print(f"runs: {program} ui --backend-store-uri {shlex.quote(store)}")


def print_reports(reports: Sequence[Report]) -> None:
    """Say where reports are."""
    for report in reports:
        print(f"report: {report.target / 'report.md'} ({options.counted(len(report.shown))})")
        print(f"page: {report.target / 'index.html'}")


def _print_result(result: Result, seconds: float, names: Sequence[str], results: Path, quick: bool) -> None:
    """Print counts and failures of a run; the tables of a single experiment.

    Verdicts unless the run was a quick one.
    """
    from lpbench.cli.printed_results import print_tables, print_verdicts
    from lpbench.experiments.results import Artifact
    from lpbench.reporting.tables.text import tables_of

    run = result.run
    print(
        f"{len(run.outcomes)} blocks run in place of {run.fits} single fits, {run.reused} reused, "
        f"{len(result.written)} artifacts written, {seconds:.1f} s"
    )
    for outcome in run.failed:
        print(outcome.line())
    if not result.is_complete:
        print("INCOMPLETE: what is named above has no result; the same command tries it again")
    if len(names) == 1:
        print_tables(tables_of(Artifact(results / names[0], names[0])))
    if not quick:
        print_verdicts(names, results)
