"""MLflow: the only module that imports it. Everything logged can be rebuilt from the results folder.

One MLflow experiment a paper (``single`` for single cells), of the kind that opens as model training. In it one parent
run an artefact with its table as description, its figures, its data and the average rank of every method; below it one
child run for each data set x mask x method x ε (and panel) with the numbers. A saved view of each artefact compares its
methods. Logging is idempotent: a parent run carries the hash of what it logs, and is replaced only when that changes.
Only the parent process logs, after the results are complete.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Lock

import pandas as pd

from lpbench.errors import ConfigurationError, DataError
from lpbench.experiments.results import Artefact
from lpbench.reporting.paper import paper_of
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.tables.text import tables_of

#: Numbers of a summary row that become metrics; the mean goes by the name of the experiment's metric (``mse``).
METRICS = ("mean", "std", "se", "ratio", "rank")
_BATCH = 900
#: The longest value of a run's tag.
_TAG = 8000
#: Suffixes of files that are shown at the top of a parent run; the others are in its folder ``data``.
_SHOWN = (".svg", ".png")
#: One request at a time names a data set: a server that is told twice at once of a new one refuses the second.
_DATASETS = Lock()
#: Tags of an experiment by which the interface opens it as model training, and finds a saved view.
_KIND = ("mlflow.experimentKind", "custom_model_development")
_VIEW = "mlflow.sharedViewState."
#: Runs that a search returns at once.
_PAGE = 5000
#: Requests to a tracking server in flight at once.
_REQUESTS = 8


def tracking_uri(uri: str | None, results_dir: Path) -> str:
    """Address of the tracking store: the given one, or an absolute sqlite file in the results folder."""
    return uri or f"sqlite:///{results_dir.resolve() / 'mlflow.db'}"


def page_of(experiment_id: str) -> str:
    """Return where the interface shows an experiment's runs, as model training in a browser without settings too."""
    return f"#/experiments/{experiment_id}/runs?workflowType=machine_learning"


def experiment_pages(uri: str) -> dict[str, str]:
    """Return where the interface shows the runs of each logged experiment, by its name."""
    found = _client(uri).search_experiments(order_by=["name"])
    return {e.name: page_of(e.experiment_id) for e in found if _KIND in e.tags.items()}


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
        by_name.setdefault(record["name"].partition("/")[0], []).append((folder, record))
    # a server answers several requests at once, a local file does not
    with ThreadPoolExecutor(_REQUESTS if uri.startswith("http") else 1) as pool:
        for name, artefacts in by_name.items():
            experiment_id = _experiment_id(client, uri, name, results_dir)
            known = _known(client, experiment_id, artefacts)
            todo = [a for a in artefacts if not _is_logged(client, known, *a)]
            if len(todo) == 1:
                written += _log(client, experiment_id, *todo[0], pool.map)
            else:
                log = partial(_log, client, experiment_id, mapping=map)
                written += sum(pool.map(lambda artefact, log=log: log(*artefact), todo))
    return written


def _log(client, experiment_id: str, folder: Path, record: Mapping, mapping: Callable) -> int:
    """Write the runs of one artefact, those of its cells by ``mapping``; returns their number."""
    found = Artefact(folder, record["name"])
    summary = found.summary
    if summary is None:
        raise DataError(f"{folder} holds no summary: run the experiment again")
    artefact = _artefact(record)
    tags = _tags(record) | {"lpbench.content": _digest(folder, record), "lpbench.artefact": artefact}
    keys = ["panel", "dataset", "mask", "method", "epsilon"]
    cells = [(dict(zip(keys, values, strict=True)), rows) for values, rows in summary.groupby(keys, sort=True)]
    alone = "group" in record and len(cells) == 1
    end = int(found.summary_file.stat().st_mtime * 1000)

    def create(name: str, seconds: float, tags: Mapping) -> str:
        start = end - int(seconds * 1000)
        return str(client.create_run(experiment_id, start_time=start, run_name=name, tags=tags).info.run_id)

    def log_child(cell: Mapping, rows: pd.DataFrame) -> None:
        name = " ".join(str(cell[k]) for k in keys[:-1] if cell[k]) + f" ε={cell['epsilon']:g}"
        child_tags = {**tags, "mlflow.parentRunId": parent, **_searchable(cell)}
        child = create(name, _seconds(record, cell), child_tags)
        _log_cell(client, child, cell, rows, record)
        client.set_terminated(child, end_time=end)

    if alone:
        # one cell: one run holds the numbers and the files
        parent = create(artefact, _seconds(record, cells[0][0]), tags | _searchable(cells[0][0]))
        _log_cell(client, parent, *cells[0], record, {"config": record["config"]})
    else:
        _save_view(client, experiment_id, artefact, str(summary["metric"].iloc[0]), end)
        note = {"mlflow.note.content": _note(found, record, experiment_id)}
        parent = create(artefact, sum(record.get("seconds", {}).values()), tags | note)
        for _ in mapping(log_child, *zip(*cells, strict=True)):
            pass
        metrics = _metrics({**_overview(summary), "seconds": sum(record.get("seconds", {}).values())}, end)
        client.log_batch(parent, metrics=metrics, params=_params(record["config"]))
    for file in sorted(folder.iterdir()):
        if file.is_file():
            client.log_artifact(parent, str(file), None if file.suffix in _SHOWN else "data")
    client.set_terminated(parent, end_time=end)
    return 1 if alone else 1 + len(cells)


def _artefact(record: Mapping) -> str:
    return str(record.get("group", record["name"]))


def _seconds(record: Mapping, cell: Mapping) -> float:
    """Seconds of the computation that a cell comes from: one pass, for all budgets."""
    return float(record.get("seconds", {}).get("|".join(cell[k] for k in ("panel", "dataset", "mask", "method")), 0.0))


def _overview(summary: pd.DataFrame) -> dict[str, float]:
    """Average rank of every method over the cells of an artefact, by oracle selection."""
    ranked = summary[(summary["selection"] == "oracle") & summary["rank"].notna()]
    ranks = ranked.groupby("method", sort=True)["rank"].mean()
    return {"rank/" + re.sub(r"[^\w./ -]", " ", str(method)): float(rank) for method, rank in ranks.items()}


def _note(artefact: Artefact, record: Mapping, experiment_id: str) -> str:
    """Description of an artefact in Markdown: a link to the comparison of its methods, deviations, tables, notes."""
    leaf = record["name"].rpartition("/")[2]
    experiment = record["config"].get("experiment", {})
    parts = [
        f"[Compare the methods]({page_of(experiment_id)}&viewStateShareKey={leaf})",
        f"# {experiment.get('title') or record['name']}",
        *(f"**Not as registered:** {text}" for text in record.get("deviations", ())),
        *map(_in_markdown, tables_of(artefact)),
        *(f"- {note}" for note in experiment.get("notes", ())),
    ]
    text = "\n\n".join(parts) + "\n"
    if len(text) <= _TAG:
        return text
    more = f"\n\nThe rest is in `data/{artefact.summary_file.name}` under Artifacts.\n"
    return text[: _TAG - len(more)].rpartition("\n")[0] + more


def _in_markdown(table: PlainTable) -> str:
    rows = [table.heads, ["---"] * len(table.heads), *table.rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([f"**{table.legend}**", "", *lines, "", table.remark]).rstrip()


def _save_view(client, experiment_id: str, artefact: str, metric: str, now: int) -> None:
    """Save a view of the runs that lists an artefact's cells, the methods of a data set beside each other."""
    # no averages over methods: the interface averages over the runs that it has loaded, at first a hundred
    columns = [f"params.`{p}`" for p in ("dataset", "method", "mask")]
    columns += [f"metrics.`{m}`" for m in (metric, "se", "rank", "ratio", f"tuning_free/{metric}", "epsilon")]
    state: dict[str, object] = {
        "searchFilter": f"tags.`lpbench.artefact` = '{artefact}' and tags.`lpbench.method` != ''",
        "orderByKey": "params.`dataset`",
        "orderByAsc": True,
        "selectedColumns": columns,
    }
    view = {"name": f"Methods of {artefact}", "createdAt": now, "updatedAt": now, "state": json.dumps(state)}
    client.set_experiment_tag(experiment_id, _VIEW + artefact.rpartition("/")[2], json.dumps(view))


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
        return str(found.experiment_id)
    location = (results_dir.resolve() / "mlartifacts" / name).as_uri() if uri.startswith("sqlite:") else None
    tags = {_KIND[0]: _KIND[1], "mlflow.note.content": paper_of(name).title}
    return str(client.create_experiment(name, artifact_location=location, tags=tags))


def _digest(folder: Path, record: Mapping) -> str:
    digest = hashlib.sha256(json.dumps(record["config"], sort_keys=True).encode())
    digest.update(Artefact(folder, record["name"]).summary_file.read_bytes())
    return digest.hexdigest()[:32]


def _known(client, experiment_id: str, artefacts: list[tuple[Path, Mapping]]) -> dict[str, list]:
    """Runs of artefacts by their artefact, from one search."""
    found: dict[str, list] = {}
    query = f"tags.`lpbench.artefact` = '{_artefact(artefacts[0][1])}'" if len(artefacts) == 1 else ""
    token = None
    while True:
        page = client.search_runs([experiment_id], query, max_results=_PAGE, page_token=token)
        for run in page:
            found.setdefault(run.data.tags.get("lpbench.artefact", ""), []).append(run)
        token = page.token
        if not token:
            return found


def _is_logged(client, known: Mapping[str, list], folder: Path, record: Mapping) -> bool:
    """Whether a complete parent run with this content is there; outdated ones of the artefact are removed."""
    runs = known.get(_artefact(record), [])
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
    if deviations := record.get("deviations"):
        tags["lpbench.deviations"] = "; ".join(deviations)
    return tags | {"lpbench.config_hash": record["config_hash"]}


def _params(config: Mapping) -> list:
    from mlflow.entities import Param

    flat = {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in config.items()}
    return [Param(k, v[:5900]) for k, v in sorted(flat.items())]


def _metrics(values: Mapping[str, object], now: int, step: int = 0) -> list:
    """Metrics of one step, without those that are no number."""
    from mlflow.entities import Metric

    numbers = {k: float(v) for k, v in values.items() if isinstance(v, (int, float)) and math.isfinite(v)}
    return [Metric(key, value, now, step) for key, value in numbers.items()]


def _log_cell(client, run_id: str, keys: Mapping, rows: pd.DataFrame, record: Mapping, more: Mapping = {}) -> None:
    """Log the numbers of one data set x mask x method x ε, a step for each ``x``, in one batch (several if many)."""
    from mlflow.entities import Dataset, DatasetInput

    now = int(time.time() * 1000)
    oracle = rows[rows["selection"] == "oracle"]
    params = {**keys, "seed": record["config"].get("seed"), **more}
    if len(oracle) == 1:
        params["selected"] = oracle["params"].iloc[0]
    metrics = _metrics({"epsilon": keys["epsilon"], "seconds": _seconds(record, keys)}, now)
    for selection, part in rows.groupby("selection", sort=True):
        prefix = "" if selection == "oracle" else f"{selection}/"
        for step, row in enumerate(part.to_dict("records")):
            values = {prefix + (row["metric"] if key == "mean" else key): row[key] for key in METRICS}
            metrics += _metrics(values if prefix else {**values, "x": row["x"]}, now, step)
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
        with _DATASETS:
            client.log_inputs(run_id, [DatasetInput(data)])


def _searchable(keys: Mapping) -> dict[str, str]:
    return {f"lpbench.{k}": str(v) for k, v in keys.items() if k != "epsilon"}
