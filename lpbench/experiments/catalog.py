"""Registered experiments, methods and masks, of ``conf/``, a user's folders and plug-ins; what Hydra composes of them.

Names are file names, found without reading a file. Objects are made when they are asked for, once in a process.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from lpbench.errors import ConfigurationError, LpbenchError, unknown_key, unknown_name
from lpbench.experiments.config import Config, Named
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method, facts_of, is_own
from lpbench.paths import CONF, entry_folders, manifest_folders, own_folders, results_folder
from lpbench.selectors import Selector

#: Keys that every file of a kind must give.
_REQUIRED = {Method: ("name", "title", "task", "estimator"), Experiment: ("name",), Named: ("name",)}

#: Modules that decide what a file says.
_CODE = [f"lpbench.experiments.{name}" for name in ("catalog", "config", "experiment", "frozen", "method", "schema")]

_composed: dict[tuple[str, str], Any] = {}
#: Data sets that Hydra knows.
_in_hydra: set[str] = set()
#: Files of a user that cannot be used, by kind and name -> what is wrong with them.
passed_over: dict[tuple[str, str], LpbenchError] = {}


def clear() -> None:
    """Forget what was composed from a user's folders, which have changed; ``conf/`` does not in a process."""
    for kind, name in [key for key in _composed if not (CONF / key[0] / f"{key[1]}.yaml").is_file()]:
        del _composed[kind, name]
    passed_over.clear()


def method_folders() -> list[Path]:
    """Folders that hold method YAMLs: the project's, a user's own, those of installed plug-ins."""
    user_folders = [folder / "methods" for folder in own_folders()]
    # the group through which another package adds methods alone: each entry is a folder of YAMLs
    return list(dict.fromkeys([CONF / "method", *user_folders, *entry_folders("lpbench.methods")]))


def experiment_folders() -> list[Path]:
    """Folders that hold experiments: the project's and a user's own."""
    return [CONF / "experiment", *(folder / "experiments" for folder in own_folders())]


def _files(kind: str) -> dict[str, Path]:
    """Map the names of a kind to their YAML files; of a name with two files the first counts, with a warning."""
    folders = {"method": method_folders, "experiment": experiment_folders}.get(kind, lambda: [CONF / kind])()
    files: dict[str, Path] = {}
    for folder in folders:
        # the project's do not change in a process
        named = (_named if CONF in folder.parents else _named.__wrapped__)(folder, kind == "experiment")
        for name in files.keys() & named.keys():
            pass_over(kind, name, ConfigurationError(f"{kind} {name!r} is defined twice: rename {named[name]}"))
        files = named | files
    return files


def pass_over(kind: str, name: str, error: LpbenchError) -> None:
    """Note that a user's file cannot be used and go on; the command line lists such files at the end."""
    passed_over[kind, name] = error


def check_asked(kind: str, name: str) -> None:
    """Raise the stored error of a name whose file cannot be used, or that two files have."""
    path = _files(kind).get(name)
    if (kind, name) in passed_over:
        raise passed_over[kind, name]
    if path is not None and CONF not in path.parents:
        _objects(kind, [name], Method if kind == "method" else Experiment)


@cache
def _named(folder: Path, deep: bool) -> dict[str, Path]:
    paths = sorted(folder.rglob("*.yaml") if deep else folder.glob("*.yaml"))
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in paths}


def method_names() -> list[str]:
    """Return the names of all registered methods, a user's own included."""
    return list(_files("method"))


def experiment_names() -> list[str]:
    """Names of all experiments (``paper/artifact``); ``single`` is the cell of the command line, not one of them."""
    return [name for name in _files("experiment") if name != "single"]


def own_names(kind: str) -> list[str]:
    """Names of the methods or experiments that stand outside the project, in a user's folders."""
    return [name for name, path in _files(kind).items() if CONF not in path.parents]


def mask_names() -> list[str]:
    """Return the names of all registered masks, a user's own included."""
    return list(_files("mask"))


def methods(names: Iterable[str] | None = None) -> dict[str, Method]:
    """Methods by name, without parameters (default: all)."""
    return _usable("method", Method) if names is None else _objects("method", list(names), Method)


def method(selector: str, *, apart: bool = False) -> Method:
    """Return the method of a selector ``name[param=value,...]``; with ``apart`` its code runs in isolation."""
    parsed = Selector.parse(selector)
    registered = methods([parsed.name])[parsed.name]
    return (registered.apart() if apart else registered).select(parsed.params)


def guarded_method(selector: str) -> Method:
    """Return the method of a selector; somebody else's code is not imported here but run in isolated processes."""
    name = Selector.parse(selector).name
    return method(selector, apart=is_own(methods([name])[name].estimator))


def experiments(names: Iterable[str] | None = None) -> dict[str, Experiment]:
    """Return registered experiments by name; None: all that can be used, with a warning for the others."""
    return _usable("experiment", Experiment) if names is None else _objects("experiment", list(names), Experiment)


def experiment(name: str) -> Experiment:
    """Return one registered experiment; ConfigurationError with the nearest names if there is none."""
    return experiments([name])[name]


def single() -> Experiment:
    """Return the experiment behind ``lpbench key=value``, a single cell, before any override."""
    return Experiment(**read_yaml(CONF / "experiment" / "single.yaml")["experiment"])


def masks(names: Iterable[str] | None = None) -> dict[str, Named]:
    """Masks by name, with their default parameters (default: all)."""
    return _objects("mask", mask_names() if names is None else list(names), Named)


def mask(name: str) -> Named:
    """Return one registered mask with its default parameters; ConfigurationError if there is none."""
    return masks([name])[name]


def heads(kind: str, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read plain YAML values of all methods, experiments or masks without Hydra; files with defaults are composed.

    Returned are, for each name, the values of ``keys``, defaults of the schema where a file has none.
    """
    import yaml

    schema = {"method": Method, "experiment": Experiment, "mask": Named}[kind]
    empty = {f.name: {} if f.default is dataclasses.MISSING else f.default for f in dataclasses.fields(schema)}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    values: dict[str, dict[str, Any]] = {}
    for name, path in _files(kind).items():
        if name == "single":
            continue
        try:
            content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
        except (yaml.YAMLError, OSError, ValueError, RecursionError):
            content = None  # composing it says what is wrong
        is_plain = isinstance(content, dict) and {*_REQUIRED[schema]} <= {*content} <= {*empty}
        if not (is_plain and content["name"] == name):  # something has to be composed, or refused
            composed = _usable(kind, schema, [name])
            if not composed:
                continue
            content = vars(composed[name])
        values[name] = {key: content.get(key, empty[key]) for key in keys}
    return values


def _usable(kind: str, schema: type, names: Sequence[str] = ()) -> dict[str, Any]:
    """Name to object of these or all names of a kind ("method", "experiment" ...), read as ``schema``.

    A user's file that cannot be used is passed over with a warning and hides no other.
    """
    files = {name: path for name, path in _files(kind).items() if name != "single" and (not names or name in names)}
    objects = {name: _composed[kind, name] for name in files if (kind, name) in _composed}
    objects |= _objects(kind, [n for n, path in files.items() if n not in objects and CONF in path.parents], schema)
    for name in [name for name in files if name not in objects]:
        try:
            objects |= _objects(kind, [name], schema)
        except LpbenchError as error:
            pass_over(kind, name, error)
    return {name: objects[name] for name in files if name in objects}


def _objects(kind: str, names: Sequence[str], schema: type) -> dict[str, Any]:
    """Compose the named files of a kind and return them as objects of a schema; each is composed once a process.

    A user's files need the plug-ins registered first, and raise the error for which they were passed over before.
    """
    todo = [name for name in names if (kind, name) not in _composed]
    if todo:
        files = _files(kind)
        for name in todo:
            if name not in files or name == "single":
                raise unknown_name(kind, name, files.keys() - {"single"})
        user_names = [name for name in todo if CONF not in files[name].parents]
        if user_names:
            register()
        for name in user_names:
            if (kind, name) in passed_over:
                raise passed_over[kind, name]
        for name in todo:
            _composed[kind, name] = _object(kind, name, files[name], schema)
    return {name: _composed[kind, name] for name in names}


def _object(kind: str, name: str, path: Path, schema: type) -> Any:
    """Read the file of a name as an object of ``schema``; of those in ``conf/`` the result is remembered.

    Composing them all takes seconds.
    """
    if CONF not in path.parents:
        return _typed(_content(kind, name, path), schema, name, path)
    from lpbench.derivation import remembered

    def composed() -> dict[str, Any]:
        return dataclasses.asdict(_typed(read_yaml(path), schema, name, path))

    text = path.read_text(encoding="utf-8")
    # parameters of a method are checked against its class
    checked = [facts_of(word).module for word in re.findall(r"^estimator: (\S+)", text, re.MULTILINE)]
    record = remembered(f"{kind} {name}", composed, {"file": text}, [*_CODE, *checked], ("omegaconf",))
    return Experiment.from_record(record) if schema is Experiment else schema(**record)


def _content(kind: str, name: str, path: Path) -> dict[str, Any]:
    """Read a user's YAML file; an experiment gets the paper that its folder names, unless it says another."""
    return ({"paper": name.partition("/")[0]} if kind == "experiment" else {}) | read_yaml(path)


def _typed(node: dict[str, Any], schema: type, name: str, path: Path) -> Any:
    """Convert a YAML file's content to an object of its schema; errors name the key that is wrong or missing."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    empty = OmegaConf.structured(schema)
    try:
        merged = OmegaConf.merge(empty, node)
    except OmegaConfBaseException as error:
        raise ConfigurationError(f"{path}: {wrong_key(error)}") from error
    for key in _REQUIRED[schema]:
        if OmegaConf.is_missing(merged, key):
            raise ConfigurationError(f"{path}: key {key!r} is missing")
    if merged.name != name:
        raise ConfigurationError(f"{path}: name {merged.name!r} must equal the file name, {name!r}")
    typed = OmegaConf.to_object(merged)
    if isinstance(typed, Method):
        from lpbench.experiments.schema import check_method  # imports numpy, which lists and help do without

        check_method(typed)
    if isinstance(typed, Experiment) and typed.left_out:
        from lpbench.experiments.schema import check_left_out

        check_left_out(typed)
    return typed


def wrong_key(error: BaseException) -> str:
    """Say which key is unknown, and what it may have been meant to be, or which value is of the wrong kind."""
    outer: BaseException | None = error
    while outer is not None and not getattr(outer, "full_key", None):  # Hydra's stands around the one that knows it
        outer = outer.__cause__ or outer.__context__
    error = outer or error
    key, kind, value = (getattr(error, name, None) for name in ("full_key", "object_type", "value"))
    text = "; ".join([line.strip() for line in str(error).splitlines() if line.strip() and "_type" not in line][:3])
    if "not in" in text and dataclasses.is_dataclass(kind):
        return str(unknown_key("unknown key", str(key).rpartition(".")[2], [f.name for f in dataclasses.fields(kind)]))
    if "is not a ListConfig" in text and key:
        return f"{key}={value!r} must be a list: {key}: [{value}]"
    if "is not a valid bool" in text:
        return f"{key} must be true or false"
    if key and (mismatch := re.search(r"Value '(.*)' of type '.*' could not be converted to (\w+)", text)):
        kinds = {"Integer": "a whole number", "Float": "a number", "String": "text"}
        return f"{key}={mismatch[1]} must be {kinds.get(mismatch[2], mismatch[2])}"
    return text


def check_chosen(kind: str, name: str, stated: str, overrides: Iterable[str]) -> None:
    """Refuse a file whose key ``name`` is not what it was chosen by, unless an override gave the key."""
    if name.partition("[")[0] != stated and not any(word.lstrip("+").startswith(f"{kind}.name=") for word in overrides):
        raise ConfigurationError(f"{_files(kind)[name]}: name {stated!r} must equal the file name, {name!r}")


def register() -> None:
    """Tell Hydra the schema, the data sets, and what a user keeps outside ``conf/`` (safe to call twice)."""
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    OmegaConf.register_new_resolver("lpbench_results", lambda: str(results_folder()), replace=True)
    store = ConfigStore.instance()
    store.store(name="schema", node=Config)
    for name in sorted({p.stem for folder in manifest_folders() for p in folder.glob("*.yaml")} - _in_hydra):
        store.store(group="dataset", name=name, node={"name": name, "params": {}})
        _in_hydra.add(name)
    for kind in ("method", "experiment"):
        for name, path in _files(kind).items():
            if CONF not in path.parents:
                folder, _, leaf = f"{kind}/{name}".rpartition("/")
                try:
                    store.store(group=folder, name=leaf, node=_content(kind, name, path), package=kind)
                except ConfigurationError as error:
                    pass_over(kind, name, error)


def register_selector(kind: str, selector: str) -> None:
    """Tell Hydra a name with parameters, such as the method ``residual_score[variant=features]``."""
    from hydra.core.config_store import ConfigStore

    parsed = Selector.parse(selector)
    node = {"defaults": [parsed.name], "params": dict(parsed.params)}
    ConfigStore.instance().store(group=kind, name=selector, node=node, package=kind)


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping; ConfigurationError with the parser's reason if it does not."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        content = OmegaConf.to_container(OmegaConf.load(path))
    except (YAMLError, OmegaConfBaseException, OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path} must hold a mapping of keys to values")
    return {str(key): value for key, value in content.items()}


def compose(overrides: Sequence[str]) -> tuple[Config, dict[str, str]]:
    """The configuration of ``lpbench key=value ...``, and which file was chosen for each group."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf, open_dict

    register()
    running = GlobalHydra.instance().is_initialized()  # the command line's own Hydra, which has the folder already
    with nullcontext() if running else initialize_config_dir(str(CONF), version_base="1.3"):
        composed = hydra_compose("config", overrides=list(overrides), return_hydra_config=True)
    choices = dict(composed.hydra.runtime.choices)
    with open_dict(composed):
        del composed["hydra"]
    config: Config = OmegaConf.to_object(composed)  # type: ignore[assignment]
    return config, choices
