"""Names of methods, data sets and experiments, and keys, that the command line accepts, read from file names alone."""

import importlib.util
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

from lpbench.errors import ConfigurationError, unknown_key, unknown_name
from lpbench.experiments import catalog
from lpbench.experiments.catalog import experiment_folders, method_folders
from lpbench.experiments.config import Config
from lpbench.paths import CONF, manifest_folders
from lpbench.selectors import Selector

#: Keys whose names may have parameters, ``name[param=value,...]``.
SELECTED = ("dataset", "mask", "method")
#: Launchers of multiruns that need the extra ``launchers`` -> the module that has them.
LAUNCHERS = {
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "submitit_local": "hydra_plugins.hydra_submitit_launcher",
    "submitit_slurm": "hydra_plugins.hydra_submitit_launcher",
    "slurm": "hydra_plugins.hydra_submitit_launcher",
}


def known_names() -> dict[str, list[str]]:
    """Keys that choose something by name -> the names."""
    return {
        "dataset": _stems(manifest_folders()),
        "method": _stems(method_folders()),
        "mask": _stems([CONF / "mask"]),
        "experiment": _stems(experiment_folders()),
        "runner": _stems([CONF / "runner"]),
        "tracking": _stems([CONF / "tracking"]),
    }


def _stems(folders: Iterable[Path]) -> list[str]:
    stems = (p.relative_to(folder).with_suffix("").as_posix() for folder in folders for p in folder.rglob("*.yaml"))
    return sorted(set(stems))


def plain_keys() -> list[str]:
    """Top-level keys that hold a value (``epsilon``, ``seed``, ...)."""
    return sorted(f.name for f in fields(Config) if f.name not in known_names())


def check_names(argv: Sequence[str]) -> None:
    """Refuse unknown keys, data sets, masks, methods and experiments with the nearest known names."""
    names = known_names()
    sweep = bool({"-m", "--multirun"} & set(argv))
    given: dict[str, list[str]] = {}
    for argument in argv:
        key, sep, value = argument.lstrip("+").partition("=")
        if sep:
            given.setdefault(key, []).append(value)
        if sep and not sweep and len(values_of(value)) > 1:
            raise ConfigurationError(
                f"{argument!r} gives several values, which is a sweep and needs -m: lpbench -m {shlex.join(argv)}"
            )
        if key == "results_dir" and sweep and len(values_of(value)) > 1:
            raise ConfigurationError(f"{argument!r}: the jobs of a sweep share one results folder, with one table")
        if key == "hydra/launcher":
            _check_launcher(value)
        elif sep:
            _check_key(key)
        if sep and key in names and not value.startswith(("glob(", "choice(")):
            for text in (text.strip().strip("'\"") for text in values_of(value)):
                chosen = Selector.parse(text) if key in SELECTED and "[" in text else Selector(text)
                if chosen.name not in names[key]:
                    raise unknown_name(key, chosen.name, names[key])
                for parameter in chosen.params if key == "mask" else ():
                    _check_key(f"mask.params.{parameter}")
    for key, values in given.items():
        if len(values) > 1:
            several = f"; several: lpbench reproduce {' '.join(dict.fromkeys(values))}" if key == "experiment" else ""
            raise ConfigurationError(
                f"key {key!r} is given {len(values)} times, {' and '.join(map(repr, values))}: give it once{several}"
            )
    for key in ("method", "experiment"):
        for name in ",".join(given.get(key, ())).split(","):
            catalog.check_asked(key, name.strip().partition("[")[0])


def values_of(value: str) -> list[str]:
    """Values of an override, which commas outside brackets and quotes separate."""
    values, depth, quote = [""], 0, ""
    for sign in value:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        elif not quote:
            depth += (sign in "[({") - (sign in "])}")
        if sign == "," and not (depth or quote):
            values.append("")
        else:
            values[-1] += sign
    return values


def with_selectors(argument: str) -> str:
    """Let Hydra know the names with parameters of an override, such as ``method=hist[bins=2],krr``, and quote them."""
    key, _, value = argument.partition("=")
    if key not in SELECTED or "[" not in value or value.startswith("glob("):
        return argument
    chosen = [name.strip().strip("'\"") for name in values_of(value.removeprefix("choice(").removesuffix(")"))]
    for name in (name for name in chosen if "[" in name):
        catalog.register_selector(key, name)
    return f"{key}=" + ",".join(f"'{name}'" if "[" in name else name for name in chosen)


def _check_launcher(name: str) -> None:
    """Refuse a Hydra launcher whose package is not installed, with the way to install it."""
    module = LAUNCHERS.get(name, "hydra")
    # the parent of a missing plug-in may be missing too
    if not all(importlib.util.find_spec(m) for m in dict.fromkeys([module.partition(".")[0], module])):
        raise ConfigurationError(
            f"hydra/launcher={name} needs the package {module.rpartition('.')[2]!r}, which is not installed; "
            "install the extra: pip install -e '.[launchers]' (in a checkout: make engines)"
        )


def _check_key(key: str) -> None:
    """Refuse an override's key that no configuration has, with the nearest known one."""
    closed, free = known_keys()
    if key.startswith("mask.params."):
        closed = [f"mask.params.{p}" for mask in catalog.masks().values() for p in mask.params]
    elif key in closed or key.startswith((*free, "hydra.", "hydra/")) or "@" in key or key == "hydra":
        return
    if key not in closed:
        raise unknown_key("unknown key", key, set(closed), " (`lpbench --cfg job` prints every key.)")


def known_keys() -> tuple[list[str], tuple[str, ...]]:
    """Dotted keys of the configuration, and the beginnings of those that are free (``method.params.``)."""

    def walk(node: type, prefix: str) -> Iterator[tuple[str, bool]]:
        types = get_type_hints(node)
        for name in (f.name for f in fields(node)):
            is_free = str(types[name]).startswith("dict")
            yield prefix + name, is_free
            if is_dataclass(types[name]):
                yield from walk(types[name], f"{prefix}{name}.")

    keys = dict(walk(Config, ""))
    return list(keys), tuple(f"{key}." for key, is_free in keys.items() if is_free)
