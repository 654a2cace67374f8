"""``lpbench reproduce``: run experiments, write their results, the report and its pages."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lpbench.cli import options
from lpbench.errors import unknown_name
from lpbench.experiments import catalogue as registry
from lpbench.paths import CONF, DOWNLOAD

if TYPE_CHECKING:
    from lpbench.pipeline import Result

QUICK_REPLICATIONS = 2
#: Seconds that a quick run gives a cell, and any other one.
QUICK_CELL_TIMEOUT = 10.0
CELL_TIMEOUT = 3600.0
_RUNNERS = sorted(path.stem for path in (CONF / "runner").glob("*.yaml"))
_ORDERS = ("longest_first", "plan", "shuffle")
_TRACKING = ("mlflow", "none")


@click.command(
    epilog="Interrupted? The same command goes on. Next: open reproduced/index.html in the results folder.",
)
@click.argument("experiments", nargs=-1, type=options.NameOf("experiment"), metavar="[EXPERIMENT]...")
@options.count("--replications", "Of every experiment.")
@click.option("--quick", is_flag=True, help=f"{QUICK_REPLICATIONS} replications, {QUICK_CELL_TIMEOUT:g} s for a cell.")
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
@options.choice("--order", _ORDERS, "longest_first")
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
    chosen = select_experiments(experiments)
    from lpbench.pipeline import Settings, publish, run_experiments

    limit = QUICK_CELL_TIMEOUT if quick else CELL_TIMEOUT
    settings = Settings(
        results_dir=results,
        seed=seed,
        replications=QUICK_REPLICATIONS if quick and replications is None else replications,
        backend=backend,
        workers=workers,
        address=address,
        cell_timeout=limit if cell_timeout is None else cell_timeout,
        order=order,
        tracking=tracking,
        tracking_uri=tracking_uri,
    )
    result = run_experiments(chosen, settings)
    target = publish(results, list(registry.experiments().values()), result.plan.missing)
    _print_result(result, time.perf_counter() - start, target)
    return result.exit_code


def select_experiments(patterns: Sequence[str]) -> list[dict[str, Any]]:
    """Experiments whose names match any of the patterns (shell wildcards); an empty match is an error."""
    known = registry.experiments()
    chosen: dict[str, dict[str, Any]] = {}
    for pattern in patterns or ["*"]:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name("experiment", pattern, known)
        chosen.update({name: known[name] for name in matches})
    return list(chosen.values())


def _print_result(result: Result, seconds: float, target: Path) -> None:
    from lpbench.pipeline import describe_missing

    run = result.run
    print(
        f"{len(run.outcomes)} blocks run ({run.fits} fits replaced), {run.reused} reused, "
        f"{len(result.written)} artefacts written, {seconds:.1f} s"
    )
    for outcome in run.failed:
        print(outcome.line())
    if result.plan.missing:
        print(describe_missing(result.plan.missing))
        print(f"Set LPBENCH_DATA_MIRROR to a folder with the files, or run `{DOWNLOAD}`; then run the same command.")
    print(f"report: {target / 'report.md'}")
