"""The tracking store: a client for it, a local file that is whole or not there, one error for whatever fails."""

from __future__ import annotations

import os
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from lpbench.errors import TrackingError
from lpbench.files import locked, refusal

#: What sqlite says of a file that MLflow did not finish making, or that is cut short: it is set aside and made again.
_HALF_MADE = ("already exists", "duplicate column", "no such table", "not a database", "malformed")


@contextmanager
def failures_named(uri: str) -> Iterator[None]:
    """Whatever MLflow, its database or the disk raises, as one error of ours."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except OSError as error:
        said = refusal(error, error.filename or uri) or f"{type(error).__name__}: {error}"
        raise TrackingError(f"tracking.uri={uri!r}: {said}") from error
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        said = " ".join(str(error).split())[:300]
        raise TrackingError(
            f"tracking.uri={uri!r} does not answer or cannot be written ({said}); start the server or free the disk"
        ) from error


def _file_of(uri: str) -> Path | None:
    """The file of a local store; None for a server."""
    return Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """Let one process at a time write a file, and have it whole: made under another name, and renamed."""
    file = _file_of(uri)
    if file is None:
        yield
        return
    with locked(file.with_name(f".{file.name}.lock")):
        for left in file.parent.glob(f".{file.name}.*.tmp*"):  # of a process that was killed: nobody else makes one now
            left.unlink()
        _set_aside_if_half_made(file)
        if not file.is_file():
            _make(file)
        yield


def _make(file: Path) -> None:
    """Make an empty store."""
    temporary = file.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
    try:
        client_of(f"sqlite:///{temporary}")
        os.replace(temporary, file)
    finally:
        for path in (temporary, Path(f"{temporary}-journal")):
            path.unlink(missing_ok=True)


def _set_aside_if_half_made(file: Path) -> None:
    """Rename a file that an interrupted MLflow or a full disk left unusable: the results can rebuild it."""
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    if not file.is_file():
        return
    try:
        # MLflow tries for minutes to open what is no database, and makes an empty one without a rename
        with closing(sqlite3.connect(file)) as connection:
            is_empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if is_empty:
            file.unlink()
        else:
            # by another spelling: MLflow keeps a connection for each address, and this one may lead to the wrong file
            client_of(f"sqlite:///{file.parent}/./{file.name}")
    except (MlflowException, SQLAlchemyError, sqlite3.Error) as error:
        if not any(words in str(error) for words in _HALF_MADE):
            raise
        aside = file.with_name(f"{file.name}.broken")
        os.replace(file, aside)
        said = " ".join(str(error).split())[:120]
        print(f"warning: {file} is not whole ({said}); it is now {aside.name}, and made anew", file=sys.stderr)


def client_of(uri: str):
    """Connect to a store, which is made where it is not there."""
    os.environ.pop("MLFLOW_RUN_ID", None)
    _do_not_wait_for_the_disk()
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    client.search_experiments(max_results=1)
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
