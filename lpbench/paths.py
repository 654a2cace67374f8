"""Places of files: the project's own (configuration, manifests, published numbers) and a user's own."""

import os
import stat
from functools import cache
from pathlib import Path

from lpbench.errors import ConfigurationError, foreign

_PACKAGE = Path(__file__).resolve().parent
#: Whether the package runs from a checkout, as the Makefile installs it, or from a wheel.
IN_CHECKOUT = (_PACKAGE.parent / "pyproject.toml").is_file() and (_PACKAGE.parent / "conf").is_dir()
#: The checkout; installed from a wheel, the folder of the package where ``setup.py`` put the same files.
ROOT = _PACKAGE.parent if IN_CHECKOUT else _PACKAGE / "_project"
CONF = ROOT / "conf"
MANIFESTS = ROOT / "datasets"
PUBLISHED = ROOT / "results" / "published"
#: Committed scores and tables.
COMMITTED = ROOT / "results" / "reproduced"
#: Code of the package and what it reads of the checkout, whose own folder may be closed to others.
PROJECT = (_PACKAGE, ROOT / "pyproject.toml", CONF)

#: Folder with a user's own methods, data sets and experiments, looked for in the working folder alone.
OWN_FOLDER = "lpbench_plugins"
#: Environment variable with further such folders (separated like PATH).
OWN_VARIABLE = "LPBENCH_PLUGINS"
#: Environment variable with further folders of data set manifests alone.
MANIFEST_VARIABLE = "LPBENCH_DATASETS"
#: Entry-point group of packages that bring such a folder.
OWN_GROUP = "lpbench.plugins"
#: Command that fetches the data sets.
DOWNLOAD = "make datasets" if IN_CHECKOUT else "python -m lpbench.datasets"
#: Environment variables with the folder of the results, and with that of downloaded and parsed data.
RESULTS_VARIABLE, CACHE_VARIABLE = "LPBENCH_RESULTS", "LPBENCH_CACHE"
#: Within the results: the report of everything, as it is committed; and a results folder for each way in which runs
#: deviate from the registered experiments.
REPRODUCED, RUNS = "reproduced", "runs"


def results_folder() -> Path:
    """Folder of the results: the environment's, else ``results`` in the checkout, else in the working folder."""
    return Path(os.environ.get(RESULTS_VARIABLE) or (ROOT if IN_CHECKOUT else Path.cwd()) / "results")


def cache_folder() -> Path:
    """Folder of downloads and parsed tables: the environment's, else ``datasets/cache``, else the user's own cache."""
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    users = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return MANIFESTS / "cache" if IN_CHECKOUT else users / "lpbench"


def own_folders() -> list[Path]:
    """Folders that hold ``methods/``, ``datasets/``, ``experiments/`` and modules of a user, each once.

    Those of :data:`OWN_VARIABLE` come first, then :data:`OWN_FOLDER` of the working folder (or the folder itself, if it
    has the name), then those of installed packages. What lies there is run: no folder above is looked into, and none
    that somebody else can write to.
    """
    listed = [Path(p).resolve() for p in os.environ.get(OWN_VARIABLE, "").split(os.pathsep) if p]
    working = Path.cwd()
    near = [working if working.name == OWN_FOLDER else working / OWN_FOLDER]
    near = [folder.resolve() for folder in near if folder.is_dir()]
    for folder in near:
        _refuse_others(folder, frozenset({os.geteuid(), 0}))
    for folder in listed:
        if folder.is_dir():  # who names a folder trusts its owner
            _refuse_others(folder, frozenset({os.geteuid(), 0, folder.stat().st_uid}))
    return list(dict.fromkeys([*listed, *near, *(p.resolve() for p in entry_folders(OWN_GROUP))]))


@cache
def _refuse_others(folder: Path, owners: frozenset[int]) -> None:
    """Raise ConfigurationError if others than these users can write to a folder, or to anything in it."""
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent), *(Path(parent, name) for name in (*folders, *files))):
            if not path.exists():
                continue  # a link to nowhere
            status = path.stat()
            # a group whose number is the user's is the user's alone, as most distributions make them
            group = status.st_mode & stat.S_IWGRP and status.st_gid != status.st_uid
            if status.st_uid not in owners or group or status.st_mode & stat.S_IWOTH:
                raise ConfigurationError(
                    f"{path}: others can write there, and what lies in {folder.name} is run; look through it, then "
                    f"`chown -R` it to yourself and `chmod -R go-w` it, or move it away"
                )


def manifest_folders() -> list[Path]:
    """Folders of manifests: the project's, :data:`MANIFEST_VARIABLE`'s, a user's own, and OpenML's in the cache."""
    extra = [Path(p) for p in os.environ.get(MANIFEST_VARIABLE, "").split(os.pathsep) if p]
    return [MANIFESTS, *extra, *(folder / "datasets" for folder in own_folders()), cache_folder() / "datasets"]


@cache
def entry_folders(group: str) -> tuple[Path, ...]:
    """Folders that installed packages name in an entry-point group: a path, or a function that returns one."""
    from importlib.metadata import entry_points  # slow, and most calls have no need of it

    folders = []
    for entry in entry_points(group=group):
        package = entry.dist.name if entry.dist else "an installed package"
        what = f"entry point {entry.name!r} ({entry.value}) of {package} in group {group} cannot be loaded"
        with foreign(f"{what}; repair or uninstall the package", ConfigurationError):
            target = entry.load()
            folders.append(Path(target() if callable(target) else target))
    return tuple(folders)
