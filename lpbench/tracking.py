"""MLflow runs of what a results folder holds; all of them can be made again from the folder.

One MLflow experiment a paper (``single`` for single cells), of the kind that opens as model training. In it one parent
run an artefact with its table as description, its figures, its data and the average rank of every method; below it one
child run for each data set x mask x method x ε (and panel) with the numbers. Logging is idempotent: a parent run has
the hash of what it logs, and is replaced only when that changes. Only the parent process logs, after the results are
complete, and one process at a time into a file; whatever fails is a :class:`~lpbench.errors.TrackingError`. No other
module imports MLflow.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from threading import Lock
from urllib.parse import quote

import pandas as pd

from lpbench.errors import DataError, TrackingError
from lpbench.experiments.results import Artefact
from lpbench.files import locked, refusal
from lpbench.reporting.paper import paper_of
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.tables.text import tables_of

#: Numbers of a summary row that become metrics; the mean goes by the name of the experiment's metric (``mse``).
METRICS = ("mean", "std", "se", "ratio", "rank")
_BATCH = 900
#: The longest value of a run's tag, and of a parameter.
_TAG, _PARAM = 8000, 5900
#: Suffixes of files that are shown at the top of a parent run; the others are in its folder ``data``.
_SHOWN = (".svg",)
#: One request at a time names a data set: a server that is told twice at once of a new one refuses the second.
_DATASETS = Lock()
#: Tag of an experiment by which the interface opens it as model training.
_KIND = ("mlflow.experimentKind", "custom_model_development")
#: Runs that a search returns at once.
_PAGE = 5000
#: Artefacts that are sent to a tracking server at once; a local file takes one.
_REQUESTS = 8
#: How to go on after a failure of a local file, and of a server.
_WAYS_OUT = (
    "move the file away (`lpbench report --tracking mlflow` makes it again), upgrade MLflow, or use tracking=none",
    "start the server, or use another tracking.uri or tracking=none",
)


def tracking_uri(uri: str | None, results_dir: Path) -> str:
    """Address of the tracking store: the given one, or an absolute sqlite file in the results folder."""
    return uri or _address(results_dir.resolve() / "mlflow.db")


def _address(file: Path) -> str:
    """Address of a local store; signs that an address reads as others are quoted where SQLAlchemy reads them so."""
    if not {"%", "?"} & {*str(file)}:
        return f"sqlite:///{file}"
    from sqlalchemy.engine import make_url

    # of sqlite:/// MLflow makes the folder, as the address spells it
    addresses = (f"sqlite+pysqlite:///{name}" for name in (file, quote(str(file))))
    return next((a for a in addresses if make_url(a).database == str(file)), f"sqlite:///{file}")


def prepare(uri: str) -> None:
    """Make a local store where there is none, before anybody else opens it."""
    with _store(uri):
        pass


def experiment_pages(uri: str) -> dict[str, str]:
    """Where the interface shows the runs of each logged experiment, as model training, by the experiment's name."""
    with _store(uri) as client:
        found = [e for e in client.search_experiments(order_by=["name"]) if _KIND in e.tags.items()]
    return {e.name: f"#/experiments/{e.experiment_id}/runs?workflowType=machine_learning" for e in found}


def rebuild(uri: str, results_dir: Path, records: Iterable[tuple[Path, Mapping]]) -> int:
    """Log finished artefacts, folder and content of ``run.json`` each; returns the number of runs written.

    The store is asked once per experiment what it has. Files go to ``mlartifacts`` of the results folder where the
    store is a local file.
    """
    by_name: dict[str, list[tuple[Path, Mapping]]] = {}
    for folder, record in records:
        by_name.setdefault(record["name"].partition("/")[0], []).append((folder, record))
    written = 0
    with _store(uri) as client, ThreadPoolExecutor(1 if _file_of(uri) else _REQUESTS) as pool:
        for name, artefacts in by_name.items():
            experiment_id = _experiment_id(client, uri, name, results_dir)
            known = _known(client, experiment_id, artefacts)
            todo = [a for a in artefacts if not _is_logged(client, known, *a)]
            written += sum(pool.map(lambda artefact, to=experiment_id: _log(client, to, *artefact), todo))
    return written


def _file_of(uri: str) -> Path | None:
    """The file of a local store; None for a server."""
    if not uri.startswith(("sqlite:///", "sqlite+pysqlite:///")):
        return None
    from sqlalchemy.engine import make_url

    return Path(make_url(uri).database or "")


@contextmanager
def _store(uri: str) -> Iterator:
    """A client of a store, alone with it where it is a file; what MLflow, its database or the disk raises is ours."""
    os.environ.pop("MLFLOW_RUN_ID", None)
    for name, value in (("MLFLOW_DISABLE_TELEMETRY", "true"), ("MLFLOW_LOGGING_LEVEL", "WARNING")):
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    file = _file_of(uri)
    try:
        with locked(file.with_name(f".{file.name}.lock")) if file else nullcontext():
            if file:
                _do_not_wait_for_the_disk()
                if not file.is_file() or not file.stat().st_size:
                    _make(file)
                with closing(sqlite3.connect(file)) as found:  # MLflow tries for minutes to open what is no database
                    found.execute("SELECT version_num FROM alembic_version")
            client = MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)
            yield client
    except OSError as error:
        said = refusal(error, error.filename or uri) or f"{type(error).__name__}: {error}"
        raise TrackingError(f"tracking.uri={uri!r}: {said}") from error
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        said, way_out = " ".join(str(error).split())[:300], _WAYS_OUT[file is None]
        raise TrackingError(f"tracking.uri={uri!r} does not answer or cannot be used ({said}); {way_out}") from error


def _make(file: Path) -> None:
    """Make an empty store under another name, and rename it: MLflow refuses one that was not finished for ever."""
    from mlflow import MlflowClient

    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
    try:
        MlflowClient(tracking_uri=_address(temporary)).search_experiments(max_results=1)
        os.replace(temporary, file)
    finally:
        for left in file.parent.glob(f".{file.name}.*.tmp*"):  # of a process that was killed, too: this one is alone
            left.unlink()


@cache
def _do_not_wait_for_the_disk() -> None:
    """Let sqlite leave the writing to the system: a run is five transactions, twice as slow with the disk's waits."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    @event.listens_for(Engine, "connect")
    def relax(connection, record):
        if isinstance(connection, sqlite3.Connection):
            connection.execute("PRAGMA synchronous=OFF")


def _experiment_id(client, uri: str, name: str, results_dir: Path) -> str:
    """Number of an experiment, which is made where it is not there, or belongs to where the results folder was."""
    location = (results_dir.resolve() / "mlartifacts" / name).as_uri() if _file_of(uri) else None
    found = client.get_experiment_by_name(name)
    if found is not None and found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    if found is not None and uri == tracking_uri(None, results_dir) and found.artifact_location != location:
        client.rename_experiment(found.experiment_id, f"{name} (moved from {found.experiment_id})")
        client.delete_experiment(found.experiment_id)
        found = None
    if found is not None:
        return str(found.experiment_id)
    tags = {_KIND[0]: _KIND[1], "mlflow.note.content": paper_of(name).title}
    return str(client.create_experiment(name, artifact_location=location, tags=tags))


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


def _digest(folder: Path, record: Mapping) -> str:
    digest = hashlib.sha256(json.dumps(record["config"], sort_keys=True).encode())
    digest.update(Artefact(folder, record["name"]).summary_file.read_bytes())
    return digest.hexdigest()[:32]


def _artefact(record: Mapping) -> str:
    """What a parent run is of; runs that deviate from the registered experiment stand beside it."""
    return str(record.get("group") or record.get("folder") or record["name"])


def _log(client, experiment_id: str, folder: Path, record: Mapping) -> int:
    """Write the runs of one artefact; returns their number."""
    found = Artefact(folder, record["name"])
    summary = found.summary
    if summary is None:
        raise DataError(f"{folder} holds no summary: run the experiment again")
    artefact = _artefact(record)
    tags = _tags(record) | {"lpbench.content": _digest(folder, record), "lpbench.artefact": artefact}
    keys = ["panel", "dataset", "mask", "method", "epsilon"]
    cells = [(dict(zip(keys, values, strict=True)), rows) for values, rows in summary.groupby(keys, sort=True)]
    end = int(found.summary_file.stat().st_mtime * 1000)

    def create(name: str, seconds: float, tags: Mapping) -> str:
        start = end - int(seconds * 1000)
        return str(client.create_run(experiment_id, start_time=start, run_name=name, tags=tags).info.run_id)

    alone = "group" in record and len(cells) == 1  # one run holds the numbers and the files
    if alone:
        ((cell, rows),) = cells
        parent = create(_name(cell), _seconds(record, cell), tags | _searchable(cell))
        _log_cell(client, parent, cell, rows, record, {"config": record["config"]})
    else:
        seconds = sum(record.get("seconds", {}).values())
        parent = create(artefact, seconds, tags | {"mlflow.note.content": _note(found, record)})
        for cell, rows in cells:
            child_tags = {**tags, "mlflow.parentRunId": parent, **_searchable(cell)}
            child = create(_name(cell), _seconds(record, cell), child_tags)
            _log_cell(client, child, cell, rows, record)
            client.set_terminated(child, end_time=end)
        metrics = _metrics({**_overview(summary), "seconds": seconds}, end)
        client.log_batch(parent, metrics=metrics, params=_params(record["config"]))
    for file in sorted(folder.iterdir()):
        if file.is_file():
            client.log_artifact(parent, str(file), None if file.suffix in _SHOWN else "data")
    client.set_terminated(parent, end_time=end)
    return 1 if alone else 1 + len(cells)


def _log_cell(client, run_id: str, cell: Mapping, rows: pd.DataFrame, record: Mapping, more: Mapping = {}) -> None:
    """Log the numbers of one data set x mask x method x ε, a step for each ``x``, in one batch (several if many)."""
    from mlflow.entities import Dataset, DatasetInput

    now = int(time.time() * 1000)
    oracle = rows[rows["selection"] == "oracle"]
    params = {**cell, "epsilon": f"{cell['epsilon']:g}", "seed": record["config"].get("seed"), **more}
    if len(oracle) == 1:
        params["selected"] = oracle["params"].iloc[0]
    metrics = _metrics({"seconds": _seconds(record, cell)}, now)
    for selection, part in rows.groupby("selection", sort=True):
        prefix = "" if selection == "oracle" else f"{selection}/"
        for step, row in enumerate(part.to_dict("records")):
            values = {prefix + (row["metric"] if key == "mean" else key): row[key] for key in METRICS}
            if "group" in record and not prefix:
                del values["rank"]  # alone it would be the first of one
            metrics += _metrics(values if prefix else {**values, "x": row["x"]}, now, step)
    for start in range(0, max(len(metrics), 1), _BATCH):
        client.log_batch(run_id, metrics=metrics[start : start + _BATCH], params=[] if start else _params(params))
    info = record.get("datasets", {}).get(cell["dataset"])
    if info:
        data = Dataset(
            name=cell["dataset"][:500],
            digest=str(info["fingerprint"])[:36],
            source_type="lpbench",
            source=json.dumps({"dataset": cell["dataset"]}),
            profile=json.dumps(info),
        )
        with _DATASETS:
            client.log_inputs(run_id, [DatasetInput(data)])


def _name(cell: Mapping) -> str:
    """Name of a cell's run: what cells differ in comes first, for lists cut long names."""
    places = [str(cell[key]) for key in ("dataset", "mask", "panel") if cell[key]]
    return f"{cell['method']} ε={cell['epsilon']:g} {' '.join(places)}"


def _seconds(record: Mapping, cell: Mapping) -> float:
    """Seconds of the computation that a cell comes from: one pass, for all budgets."""
    return float(record.get("seconds", {}).get("|".join(cell[k] for k in ("panel", "dataset", "mask", "method")), 0.0))


def _searchable(cell: Mapping) -> dict[str, str]:
    return {f"lpbench.{k}": str(v) for k, v in cell.items() if k != "epsilon"}


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
    return [Param(k, v[:_PARAM]) for k, v in sorted(flat.items())]


def _metrics(values: Mapping[str, object], now: int, step: int = 0) -> list:
    """Metrics of one step, without those that are no number."""
    from mlflow.entities import Metric

    numbers = {k: float(v) for k, v in values.items() if isinstance(v, (int, float)) and math.isfinite(v)}
    return [Metric(key, value, now, step) for key, value in numbers.items()]


def _overview(summary: pd.DataFrame) -> dict[str, float]:
    """Average rank of every method over the cells of an artefact, by oracle selection."""
    ranked = summary[(summary["selection"] == "oracle") & summary["rank"].notna()]
    ranks = ranked.groupby("method", sort=True)["rank"].mean()
    return {"rank/" + re.sub(r"[^\w./ -]", " ", str(method)): float(rank) for method, rank in ranks.items()}


def _note(artefact: Artefact, record: Mapping) -> str:
    """Description of an artefact in Markdown: deviations, tables, notes."""
    experiment = record["config"].get("experiment", {})
    parts = [
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
