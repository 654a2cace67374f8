"""``lpbench reproduce``: run experiments, write their results, the report and its pages."""

from __future__ import annotations

import fnmatch
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError, unknown_name
from lpbench.experiments import catalogue
from lpbench.experiments.config import ORDERS, Runner, Tracking
from lpbench.experiments.experiment import WORK_LIMIT, Experiment
from lpbench.paths import CONF

if TYPE_CHECKING:
    from lpbench.pipeline import Result

QUICK_REPLICATIONS = 2
#: Work that a cell of a quick run may cost.
QUICK_WORK_LIMIT = 10.0
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
    "--work-limit",
    type=click.FloatRange(0, min_open=True),
    metavar="W",
    help=f"Work that a cell may cost.  [default: the experiment's own, {WORK_LIMIT:g}]",
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
    work_limit: float | None,
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
    from lpbench.pipeline import NOTHING, describe_left_out, describe_missing, nothing_to_run, publish, run_jobs

    runner = Runner(backend, workers, address, order)
    if quick:
        replications, work_limit = replications or QUICK_REPLICATIONS, work_limit or QUICK_WORK_LIMIT
    jobs = [job_of(e, replications=replications, work_limit=work_limit, seed=seed) for e in chosen]
    plan = sum((job.plan for job in jobs), Plan(()))
    missing = plan.missing
    for text in filter(None, (describe_missing(missing), describe_left_out(plan.left_out))):
        print(text, flush=True)
    if nothing_to_run(plan):
        print(f"error: {NOTHING}", file=sys.stderr)
        return 1
    result = run_jobs(jobs, results, runner, Tracking(tracking, tracking_uri))
    print("writing the report and its pages ...", flush=True)
    target = publish(results, missing, [job.name for job in jobs] if quick else None)
    _print_result(result, time.perf_counter() - start, [job.name for job in jobs], results, quick)
    print(f"report: {target / 'report.md'}\npage: {target / 'index.html'}")
    return result.exit_code


def select_experiments(patterns: Sequence[str]) -> list[Experiment]:
    """Experiments whose names match any of the patterns (shell wildcards); an empty match is an error.

    Those that run on request alone must be named in full.
    """
    known = catalogue.experiment_names()
    chosen: list[str] = []
    for pattern in patterns or ["*"]:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name("experiment", pattern, known)
        registered = catalogue.experiments(matches)
        chosen += [name for name in matches if name == pattern or not registered[name].on_request]
    if not chosen:
        raise ConfigurationError(f"{', '.join(patterns)} matches experiments that run only if they are named in full")
    return list(catalogue.experiments(dict.fromkeys(chosen)).values())


def _print_result(result: Result, seconds: float, names: Sequence[str], results: Path, quick: bool) -> None:
    from lpbench.cli.answers import print_tables, print_verdicts
    from lpbench.experiments.results import Artefact
    from lpbench.reporting.tables.text import tables_of

    run = result.run
    print(
        f"{len(run.outcomes)} blocks run ({run.fits} fits replaced), {run.reused} reused, "
        f"{len(result.written)} artefacts written, {seconds:.1f} s"
    )
    for outcome in run.failed:
        print(outcome.line())
    if result.exit_code:
        print("INCOMPLETE: what is named above has no result; the same command tries it again")
    if len(names) == 1:
        print_tables(tables_of(Artefact(results / names[0], names[0])))
    if not quick:
        print_verdicts(names, results)
