"""MLflow's store: its address, its file, which one process at a time opens, and its experiments.

No other module imports MLflow but those of this package. Whatever fails is a :class:`~lpbench.errors.TrackingError`.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import mkdtemp

from lpbench.disk import locked, refusal
from lpbench.errors import TrackingError
from lpbench.reporting.paper import paper_of

#: First bytes of a file that SQLite can open.
_SQLITE = b"SQLite format 3\0"
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
#: Experiment of the cells that the command line composed.
SINGLE = "single"
#: Start of the names of experiments with runs that are not as registered.
QUICK_TAG = "quick"
#: Views of an experiment's runs that links open in a fresh browser: filter and order. In any order but that of
#: creation, the default, MLflow shows runs without their parents.
_VIEWS: dict[str, dict[str, str | bool]] = {
    "runs": {"searchFilter": ""},
    "different": {
        "searchFilter": "tags.`lpbench.verdict` = 'different'",
        "orderByKey": "tags.`lpbench.cause`",
        "orderByAsc": True,
    },
    "fails": {
        "searchFilter": "tags.`lpbench.kind` = 'claim' AND tags.`lpbench.verdict` = 'fails'",
        "orderByKey": "tags.`lpbench.claim`",
        "orderByAsc": True,
    },
}
#: Columns of every view.
_COLUMNS = ["metrics.`equivalent`", "metrics.`compared`"]
_COLUMNS += [f"tags.`lpbench.{name}`" for name in ("verdict", "kind", "cause", "reason")]


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
    with opened(uri) as client:
        experiments = [e for e in client.search_experiments(order_by=["name"]) if _KIND in e.tags.items()]
    return {e.name: _page(e.experiment_id, "runs") for e in experiments}


def _page(experiment_id: str, view: str) -> str:
    """Return the address of a view of an experiment's runs within MLflow's interface."""
    return f"#/experiments/{experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={view}"


def _file_of(uri: str) -> Path | None:
    """The file of a local store's address; None for a server. TrackingError for an address without a file."""
    if not uri.startswith(("sqlite:///", "sqlite+pysqlite:///")):
        return None
    from sqlalchemy.engine import make_url

    if file := make_url(uri).database:
        return Path(file)
    raise TrackingError(f"tracking.uri={uri!r} names no file; write sqlite:///FILE, or use tracking=none")


@contextmanager
def opened(uri: str) -> Iterator:
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
        reason = refusal(error, error.filename or uri) or f"{type(error).__name__}: {error}"
        raise TrackingError(f"tracking.uri={uri!r}: {reason}") from error
    except ImportError as error:
        raise TrackingError(
            f"tracking.uri={uri!r} needs a driver that is not installed ({error}); install it, or use another "
            "tracking.uri or tracking=none"
        ) from error
    except (MlflowException, SQLAlchemyError) as error:
        reason, way_out = " ".join(str(error).split())[:300], _WAYS_OUT[file is None]
        raise TrackingError(f"tracking.uri={uri!r} does not answer or cannot be used ({reason}); {way_out}") from error


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE


def _make(file: Path) -> None:
    """Make an empty store at ``file``: MLflow makes it beside, and it is renamed.

    Half a store would be refused for ever.
    """
    from mlflow import MlflowClient

    folder = Path(mkdtemp(".tmp", f".{file.name}.", file.parent))
    try:
        MlflowClient(tracking_uri=_address(folder / file.name)).search_experiments(max_results=1)
        os.replace(folder / file.name, file)
    finally:
        for leftover in file.parent.glob(f".{file.name}.*.tmp"):  # of a process that was killed, too: this one is alone
            shutil.rmtree(leftover, ignore_errors=True)


def _location(results_dir: Path, name: str) -> str:
    return (results_dir.resolve() / "mlartifacts" / name).as_uri()


def experiment_of(client, uri: str, name: str, results_dir: Path):
    """Return MLflow's experiment of a name, restored if it was deleted, and made if it is missing.

    One whose artifacts lie where the results folder was before it moved is renamed and deleted, and made anew.
    """
    location = _location(results_dir, name) if _file_of(uri) else None
    if experiment := client.get_experiment_by_name(name):
        if experiment.lifecycle_stage == "deleted":
            client.restore_experiment(experiment.experiment_id)
        if uri != tracking_uri(None, results_dir) or experiment.artifact_location == location:
            return experiment
        client.rename_experiment(experiment.experiment_id, f"{name} (moved from {experiment.experiment_id})")
        client.delete_experiment(experiment.experiment_id)
    title = "Single cells and sweeps" if name == SINGLE else paper_of(name.removeprefix(f"{QUICK_TAG}/")).title
    common = {"selectedColumns": _COLUMNS, "viewMaximized": True}
    views = {f"mlflow.sharedViewState.{name}": json.dumps({**view, **common}) for name, view in _VIEWS.items()}
    made = client.create_experiment(name, artifact_location=location, tags=views | dict([_KIND]))
    links = f"numbers that are [different]({_page(made, 'different')}), claims that [fail]({_page(made, 'fails')})"
    client.set_experiment_tag(made, "mlflow.note.content", title if name == SINGLE else f"{title}: {links}")
    return client.get_experiment(made)


def search(client, experiment_id: str, query: str) -> Iterator:
    """Yield the runs of an experiment that match a query, whatever their number."""
    token = None
    while True:
        page = client.search_runs([experiment_id], query, max_results=5000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return
