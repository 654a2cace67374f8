"""Records of runs: what was run, with what, from which data, and how long it took (``run.json``).

Of an unfinished run what was asked for is kept beside the store, so that ``lpbench report`` can show partial results.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

import lpbench
from lpbench.datasets import describe
from lpbench.derivation import RECORDS, versions
from lpbench.digest import hash_of
from lpbench.disk import write_text
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.job import Job
from lpbench.experiments.store import Store
from lpbench.experiments.timing import block_times
from lpbench.paths import IN_CHECKOUT, ROOT


def rows_of(job: Job, store: Store) -> list[tuple[str, bool]]:
    """For each entry of a job's plan the key of its stored block and True, or the reason for none and False."""
    entries = job.plan.entries
    return [(b.key, store.has(b.key)) if (b := e.block) else (e.missing or e.left_out, False) for e in entries]


def record_of(job: Job, runner: Runner, folder: Path, store: Store, scores: pd.DataFrame | None) -> dict[str, Any]:
    """Content of ``run.json`` for the folder of an artifact with all of its other files; a drawing has no scores."""
    config = {"experiment": asdict(job.experiment), "seed": job.seed}
    sizes = {p.relative_to(folder).as_posix(): p.stat().st_size for p in files_of(folder)}
    plan = job.plan
    drawn = {d: job.experiment.data_set(d) for d in dict.fromkeys(e.dataset for e in plan.entries)}
    cards = {d: describe(data.name, data.params) for d, data in drawn.items()}
    record: dict[str, Any] = {
        "name": job.name,
        "config": config,
        "deviations": list(job.deviations),
        "config_hash": hash_of(config)[:16],
        "environment": environment(),
        "runner": asdict(runner),
        "blocks": len(plan.blocks),
        "files": sizes,
        "datasets": {d: {k: getattr(c, k) for k in ("fingerprint", "n_features", "n_train")} for d, c in cards.items()},
        "missing": plan.missing,
        "workers": worker_count(runner),
    }
    if job.folder != job.name:
        record["folder"] = job.folder
    if job.is_cell:
        record["group"] = " ".join(job.folder.split("/")[1:])
    if scores is not None:
        record["block_times"] = block_times(plan.blocks, store)
    if scores is not None and len(scores):
        keys = ["panel", "dataset", "mask", "method"]
        seconds = scores.groupby(keys, observed=True, sort=True)["seconds"].sum()
        record["seconds"] = {"|".join(map(str, k)): round(float(v), 4) for k, v in seconds.items()}
        record["fits"] = int((scores["status"] == "ok").sum())
    return record


def worker_count(runner: Runner) -> int:
    """Return the number of blocks that a runner computes at once; by default one for each core."""
    return 1 if runner.backend == "serial" else runner.workers or os.cpu_count() or 1


def files_of(folder: Path) -> list[Path]:
    """Files of an artifact's folder, without records of derivations."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and RECORDS not in p.parts)


def environment() -> dict[str, Any]:
    """Return version, commit, machine and libraries behind the numbers, without host name and paths."""
    return {
        "lpbench": lpbench.__version__,
        "commit": git_commit(),
        "date": _git("show", "-s", "--format=%cs", "HEAD"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "versions": versions(),
    }


def git_commit() -> str:
    """Short commit of the checkout, with ``+changes`` if more than results differ; ``unknown`` outside git."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!results")  # a report writes results
    return _git("rev-parse", "--short=12", "HEAD") + ("+changes" if changed not in ("", "unknown") else "")


def _git(*words: str) -> str:
    """Output of a git command in the project's checkout; "unknown" outside a checkout or if git fails."""
    if not IN_CHECKOUT:  # the repository around an installed package is somebody else's
        return "unknown"
    try:
        command = ["git", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def missing_data(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Data sets that were not at hand in the runs of the records -> how to get them."""
    return {name: how for record in records for name, how in record.get("missing", {}).items()}


def begin(jobs: Iterable[Job], store: Store) -> None:
    """Record jobs whose artifacts are still to be written, except single cells and jobs with all blocks stored."""
    stored = store.keys()
    for job in jobs:
        if not job.is_cell and any(block.key not in stored for block in job.plan.blocks):
            content = {
                "experiment": asdict(job.experiment),
                "seed": job.seed,
                "deviations": list(job.deviations),
                "folder": job.folder,
                "audits": dict(job.audits),
            }
            write_text(json.dumps(content, sort_keys=True, indent=1), _wanted(job.folder, store))


def end(job: Job, store: Store) -> None:
    """Remove a job from the record of unwritten artifacts."""
    _wanted(job.folder, store).unlink(missing_ok=True)


def begun(store: Store) -> list[Job]:
    """Return the jobs whose artifacts were begun and not written, such as after an interrupt."""
    jobs = []
    for path in (store.root / "wanted").glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        experiment = Experiment.from_record(content["experiment"])
        facts = {"audits": content.get("audits", {}), "folder": content["folder"]}
        jobs.append(Job(experiment, content["seed"], tuple(content["deviations"]), **facts))
    return sorted(jobs, key=lambda job: job.folder)


def _wanted(folder: str, store: Store) -> Path:
    return store.root / "wanted" / f"{hash_of(folder)[:16]}.json"
