"""MLflow runs of what a results folder holds; all of them can be made again from the folder.

One MLflow experiment a paper (``single`` for single cells), of the kind that opens as model training. In it one parent
run an artefact with its table as description, its figures, its data, the average rank of every method and how many of
the paper's numbers are met; below it one child run for each data set x mask x method x ε (and panel) with the numbers.
Logging is idempotent: a parent run has the hash of what it logs, and is replaced only when that changes, never by
another configuration's. Workers log nothing; one process at a time logs into a file what is complete; whatever fails
is a :class:`~lpbench.errors.TrackingError`. No other module imports MLflow.
"""

import getpass
import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd

from lpbench.analysis.alternatives import EQUIVALENT
from lpbench.analysis.numbers import counts, in_words, judged_numbers
from lpbench.analysis.summary import stated_privacy
from lpbench.cast import member
from lpbench.derivation import Derivation
from lpbench.digest import file_hash
from lpbench.errors import DataError, TrackingError
from lpbench.experiments import catalogue
from lpbench.experiments.progress import Progress
from lpbench.experiments.results import Artefact
from lpbench.files import locked, refusal, write_text
from lpbench.reporting.number_table import printed_numbers
from lpbench.reporting.paper import paper_of
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.tables.text import tables_of

#: Numbers of a summary row that become metrics; the mean goes by the name of the experiment's metric (``mse``).
METRICS = ("mean", "se", "ratio", "rank", "spent", "spent_delta")
#: What a run's metrics say of a published number.
_PRINTED = ("published", "reproduced", "distance", "equivalent")
#: Metrics of an artefact's published numbers, of which those after the second are disjoint and add up to the first.
COUNTED_NUMBERS = {
    "compared": "compared",
    "identify_budget": "budget",
    "identify_method": "method",
    "equivalent_not_alone": "alike",
    "different": "different",
    "cannot_tell": "undecided",
    "not_comparable": "apart",
}
_CELL = ["panel", "dataset", "mask", "method", "epsilon"]
#: States of complete runs: with a number, and of a cell that has none.
_ENDED = ("FINISHED", "FAILED")
#: Seconds that a run is expected to take.
_SECONDS = 0.03
_BATCH = 900
#: The longest value of a run's tag, and of a parameter.
_TAG, _PARAM = 8000, 5900
#: Beside the folder's own store: the contents that it has. How a file begins that SQLite can open.
_LOGGED, _SQLITE = ".mlflow.json", b"SQLite format 3\0"
#: Tag of an experiment by which the interface opens it as model training.
_KIND = ("mlflow.experimentKind", "custom_model_development")
#: Nothing is sent to MLflow's makers; a server that does not answer costs seconds, with MLflow's own patience minutes.
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
}
#: How to go on after a failure of a local file, and of a server.
_WAYS_OUT = (
    "move the file away (`lpbench report --tracking mlflow` makes it again), upgrade MLflow, or use tracking=none",
    "start the server, or use another tracking.uri or tracking=none",
)


def tracking_uri(uri: str | None, results_dir: Path) -> str:
    """Address of the tracking store: the given one, or an absolute sqlite file in the results folder."""
    return uri or _address(results_dir.resolve() / "mlflow.db")


def _address(file: Path) -> str:
    """Address of a local store, in which SQLAlchemy quotes the signs that an address reads as others."""
    if not {"%", "?"} & {*str(file)}:
        return f"sqlite:///{file}"
    from sqlalchemy.engine import URL

    # of sqlite:/// MLflow makes the folder, as the address spells it
    return URL.create("sqlite+pysqlite", database=str(file)).render_as_string()


def has_file(uri: str) -> bool:
    """Return True if a tracking store is a server, or a nonempty file."""
    file = _file_of(uri)
    return file is None or (file.is_file() and file.stat().st_size > 0)


def experiment_pages(uri: str) -> dict[str, str]:
    """Return the address of each logged experiment's page within MLflow's interface, by the experiment's name."""
    with _store(uri) as client:
        found = [e for e in client.search_experiments(order_by=["name"]) if _KIND in e.tags.items()]
    return {e.name: f"#/experiments/{e.experiment_id}/runs?workflowType=machine_learning" for e in found}


def rebuild(uri: str, results_dir: Path, records: Iterable[tuple[Path, Mapping]]) -> int:
    """Log finished artefacts, folder and content of ``run.json`` each; returns the number of runs written.

    The store is asked once per experiment what it has. Files go to ``mlartifacts`` of the results folder where the
    store is a local file.
    """
    now = int(time.time() * 1000)
    contents = [(folder, record, _digest(folder, record), k) for k, (folder, record) in enumerate(records)]
    own, note = uri == tracking_uri(None, results_dir), results_dir.resolve() / _LOGGED
    wanted = {f"{folder.resolve()}|{_artefact(record)}": digest for folder, record, digest, _ in contents}
    before = _noted(note) if own and has_file(uri) else {}
    if wanted.items() <= before.items():  # MLflow alone takes two seconds to start
        return 0
    with _store(uri) as client:
        by_name: dict[str, list[tuple]] = {}
        for content in contents:
            by_name.setdefault(content[1]["name"].partition("/")[0], []).append(content)
        runs = []
        for name, found in by_name.items():
            experiment = _experiment(client, uri, name, results_dir)
            known = _known(client, experiment.experiment_id, [_artefact(record) for _, record, _, _ in found])
            todo = [one for one in found if not _is_logged(client, experiment.experiment_id, known, *one[1:3])]
            runs += [_Runs(client, experiment, now, *one) for one in todo]
        written = sum(len(r) for r in runs)
        with Progress(written > 1) as bar:
            bar.stage(f"logging {written:,} runs to MLflow")
            bar.expect(written * _SECONDS)
            for one in runs:
                one.log(lambda: bar.advance(_SECONDS))
    if own:
        write_text(json.dumps(before | wanted, indent=1, sort_keys=True) + "\n", note)
    return written


def _noted(path: Path) -> dict[str, str]:
    """Contents that the folder's own store has, by folder; empty where no call has noted any."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _file_of(uri: str) -> Path | None:
    """The file of a local store; None for a server."""
    if not uri.startswith(("sqlite:///", "sqlite+pysqlite:///")):
        return None
    from sqlalchemy.engine import make_url

    if file := make_url(uri).database:
        return Path(file)
    raise TrackingError(f"tracking.uri={uri!r} names no file; write sqlite:///FILE, or use tracking=none")


@contextmanager
def _store(uri: str) -> Iterator:
    """A client of a store, alone with it where it is a file; what MLflow, its database or the disk raises is ours."""
    os.environ.pop("MLFLOW_RUN_ID", None)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    file = _file_of(uri)
    try:
        with locked(file.with_name(f".{file.name}.lock")) if file else nullcontext():
            if file and not has_file(uri):
                _make(file)
            if file and not _is_database(file):  # which MLflow tries for minutes to open
                raise TrackingError(f"tracking.uri={uri!r}: the file is not a database; {_WAYS_OUT[0]}")
            client = MlflowClient(tracking_uri=uri)
            client.search_experiments(max_results=1)
            yield client
    except OSError as error:
        said = refusal(error, error.filename or uri) or f"{type(error).__name__}: {error}"
        raise TrackingError(f"tracking.uri={uri!r}: {said}") from error
    except ImportError as error:
        raise TrackingError(
            f"tracking.uri={uri!r} needs a driver that is not installed ({error}); install it, or use another "
            "tracking.uri or tracking=none"
        ) from error
    except (MlflowException, SQLAlchemyError) as error:
        said, way_out = " ".join(str(error).split())[:300], _WAYS_OUT[file is None]
        raise TrackingError(f"tracking.uri={uri!r} does not answer or cannot be used ({said}); {way_out}") from error


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE


def _make(file: Path) -> None:
    """Let MLflow make an empty store beside it, and rename it: half a one is refused for ever."""
    from mlflow import MlflowClient

    folder = Path(mkdtemp(".tmp", f".{file.name}.", file.parent))
    try:
        MlflowClient(tracking_uri=_address(folder / file.name)).search_experiments(max_results=1)
        os.replace(folder / file.name, file)
    finally:
        for found in file.parent.glob(f".{file.name}.*.tmp"):  # of a process that was killed, too: this one is alone
            shutil.rmtree(found, ignore_errors=True)


def _location(results_dir: Path, name: str) -> str:
    return (results_dir.resolve() / "mlartifacts" / name).as_uri()


def _experiment(client, uri: str, name: str, results_dir: Path):
    """The experiment of a name, which is made where it is not there, or belongs to where the results folder was."""
    location = _location(results_dir, name) if _file_of(uri) else None
    if found := client.get_experiment_by_name(name):
        if found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        if uri != tracking_uri(None, results_dir) or found.artifact_location == location:
            return found
        client.rename_experiment(found.experiment_id, f"{name} (moved from {found.experiment_id})")
        client.delete_experiment(found.experiment_id)
    tags = {_KIND[0]: _KIND[1], "mlflow.note.content": "Single cells" if name == "single" else paper_of(name).title}
    return client.get_experiment(client.create_experiment(name, artifact_location=location, tags=tags))


def _search(client, experiment_id: str, query: str) -> Iterator:
    token = None
    while True:
        page = client.search_runs([experiment_id], query, max_results=5000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _known(client, experiment_id: str, artefacts: Sequence[str]) -> dict[str, list]:
    """Runs of artefacts by their artefact, from one search: of several artefacts the parents alone."""
    query, first = "tags.`lpbench.content` != ''", artefacts[0]
    if len(artefacts) == 1:
        quote = '"' if "'" in first else "'"
        query = f"tags.`lpbench.artefact` = {quote}{first}{quote}"
    found: dict[str, list] = {}
    for run in _search(client, experiment_id, query):
        found.setdefault(run.data.tags.get("lpbench.artefact", ""), []).append(run)
    return found


def _is_logged(client, experiment_id: str, known: Mapping[str, list], record: Mapping, digest: str) -> bool:
    """Return True if a complete parent run with this content is logged; delete outdated runs of its configuration."""
    same = (None, record["config_hash"])
    runs = [r for r in known.get(_artefact(record), []) if r.data.tags.get("lpbench.config_hash") in same]
    parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
    kept = [r for r in parents if r.data.tags.get("lpbench.content") == digest and r.info.status in _ENDED][:1]
    for parent in parents:
        if parent not in kept:
            of = f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'"
            for run in [*_search(client, experiment_id, of), parent]:  # the parent last: without it nobody finds them
                client.delete_run(run.info.run_id)
    return bool(kept)


def _digest(folder: Path, record: Mapping) -> str:
    """Key of runs, which follow from the configuration and the tables or, without scores, the pictures."""
    files = sorted(folder.glob("*.csv")) or sorted(folder.glob("*.svg"))
    inputs = {"config": record["config"], "files": {path.name: file_hash(path) for path in files}}
    return Derivation("MLflow runs", inputs, (__name__,), ("mlflow",)).key


def _artefact(record: Mapping) -> str:
    """Return the name that a parent run stands for; deviating runs get their group or folder."""
    return str(record.get("group") or record.get("folder") or record["name"])


class _Runs:
    """The runs of one artefact: a parent and a child for each cell, or one run with everything of a single cell."""

    def __init__(self, client, experiment, now: int, folder: Path, record: Mapping, digest: str, place: int):
        """Read an artefact's summary and printed numbers; date its runs so that MLflow lists parents first."""
        self.client, self.experiment, self.folder, self.record, self.digest = client, experiment, folder, record, digest
        self.artefact = found = Artefact(folder, record["name"])
        if found.summary is None and found.experiment.kind != "drawing":
            raise DataError(f"{folder} holds no summary: run the experiment again")
        self.summary = pd.DataFrame(columns=[*_CELL, "selection", "rank"]) if found.summary is None else found.summary
        self.cells = sorted(_by(self.summary, _CELL).items())
        self.alone = "group" in record and len(self.cells) == 1
        published = printed_numbers(found)
        self.numbers, self.published = published, published.to_dict("records")
        self.printed = _by(published, _CELL[:4])
        # MLflow shows the newest 100 runs first: parents are of now, in their order, children older than any parent
        made, file = experiment.creation_time or now, found.summary_file
        self.start = max(now, made) - place
        created = self.start if self.alone else made - 1000
        self.written = min(int(file.stat().st_mtime * 1000), created) if file.is_file() else created

    def __len__(self) -> int:
        return 1 if self.alone else 1 + len(self.cells)

    def log(self, advance: Callable[[], None]) -> None:
        """Log the artefact: a parent run with totals and ranks and a child for each cell, or one run for a single cell.

        Each child is ended as it is written; ``advance`` is called after it.
        """
        record, name, end = self.record, _artefact(self.record), self.written
        content = {"lpbench.content": self.digest, **_environment_tags(record)}
        status = "FINISHED"
        if self.alone:
            parent = self._log_cell(*self.cells[0], content, {"config": record["config"]})
            status = self._status(self.cells[0][0])
        else:
            counted = counts(judged_numbers(self.numbers))
            seconds = sum(record.get("seconds", {}).values())
            end = self.start + int(seconds * 1000)
            note = {"mlflow.note.content": _note(self.artefact, record, self.numbers)}
            parent = self._run(name, self.start, content | note | _verdict(self.published))
            for cell in self.cells:
                child = self._log_cell(*cell, {"mlflow.parentRunId": parent})
                self.client.set_terminated(child, self._status(cell[0]), end_time=self.written)
                advance()
            ranked = self.summary[(self.summary["selection"] == "oracle") & self.summary["rank"].notna()]
            ranks = ranked.groupby("method", sort=True)["rank"].mean()
            numbers = {"rank/" + re.sub(r"[^\w./ -]", " ", str(method)): float(rank) for method, rank in ranks.items()}
            numbers |= {key: counted[of] for key, of in COUNTED_NUMBERS.items()} if counted["compared"] else {}
            metrics = _metrics({**numbers, "seconds": seconds}, end)
            self.client.log_batch(parent, metrics=metrics, params=_params(record["config"]))
        self._log_datasets(parent)
        for file in sorted(self.folder.iterdir()):
            if file.is_file():  # pictures are at the top
                self.client.log_artifact(parent, str(file), None if file.suffix == ".svg" else "data")
        self.client.set_terminated(parent, status, end_time=end)
        advance()

    def _status(self, place: tuple) -> str:
        return _ENDED[place in self._failed]

    @cached_property
    def _failed(self) -> dict[tuple, str]:
        """Return the reasons of cells that should have a number and have none.

        Missing data and planned gaps are no failure.
        """
        if self.artefact.full is None:
            return {}
        reasons = _by(self.artefact.full.reasons, _CELL[:4])
        empty = [
            place for place, rows in self.cells if all(row["mean"] is None for row in rows) and place[:4] in reasons
        ]
        found = {place: reasons[place[:4]][0]["reason"] for place in empty}
        return {place: why for place, why in found.items() if not why.startswith(("skipped", "left_out"))}

    def _run(self, name: str, start: int, tags: Mapping) -> str:
        tags = {**_tags(self.record), **tags}
        run = self.client.create_run(self.experiment.experiment_id, start_time=start, run_name=name, tags=tags)
        return str(run.info.run_id)

    def _log_cell(self, place: tuple, rows: list[dict], tags: Mapping, more: Mapping = {}) -> str:
        """Log one data set x mask x method x ε in batches; a step is a whole ``x``, its place, or a replication."""
        record, cell, now = self.record, dict(zip(_CELL, place, strict=True)), int(time.time() * 1000)
        seconds = float(record.get("seconds", {}).get("|".join(place[:4]), 0.0))  # of one pass, for all budgets
        # a number that the paper prints for all budgets belongs to each
        printed = [r for r in self.printed.get(place[:4], ()) if r["epsilon"] in (cell["epsilon"], None)]
        searched = {f"lpbench.{key}": cell[key] for key in _CELL[:4] if cell[key]} | _verdict(printed)
        # what cells differ in comes first, for lists cut long names
        places = " ".join(str(cell[key]) for key in ("dataset", "mask", "panel") if cell[key])
        name = f"{cell['method']} ε={cell['epsilon']:g} {places}"
        searched |= {"lpbench.audit": rows[0]["audit"][:_TAG]} if rows[0]["audit"] else {}
        if why := self._failed.get(place):
            searched |= {"lpbench.reason": why[:_TAG], "mlflow.note.content": why[:_TAG]}
        run_id = self._run(name, self.written - int(seconds * 1000), {**tags, **searched})
        main = min((row["selection"] for row in rows), key=lambda selection: (selection != "oracle", selection))
        xs = sorted({row["x"] for row in rows} - {None})
        whole = all(float(x).is_integer() for x in xs)
        step = {x: int(x) if whole else k for k, x in enumerate(xs)}
        metrics = []  # in the order of the interface, which compares runs by the first
        for row in rows:
            prefix = "" if row["selection"] == main else f"{row['selection']}/"
            values = {prefix + (row["metric"] if key == "mean" else key): row[key] for key in METRICS}
            if "group" in record or prefix:
                del values[f"{prefix}rank"]  # alone it would be the first of one
            metrics += _metrics(values if whole or prefix else {**values, "x": row["x"]}, now, step.get(row["x"], 0))
        for row in printed:
            metrics += _metrics({key: row[key] for key in _PRINTED}, now, step.get(row["x"], 0))
        for row in self._chosen.get((*place, main), ()) if len(xs) < 2 else ():
            metrics += _metrics({f"replication/{row['metric']}": row["value"]}, now, int(row["replication"]))
        metrics += _metrics({"seconds": seconds}, now)
        params = _params({**_cell_params(cell, [row for row in rows if row["selection"] == main], record), **more})
        for first in range(0, max(len(metrics), 1), _BATCH):
            part = metrics[first : first + _BATCH]
            self.client.log_batch(run_id, metrics=part, params=[] if first else params)
        return run_id

    def _log_datasets(self, run_id: str) -> None:
        """Name the data sets of a parent; a child, which would cost a third more, has its own as a parameter."""
        from mlflow.entities import Dataset, DatasetInput

        found = [
            Dataset(
                name[:500],
                str(info["fingerprint"])[:36],
                "lpbench",
                json.dumps({"dataset": name}),
                profile=json.dumps(info),
            )
            for name, info in self.record.get("datasets", {}).items()
        ]
        if found:
            self.client.log_inputs(run_id, [DatasetInput(data) for data in found])

    @cached_property
    def _chosen(self) -> dict[tuple, list[dict]]:
        """Scores by replication of each cell and selection, where they were kept."""
        found = self.artefact.chosen
        if found is None:
            return {}
        rounded = found["epsilon"].map({e: float(f"{e:.7g}") for e in found["epsilon"].unique()})
        return _by(found.assign(epsilon=rounded), [*_CELL, "selection"])


def _by(table: pd.DataFrame, keys: list[str]) -> dict[tuple, list[dict]]:
    """Rows of a table by some of their values; what is missing is None."""
    found: dict[tuple, list[dict]] = {}
    for row in table.astype(object).where(table.notna(), None).to_dict("records"):
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def _verdict(rows: Iterable[Mapping]) -> dict[str, str]:
    """The tag that says which class the published numbers of a run have."""
    found = [row["class"] for row in rows if row["class"]]
    words = {found[0]} if len(set(found)) == 1 else {f"{found.count(EQUIVALENT)} of {len(found)} equivalent"}
    return {"lpbench.verdict": words.pop()} if found else {}


def _cell_params(cell: Mapping, rows: list[dict], record: Mapping) -> dict[str, object]:
    """Parameters of a cell's run, each a column of its own: names apart from parameters, the setting, the rest."""
    found: dict[str, object] = {"panel": cell["panel"] or None}
    for key in ("dataset", "mask", "method"):
        chosen = member(cell[key])
        found |= {key: chosen.name, **{f"{key}.{name}": value for name, value in chosen.params.items()}}
    if len(rows) == 1:
        found |= {f"selected.{key}": value for key, value in json.loads(rows[0]["params"] or "{}").items()}
    model = _cards().get(str(found["method"]), {}).get("privacy")
    return found | {
        "epsilon": f"{cell['epsilon']:g}",
        "seed": record["config"].get("seed"),
        "replications": record["config"].get("experiment", {}).get("replications"),
        "selection": rows[0]["selection"],
        "n": record.get("datasets", {}).get(cell["dataset"], {}).get("n_train"),
        "privacy": stated_privacy(model or "", rows[0]["audit"]) or None,
    }


@cache
def _cards() -> dict[str, dict]:
    return catalogue.heads("method", ("privacy",))


def _tags(record: Mapping) -> dict[str, str]:
    """Tags of every run of an artefact: artefact, source, user, commit, and what deviates."""
    commit = str(record.get("environment", {}).get("commit", "unknown"))
    registered = "group" not in record and "folder" not in record
    deviations = record.get("deviations")
    return {
        "mlflow.source.name": f"lpbench reproduce {record['name']}" if registered else "lpbench",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": commit.partition("+")[0],
        "mlflow.user": _user(),
        "lpbench.artefact": _artefact(record),
        "lpbench.commit": commit,
        **({"lpbench.deviations": "; ".join(deviations)} if deviations else {}),
    }


@cache
def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"


def _environment_tags(record: Mapping) -> dict[str, str]:
    """Further tags of a parent, which its children need not repeat: configuration, machine, versions of libraries."""
    environment = dict(record.get("environment", {}))
    versions = environment.pop("versions", {})
    tags = {f"lpbench.{k}": str(v) for k, v in environment.items()} | {f"version.{k}": v for k, v in versions.items()}
    return tags | {"lpbench.config_hash": record["config_hash"]}


def _params(values: Mapping) -> list:
    """Parameters; texts as they are, anything else as JSON, what is None not at all."""
    from mlflow.entities import Param

    flat = {k: v if isinstance(v, str) else json.dumps(v, sort_keys=True) for k, v in values.items() if v is not None}
    return [Param(k, v[:_PARAM]) for k, v in sorted(flat.items())]


def _metrics(values: Mapping[str, object], now: int, step: int = 0) -> list:
    """Metrics of one step, without those that are no number."""
    from mlflow.entities import Metric

    numbers = {k: float(v) for k, v in values.items() if isinstance(v, (int, float)) and math.isfinite(v)}
    return [Metric(key, value, now, step) for key, value in numbers.items()]


def _note(artefact: Artefact, record: Mapping, numbers: pd.DataFrame) -> str:
    """Description of an artefact in Markdown: deviations, tables, notes."""
    experiment = record["config"].get("experiment", {})
    parts = [
        f"**{experiment.get('title') or record['name']}**",
        *(f"**Not as registered:** {text}" for text in record.get("deviations", ())),
        *([f"**{in_words(judged)}.**"] if len(judged := judged_numbers(numbers)) else []),
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
