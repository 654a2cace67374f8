"""MLflow: the only package that imports it. Everything logged can be rebuilt from the results folder.

One MLflow experiment a paper (``single`` for single cells), of the kind that opens as model training. In it one parent
run an artefact with its table as description, its figures, its data and the average rank of every method; below it one
child run for each data set x mask x method x ε (and panel) with the numbers. A saved view of each artefact compares its
methods. Logging is idempotent: a parent run carries the hash of what it logs, and is replaced only when that changes.
Only the parent process logs, after the results are complete, and one process at a time into a file; whatever fails is a
:class:`~lpbench.errors.TrackingError`.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock

import pandas as pd

from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.errors import DataError
from lpbench.experiments.results import Artefact
from lpbench.reporting.paper import paper_of
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.tables.text import tables_of
from lpbench.tracking.store import alone, client_of, failures_named

#: Numbers of a summary row that become metrics; the mean goes by the name of the experiment's metric (``mse``).
METRICS = ("mean", "std", "se", "ratio", "rank")
_BATCH = 900
#: The longest value of a run's tag.
_TAG = 8000
#: Suffixes of files that are shown at the top of a parent run; the others are in its folder ``data``.
_SHOWN = (".svg",)
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


def prepare(uri: str) -> None:
    """Make a local store where there is none, before anybody else opens it."""
    with failures_named(uri), alone(uri):
        pass


def page_of(experiment_id: str) -> str:
    """Return where the interface shows an experiment's runs, as model training in a browser without settings too."""
    return f"#/experiments/{experiment_id}/runs?workflowType=machine_learning"


def experiment_pages(uri: str) -> dict[str, str]:
    """Return where the interface shows the runs of each logged experiment, by its name."""
    with failures_named(uri), alone(uri):
        found = client_of(uri).search_experiments(order_by=["name"])
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
    by_name: dict[str, list[tuple[Path, Mapping]]] = {}
    for folder, record in records:
        by_name.setdefault(record["name"].partition("/")[0], []).append((folder, record))
    with failures_named(uri), alone(uri):
        return _rebuild(client_of(uri), uri, results_dir, by_name)


def _rebuild(client, uri: str, results_dir: Path, by_name: Mapping[str, list[tuple[Path, Mapping]]]) -> int:
    written = 0
    # a server answers several requests at once, a local file does not
    with ThreadPoolExecutor(_REQUESTS if uri.startswith("http") else 1) as pool:
        for name, artefacts in by_name.items():
            experiment_id = _experiment_id(client, uri, name, results_dir)
            known = _known(client, experiment_id, artefacts)
            cells = _oracle_rows([a for a in artefacts if "group" in a[1]])
            ranks = _ranks(cells)
            todo = [a for a in artefacts if not _is_logged(client, known, *a)]
            unchanged = {_artefact(record) for _, record in artefacts} - {_artefact(record) for _, record in todo}
            _update_ranks(client, known, {a: rank for a, rank in ranks.items() if a in unchanged})
            todo = [(folder, {**record, "rank": ranks.get(_artefact(record))}) for folder, record in todo]
            if len(todo) == 1:
                written += _log(client, experiment_id, *todo[0], pool.map)
            else:
                log = partial(_log, client, experiment_id, mapping=map)
                written += sum(pool.map(lambda artefact, log=log: log(*artefact), todo))
            if len(cells) and todo:
                _save_view(client, experiment_id, "", sorted(set(cells["metric"])), int(time.time() * 1000))
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
        name = _name(cell)
        child_tags = {**tags, "mlflow.parentRunId": parent, **_searchable(cell)}
        child = create(name, _seconds(record, cell), child_tags)
        _log_cell(client, child, cell, rows, record)
        client.set_terminated(child, end_time=end)

    if alone:
        # one cell: one run holds the numbers and the files
        parent = create(_name(cells[0][0]), _seconds(record, cells[0][0]), tags | _searchable(cells[0][0]))
        _log_cell(client, parent, *cells[0], record, {"config": record["config"]})
    else:
        _save_view(client, experiment_id, artefact, [str(summary["metric"].iloc[0])], end)
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
    """What a parent run is of; runs that deviate from the registered experiment stand beside it."""
    return str(record.get("group") or record.get("folder") or record["name"])


def _name(cell: Mapping) -> str:
    """Name of a cell's run: what cells differ in comes first, for lists cut long names."""
    places = [str(cell[key]) for key in ("dataset", "mask", "panel") if cell[key]]
    return f"{cell['method']} ε={cell['epsilon']:g} {' '.join(places)}"


def _oracle_rows(cells: Sequence[tuple[Path, Mapping]]) -> pd.DataFrame:
    """Row of each single cell by oracle selection, with its artefact and what scores must share to be ranked."""
    rows = []
    for folder, record in cells:
        summary = Artefact(folder, record["name"]).summary
        if summary is not None:
            config = record["config"]
            alike = f"{config.get('seed')} {config.get('experiment', {}).get('replications')}"
            rows.append(summary[summary["selection"] == "oracle"].assign(artefact=_artefact(record), alike=alike))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _ranks(table: pd.DataFrame) -> dict[str, float]:
    """Rank of each single cell among the methods that ran on the same data, mask and budget, by artefact."""
    if len(table) < 2:
        return {}
    signed = table["mean"].where(~table["metric"].map(LARGER_IS_BETTER).astype(bool), -table["mean"])
    places = signed.groupby([table[k] for k in ("dataset", "mask", "epsilon", "metric", "alike")]).rank()
    return {a: float(place) for a, place in zip(table["artefact"], places, strict=True) if math.isfinite(place)}


def _update_ranks(client, known: Mapping[str, list], ranks: Mapping[str, float]) -> None:
    """Write ranks anew where other cells have come since: a rank is no part of what a run was logged from."""
    for artefact, rank in ranks.items():
        for run in known.get(artefact, []):
            if run.info.lifecycle_stage == "active" and run.data.metrics.get("rank") != rank:
                client.log_metric(run.info.run_id, "rank", rank)


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
    experiment = record["config"].get("experiment", {})
    parts = [
        f"[Compare the methods]({page_of(experiment_id)}&viewStateShareKey={_view_key(_artefact(record))})",
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


def _save_view(client, experiment_id: str, artefact: str, metrics: Sequence[str], now: int) -> None:
    """Save a view of the runs that lists an artefact's cells, the methods of a data set beside each other.

    Without an artefact it lists all single cells.
    """
    # no averages over methods: the interface averages over the runs that it has loaded, at first a hundred
    columns = [f"params.`{p}`" for p in ("dataset", "method", "mask", "epsilon")]
    free = [f"tuning_free/{metric}" for metric in metrics]
    columns += [f"metrics.`{m}`" for m in (*metrics, "se", "rank", *(["ratio"] if artefact else []), *free)]
    only = f"tags.`lpbench.artefact` = '{artefact}' and " if artefact else ""
    state: dict[str, object] = {
        "searchFilter": f"{only}tags.`lpbench.method` != ''",
        "orderByKey": "params.`dataset`",
        "orderByAsc": True,
        "selectedColumns": columns,
    }
    name = f"Methods of {artefact}" if artefact else "Single cells"
    view = {"name": name, "createdAt": now, "updatedAt": now, "state": json.dumps(state)}
    client.set_experiment_tag(experiment_id, _VIEW + _view_key(artefact), json.dumps(view))


def _view_key(artefact: str) -> str:
    """Key of a saved view in addresses."""
    return re.sub(r"[^\w-]", "-", artefact if artefact.count("/") > 1 else artefact.rpartition("/")[2]) or "cells"


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
    params = {**keys, "epsilon": f"{keys['epsilon']:g}", "seed": record["config"].get("seed"), **more}
    if len(oracle) == 1:
        params["selected"] = oracle["params"].iloc[0]
    metrics = _metrics({"seconds": _seconds(record, keys)}, now)
    for selection, part in rows.groupby("selection", sort=True):
        prefix = "" if selection == "oracle" else f"{selection}/"
        for step, row in enumerate(part.to_dict("records")):
            values = {prefix + (row["metric"] if key == "mean" else key): row[key] for key in METRICS}
            if "group" in record and not prefix:
                # alone it would be the first of one
                values["rank"] = record["rank"]
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
