"""Fetch raw files from OpenML, the UCI archive and Rdatasets. Only ``make datasets`` calls this; runs never do."""

import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path, PurePosixPath
from socket import getaddrinfo
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np

from lpbench.datasets.archives import unpack
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.sources import Location, build_table, source_paths, task_file
from lpbench.disk import atomic_write
from lpbench.errors import DataError, DownloadError, foreign
from lpbench.paths import cache_folder

#: Kind of a source -> its server, unless ``LPBENCH_OPENML_URL`` and so on name another.
SERVERS = {
    "openml": "https://www.openml.org",
    "uci": "https://archive.ics.uci.edu",
    "rdatasets": "https://vincentarelbundock.github.io/Rdatasets",
}


class NoNetworkError(DownloadError):
    """The name of a server cannot be resolved, and another request would not be answered either."""


@dataclass(frozen=True)
class Settings:
    """Seconds without an answer after which a request fails, and further attempts after a failure."""

    timeout: float = 30.0
    retries: int = 3


def server_of(kind: str) -> str:
    """Return the base address of the server of a kind of sources."""
    return (os.environ.get(f"LPBENCH_{kind.upper()}_URL") or SERVERS[kind]).rstrip("/")


def download(manifest: Manifest, settings: Settings) -> tuple[str | None, list[str]]:
    """Try network sources in order: the one whose table has the promised fingerprint, and why not those before."""
    fetchers = {"openml": fetch_openml, "uci": fetch_uci, "rdatasets": fetch_rdatasets}
    reasons: list[str] = []
    for source in manifest.sources:
        if source["kind"] not in fetchers:
            continue
        origin = f"{source['kind']} {source.get('id', source.get('table'))}"
        # Outside of the block: what leads out of the cache is neither written nor removed.
        paths = source_paths(source, cache_folder())
        check_network(server_of(source["kind"]))
        try:
            fetchers[source["kind"]](source, paths, settings)
            build_table(manifest, Location(source, paths, origin))
            return origin, reasons
        except DataError as error:
            reasons.append(f"{origin}: {error}")
            for path in paths.values():
                path.unlink(missing_ok=True)
    return None, reasons


def check_network(url: str) -> None:
    """Raise NoNetworkError if the name of a server is not known here; a proxy, if there is one, resolves it itself."""
    host = urlsplit(url).hostname
    try:
        if not getproxies():
            getaddrinfo(host, None)
    except OSError as error:
        raise NoNetworkError(f"{host} cannot be resolved ({error.strerror}): there is no network here") from error


def fetch_file(url: str, path: Path, settings: Settings, md5: str | None = None) -> None:
    """Download one file anew; ``path`` appears only when every byte has arrived and has the promised checksum."""
    # Imported here: runs import this package and never download.
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.ERROR)  # what fails is said, once
    transfer = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=settings.timeout)
    checksum = f"md5:{md5}" if md5 else None
    keeper = pooch.create(
        path.parent, "", registry={path.name: checksum}, urls={path.name: url}, retry_if_failed=settings.retries
    )
    path.unlink(missing_ok=True)
    try:
        keeper.fetch(path.name, downloader=transfer)
    except (requests.RequestException, ValueError) as error:  # pooch: ValueError of a wrong checksum
        raise DownloadError(f"{url} was not transferred: {_first_line(error)}") from error


def fetch_uci(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Download ``<uci_url>/static/public/<id>/<archive>`` and keep the listed members."""
    url = f"{server_of('uci')}/static/public/{source['id']}/{source['archive']}"
    folder = cache_folder() / "uci"
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as scratch:
        archive = Path(scratch) / "archive.zip"
        fetch_file(url, archive, settings)
        files = unpack(archive, url)
        for role, path in paths.items():
            name = PurePosixPath(source["files"][role]).name
            if name not in files:
                raise DownloadError(f"{url} holds no {name!r}, but {', '.join(sorted(files)) or 'nothing'}")
            with atomic_write(path) as file:
                file.write(files[name].read_bytes())


def fetch_rdatasets(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Download ``<rdatasets_url>/csv/<table>.csv``, a table of an R package."""
    fetch_file(f"{server_of('rdatasets')}/csv/{source['table']}.csv", paths["data"], settings)


def fetch_openml(source: Mapping, paths: Mapping[str, Path], settings: Settings) -> None:
    """Ask OpenML for a data set by id and download its ARFF file, which has a checksum."""
    dataset, _ = describe_openml(source["id"], settings)
    fetch_file(dataset.url, paths["data"], settings, dataset.md5_checksum)


def describe_openml(data_id: int, settings: Settings) -> tuple[Any, str]:
    """Return what OpenML says of a data set, as its package reads it, and the status, which the package does not."""
    dataset, document = _ask_openml(
        lambda openml: openml.datasets.get_dataset(data_id, force_refresh_cache=True), settings, "description.xml"
    )
    return dataset, next(iter(re.findall(r"<oml:status>\s*(\w+)", document)), "active")


def fetch_task(task_id: int, settings: Settings) -> Any:
    """Download an OpenML task, keep the rows of its splits, train and test of each in turn, and return it."""
    (task, splits), _ = _ask_openml(
        lambda openml: (task := openml.tasks.get_task(task_id), task.download_split()), settings, "task.xml"
    )
    folds = [fold for repeat in splits.split.values() for fold in repeat.values()]
    with atomic_write(task_file(task_id)) as file:
        np.savez(file, *(rows for samples in folds for rows in samples[max(samples)]))
    return task


def _ask_openml(ask: Callable[[Any], Any], settings: Settings, document: str) -> tuple[Any, str]:
    """Return what a function of the package ``openml`` answers, and the document of that name which it fetched.

    ``ask`` is called with the package. DownloadError if the server does not answer in time.
    """
    # Imported here: it takes seconds and sets up folders in the user's home.
    import openml

    server, seconds = server_of("openml"), settings.timeout * (settings.retries + 1)
    check_network(server)
    # openml logs a warning per uncompressed answer to the root logger.
    logging.getLogger().setLevel(logging.ERROR)
    # openml takes whatever lies in its cache as complete, and sets no timeout on its requests; the threads of a pool do
    # not outlive the program
    with TemporaryDirectory() as scratch, ThreadPool(1) as pool:
        configuration: dict[str, Any] = {"server": f"{server}/api/v1/xml", "cachedir": scratch}
        configuration |= {"connection_n_retries": settings.retries + 1}
        with openml.config.overwrite_config_context(configuration):  # put back only where nothing is raised
            answer = pool.apply_async(ask, (openml,))
            answer.wait(seconds)
        if not answer.ready():
            raise DownloadError(f"{server} did not answer in {seconds:g} seconds")
        with foreign(server, DownloadError):
            return answer.get(), next(Path(scratch).rglob(document)).read_text(encoding="utf-8")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
