"""What the subcommands do; their options are in :mod:`lpbench.cli.arguments`."""

from __future__ import annotations

import argparse
import fnmatch
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lpbench.cli.arguments import CELL_TIMEOUT, QUICK_CELL_TIMEOUT, QUICK_REPLICATIONS
from lpbench.errors import unknown_name
from lpbench.experiments import catalogue as registry
from lpbench.experiments.results import Results
from lpbench.paths import DOWNLOAD
from lpbench.pipeline import (
    Result,
    Settings,
    describe_missing,
    publish,
    run_experiments,
    track_results,
)
from lpbench.tracking import tracking_uri


def select_experiments(patterns: Sequence[str]) -> list[dict]:
    """Experiments whose names match any of the patterns (shell wildcards); an empty match is an error."""
    known = registry.experiments()
    chosen: dict[str, dict] = {}
    for pattern in patterns or ["*"]:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            raise unknown_name("experiment", pattern, known)
        chosen.update({name: known[name] for name in matches})
    return list(chosen.values())


def reproduce(args: argparse.Namespace) -> int:
    """Run experiments, write their results, the report and the published summary."""
    start = time.perf_counter()
    experiments = select_experiments(args.experiments)
    results = args.results.resolve()
    replications = QUICK_REPLICATIONS if args.quick and args.replications is None else args.replications
    limit = QUICK_CELL_TIMEOUT if args.quick else CELL_TIMEOUT
    settings = Settings(
        results_dir=results,
        seed=args.seed,
        replications=replications,
        backend=args.backend,
        workers=args.workers,
        address=args.address,
        cell_timeout=limit if args.cell_timeout is None else args.cell_timeout,
        order=args.order,
        tracking=args.tracking,
        tracking_uri=args.tracking_uri,
    )
    result = run_experiments(experiments, settings)
    target = publish(results, list(registry.experiments().values()), result.plan.missing)
    _print_result(result, time.perf_counter() - start, target)
    return result.exit_code


def _print_result(result: Result, seconds: float, target: Path) -> None:
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


def plan(args: argparse.Namespace) -> int:
    """Print the plan of what the same overrides would run."""
    from lpbench.cli import hydra_app

    known = registry.experiments()
    for word in args.overrides:
        if word not in known and "=" not in word and not word.startswith("~"):
            raise unknown_name("experiment", word, known)
    named = [f"experiment={word}" if word in known else word for word in args.overrides]
    code = hydra_app.main([*named, "dry_run=true"])
    if code == 0 and named:
        print(f"Next: {shlex.join(['lpbench', *named])} (runs it)")
    return code


def report(args: argparse.Namespace) -> int:
    """Rewrite the report from the results folder."""
    missing: dict[str, str] = {}
    for record in Results(args.results.resolve()).records().values():
        missing |= record.get("missing", {})
    target = publish(args.results.resolve(), list(registry.experiments().values()), missing)
    print(f"report: {target / 'report.md'}")
    return 0


def track(args: argparse.Namespace) -> int:
    """Rebuild the MLflow runs from the results folder."""
    print(f"{track_results(args.results.resolve(), args.tracking_uri)} runs written")
    return 0


def audit(args: argparse.Namespace) -> int:
    """Audit the privacy of every method; writes reproduced/audit.csv and audit.md into the results folder."""
    from lpbench.audit import table
    from lpbench.cli import audit as command

    rows = command.run(args.results.resolve(), samples=args.samples, seed=args.seed, workers=args.workers)
    problems = table.problems(rows)
    print(f"{len(rows)} rows audited: {args.results.resolve() / 'reproduced' / 'audit.md'}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


def ui(args: argparse.Namespace) -> int:
    """Open the MLflow UI on 127.0.0.1."""
    uri = tracking_uri(args.tracking_uri, args.results.resolve())
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", "127.0.0.1"]
    print(f"http://127.0.0.1:{args.port} (Ctrl-C ends it)", flush=True)
    # the server's background job runners serve features that are not used here, and cost gigabytes
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.execve(sys.executable, [*command, "--port", str(args.port)], environment)
