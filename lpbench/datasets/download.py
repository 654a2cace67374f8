"""Fetch raw files into the cache from OpenML and the UCI archive. Only ``make datasets`` calls this; runs never do."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import TimeoutError as OutOfTime
from multiprocessing.pool import ThreadPool
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TypeVar

from lpbench.datasets.archives import read_members
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.sources import Location, build_table, source_paths
from lpbench.errors import DataError, DownloadError
from lpbench.files import atomic_write
from lpbench.paths import cache_folder

OPENML_VARIABLE, OPENML_URL = "LPBENCH_OPENML_URL", "https://www.openml.org"
UCI_VARIABLE, UCI_URL = "LPBENCH_UCI_URL", "https://archive.ics.uci.edu"
#: Answers that a second request may not get.
PASSING_STATUS = {408, 425, 429, 500, 502, 503, 504}
T = TypeVar("T")


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
        # Outside of the block: what leads out of the cache is neither written nor removed.
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


def with_retries(action: Callable[[], T], settings: Settings) -> T:
    """Run an action, again after growing pauses while its failures may pass."""
    attempt = 0
    while True:
        try:
            return action()
        except PassingError as error:
            if attempt == settings.retries:
                raise DownloadError(f"{error} ({attempt + 1} attempts)") from error
            time.sleep(settings.backoff * 2**attempt)
            attempt += 1


def fetch_file(url: str, path: Path, settings: Settings, md5: str | None = None) -> None:
    """Download one file; ``path`` appears only when every byte has arrived.

    Parameters
    ----------
    md5 : str, optional
        Checksum that the server promises.

    Raises
    ------
    DownloadError
        With the address and the reason, after the retries.
    """
    with_retries(lambda: _fetch_once(url, path, settings, md5), settings)


def _fetch_once(url: str, path: Path, settings: Settings, md5: str | None) -> None:
    # Imported here: runs import this package and never download.
    import pooch
    import requests

    bar = settings.progress and sys.stderr.isatty()
    transfer = pooch.HTTPDownloader(progressbar=bar, chunk_size=1 << 16, timeout=settings.timeout)
    try:
        with atomic_write(path) as file:
            transfer(url, file, None)
            if md5 is not None and (found := pooch.file_hash(file.name, "md5")) != md5:
                raise PassingError(f"{url} has the checksum {found}, expected {md5}")
    except requests.HTTPError as error:
        answer: requests.Response = error.response  # type: ignore[assignment]
        kind = PassingError if answer.status_code in PASSING_STATUS else DownloadError
        raise kind(f"{url} answered {answer.status_code} {answer.reason}") from error
    except (requests.ConnectionError, requests.Timeout) as error:
        raise PassingError(f"{url} did not answer: {_first_line(error)}") from error
    except requests.RequestException as error:
        raise PassingError(f"{url} was not transferred: {_first_line(error)}") from error


def fetch_uci(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Download ``<uci_url>/static/public/<id>/<archive>`` and keep the listed members."""
    url = f"{settings.uci_url.rstrip('/')}/static/public/{source['id']}/{source['archive']}"
    folder = cache_folder() / "uci"
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "archive.zip"
        fetch_file(url, archive, settings)
        wanted = {role: PurePosixPath(name).name for role, name in source["files"].items()}
        members = read_members(archive.read_bytes(), set(wanted.values()), url)
    for role, path in paths.items():
        content = members.get(wanted[role])
        if content is None:
            raise DownloadError(f"{url} holds no {wanted[role]!r}, but {', '.join(sorted(members)) or 'nothing'}")
        with atomic_write(path) as file:
            file.write(content)


def fetch_openml(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Ask OpenML for a data set by id and download its ARFF file, which has a checksum."""
    url, md5 = with_retries(lambda: _openml_file(source["id"], settings), settings)
    fetch_file(url, paths["data"], settings, md5)


def _openml_file(data_id: int, settings: Settings) -> tuple[str, str | None]:
    """Return the address and the MD5 checksum of the ARFF file of a data set."""
    # Imported here: it takes seconds and sets up folders in the user's home.
    import openml
    import requests

    try:
        # openml sets no timeout on its requests; the threads of a pool do not outlive the program.
        with _openml_configured(settings), ThreadPool(1) as pool:
            dataset = pool.apply_async(openml.datasets.get_dataset, (data_id,)).get(settings.timeout)
    except OutOfTime as error:
        raise PassingError(f"{settings.openml_url} did not answer in {settings.timeout:g} seconds") from error
    except requests.RequestException as error:
        raise PassingError(f"{settings.openml_url}: {_first_line(error)}") from error
    except (openml.exceptions.PyOpenMLError, KeyError, ValueError) as error:
        raise DownloadError(f"{settings.openml_url}: {_first_line(error)}") from error
    if not dataset.url:
        raise DownloadError(f"{settings.openml_url}: data set {data_id} has no file")
    return dataset.url, dataset.md5_checksum


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


@contextmanager
def _openml_configured(settings: Settings) -> Iterator[None]:
    """Point openml at the server and at an empty cache (it takes whatever lies there as complete), with one attempt."""
    from openml import config

    before = config.get_config_as_dict()
    with TemporaryDirectory() as scratch:
        try:
            config.server = f"{settings.openml_url.rstrip('/')}/api/v1/xml"
            config.set_retry_policy(before["retry_policy"], n_retries=1)
            config.set_root_cache_directory(scratch)
            yield
        finally:
            config.server = before["server"]
            config.set_retry_policy(before["retry_policy"], n_retries=before["connection_n_retries"])
            config.set_root_cache_directory(before["cachedir"])
