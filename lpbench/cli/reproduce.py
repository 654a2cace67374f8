"""``lpbench reproduce``: run experiments, write their results, the report and its pages."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.errors import unknown_name
from lpbench.experiments import catalogue
from lpbench.experiments.config import CELL_TIMEOUT, ORDERS, Runner, Tracking
from lpbench.experiments.experiment import Experiment
from lpbench.paths import CONF

if TYPE_CHECKING:
    from lpbench.pipeline import Result

QUICK_REPLICATIONS = 2
#: Seconds that a quick run gives a cell.
QUICK_CELL_TIMEOUT = 10.0
#: What a quick run is of, unless experiments are named: a few of each kind, without download.
QUICK = ("extensions/embedded_*", "histoftree/figure2c", "lpct/figure4c")
_RUNNERS = sorted(path.stem for path in (CONF / "runner").glob("*.yaml"))
_TRACKING = ("mlflow", "none")


@click.command(
    epilog="Interrupted? The same command goes on. Next: open reproduced/index.html in the results folder.",
)
@click.argument("experiments", nargs=-1, type=options.NameOf("experiment"), metavar="[EXPERIMENT]...")
@options.count("--replications", "Of every experiment.")
@click.option("--quick", is_flag=True, help=f"A minute: {QUICK_REPLICATIONS} replications, no verdicts.")
@options.seed()
@options.choice("--backend", _RUNNERS, "loky")
@options.count("--workers", "Processes.  [default: one per core]")
@click.option("--address", metavar="HOST", help="Of a running Dask or Ray cluster.")
@click.option(
    "--cell-timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="S",
    help=f"Seconds for a cell.  [default: {CELL_TIMEOUT:g}]",
)
@options.choice("--order", ORDERS, "longest_first")
@options.choice("--tracking", _TRACKING, "mlflow")
@options.tracking_uri()
@options.results()
def command(
    experiments: Sequence[str],
    replications: int | None,
    quick: bool,
    seed: int,
    backend: str,
    workers: int | None,
    address: str | None,
    cell_timeout: float | None,
    order: str,
    tracking: str,
    tracking_uri: str | None,
    results: Path,
) -> int:
    """Re-run experiments; write their results, the report and its pages.

    EXPERIMENT is a name or a pattern such as 'histoftree/*' (default: all).
    """
    start = time.perf_counter()
    chosen = select_experiments(experiments or (QUICK if quick else ()))
    from lpbench.experiments.job import job_of
    from lpbench.experiments.plan import Plan
    from lpbench.pipeline import describe_missing, publish, run_jobs

    limit = QUICK_CELL_TIMEOUT if quick else CELL_TIMEOUT
    runner = Runner(backend, workers, address, limit if cell_timeout is None else cell_timeout, order)
    replications = QUICK_REPLICATIONS if quick and replications is None else replications
    jobs = [job_of(experiment, replications=replications, seed=seed) for experiment in chosen]
    missing = sum((job.plan for job in jobs), Plan(())).missing
    if missing:
        print(describe_missing(missing), flush=True)
    result = run_jobs(jobs, results, runner, Tracking(tracking, tracking_uri))
    target = publish(results, missing, [job.name for job in jobs] if quick else None)
    _print_result(result, time.perf_counter() - start, [job.name for job in jobs], results, quick)
    print(f"report: {target / 'report.md'}\npage: {target / 'index.html'}")
    return result.exit_code


def select_experiments(patterns: Sequence[str]) -> list[Experiment]:
    """Experiments whose names match any of the patterns (shell wildcards); an empty match is an error."""
    known = catalogue.experiment_names()
    chosen: list[str] = []
    for pattern in patterns or ["*"]:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name("experiment", pattern, known)
        chosen += matches
    return list(catalogue.experiments(dict.fromkeys(chosen)).values())


def _print_result(result: Result, seconds: float, names: Sequence[str], results: Path, quick: bool) -> None:
    from lpbench.cli.answers import print_tables, print_verdicts
    from lpbench.reporting.tables.text import tables_of

    run = result.run
    print(
        f"{len(run.outcomes)} blocks run ({run.fits} fits replaced), {run.reused} reused, "
        f"{len(result.written)} artefacts written, {seconds:.1f} s"
    )
    for outcome in run.failed:
        print(outcome.line())
    if len(names) == 1:
        print_tables(tables_of(names[0], results / names[0]))
    if not quick:
        print_verdicts(names, results)
