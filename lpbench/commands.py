"""Subcommands around the Hydra application."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lpbench import registry
from lpbench.datasets import describe, list_datasets
from lpbench.errors import unknown_name
from lpbench.experiments.engines import BACKENDS
from lpbench.experiments.workflow import (
    Result,
    Settings,
    describe_missing,
    finished_records,
    publish,
    run_experiments,
)
from lpbench.inspect_results import explain, show
from lpbench.paths import ROOT
from lpbench.tracking import rebuild, tracking_uri

QUICK_REPLICATIONS = 2


def _results_argument(parser: argparse.ArgumentParser) -> None:
    default = os.environ.get("LPBENCH_RESULTS", str(ROOT / "results"))
    parser.add_argument("--results", type=Path, default=Path(default), help="results folder (default: %(default)s)")


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
    settings = Settings(
        results_dir=results,
        seed=args.seed,
        replications=replications,
        backend=args.backend,
        workers=args.workers,
        address=args.address,
        cell_timeout=args.cell_timeout,
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
        print("Set LPBENCH_DATA_MIRROR to a folder with the files, or run `make datasets`; then run the same command.")
    print(f"report: {target / 'report.md'}")


def list_things(args: argparse.Namespace) -> int:
    """Print what is registered."""
    if args.what == "methods":
        rows = [(m.name, m.task, m.title, m.reference) for m in registry.methods().values()]
    elif args.what == "experiments":
        rows = [
            (n, e.get("kind", ""), str(e.get("replications", "")), e.get("title", ""))
            for n, e in registry.experiments().items()
        ]
    elif args.what == "masks":
        rows = [(n, m.get("title", ""), json.dumps(m.get("params") or {})) for n, m in registry.masks().items()]
    else:
        rows = []
        for name in list_datasets():
            info = describe(name, {})
            state = "at hand" if info.available else "missing"
            rows.append((name, info.task, f"{info.n_train} x {info.n_features}", state))
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))] if rows else []
    for row in rows:
        print("  ".join(str(v).ljust(w) for v, w in zip(row, widths, strict=True)).rstrip())
    return 0


def plan(args: argparse.Namespace) -> int:
    """Print the plan of what the same overrides would run."""
    from lpbench import hydra_app

    return hydra_app.main([*args.overrides, "dry_run=true"])


def report(args: argparse.Namespace) -> int:
    """Rewrite the report from the results folder."""
    missing = {}
    for _, record in finished_records(args.results.resolve()):
        missing |= record.get("missing", {})
    target = publish(args.results.resolve(), list(registry.experiments().values()), missing)
    print(f"report: {target / 'report.md'}")
    return 0


def track(args: argparse.Namespace) -> int:
    """Rebuild the MLflow runs from the results folder."""
    results = args.results.resolve()
    records = finished_records(results)
    records += [(p.parent, json.loads(p.read_text())) for p in sorted((results / "single").rglob("run.json"))]
    records = [(folder, record) for folder, record in records if (folder / "summary.csv").is_file()]
    written = rebuild(tracking_uri(args.tracking_uri, results), results, records)
    print(f"{written} runs written for {len(records)} artefacts")
    return 0


def audit(args: argparse.Namespace) -> int:
    """Audit the privacy of every method; writes reproduced/audit.csv and audit.md into the results folder."""
    from lpbench.audit import command, table

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


def run(argv: Sequence[str]) -> int:
    """Parse and run one subcommand; returns the exit code."""
    args = _parser().parse_args(argv)
    return args.function(args)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} must be a whole number >= 1")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lpbench")
    commands = parser.add_subparsers(required=True)

    def command(name: str, function) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=function.__doc__, description=function.__doc__)
        sub.set_defaults(function=function)
        return sub

    sub = command("reproduce", reproduce)
    sub.add_argument("experiments", nargs="*", help="names or patterns such as 'histoftree/*' (default: all)")
    sub.add_argument("--replications", type=_positive, help="replaces every experiment's own number")
    sub.add_argument("--quick", action="store_true", help=f"{QUICK_REPLICATIONS} replications")
    sub.add_argument("--seed", type=int, default=2025, help="root seed (default: %(default)s)")
    sub.add_argument("--backend", choices=BACKENDS, default="loky")
    sub.add_argument("--workers", type=_positive, help="blocks computed at once (default: one per core)")
    sub.add_argument("--address", help="of a running Dask or Ray cluster (default: processes on this machine)")
    sub.add_argument(
        "--cell-timeout", type=float, default=3600.0, help="seconds a block may take (default: %(default)s)"
    )
    sub.add_argument("--order", choices=["plan", "longest_first", "shuffle"], default="longest_first")
    sub.add_argument("--tracking", choices=["none", "mlflow"], default="mlflow")
    sub.add_argument("--tracking-uri", help="default: sqlite file in the results folder")
    _results_argument(sub)

    sub = command("list", list_things)
    sub.add_argument("what", choices=["methods", "datasets", "masks", "experiments"])

    sub = command("show", show)
    sub.add_argument("experiment", help="name, e.g. histoftree/table1")
    _results_argument(sub)

    sub = command("explain", explain)
    sub.add_argument("dataset")
    sub.add_argument("method")
    sub.add_argument("epsilon", type=float)
    sub.add_argument("--mask")
    sub.add_argument("--seed", type=int, default=2025, help="root seed of the run (default: %(default)s)")
    _results_argument(sub)

    sub = command("plan", plan)
    sub.add_argument("overrides", nargs="*", help="Hydra overrides, e.g. experiment=histoftree/table1")

    sub = command("audit", audit)
    sub.add_argument(
        "--samples", type=_positive, default=1_000_000, help="transcripts per value (default: %(default)s)"
    )
    sub.add_argument("--seed", type=int, default=2025, help="seed of the samples (default: %(default)s)")
    sub.add_argument("--workers", type=_positive, default=2, help="worker processes (default: %(default)s)")
    _results_argument(sub)

    for name, function in (("report", report), ("track", track), ("ui", ui)):
        sub = command(name, function)
        _results_argument(sub)
        if name != "report":
            sub.add_argument("--tracking-uri", help="default: sqlite file in the results folder")
        if name == "ui":
            sub.add_argument("--port", type=_positive, default=5000)
    return parser


#: First words that are subcommands; anything else is a Hydra override.
COMMANDS = ("reproduce", "list", "show", "plan", "explain", "audit", "report", "track", "ui")
