"""MLflow: the only module that imports it. Everything logged can be rebuilt from the results folder.

One MLflow experiment per artefact; a parent run holds tables, figures and the configuration; one child run per
data set x mask x method (and panel) holds the numbers. Logging is idempotent: a parent run carries the hash of what it
logs, and is replaced only when that changes. Only the parent process logs, after the results are complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import pandas as pd

from lpbench.errors import ConfigurationError

#: Numbers of a summary row that become metrics.
METRICS = ("mean", "std", "se", "ratio", "rank")
_BATCH = 900
#: Runs that a search returns at once.
_PAGE = 5000
#: Requests to a tracking server in flight at once.
_REQUESTS = 8


def tracking_uri(uri: str | None, results_dir: Path) -> str:
    """Address of the tracking store: the given one, or an absolute sqlite file in the results folder."""
    return uri or f"sqlite:///{results_dir.resolve() / 'mlflow.db'}"


def log_artefact(uri: str, folder: Path, results_dir: Path, record: Mapping) -> int:
    """Log one finished experiment from its folder.

    Parameters
    ----------
    uri : str
        Tracking store.
    folder : Path
        ``<results>/<experiment>`` with ``summary.csv`` and its tables and figures.
    results_dir : Path
        Holds the artifacts (``mlartifacts``) when the store is a local file.
    record : mapping
        Content of ``run.json``: name, config, environment, seconds by child, data sets.

    Returns
    -------
    int
        Number of runs written (0 if the store already holds them).
    """
    return rebuild(uri, results_dir, [(folder, record)])


def rebuild(uri: str, results_dir: Path, records: Iterable[tuple[Path, Mapping]]) -> int:
    """Log finished artefacts from their folders, asking the store once per experiment what it has.

    Parameters
    ----------
    uri, results_dir
        See :func:`log_artefact`.
    records : iterable of (folder, record)

    Returns
    -------
    int
        Number of runs written.
    """
    client, written = _client(uri), 0
    by_name: dict[str, list[tuple[Path, Mapping]]] = {}
    for folder, record in records:
        by_name.setdefault(record["name"], []).append((folder, record))
    # a server answers several requests at once, a local file does not
    with ThreadPoolExecutor(_REQUESTS if uri.startswith("http") else 1) as pool:
        for name, artefacts in by_name.items():
            experiment_id = _experiment_id(client, uri, name, results_dir)
            known = _known(client, experiment_id)
            todo = [a for a in artefacts if not _is_logged(client, known, *a)]
            if len(todo) == 1:
                written += _log(client, experiment_id, *todo[0], pool.map)
            else:
                log = partial(_log, client, experiment_id, mapping=map)
                written += sum(pool.map(lambda artefact, log=log: log(*artefact), todo))
    return written


def _log(client, experiment_id: str, folder: Path, record: Mapping, mapping: Callable) -> int:
    """Write the runs of one artefact, those of its cells by ``mapping``; returns their number."""
    summary = pd.read_csv(folder / "summary.csv", dtype={"panel": str})
    summary["panel"] = summary["panel"].fillna("")
    artefact = record.get("group", record["name"])
    tags = _tags(record) | {"lpbench.content": _digest(folder, record), "lpbench.artefact": artefact}
    keys = ["panel", "dataset", "mask", "method"]
    cells = [(dict(zip(keys, values, strict=True)), rows) for values, rows in summary.groupby(keys, sort=True)]
    alone = "group" in record and len(cells) == 1
    cell_tags = _searchable(cells[0][0]) if alone else {}
    parent = client.create_run(experiment_id, run_name=artefact, tags=tags | cell_tags).info.run_id

    def log_child(cell: Mapping, rows: pd.DataFrame) -> None:
        name = " ".join(v for v in cell.values() if v)
        child_tags = {**tags, "mlflow.parentRunId": parent, **_searchable(cell)}
        child = client.create_run(experiment_id, run_name=name, tags=child_tags).info.run_id
        _log_cell(client, child, cell, rows, record)
        client.set_terminated(child)

    if alone:
        # one cell: one run holds the numbers and the files
        _log_cell(client, parent, *cells[0], record, {"config": record["config"]})
    else:
        for _ in mapping(log_child, *zip(*cells, strict=True)):
            pass
        client.log_batch(parent, params=_params(record["config"]))
    client.log_artifacts(parent, str(folder))
    client.set_terminated(parent)
    return 1 if alone else 1 + len(cells)


def _client(uri: str):
    os.environ.pop("MLFLOW_RUN_ID", None)
    _do_not_wait_for_the_disk()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    try:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    except MlflowException as error:
        raise ConfigurationError(
            f"tracking.uri={uri!r} does not answer ({error}); start the server, or use tracking=none and log later "
            "with `lpbench track`"
        ) from error
    return client


@cache
def _do_not_wait_for_the_disk() -> None:
    """Let sqlite leave the writing to the system: a run is five transactions, and the file can be rebuilt."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    @event.listens_for(Engine, "connect")
    def relax(connection, record):
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous=OFF")


def _experiment_id(client, uri: str, name: str, results_dir: Path) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        if found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        return found.experiment_id
    location = (results_dir.resolve() / "mlartifacts" / name).as_uri() if uri.startswith("sqlite:") else None
    return client.create_experiment(name, artifact_location=location)


def _digest(folder: Path, record: Mapping) -> str:
    digest = hashlib.sha256(json.dumps(record["config"], sort_keys=True).encode())
    digest.update((folder / "summary.csv").read_bytes())
    return digest.hexdigest()[:32]


def _known(client, experiment_id: str) -> dict[str, list]:
    """All runs of an experiment by their artefact."""
    found: dict[str, list] = {}
    token = None
    while True:
        page = client.search_runs([experiment_id], "", max_results=_PAGE, page_token=token)
        for run in page:
            found.setdefault(run.data.tags.get("lpbench.artefact", ""), []).append(run)
        token = page.token
        if not token:
            return found


def _is_logged(client, known: Mapping[str, list], folder: Path, record: Mapping) -> bool:
    """Whether a complete parent run with this content is there; outdated ones of the artefact are removed."""
    runs = known.get(record.get("group", record["name"]), [])
    digest = _digest(folder, record)
    parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
    kept = [r for r in parents if r.data.tags.get("lpbench.content") == digest and r.info.status == "FINISHED"][:1]
    keep = {r.info.run_id for r in kept}
    for run in runs:
        if run.info.run_id not in keep and run.data.tags.get("mlflow.parentRunId") not in keep:
            client.delete_run(run.info.run_id)
    return bool(kept)


def _tags(record: Mapping) -> dict[str, str]:
    environment = record.get("environment", {})
    tags = {f"lpbench.{k}": str(v) for k, v in environment.items() if k != "versions"}
    tags |= {f"version.{k}": str(v) for k, v in environment.get("versions", {}).items()}
    return tags | {"lpbench.config_hash": record["config_hash"]}


def _params(config: Mapping) -> list:
    from mlflow.entities import Param

    flat = {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in config.items()}
    return [Param(k, v[:5900]) for k, v in sorted(flat.items())]


def _log_cell(client, run_id: str, keys: Mapping, rows: pd.DataFrame, record: Mapping, more: Mapping = {}) -> None:
    """Log the numbers of one data set x mask x method in one batch (several if there are very many)."""
    from mlflow.entities import Dataset, DatasetInput, Metric

    now = int(time.time() * 1000)
    oracle = rows[rows["selection"] == "oracle"]
    params = {**keys, "epsilon": sorted(set(rows["epsilon"])), "seed": record["config"].get("seed"), **more}
    if len(oracle) == 1:
        params["selected"] = oracle["params"].iloc[0]
    if oracle["x"].notna().any():
        params["x"] = oracle["x"].tolist()
    metrics = []
    for selection, part in rows.groupby("selection", sort=True):
        prefix = "" if selection == "oracle" else f"{selection}."
        for step, row in enumerate(part.to_dict("records")):
            metrics += [
                Metric(prefix + key, float(row[key]), now, step)
                for key in METRICS
                if isinstance(row[key], (int, float)) and math.isfinite(row[key])
            ]
    seconds = record.get("seconds", {}).get("|".join(keys.values()))
    if seconds is not None:
        metrics.append(Metric("seconds", float(seconds), now, 0))
    for start in range(0, max(len(metrics), 1), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH], params=[] if start else _params(params))
    info = record.get("datasets", {}).get(keys["dataset"])
    if info:
        data = Dataset(
            name=keys["dataset"][:500],
            digest=str(info["fingerprint"])[:36],
            source_type="lpbench",
            source=json.dumps({"dataset": keys["dataset"]}),
            profile=json.dumps(info),
        )
        client.log_inputs(run_id, [DatasetInput(data)])


def _searchable(keys: Mapping) -> dict[str, str]:
    return {f"lpbench.{k}": v for k, v in keys.items()}
