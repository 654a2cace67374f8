"""What can be run: methods (one YAML each), experiments and masks, from ``conf/``, a user's folders and plug-ins."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lpbench.errors import ConfigurationError, unknown_key, unknown_name
from lpbench.paths import CONF, entry_folders, own_folders
from lpbench.selectors import format_selector, parse_selector

if TYPE_CHECKING:
    from lpbench.estimators.base import LocalEstimator

#: Entry-point group through which another package adds methods alone: each entry is a folder of method YAMLs.
PLUGIN_GROUP = "lpbench.methods"


@dataclass(frozen=True)
class MethodSpec:
    """A method as the harness sees it: an estimator class, fixed parameters and the grid the papers search.

    Attributes
    ----------
    name, title : str
        Key in configs and results; printed name.
    task : {"regression", "classification"}
    privacy : str
        Privacy model, a key of :data:`lpbench.privacy.guarantee.MODELS`; empty where it is not stated.
    estimator : str
        Dotted path of the class.
    params : dict
        Fixed constructor parameters.
    grid : dict
        Parameter -> values.
    grid_by_mask : dict
        Mask name -> grid entries merged in for that mask.
    tuning_free : dict or None
        The one setting, fixed without test rows, shown as ``selection=tuning_free``.
    variants : dict
        Name -> {"params": ..., "grid": ...}, selected as ``method[variant=name]``.
    reference : str
        Paper, section.
    """

    name: str
    title: str
    task: str
    estimator: str
    params: dict = field(default_factory=dict)
    grid: dict = field(default_factory=dict)
    grid_by_mask: dict = field(default_factory=dict)
    tuning_free: dict | None = None
    variants: dict = field(default_factory=dict)
    reference: str = ""
    privacy: str = ""

    @property
    def estimator_class(self) -> type[LocalEstimator]:
        """The estimator class (imported on first use)."""
        return import_object(self.estimator)

    def build(self):
        """Return an estimator with the method's fixed parameters."""
        return self.estimator_class(**self.params)

    def select(self, overrides: Mapping) -> MethodSpec:
        """Apply ``[param=value,...]``: ``variant`` picks a preset, anything else fixes a constructor parameter.

        A fixed parameter leaves the grid.
        """
        overrides = dict(overrides)
        label = format_selector(self.name, overrides)
        spec = asdict(self)
        variant = overrides.pop("variant", None)
        if variant is not None:
            if variant not in self.variants:
                raise unknown_name(f"variant of method {self.name}", str(variant), self.variants)
            preset = self.variants[variant]
            spec["params"] = {**spec["params"], **preset.get("params", {})}
            spec["grid"] = {**spec["grid"], **preset.get("grid", {})}
            if "tuning_free" in preset:
                spec["tuning_free"] = preset["tuning_free"]
            spec["grid"] = {k: v for k, v in spec["grid"].items() if k not in preset.get("params", {})}
        known = inspect.signature(self.estimator_class).parameters
        for key in overrides:
            if key not in known:
                raise unknown_name(f"parameter of method {self.name}", key, known)
        spec["params"] = {**spec["params"], **overrides}
        spec["grid"] = {k: v for k, v in spec["grid"].items() if k not in overrides}
        spec["grid_by_mask"] = {
            mask: {k: v for k, v in grid.items() if k not in overrides} for mask, grid in spec["grid_by_mask"].items()
        }
        if spec["tuning_free"] is not None:
            spec["tuning_free"] = {k: v for k, v in spec["tuning_free"].items() if k not in overrides}
        return MethodSpec(**{**spec, "name": label})

    def grid_for(self, mask: str) -> dict:
        """Grid of the method under the named mask."""
        return {**self.grid, **self.grid_by_mask.get(mask, {})}


def import_object(path: str):
    """Import ``package.module.Name``; modules in a user's own folders are found too, after the installed ones.

    Raises
    ------
    ConfigurationError
        There is no such module or name, or the module fails; the message says where.
    """
    module, _, name = path.rpartition(".")
    sys.path.extend(str(folder) for folder in own_folders() if str(folder) not in sys.path)
    try:
        return getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"cannot import {path!r}: {error}; a method's `estimator` is a dotted path") from error
    except Exception as error:  # whatever a user's module raises while it is imported
        place = traceback.extract_tb(error.__traceback__)[-1]
        file, line = getattr(error, "filename", None) or place.filename, getattr(error, "lineno", None) or place.lineno
        raise ConfigurationError(
            f"cannot import {path!r}: {type(error).__name__} in {file}, line {line}: {error}"
        ) from error


def _read_yaml(path: Path) -> dict:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path} is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} must hold a mapping of keys to values")
    return content


def method_folders() -> list[Path]:
    """Folders that hold method YAMLs: the project's, a user's own, those of installed plug-ins."""
    own = [folder / "methods" for folder in own_folders()]
    return list(dict.fromkeys([CONF / "method", *own, *entry_folders(PLUGIN_GROUP)]))


@cache
def methods() -> dict[str, MethodSpec]:
    """All registered methods by name; a duplicate name is an error."""
    found: dict[str, MethodSpec] = {}
    for folder in method_folders():
        for path in sorted(folder.glob("*.yaml")):
            spec = _read_method(path)
            if spec.name in found:
                raise ConfigurationError(f"method {spec.name!r} is defined twice (second time in {path})")
            found[spec.name] = spec
    return found


def _read_method(path: Path) -> MethodSpec:
    content, known = _read_yaml(path), [f.name for f in fields(MethodSpec)]
    for key in content:
        if key not in known:
            raise unknown_key(f"{path}: unknown key", str(key), known)
    if missing := [key for key in ("name", "title", "task", "estimator") if key not in content]:
        raise ConfigurationError(f"{path}: key {missing[0]!r} is missing")
    if content["name"] != path.stem:
        raise ConfigurationError(f"{path}: name {content['name']!r} must equal the file name")
    return MethodSpec(**content)


def method(selector: str) -> MethodSpec:
    """Return the method of a selector ``name[param=value,...]``."""
    name, overrides = parse_selector(selector)
    if name not in methods():
        raise unknown_name("method", name, methods())
    return methods()[name].select(overrides)


def experiment_folders() -> list[Path]:
    """Folders that hold experiments: the project's and a user's own."""
    return [CONF / "experiment", *(folder / "experiments" for folder in own_folders())]


@cache
def experiments() -> dict[str, dict]:
    """All experiments by name (``paper/artefact``), as plain dictionaries."""
    found: dict[str, dict] = {}
    for folder in experiment_folders():
        for path in sorted(folder.rglob("*.yaml")):
            name = path.relative_to(folder).with_suffix("").as_posix()
            if name == "single":
                continue
            content = _read_yaml(path)
            if content.get("name") != name:
                raise ConfigurationError(f"{path}: name {content.get('name')!r} must be {name!r}")
            if name in found:
                raise ConfigurationError(f"experiment {name!r} is defined twice (second time in {path})")
            found[name] = content
    return found


@cache
def masks() -> dict[str, dict]:
    """All masks by name."""
    return {path.stem: _read_yaml(path) for path in sorted((CONF / "mask").glob("*.yaml"))}
