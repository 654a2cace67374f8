"""A whole run: plan, execute, write results, report, track."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from tqdm import tqdm

import lpbench
from lpbench import reporting
from lpbench.datasets import describe
from lpbench.errors import LpbenchError
from lpbench.experiments import catalogue as registry
from lpbench.experiments.assemble import assemble
from lpbench.experiments.engines import engine
from lpbench.experiments.fingerprint import canonical_json, source_hash, versions
from lpbench.experiments.plan import Plan, plan_experiment
from lpbench.experiments.results import Results
from lpbench.experiments.run import RunReport, run_blocks
from lpbench.experiments.store import Store
from lpbench.experiments.timing import block_times, timing_table
from lpbench.paths import IN_CHECKOUT, ROOT
from lpbench.reporting.paper import sources
from lpbench.selectors import parse_selector
from lpbench.tracking import rebuild, tracking_uri

#: Artefacts written at once at most: a large figure takes gigabytes.
_WRITERS = 4

#: Seconds for one unit of a block's ``work``, where no block of the estimator has been measured.
_SECONDS_OF_WORK = 1e-6


@dataclass(frozen=True)
class Settings:
    """How to run, as opposed to what to run."""

    results_dir: Path
    seed: int = 2025
    replications: int | None = None
    backend: str = "loky"
    workers: int | None = None
    address: str | None = None
    cell_timeout: float = 3600.0
    order: str = "longest_first"
    tracking: str = "none"
    tracking_uri: str | None = None
    progress: bool = True


@dataclass
class Result:
    """What a workflow did."""

    run: RunReport
    plan: Plan
    written: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 unless a block failed or an artefact could not be written (missing data and time limits are no failure)."""
        return int(bool(self.problems) or any(o.status == "failed" for o in self.run.outcomes))


def run_experiments(experiments: Sequence[Mapping], settings: Settings) -> Result:
    """Run experiments and write ``<results>/<experiment>/`` for each of them."""
    store = Store(settings.results_dir / "store")
    plans = {e["name"]: plan_experiment(e, replications=settings.replications, seed=settings.seed) for e in experiments}
    plan = sum(plans.values(), Plan(()))
    result = Result(run=_execute(plan, plans, experiments, store, settings), plan=plan)
    tracking = _Tracking(settings)
    for experiment, changed, problem in _write_all(experiments, plans, store, settings):
        if problem:
            result.problems.append(f"{experiment['name']}: {problem}")
            print(f"error: {experiment['name']}: {problem}", file=sys.stderr)
        elif changed:
            result.written.append(experiment["name"])
            # this process has nothing else to do while the others write
            tracking.log([experiment])
    tracking.log([e for e in experiments if e["name"] not in result.written])
    tracking.finish()
    return result


class _Tracking:
    """Logs finished artefacts to MLflow; a store that fails is reported once everything else is done."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._error: LpbenchError | None = None

    def log(self, experiments: Sequence[Mapping]) -> None:
        """Log the artefacts of experiments, where there are any."""
        settings = self._settings
        if settings.tracking == "mlflow" and self._error is None:
            folders = [settings.results_dir / e["name"] for e in experiments]
            try:
                _track([f for f in folders if (f / "run.json").is_file()], settings.results_dir, settings.tracking_uri)
            except LpbenchError as error:
                self._error = error

    def finish(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error


def _write_all(
    experiments: Sequence[Mapping], plans: Mapping[str, Plan], store: Store, settings: Settings
) -> Iterator[tuple[Mapping, bool, str]]:
    """Write the artefacts that are not up to date, those with the most fits first; yield each when it is done.

    Yields
    ------
    experiment, changed, problem
        Whether it was written anew, and why it could not be.
    """
    stamps = {e["name"]: _stamp(e, plans[e["name"]], store, settings) for e in experiments}
    todo = {e["name"]: e for e in experiments if not _is_current(settings.results_dir / e["name"], stamps[e["name"]])}
    yield from ((e, False, "") for e in experiments if e["name"] not in todo)
    by_size = sorted(todo.values(), key=lambda e: -sum(b.fits for b in plans[e["name"]].blocks))
    calls = {e["name"]: (e, plans[e["name"]], stamps[e["name"]], store.root, settings) for e in by_size}
    # artefacts are written on this machine, wherever blocks are computed
    local = "loky" if settings.backend != "serial" and len(calls) > 1 else "serial"
    with (
        engine(local, min(settings.workers or os.cpu_count() or 1, _WRITERS)) as mapping,
        tqdm(total=len(calls), unit="artefact", disable=not settings.progress or None, dynamic_ncols=True) as bar,
    ):
        for name, problem in mapping(_try_to_write, list(calls.values())):
            bar.update()
            del calls[name]
            yield todo[name], not problem, problem
    for call in calls.values():  # what a worker did not live to write
        name, problem = _try_to_write(*call)
        yield todo[name], not problem, problem


def _try_to_write(experiment: Mapping, plan: Plan, stamp: str, root: Path, settings: Settings) -> tuple[str, str]:
    """Name of the artefact, and why it could not be written."""
    try:
        write_experiment(experiment, plan, stamp, Store(root), settings)
        return experiment["name"], ""
    except LpbenchError as error:
        return experiment["name"], str(error)


def _execute(plan: Plan, plans: Mapping[str, Plan], experiments, store: Store, settings: Settings) -> RunReport:
    timeouts: dict[str, float] = {}
    for experiment in experiments:
        limit = experiment.get("cell_timeout")
        for entry in plans[experiment["name"]].entries if limit is not None else ():
            if entry.block is not None:
                # a block serves one cell for each budget
                cells = max(len(entry.epsilons), len(entry.block.budgets))
                whole = min(float(limit), settings.cell_timeout) * cells
                timeouts[entry.block.key] = max(whole, timeouts.get(entry.block.key, 0.0))
    return run_blocks(
        plan.blocks,
        store,
        backend=settings.backend,
        workers=settings.workers,
        cell_timeout=settings.cell_timeout,
        order=settings.order,
        progress=settings.progress,
        timeouts=timeouts,
        address=settings.address,
    )


def write_experiment(experiment: Mapping, plan: Plan, stamp: str, store: Store, settings: Settings) -> None:
    """Write scores, summary, comparison, tables, figures and ``run.json`` of one experiment."""
    folder = settings.results_dir / experiment["name"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").unlink(missing_ok=True)
    if experiment.get("kind") == "drawing":
        reporting.write_drawing(experiment, folder, settings.seed)
        record = record_of(experiment, plan, None, settings, stamp)
    else:
        scores = assemble(plan.entries, store)
        scores.to_parquet(folder / "scores.parquet", compression="zstd", index=False)
        reporting.write_artefact(experiment, scores, method_cards(plan), folder)
        record = record_of(experiment, plan, scores, settings, stamp)
        record["block_times"] = block_times(plan.blocks, store)
    (folder / "run.json").write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def method_cards(plan: Plan) -> dict[str, dict]:
    """What reports need to know of each method of a plan (printed name, tuning-free setting, task, reference)."""
    return {name: method_card(registry.method(name)) for name in dict.fromkeys(e.method for e in plan.entries)}


def method_card(spec: registry.MethodSpec) -> dict:
    """Printed name, task, grid, tuning-free setting (as it stands in ``params``) and reference of a method."""
    return {
        "title": spec.title,
        "task": spec.task,
        "grid": spec.grid,
        "grid_by_mask": spec.grid_by_mask,
        "tuning_free": None if spec.tuning_free is None else canonical_json(spec.tuning_free),
        "reference": spec.reference,
    }


def _stamp(experiment: Mapping, plan: Plan, store: Store, settings: Settings) -> str:
    """Hash of what the artefact is made from: blocks (or why they are missing), config, reporting code."""
    state = [
        [e.panel, e.dataset, e.mask, e.method, list(e.epsilons), e.x_axis, e.x_value]
        + ([e.block.key, store.has(e.block.key)] if e.block is not None else [e.missing, False])
        for e in plan.entries
    ]
    code = [source_hash(module) for module in sources(experiment["name"])]
    content = [dict(experiment), state, settings.seed, code, versions()]
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:32]


def _is_current(folder: Path, stamp: str) -> bool:
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return record.get("stamp") == stamp and all((folder / name).is_file() for name in record.get("files", []))


def record_of(experiment: Mapping, plan: Plan, scores: pd.DataFrame | None, settings: Settings, stamp: str) -> dict:
    """Content of ``run.json``: what was run, with what, from which data, and how long it took."""
    config = {"experiment": dict(experiment), "seed": settings.seed, "replications": settings.replications}
    folder = settings.results_dir / experiment["name"]
    record = {
        "name": experiment["name"],
        "config": config,
        "config_hash": hashlib.sha256(canonical_json(config).encode()).hexdigest()[:16],
        "stamp": stamp,
        "environment": environment(),
        "blocks": len(plan.blocks),
        "files": sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()),
        "datasets": {d: _dataset_card(d) for d in dict.fromkeys(e.dataset for e in plan.entries)},
        "missing": plan.missing,
        "workers": 1 if settings.backend == "serial" else settings.workers or os.cpu_count() or 1,
    }
    if scores is not None and len(scores):
        keys = ["panel", "dataset", "mask", "method"]
        seconds = scores.groupby(keys, observed=True, sort=True)["seconds"].sum()
        record["seconds"] = {"|".join(map(str, k)): round(float(v), 4) for k, v in seconds.items()}
        record["fits"] = int((scores["status"] == "ok").sum())
    return record


def _dataset_card(selector: str) -> dict:
    info = describe(*parse_selector(selector))
    return {"fingerprint": info.fingerprint, "n_features": info.n_features, "n_train": info.n_train}


def environment() -> dict:
    """Where and with what the numbers were made (no host name, no paths)."""
    return {
        "lpbench": lpbench.__version__,
        "commit": git_commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "versions": versions(),
    }


def git_commit() -> str:
    """Short commit of the checkout, with ``+changes`` if the work tree differs; ``unknown`` outside git."""
    if not IN_CHECKOUT:  # the repository around an installed package is somebody else's
        return "unknown"
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+changes", "--abbrev=12", "--exclude=*"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def track_results(results_dir: Path, uri: str | None) -> int:
    """Log to MLflow what a results folder holds and MLflow does not; returns the number of runs written."""
    results = Results(results_dir)
    return _track([a.folder for a in (*results.finished(), *results.cells())], results_dir, uri)


def _track(folders: Sequence[Path], results_dir: Path, uri: str | None) -> int:
    found = [folder for folder in folders if (folder / "summary.csv").is_file()]
    records = [(folder, json.loads((folder / "run.json").read_text(encoding="utf-8"))) for folder in found]
    return rebuild(tracking_uri(uri, results_dir), results_dir, records) if records else 0


def publish(results_dir: Path, experiments: Sequence[Mapping], missing: Mapping[str, str]) -> Path:
    """Copy what is small into ``<results>/reproduced`` and write the report and its pages there."""
    target = results_dir / "reproduced"
    records = Results(results_dir).records()
    for name, record in records.items():
        destination = target / name
        for old in destination.glob("*"):
            if old.is_file() and old.name not in record["files"]:
                old.unlink()
        for file in record["files"]:
            if file.endswith((".parquet", "run.json")):
                continue
            copied = destination / file
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(results_dir / name / file, copied)
    target.mkdir(parents=True, exist_ok=True)
    timing_table(records.values()).to_csv(target / "timing.csv", index=False, lineterminator="\n")
    content = (results_dir, list(experiments), sorted(missing.items()), environment(), target)
    reporting.write_report(*content)
    selectors = dict.fromkeys(m for e in experiments for g in e.get("groups") or [] for m in g["method"])
    reporting.write_pages(*content, {name: method_card(registry.method(name)) for name in selectors})
    shutil.copyfile(target / "claims.csv", results_dir / "claims.csv")
    return target


def estimate_seconds(plan: Plan, store: Store, workers: int) -> tuple[int, int, float]:
    """Blocks to do, fits to do and a rough time in seconds.

    The time per fit of a method is taken from blocks of the same estimator in the store, else from the work it is.
    """
    known: dict[str, tuple[float, int]] = {}
    todo = [b for b in plan.blocks if not store.has(b.key)]
    for key in sorted(store.keys())[:2000]:
        try:
            metadata, rows = store.footer(key)
            estimator, took = metadata["config"]["estimator"], metadata["seconds"]
        except (OSError, ValueError, KeyError):
            continue
        seconds, fits = known.get(estimator, (0.0, 0))
        known[estimator] = seconds + took, fits + rows
    total = 0.0
    for block in todo:
        seconds, fits = known.get(block.estimator, (0.0, 0))
        total += block.fits * seconds / fits if fits else block.work * _SECONDS_OF_WORK
    return len(todo), sum(b.fits for b in todo), total / max(workers, 1)


def describe_missing(missing: Mapping[str, str]) -> str:
    """A paragraph that lists missing data sets and how to get them."""
    if not missing:
        return ""
    lines = [f"{len(missing)} data set(s) not at hand; their cells are skipped:"]
    return "\n".join(lines + [f"  {name}: {how}" for name, how in sorted(missing.items())])
