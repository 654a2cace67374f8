"""Composition by Hydra: one cell, a multirun over cells, or one experiment."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import hydra
import pandas as pd
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lpbench.cli import names
from lpbench.errors import ConfigurationError, LpbenchError, StoreError, unknown_key, unknown_name
from lpbench.experiments import catalogue
from lpbench.experiments.config import Config, Runner, Tracking
from lpbench.experiments.job import Job, job_from
from lpbench.experiments.records import worker_count
from lpbench.experiments.results import Artefact
from lpbench.experiments.store import Store
from lpbench.paths import CONF, results_folder
from lpbench.pipeline import Result, describe_missing, estimate_seconds, run_jobs, track_results

_exit_codes: list[int] = []
#: How the multirun that goes on in this process was asked for.
_multirun: list[DictConfig] = []
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
        _multirun.append(config)


# at import: the jobs of a launcher resolve their configuration in processes that only import this module
OmegaConf.register_new_resolver("lpbench_results", lambda: str(results_folder()), replace=True)


def main(argv: list[str]) -> int:
    """Run Hydra on the given overrides; returns the exit code."""
    catalogue.register()
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
        for config in _multirun:
            results_dir = Path(config.results_dir).resolve()
            if config.tracking.backend == "mlflow" and (results_dir / "store").is_dir():
                print(f"{track_results(results_dir, config.tracking.uri)} runs written to MLflow")


def _typed(config: DictConfig) -> Config:
    found: Config = OmegaConf.to_object(config)  # type: ignore[assignment]
    return found


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
        closed = [f"mask.params.{p}" for mask in catalogue.masks().values() for p in mask.params]
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

    keys = dict(walk(Config, ""))
    return list(keys), tuple(f"{key}." for key, is_free in keys.items() if is_free)


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def _app(config: DictConfig) -> None:
    overrides = list(HydraConfig.get().overrides.task)
    code = run_config(_typed(config), overrides, HydraConfig.get().mode == RunMode.MULTIRUN)
    if os.environ.get(_PARENT) == str(os.getpid()):
        _exit_codes.append(code)
    elif code:
        raise CellError(f"{' '.join(HydraConfig.get().overrides.task)}: no result; the job's output says why")


def run_config(config: Config, overrides: Sequence[str], in_multirun: bool = False) -> int:
    """Run one composed configuration; returns the exit code."""
    job, results_dir = job_from(config, overrides), Path(config.results_dir).resolve()
    if config.dry_run:
        return _print_plan(job, results_dir, config.runner)
    result = run_jobs([job], results_dir, config.runner, Tracking() if in_multirun else config.tracking)
    if job.is_cell:
        return _conclude_cell(job, result, results_dir, config.selection)
    _conclude(result, results_dir / job.folder)
    return result.exit_code


def _print_plan(job: Job, results_dir: Path, runner: Runner) -> int:
    plan, store, workers = job.plan, Store(results_dir / "store"), worker_count(runner)
    for block in plan.blocks:
        state = "stored" if store.has(block.key) else "to do"
        print(f"{state:7s}{block.fits:9d} fits  {block.label}")
    todo, fits, seconds = estimate_seconds(plan, store, workers)
    print(f"{len(plan.blocks)} blocks, {todo} to do: {fits} fits, about {max(seconds, 1):.0f} s")
    limit = min(filter(None, (job.experiment.cell_timeout, runner.cell_timeout)))
    print(
        f"{job.name}: {job.experiment.replications} replications, seed {job.seed}; {runner.backend}, {workers} at "
        f"once, {runner.order}, {limit:g} s for a cell; results in {results_dir / job.folder}"
    )
    for deviation in job.deviations:
        print(f"not as registered: {deviation}")
    if plan.missing:
        print(describe_missing(plan.missing))
    return 0


def _conclude(result: Result, folder: Path) -> None:
    run = result.run
    print(
        f"{len(run.outcomes)} blocks run ({run.fits} fits replaced), {run.reused} reused, "
        f"{len(run.failed)} without a result, {run.seconds:.1f} s; results in {folder}"
    )
    for deviation in Artefact(folder, "").deviations:
        print(f"not as registered: {deviation}")
    if result.plan.missing:
        print(describe_missing(result.plan.missing))


def _conclude_cell(job: Job, result: Result, results_dir: Path, selection: str) -> int:
    """Print the numbers of a cell, or why there are none; returns the exit code."""
    if result.plan.missing:
        print(describe_missing(result.plan.missing), file=sys.stderr)
        return 1
    for outcome in result.run.failed:
        failure = Store(results_dir / "store").root / "failures" / f"{outcome.key}.json"
        print(
            f"error: {' '.join(job.folder.split('/')[1:])}: {outcome.reason}; the traceback is in {failure}",
            file=sys.stderr,
        )
    if result.run.failed or result.problems:
        return 1
    summary = Artefact(results_dir / job.folder, job.name).summary
    if summary is not None:
        _print_cell(summary, selection, result.run.reused > 0)
    for deviation in job.deviations:
        print(f"not as registered: {deviation}")
    return 0


def _print_cell(summary: pd.DataFrame, selection: str, reused: bool) -> None:
    chosen = summary[summary["selection"] == selection]
    if chosen.empty:
        chosen = summary
        print(f"(no {selection} setting is defined for this method; showing what there is)")
    for row in chosen.to_dict("records"):
        # one replication has no standard error; two digits, without an exponent where they can do without
        spread = f" +- {float(format(row['se'], '.2g')):g}" if row["se"] == row["se"] else ""
        print(
            f"{row['dataset']} {row['mask']} {row['method']} epsilon={row['epsilon']:g} {row['selection']}: "
            f"{row['metric']} {row['mean']:.6g}{spread} (n={row['n']:g}) {row['params']}"
            + ("  [stored]" if reused else "")
        )
