"""Fetch raw files into the cache from OpenML and the UCI archive. Only ``make datasets`` calls this; runs never do."""

from __future__ import annotations

import http.client
import io
import os
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from tqdm import tqdm

from lpbench.datasets.manifest import Manifest
from lpbench.datasets.sources import Location, build_table, cache_folder, source_paths
from lpbench.errors import DataError
from lpbench.files import atomic_write

OPENML_VARIABLE, OPENML_URL = "LPBENCH_OPENML_URL", "https://www.openml.org"
UCI_VARIABLE, UCI_URL = "LPBENCH_UCI_URL", "https://archive.ics.uci.edu"
#: Answers that a second request may not get.
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
CHUNK = 1 << 16


class DownloadError(DataError):
    """A file could not be fetched; the message says why."""


class PassingError(DownloadError):
    """A failure that may pass: no answer in time, a dropped connection, a truncated body, an overloaded server."""


def _environment(variable: str, default: str) -> Callable[[], str]:
    return lambda: os.environ.get(variable) or default


@dataclass(frozen=True)
class Settings:
    """How to fetch.

    Attributes
    ----------
    openml_url, uci_url : str
        Base addresses (environment variables ``LPBENCH_OPENML_URL``, ``LPBENCH_UCI_URL``).
    timeout : float
        Seconds without an answer after which a request fails.
    retries : int
        Further attempts after a failure that may pass.
    backoff : float
        Seconds before the first of them; each further pause is twice as long.
    progress : bool
        Show a progress bar per file (on terminals only).
    """

    openml_url: str = field(default_factory=_environment(OPENML_VARIABLE, OPENML_URL))
    uci_url: str = field(default_factory=_environment(UCI_VARIABLE, UCI_URL))
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 1.0
    progress: bool = True


def download(manifest: Manifest, settings: Settings) -> tuple[str | None, list[str]]:
    """Try the network sources of a data set in the manifest's order.

    A file counts as fetched once its canonical table has the promised fingerprint; otherwise it is removed again.

    Returns
    -------
    place : str or None
        The source that delivered.
    reasons : list of str
        Why the sources before it did not.
    """
    fetchers = {"openml": fetch_openml, "uci": fetch_uci}
    reasons: list[str] = []
    for source in manifest.sources:
        if source["kind"] not in fetchers:
            continue
        place = f"{source['kind']} {source['id']}"
        paths = source_paths(source, cache_folder())
        try:
            fetchers[source["kind"]](source, paths, settings)
            build_table(manifest, Location(source, paths, place))
            return place, reasons
        except DataError as error:
            reasons.append(f"{place}: {error}")
            for path in paths.values():
                path.unlink(missing_ok=True)
    return None, reasons


def with_retries(action: Callable[[], None], settings: Settings) -> None:
    """Run an action, again after growing pauses while its failures may pass."""
    for attempt in range(settings.retries + 1):
        try:
            return action()
        except PassingError as error:
            if attempt == settings.retries:
                raise DownloadError(f"{error} ({attempt + 1} attempts)") from error
            time.sleep(settings.backoff * 2**attempt)


def fetch_file(url: str, path: Path, settings: Settings) -> None:
    """Download one file; ``path`` appears only when every byte has arrived.

    Raises
    ------
    DownloadError
        With the address and the reason, after the retries.
    """
    with_retries(lambda: _fetch_once(url, path, settings), settings)


def _fetch_once(url: str, path: Path, settings: Settings) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "lpbench"})
    try:
        with urllib.request.urlopen(request, timeout=settings.timeout) as response, atomic_write(path) as file:
            _copy(response, file, url, path.name, settings)
    except urllib.error.HTTPError as error:
        kind = PassingError if error.code in PASSING_STATUS else DownloadError
        raise kind(f"{url} answered {error.code} {error.reason}") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise PassingError(f"{url} did not answer: {reason or type(error).__name__}") from error


def _copy(response, file, url: str, name: str, settings: Settings) -> None:
    """Copy the body in chunks under a progress bar; a body shorter than announced is a PassingError."""
    length = response.headers.get("Content-Length")
    expected, received = int(length) if length else None, 0
    # disable=None: no bar unless standard error is a terminal.
    disable = None if settings.progress else True
    with tqdm(total=expected, unit="B", unit_scale=True, desc=name, disable=disable) as bar:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            received += len(chunk)
            bar.update(len(chunk))
    if expected is not None and received != expected:
        raise PassingError(f"{url} sent {received} of {expected} bytes")


def fetch_uci(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Download ``<uci_url>/static/public/<id>/<archive>`` and keep the listed members."""
    url = f"{settings.uci_url.rstrip('/')}/static/public/{source['id']}/{source['archive']}"
    folder = cache_folder() / "uci"
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "archive.zip"
        fetch_file(url, archive, settings)
        try:
            members = dict(_members(archive.read_bytes()))
        except zipfile.BadZipFile as error:
            raise DownloadError(f"{url} is not a zip archive ({archive.read_bytes()[:40]!r}...)") from error
    for role, path in paths.items():
        wanted = PurePosixPath(source["files"][role]).name
        if wanted not in members:
            raise DownloadError(f"{url} holds no {wanted!r}, but {', '.join(sorted(members)) or 'nothing'}")
        with atomic_write(path) as file:
            file.write(members[wanted])


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield (base name, content) of the files of an archive and of archives inside it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as content:
        for entry in content.infolist():
            data = content.read(entry)
            if entry.filename.endswith(".zip"):
                yield from _members(data)
            elif not entry.is_dir():
                yield PurePosixPath(entry.filename).name, data


def fetch_openml(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Download a data set by id with the ``openml`` package and keep its ARFF file."""
    with_retries(lambda: _fetch_openml_once(source["id"], paths["data"], settings), settings)


def _fetch_openml_once(data_id: int, path: Path, settings: Settings) -> None:
    # Imported here: it takes seconds and sets up folders in the user's home.
    import openml
    import requests

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        # openml treats whatever lies in its cache as complete, so each attempt gets an empty one.
        with TemporaryDirectory(dir=path.parent) as scratch, _openml_configured(settings, scratch):
            dataset = openml.datasets.get_dataset(data_id, download_data=True)
            os.replace(str(dataset.data_file), path)
    except (requests.RequestException, openml.exceptions.OpenMLHashException) as error:
        raise PassingError(f"{settings.openml_url}: {_first_line(error)}") from error
    except (openml.exceptions.PyOpenMLError, KeyError, ValueError) as error:
        raise DownloadError(f"{settings.openml_url}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


@contextmanager
def _openml_configured(settings: Settings, scratch: str) -> Iterator[None]:
    """Point openml at the server and an empty cache, take ARFF (it has a checksum), one attempt, with a timeout.

    openml sets no timeout on its requests, so the sessions of ``requests`` get one while it downloads.
    """
    import openml
    import requests

    plain, skip_parquet = requests.Session.request, os.environ.get("OPENML_SKIP_PARQUET")
    config = {key: getattr(openml.config, key) for key in ("server", "retry_policy", "connection_n_retries")}
    root = openml.config._root_cache_directory

    def timed(self, *args, **kwargs):
        kwargs["timeout"] = kwargs.get("timeout") or settings.timeout
        return plain(self, *args, **kwargs)

    try:
        requests.Session.request = timed  # type: ignore[method-assign]
        os.environ["OPENML_SKIP_PARQUET"] = "true"
        openml.config.server = f"{settings.openml_url.rstrip('/')}/api/v1/xml"
        openml.config.set_retry_policy("human", n_retries=1)
        openml.config.set_root_cache_directory(scratch)
        yield
    finally:
        requests.Session.request = plain  # type: ignore[method-assign]
        os.environ.pop("OPENML_SKIP_PARQUET")
        if skip_parquet is not None:
            os.environ["OPENML_SKIP_PARQUET"] = skip_parquet
        for key, value in config.items():
            setattr(openml.config, key, value)
        openml.config.set_root_cache_directory(root)
