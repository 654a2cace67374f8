"""Where files are: the project's own (configuration, manifests, published numbers) and a user's own."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from lpbench.errors import ConfigurationError

_PACKAGE = Path(__file__).resolve().parent
#: Whether the package runs from a checkout, as the Makefile installs it, or from a wheel.
IN_CHECKOUT = (_PACKAGE.parent / "pyproject.toml").is_file() and (_PACKAGE.parent / "conf").is_dir()
#: The checkout; installed from a wheel, the folder of the package where ``setup.py`` put the same files.
ROOT = _PACKAGE.parent if IN_CHECKOUT else _PACKAGE / "_project"
CONF = ROOT / "conf"
MANIFESTS = ROOT / "datasets"
PUBLISHED = ROOT / "results" / "published"

#: Folder with a user's own methods, data sets and experiments, looked for here and in the folders above.
OWN_FOLDER = "lpbench_plugins"
#: Environment variable with further such folders (separated like PATH).
OWN_VARIABLE = "LPBENCH_PATH"
#: Environment variable with further folders of data set manifests alone.
MANIFEST_VARIABLE = "LPBENCH_DATASETS"
#: Entry-point group of packages that bring such a folder.
OWN_GROUP = "lpbench.plugins"
#: Command that fetches the data sets.
DOWNLOAD = "make datasets" if IN_CHECKOUT else "python -m lpbench.datasets"
#: Environment variables with the folder of the results, and with that of downloaded and parsed data.
RESULTS_VARIABLE, CACHE_VARIABLE = "LPBENCH_RESULTS", "LPBENCH_CACHE"


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

    Those of :data:`OWN_VARIABLE` come first, then the nearest :data:`OWN_FOLDER`, then those of installed packages.
    """
    listed = [Path(p) for p in os.environ.get(OWN_VARIABLE, "").split(os.pathsep) if p]
    here = Path.cwd()
    near = [folder / OWN_FOLDER for folder in (here, *here.parents) if (folder / OWN_FOLDER).is_dir()][:1]
    return list(dict.fromkeys(p.resolve() for p in (*listed, *near, *entry_folders(OWN_GROUP))))


def manifest_folders() -> list[Path]:
    """Folders that hold manifests: the project's, those of :data:`MANIFEST_VARIABLE`, and a user's own."""
    extra = [Path(p) for p in os.environ.get(MANIFEST_VARIABLE, "").split(os.pathsep) if p]
    return [MANIFESTS, *extra, *(folder / "datasets" for folder in own_folders())]


@cache
def entry_folders(group: str) -> tuple[Path, ...]:
    """Folders that installed packages name in an entry-point group: a path, or a function that returns one.

    Raises
    ------
    ConfigurationError
        An entry cannot be loaded; the message names it and its package.
    """
    from importlib.metadata import entry_points  # slow, and most calls have no need of it

    folders = []
    for entry in entry_points(group=group):
        try:
            target = entry.load()
            folders.append(Path(target() if callable(target) else target))
        except Exception as error:  # whatever a foreign package raises while it is imported
            package = entry.dist.name if entry.dist else "an installed package"
            raise ConfigurationError(
                f"entry point {entry.name!r} ({entry.value}) of {package} in group {group} cannot be loaded: "
                f"{type(error).__name__}: {error}; repair or uninstall the package"
            ) from error
    return tuple(folders)
