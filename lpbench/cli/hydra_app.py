"""Composition by Hydra: one cell, a multirun over cells, or one experiment."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, cast, get_type_hints

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lpbench.cli import names
from lpbench.datasets import list_datasets
from lpbench.errors import ConfigurationError, LpbenchError, StoreError, unknown_key, unknown_name
from lpbench.experiments import catalogue as registry
from lpbench.experiments import schema
from lpbench.experiments.catalogue import MethodSpec
from lpbench.experiments.plan import Plan, plan_experiment, plan_single
from lpbench.experiments.single import run_single
from lpbench.experiments.store import Store
from lpbench.paths import CONF, results_folder
from lpbench.pipeline import (
    Settings,
    describe_missing,
    estimate_seconds,
    run_experiments,
    track_results,
)
from lpbench.selectors import format_selector

#: Keys that belong to `experiment=single` only.
_CELL_KEYS = ("dataset", "mask", "method", "epsilon")
_exit_codes: list[int] = []
#: How the multirun that goes on in this process was asked for.
_multirun: list[Settings] = []
#: Environment variable that tells the jobs of a launcher which process collects exit codes.
_PARENT = "LPBENCH_PARENT"

#: Launchers of multiruns that need the extra ``launchers`` -> the module that has them.
LAUNCHERS = {
    "joblib": "hydra_plugins.hydra_joblib_launcher",
    "submitit_local": "hydra_plugins.hydra_submitit_launcher",
    "submitit_slurm": "hydra_plugins.hydra_submitit_launcher",
    "slurm": "hydra_plugins.hydra_submitit_launcher",
}


class CellError(LpbenchError):
    """A cell of a multirun, computed in another process, has no result."""


class TrackAtEnd(Callback):
    """Log a multirun when all of its cells are done, and from one process only: jobs may run anywhere."""

    def on_multirun_start(self, config: DictConfig, **kwargs) -> None:
        """Keep what is asked for."""
        _multirun.append(settings_of(config))


# at import: the jobs of a launcher resolve their configuration in processes that only import this module
OmegaConf.register_new_resolver("lpbench_results", lambda: str(results_folder()), replace=True)


def register() -> None:
    """Register schemas (safe to call twice)."""
    outside = [m for m in registry.methods().values() if not (CONF / "method" / f"{m.name}.yaml").is_file()]
    own = {n: e for n, e in registry.experiments().items() if not (CONF / "experiment" / f"{n}.yaml").is_file()}
    schema.register(list_datasets(), [asdict(m) for m in outside], own)


def main(argv: list[str]) -> int:
    """Run Hydra on the given overrides; returns the exit code."""
    register()
    check_names(argv)
    argv = [_free(argument) for argument in argv]
    _exit_codes.clear()
    _multirun.clear()
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    os.environ[_PARENT] = str(os.getpid())
    previous, sys.argv = sys.argv, ["lpbench", *argv]
    try:
        _run_app()
    except CellError as error:
        print(f"error: {error}", file=sys.stderr)
        _exit_codes.append(1)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigurationError(_first_sentence(error)) from error
    except OSError as error:
        if isinstance(error, (LpbenchError, BrokenPipeError)):
            raise
        raise StoreError(
            f"results_dir: cannot write there ({error}); choose another folder with results_dir=..."
        ) from error
    finally:
        sys.argv = previous
    return max(_exit_codes, default=0)


def _run_app() -> None:
    try:
        _app()
    finally:
        for settings in _multirun:
            if settings.tracking == "mlflow" and (settings.results_dir / "store").is_dir():
                print(f"{track_results(settings.results_dir, settings.tracking_uri)} runs written to MLflow")


def _first_sentence(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip() and "object_type" not in line]
    return "; ".join(lines[:3]) + " (`lpbench --cfg job` prints every key)"


def check_names(argv: list[str]) -> None:
    """Refuse unknown keys, data sets, masks, methods and experiments with the nearest known names."""
    if {"-sc", "--shell-completion"} & set(argv):
        return
    known = names.known_names()
    for argument in argv:
        key, sep, value = argument.lstrip("+").partition("=")
        if key == "hydra/launcher":
            _check_launcher(value)
        elif sep:
            _check_key(key)
        if sep and key in known and not value.startswith(("glob(", "choice(")):
            for name in value.split(","):
                if name.strip() and name.strip() not in known[key]:
                    raise unknown_name(key, name.strip(), known[key])


def _check_launcher(name: str) -> None:
    module = LAUNCHERS.get(name, "hydra")
    # the parent of a missing plug-in may be missing too
    if not all(importlib.util.find_spec(m) for m in dict.fromkeys([module.partition(".")[0], module])):
        raise ConfigurationError(
            f"hydra/launcher={name} needs the package {module.rpartition('.')[2]!r}, which is not installed; "
            "install the extra: pip install 'lpbench[launchers]' (in a checkout: make engines)"
        )


def _check_key(key: str) -> None:
    closed, free = known_keys()
    if key.startswith("mask.params."):
        closed = [f"mask.params.{p}" for mask in registry.masks().values() for p in mask.get("params") or {}]
    elif key in closed or key.startswith((*free, "hydra.", "hydra/")) or "@" in key or key == "hydra":
        return
    if key not in closed:
        raise unknown_key("unknown key", key, set(closed), " (`lpbench --cfg job` prints every key.)")


def _free(argument: str) -> str:
    """Let Hydra accept parameters that the configuration does not list; lpbench itself checks their names."""
    return f"++{argument}" if argument.startswith(("dataset.params.", "method.params.")) else argument


def known_keys() -> tuple[list[str], tuple[str, ...]]:
    """Dotted keys of the configuration, and the beginnings of those that are free (``method.params.``)."""

    def walk(node: type, prefix: str) -> Iterator[tuple[str, bool]]:
        types = get_type_hints(node)
        for name in (f.name for f in fields(node)):
            is_free = str(types[name]).startswith("dict")
            yield prefix + name, is_free
            if is_dataclass(types[name]):
                yield from walk(types[name], f"{prefix}{name}.")

    keys = dict(walk(schema.ConfigSchema, ""))
    return list(keys), tuple(f"{key}." for key, is_free in keys.items() if is_free)


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def _app(config: DictConfig) -> None:
    code = run_config(config, list(HydraConfig.get().overrides.task), HydraConfig.get().mode == RunMode.MULTIRUN)
    if os.environ.get(_PARENT) == str(os.getpid()):
        _exit_codes.append(code)
    elif code:
        raise CellError(f"{' '.join(HydraConfig.get().overrides.task)}: no result; the job's output says why")


def run_config(config: DictConfig, overrides: list[str], in_multirun: bool = False) -> int:
    """Run one composed configuration; returns the exit code."""
    settings = settings_of(config)
    if in_multirun:
        settings = replace(settings, tracking="none")
    if config.selection not in ("oracle", "tuning_free"):
        raise ConfigurationError(f"selection={config.selection!r} must be oracle or tuning_free")
    if config.experiment.kind != "single":
        _refuse_cell_overrides(config.experiment.name, overrides)
        experiment = _mapping(config.experiment)
        if config.dry_run:
            return _print_plan(
                plan_experiment(experiment, replications=settings.replications, seed=settings.seed), settings
            )
        result = run_experiments([registry.experiments()[config.experiment.name]], settings)
        _conclude(result, settings.results_dir / config.experiment.name)
        return result.exit_code
    spec = _single_method(config)
    plan = _single_plan(config, spec, settings)
    if config.dry_run:
        return _print_plan(plan, settings)
    return run_single(plan, spec, settings, selection=config.selection)


def settings_of(config: DictConfig) -> Settings:
    """Read how to run from a composed configuration."""
    return Settings(
        results_dir=Path(config.results_dir).resolve(),
        seed=_seed(config.seed),
        replications=config.replications,
        backend=config.runner.backend,
        workers=config.runner.workers,
        address=config.runner.address,
        cell_timeout=config.runner.cell_timeout,
        order=config.runner.order,
        tracking=config.tracking.backend,
        tracking_uri=config.tracking.uri,
    )


def _mapping(config: DictConfig) -> dict[str, Any]:
    """Part of a composed configuration as plain Python objects."""
    return cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True))


def _seed(seed: int) -> int:
    if seed < 0:
        raise ConfigurationError(f"seed={seed} must be >= 0")
    return seed


def _single_method(config: DictConfig) -> MethodSpec:
    """The composed method; parameters changed on the command line become part of its name."""
    content = _mapping(config.method)
    registered = registry.methods()[content["name"]]
    changed = {k: v for k, v in content["params"].items() if registered.params.get(k) != v}
    return MethodSpec(**{**content, "params": dict(registered.params)}).select(changed)


def _single_plan(config: DictConfig, spec: MethodSpec, settings: Settings) -> Plan:
    dataset = format_selector(config.dataset.name, _mapping(config.dataset.params))
    known = registry.masks()[config.mask.name].get("params") or {}
    given = _mapping(config.mask.params)
    mask = format_selector(config.mask.name, {k: v for k, v in given.items() if known.get(k) != v})
    count = config.experiment.replications if settings.replications is None else settings.replications
    return plan_single(dataset, mask, spec, config.epsilon, count, settings.seed)


def _refuse_cell_overrides(name: str, overrides: list[str]) -> None:
    for override in overrides:
        key = override.lstrip("+~").split("=")[0].split(".")[0]
        if key in _CELL_KEYS:
            raise ConfigurationError(
                f"{override!r}: experiment {name} fixes its own data sets, masks, methods and budgets; leave the key "
                "out, or leave `experiment=` out to run single cells"
            )


def _print_plan(plan: Plan, settings: Settings) -> int:
    store = Store(settings.results_dir / "store")
    for block in plan.blocks:
        state = "stored" if store.has(block.key) else "to do"
        print(f"{state:7s}{block.fits:9d} fits  {block.label}")
    todo, fits, seconds = estimate_seconds(plan, store, settings.workers or os.cpu_count() or 1)
    print(f"{len(plan.blocks)} blocks, {todo} to do: {fits} fits, about {max(seconds, 1):.0f} s")
    if plan.missing:
        print(describe_missing(plan.missing))
    return 0


def _conclude(result, folder: Path) -> None:
    run = result.run
    print(
        f"{len(run.outcomes)} blocks run ({run.fits} fits replaced), {run.reused} reused, "
        f"{len(run.failed)} without a result, {run.seconds:.1f} s; results in {folder}"
    )
    if result.plan.missing:
        print(describe_missing(result.plan.missing))
