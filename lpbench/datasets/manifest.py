"""Manifests: one YAML per data set that says what it is, where it comes from and how it becomes a table."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from lpbench.checks import with_new_keys
from lpbench.datasets.schema import check_content
from lpbench.errors import ConfigurationError, DataError, unknown_name
from lpbench.paths import MANIFESTS, manifest_folders
from lpbench.problem import METRICS

TASKS = ("regression", "classification")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which cells of a file are what they look like: yes, no, on, off, 0123, 12:30 and 2020-01-31 are texts.

    libyaml's loader, ten times as fast as the one in Python, where PyYAML was built with it. Keys are not merged by
    ``<<``, which could multiply them without end.
    """

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in ("float", "null")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _mapping(loader: Any, node: Any) -> dict:
    """Build a mapping of the YAML; refuse one that has a key twice, of which PyYAML would keep the last."""
    count = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    if doubled := [key for key, n in count.items() if n > 1]:
        problem = f"the key {doubled[0]!r} stands there twice"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
    return loader.construct_mapping(node, deep=True)  # type: ignore[no-any-return]


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9]\d*)$"), list("-+0123456789"))
#: What a set of no paper is for: choices are made on ``development`` sets; methods are compared on the others, and on
#: ``sealed`` ones once.
ROLES = ("", "development", "held_out", "sealed")


@dataclass(frozen=True)
class Manifest:
    """Description of a data set, as its YAML ``datasets/<name>.yaml`` states it."""

    name: str  #: File stem.
    title: str  #: Printed name.
    task: str  #: {"regression", "classification"}
    paper: str = ""  #: "H" (HistOfTree), "L" (LPCT) or empty.
    role: str = ""  #: {"", "development", "held_out", "sealed"}: Empty for the papers' sets and your own.
    published: dict = field(default_factory=dict)  #: Numbers of rows and features that the paper prints.
    origin: str = ""  #: Origin of the data.
    license: str = ""  #: License of the data.
    openml: dict = field(default_factory=dict)  #: The same data set at OpenML.
    notes: str = ""  #: Remarks for users.
    sources: tuple[dict, ...] = ()  #: Places of the raw files, in the order in which they are tried.
    columns: tuple[str, ...] = ()  #: Names of the raw columns in their order; empty: the file's header has them.
    raw_rows: int | None = None  #: Number of rows of the complete raw file; a file with another number is refused.
    rows: tuple[dict, ...] = ()  #: Steps that choose the rows.
    public: dict | None = None  #: Rule for the public rows; without this key no row is public.
    #: Raw column that names the person or household of a row, if some have several rows. A split keeps the rows of one
    #: person together.
    unit: str = ""
    target: str | dict = ""  #: The label.
    features: tuple[str | dict, ...] | dict = ()  #: Features of the table.
    #: Group -> columns with the same information, which a user protects together. The columns of a one-hot feature form
    #: a group without an entry here; the group has the feature's name.
    groups: dict = field(default_factory=dict)
    #: Two groups of test rows: rows with ``column`` > ``above``, and the others. The metrics ``worst_group`` and
    #: ``group_gap`` compare the groups; training does not use them. ``title`` names the attribute.
    group: dict = field(default_factory=dict)
    #: Order of the features by sensitivity; and by importance in a forest on all rows
    #: (``RandomForestRegressor(random_state=0)``). See below.
    sensitivity: dict = field(default_factory=dict)
    #: Minimum and maximum of the label in the full file. The printed tables scale labels by this range, and so assume
    #: that it is public.
    y_range: tuple[float, float] | None = None
    #: Range of the label's scale of measurement, which is known without the data and contains ``y_range``.
    scale: tuple[float, float] | None = None
    #: Public bounds of features, for ``scaling=bounds`` (see below). A feature with ``map`` or ``one_hot`` needs none.
    bounds: dict = field(default_factory=dict)
    fingerprint: dict = field(default_factory=dict)  #: Sizes and hashes that the table of every source must have.
    #: ``package.module:function`` that draws a synthetic data set, in place of ``sources``. The function takes
    #: ``(streams, params, replication)`` and returns a ``Problem`` without a mask.
    synthetic: str = ""
    params: dict = field(default_factory=dict)  #: Parameters of the synthetic family, with defaults.
    #: ``n_train``, ``n_test``, ``n_features`` and ``n_public``: each is a number, or the name of the parameter that is
    #: this number.
    shape: dict = field(default_factory=dict)
    metric: str = ""  #: Metric (default: ``mse`` for regression, ``accuracy`` for classification).
    #: Name that keys the random streams (default: ``name``). Families with the same value share random numbers.
    draws_as: str = ""
    folder: Path = MANIFESTS  #: Where the manifest lies (not a key of the YAML).

    def label_range(self, source: str = "file") -> tuple[float, float] | None:
        """Return the public range of the label.

        Parameters
        ----------
        source : {"file", "scale"}
            ``file``: minimum and maximum of the full file; ``scale``: the ends of the scale of measurement.

        Returns
        -------
        (float, float) or None
            Ends of the range in the units of the label; None if the manifest states none.
        """
        bounds = self.scale if source == "scale" else self.y_range
        return None if bounds is None else (float(bounds[0]), float(bounds[1]))

    def feature_bounds(self, columns: Sequence[str]) -> np.ndarray:
        """Return the stated public bounds of columns of the table.

        Parameters
        ----------
        columns : sequence of str
            The d columns.

        Returns
        -------
        ndarray of shape (2, d)
            Lower and upper bounds, in the units of the columns.

        Raises
        ------
        ConfigurationError
            If the manifest states no bounds of a column.
        """
        bounds = {**self.bounds.get("file", {}), **self.bounds.get("known", {})}
        for item in self.features:
            if isinstance(item, Mapping) and "one_hot" in item:
                bounds |= {f"{item['column']}={level}": (0, 1) for level in item["one_hot"]}
            elif isinstance(item, Mapping) and "map" in item:
                bounds |= {item["column"]: (min(item["map"].values()), max(item["map"].values()))}
        if missing := [column for column in columns if column not in bounds]:
            raise ConfigurationError(
                f"data set {self.name}: scaling='bounds', but its manifest states no bounds of {missing[0]!r}; add "
                f"`bounds: {{known: {{{missing[0]}: [low, high]}}, reason: ...}}`, or use scaling=rows"
            )
        return np.array([bounds[column] for column in columns], dtype=float).T

    @property
    def score(self) -> str:
        """Metric by which predictions are scored."""
        return self.metric or ("mse" if self.task == "regression" else "accuracy")


def list_datasets() -> list[str]:
    """List the names of all data sets, a user's own included.

    Returns
    -------
    list of str
        Names in alphabetical order.
    """
    return sorted(_files()[0])


def load_manifest(name: str) -> Manifest:
    """Read the manifest of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.

    Returns
    -------
    Manifest
        Checked content of its YAML.

    Raises
    ------
    ConfigurationError
        Unknown name.
    DataError
        The YAML lacks a key or has one that means nothing.
    """
    files, others = _files()
    name = name.replace("openml/", "openml_")
    if name not in files:
        raise unknown_name("dataset", name, files)
    if name in others:
        raise ConfigurationError(f"data set {name!r} has two manifests: {files[name]} and {others[name]}")
    return read_manifest(files[name])


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest file; DataError names the file and the key that is wrong."""
    return _parsed(path, path.read_bytes())


def _files() -> tuple[dict[str, Path], dict[str, Path]]:
    """The manifest file of each name, and for a name with several files one that is not used."""
    manifests: dict[str, Path] = {}
    others: dict[str, Path] = {}
    for folder in manifest_folders():
        for path in _of_the_project(folder) if folder == MANIFESTS else sorted(folder.glob("*.yaml")):
            (others if path.stem in manifests else manifests)[path.stem] = path
    return manifests, others


@cache
def _of_the_project(folder: Path) -> list[Path]:
    """Manifest files of the package, listed once a process."""
    return sorted(folder.glob("*.yaml"))


@cache
def _parsed(path: Path, content_of_file: bytes) -> Manifest:
    """Return the manifest of a YAML file's content, after checking keys, task, role, metric and sources.

    DataError names the file and the key that is wrong.
    """
    try:
        content = yaml.load(content_of_file.decode("utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} must hold a mapping of keys to values")
    content = with_new_keys(str(path), content, {"licence": "license"})  # codespell:ignore licence
    keys = {f.name for f in fields(Manifest)} - {"name", "folder"}
    if unknown := sorted(set(content) - keys, key=str):
        raise DataError(f"{path}: unknown key {unknown[0]!r}; a manifest has {', '.join(sorted(keys))}")
    if missing := [key for key in ("title", "task") if key not in content]:
        raise DataError(f"{path}: key {missing[0]!r} is missing")
    check_content(path, content)
    if content["task"] not in TASKS:
        raise DataError(f"{path}: task={content['task']!r} must be one of {', '.join(TASKS)}")
    if content.get("role", "") not in ROLES:
        raise DataError(f"{path}: role={content['role']!r} must be one of {', '.join(filter(None, ROLES))}")
    if content.get("metric") and content["metric"] not in METRICS:
        raise DataError(f"{path}: metric={content['metric']!r} must be one of {', '.join(METRICS)}")
    if bool(content.get("synthetic")) == bool(content.get("sources")):
        raise DataError(f"{path}: exactly one of `sources` (real data) and `synthetic` (a family) must be given")
    frozen: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in content.items()}
    return Manifest(name=path.stem, folder=path.parent, **frozen)
