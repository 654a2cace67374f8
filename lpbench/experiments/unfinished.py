"""Records of unfinished runs, so that ``lpbench report`` can show partial results.

What was asked for is kept beside the store until its artefact is written: by their keys alone nobody could tell the
finished blocks of an interrupted run apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lpbench.experiments.experiment import Experiment
from lpbench.experiments.job import Job
from lpbench.experiments.store import Store
from lpbench.files import write_text


def begin(jobs: Sequence[Job], store: Store) -> None:
    """Record the jobs whose blocks are not all stored; single cells are whole or not there at all."""
    stored = store.keys()
    for job in jobs:
        if not job.is_cell and any(block.key not in stored for block in job.plan.blocks):
            content = {
                "experiment": asdict(job.experiment),
                "seed": job.seed,
                "deviations": list(job.deviations),
                "folder": job.folder,
            }
            write_text(json.dumps(content, sort_keys=True, indent=1), _path(job.folder, store))


def end(job: Job, store: Store) -> None:
    """Forget a job whose artefact is written."""
    _path(job.folder, store).unlink(missing_ok=True)


def begun(store: Store) -> list[Job]:
    """Jobs that have begun and did not end, by their folders."""
    found = []
    for path in (store.root / "begun").glob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        experiment = Experiment.from_record(content["experiment"])
        found.append(Job(experiment, content["seed"], tuple(content["deviations"]), folder=content["folder"]))
    return sorted(found, key=lambda job: job.folder)


def _path(folder: str, store: Store) -> Path:
    return store.root / "begun" / f"{hashlib.sha256(folder.encode()).hexdigest()[:16]}.json"
