"""Location of tables: the mirror folder, then the cache. A run never downloads.

Sources are tried in the manifest's order (datasets/README.md): raw files in the mirror (``LPBENCH_DATA_MIRROR``), under
``files/`` in the cache, or beside a manifest that is not the project's; what ``make datasets`` has put in the cache; a
loader of an installed library. Parsing is slow for some formats, so the canonical table is a derivation, kept in the
cache under its key: of the raw files, the manifest's preparation, and the code that reads and prepares. It is verified
against the fingerprint like any other source.
"""

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from lpbench.datasets.manifest import Manifest, load_manifest
from lpbench.datasets.parameters import check_sealed
from lpbench.datasets.table import Table, check_fingerprint
from lpbench.derivation import LIBRARIES, Derivation
from lpbench.digest import file_hash
from lpbench.disk import atomic_write, inside
from lpbench.errors import ConfigurationError, DataError, MissingDataError
from lpbench.paths import CACHE_VARIABLE, DOWNLOAD, IN_CHECKOUT, MANIFESTS, cache_folder

MIRROR_VARIABLE = "LPBENCH_DATA_MIRROR"
#: Kinds of sources that ``make datasets`` asks a server for.
SERVED = ("openml", "uci", "rdatasets")


@dataclass(frozen=True)
class Location:
    """Raw files of one source, all of them at hand: ``paths`` by name, and the place, such as "cache" or "mirror"."""

    source: Mapping
    paths: Mapping[str, Path]
    place: str


def mirror_folder() -> Path | None:
    """Folder with the raw files, or None where the environment variable is not set."""
    value = os.environ.get(MIRROR_VARIABLE)
    return Path(value) if value else None


def source_paths(source: Mapping, folder: Path) -> dict[str, Path]:
    """Paths of the raw files of a ``file``, ``openml`` or ``uci`` source under the cache folder, never outside it."""
    if source["kind"] == "openml":
        return {"data": inside(folder, f"openml/{source['id']}.arff")}
    if source["kind"] == "rdatasets":
        return {"data": inside(folder, f"rdatasets/{source['table']}.csv")}
    folder_of = f"uci/{source['id']}" if source["kind"] == "uci" else "files"
    return {
        role: inside(folder, f"{folder_of}/{path}", f"files.{role}") for role, path in source.get("files", {}).items()
    }


def locate(manifest: Manifest) -> Location | None:
    """Return the first source whose files are all there, or None."""
    mirror, cache = mirror_folder(), cache_folder()
    for source in manifest.sources:
        if source["kind"] == "embedded":
            return Location(source, {}, source["loader"])
        candidates = [("cache", source_paths(source, cache))]
        if source["kind"] == "file" and mirror is not None:
            candidates.insert(0, ("mirror", {role: mirror / path for role, path in source["files"].items()}))
        if source["kind"] == "file" and manifest.folder != MANIFESTS:
            beside = {role: inside(manifest.folder, path, f"files.{role}") for role, path in source["files"].items()}
            candidates.append(("beside the manifest", beside))
        for origin, paths in candidates:
            if paths and all(path.is_file() for path in paths.values()):
                return Location(source, paths, origin)
    return None


def is_available(manifest: Manifest) -> bool:
    """Return True if the raw files of a real data set are in the mirror or the cache."""
    return locate(manifest) is not None


def how_to_get(manifest: Manifest) -> str:
    """Say in one line where the data may be had and where to put them, without paths of this machine."""
    ways = []
    if any(source["kind"] in SERVED for source in manifest.sources):
        ways.append(f"run `{DOWNLOAD}` on a machine with network access")
    ways += [source["instructions"].strip() for source in manifest.sources if source["kind"] == "manual"]
    files = [" and ".join(s["files"].values()) for s in manifest.sources if s["kind"] == "file"]
    if files:
        usual = "datasets/cache/files" if IN_CHECKOUT else "~/.cache/lpbench/files"
        cache = f"${CACHE_VARIABLE}/files" if os.environ.get(CACHE_VARIABLE) else usual
        beside = "" if manifest.folder == MANIFESTS else f", or {' or '.join(files)} seen from its manifest's folder"
        ways.append(f"its place is {' or '.join(files)} under ${MIRROR_VARIABLE} or {cache}{beside}")
    return "; ".join(ways)


def load_table(name: str, *, sealed: bool = False) -> Table:
    """Return the canonical table of a real data set (kept in memory while it is current).

    Parameters
    ----------
    name : str
        Name of a data set that is not synthetic.
    sealed : bool
        Read a sealed set, too.

    Returns
    -------
    Table
        Rows after preprocessing, unscaled; kept in memory while the files do not change.

    Raises
    ------
    ConfigurationError
        The set is sealed.
    MissingDataError
        The files are not at hand; the message says how to get them.
    DataError
        They are not what the manifest promises.
    """
    manifest = load_manifest(name)
    check_sealed(manifest, {"sealed": sealed})
    if manifest.synthetic:
        raise DataError(f"data set {name!r} is a synthetic family; it has no table, use make_problem")
    location = locate(manifest)
    if location is None:
        raise MissingDataError(f"data set {name!r} is not at hand: {how_to_get(manifest)}")
    return _load(name, prepared_table(manifest, location).key, cache_folder() / "tables")


def prepared_table(manifest: Manifest, location: Location) -> Derivation:
    """The canonical table as what follows from raw files, the manifest's preparation and the code behind both."""
    names = ("columns", "rows", "public", "target", "features", "fingerprint", "unit")
    inputs = {"manifest": {name: getattr(manifest, name) for name in names}, "source": location.source}
    files = {role: file_hash(path) for role, path in location.paths.items()}
    return Derivation(f"data set {manifest.name}", inputs | {"files": files}, (__name__,), (*LIBRARIES, "pandas"))


@lru_cache(maxsize=32)
def _load(name: str, key: str, folder: Path) -> Table:
    """Load the cached table of a key from a folder; build it and store it there if it is missing or damaged."""
    manifest = load_manifest(name)
    location = locate(manifest)
    if location is None:
        raise MissingDataError(f"data set {name!r} is not at hand any more")
    if not location.paths:
        return build_table(manifest, location)
    cached = folder / f"{name}-{key[:20]}.npz"
    if cached.is_file():
        try:
            table = _read_table(cached)
            check_fingerprint(table.fingerprint, manifest.fingerprint, name, str(cached))
            return table
        except (DataError, OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            warnings.warn(f"{cached} is damaged and is built again: {error}", stacklevel=3)
    table = build_table(manifest, location)
    try:
        public, units = (np.empty(0, dtype=bool) if rows is None else rows for rows in (table.public, table.units))
        about, columns = np.array(json.dumps(prepared_table(manifest, location).stored())), np.array(table.columns)
        with atomic_write(cached) as file:
            X = _smallest(table.X)
            np.savez(file, X=X, y=table.y, columns=columns, public=public, units=units, derivation=about)
    except OSError as error:
        warnings.warn(f"the parsed table cannot be kept in {cached.parent}: {error}", stacklevel=3)
    return table


def build_table(manifest: Manifest, location: Location) -> Table:
    """Read raw files, prepare the table and check its fingerprint.

    Raises
    ------
    DataError
        If rows are missing, or the table is not the one that the manifest promises.
    """
    # pandas and readers of formats take a second to load; whoever only asks what is at hand needs none of them
    from lpbench.datasets.preprocess import prepare
    from lpbench.datasets.readers import read_source

    raw = read_source(location.source, location.paths, manifest.columns, manifest.name)
    if manifest.raw_rows is not None and len(raw) != manifest.raw_rows:
        raise DataError(
            f"data set {manifest.name!r}: {', '.join(p.name for p in location.paths.values())} has {len(raw)} rows, "
            f"expected {manifest.raw_rows}; it is not the whole file"
        )
    table = prepare(raw, manifest)
    origin = ", ".join(map(str, location.paths.values())) or location.place
    check_fingerprint(table.fingerprint, manifest.fingerprint, manifest.name, origin)
    return table


def raw_rows(manifest: Manifest) -> tuple[np.ndarray, int]:
    """Return the raw file's row number of each row of a table, and the number of raw rows."""
    from lpbench.datasets.preprocess import chosen_rows
    from lpbench.datasets.readers import read_source

    location = locate(manifest)
    assert location is not None
    raw = read_source(location.source, location.paths, manifest.columns, manifest.name)
    return chosen_rows(raw, manifest), len(raw)


def task_file(task: int) -> Path:
    """File of the cache with the rows of an OpenML task's splits: training rows, then test rows, of each in turn."""
    return cache_folder() / "openml" / f"task_{task}.npz"


def task_rows(manifest: Manifest, private: np.ndarray, replication: int) -> tuple[np.ndarray, ...]:
    """Return training and test rows of a split of the manifest's OpenML task, as places among the private rows.

    Replications are the folds of the first repeat, then those of the next one.
    """
    file = task_file(manifest.openml.get("task", 0))
    if manifest.unit or not file.is_file():
        raise ConfigurationError(
            f"data set {manifest.name}: split=openml needs the splits of its OpenML task in the cache, and no `unit`; "
            "`lpbench new dataset openml:task:ID` fetches both"
        )
    rows = raw_rows(manifest)[0][private]
    with np.load(file, allow_pickle=False) as stored:
        if (number := len(stored.files) // 2) <= replication:
            raise ConfigurationError(
                f"data set {manifest.name}: its OpenML task has {number} splits; use replications={number} at most"
            )
        return tuple(np.flatnonzero(np.isin(rows, stored[f"arr_{2 * replication + side}"])) for side in (0, 1))


def _read_table(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as stored:
        public = stored["public"] if stored["public"].size else None
        X = np.ascontiguousarray(stored["X"], dtype=np.float64)
        units = stored["units"] if stored.get("units", X[:0]).size else None
        return Table(X, stored["y"].astype(np.float64), tuple(stored["columns"].tolist()), public, units)


def _smallest(X: np.ndarray) -> np.ndarray:
    """Store whole numbers (word counts, one-hot columns) in the narrowest integer type that holds them all."""
    for dtype in (np.uint8, np.int16, np.int32):
        bounds = np.iinfo(dtype)
        if X.size and X.min() >= bounds.min and X.max() <= bounds.max and np.array_equal(X, np.rint(X)):
            return X.astype(dtype)
    return X
