"""Composition by Hydra: one cell, a multirun over cells, or one experiment."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from lpbench.cli.names import with_selectors
from lpbench.errors import ConfigurationError, LpbenchError, MissingDataError
from lpbench.experiments import catalog
from lpbench.experiments.config import Config
from lpbench.paths import CONF, results_folder

_exit_codes: list[int] = []
#: Errors of jobs in this process, which Hydra would announce with a line of its own.
_errors: list[LpbenchError] = []
#: How the multirun that goes on in this process was asked for.
_multirun: list[DictConfig] = []
#: Environment variable that tells the jobs of a launcher which process collects exit codes.
_PARENT = "LPBENCH_PARENT"


class CellError(LpbenchError):
    """A cell of a multirun, computed in another process, has no result."""


class ConcludeAtEnd(Callback):
    """Print and log a multirun when all of its cells are done, from one process only: jobs may run anywhere."""

    def on_multirun_start(self, config: DictConfig, **kwargs) -> None:
        """Remember the configuration of the multirun that begins, for the summary at its end."""
        _multirun.append(config)


# at import: the jobs of a launcher resolve their configuration in processes that only import this module
OmegaConf.register_new_resolver("lpbench_results", lambda: str(results_folder()), replace=True)


def main(argv: list[str]) -> int:
    """Run Hydra on overrides whose names were checked; returns the exit code."""
    argv = [_free(argument) for argument in argv]
    _exit_codes.clear()
    _errors.clear()
    _multirun.clear()
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")
    os.environ[_PARENT] = str(os.getpid())
    last: LpbenchError | None = None
    previous, sys.argv = sys.argv, ["lpbench", *argv]
    try:
        # sweeps, options and settings of Hydra are its own; a single run needs none of its folders and logs
        if any(word.lstrip("+~").startswith(("-", "hydra")) for word in argv):
            catalog.register()
            _run_app()
        else:
            from lpbench.cli.composed import run_config

            _exit_codes.append(run_config(compose(argv), argv))
    except CellError as error:
        print(f"error: {error}", file=sys.stderr)
        _exit_codes.append(1)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigurationError(_first_sentence(error)) from error
    finally:
        sys.argv = previous
    if _exit_codes and all(isinstance(error, MissingDataError) for error in _errors):
        _exit_codes.extend(1 for _ in _errors)  # others were run
    elif _errors:
        last = _errors.pop()
    for refused in _errors:
        print(f"error: {refused}", file=sys.stderr)
    if last is not None:
        raise last
    return max(_exit_codes, default=0)


def compose(overrides: list[str]) -> Config:
    """Compose overrides whose names were checked, without running anything."""
    try:
        return _checked(*catalog.compose([_free(word) for word in overrides]), overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigurationError(_first_sentence(error)) from error


def _checked(config: Config, choices: Mapping[str, str], overrides: list[str]) -> Config:
    for kind, name in (("experiment", config.experiment.name), ("method", config.method.name)):
        catalog.check_chosen(kind, choices[kind], name, overrides)
    return config


def _run_app() -> None:
    """Run Hydra's application, and print and log a multirun at its end, also if an error ended it."""
    try:
        _app()
    finally:
        for config in _multirun:
            from lpbench.cli.composed import conclude_multirun

            conclude_multirun(Path(config.results_dir).resolve(), Path(config.hydra.sweep.dir), config.tracking)


def _first_sentence(error: Exception) -> str:
    return f"{catalog.wrong_key(error)} (`lpbench --cfg job` prints every key)"


def _free(argument: str) -> str:
    """Prefix an override so that Hydra accepts parameters that the configuration does not list.

    The names were checked before.
    """
    if argument.startswith(("dataset.params.", "method.params.")):
        return f"++{argument}"
    return with_selectors(argument)


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def _app(config: DictConfig) -> None:
    """Run what Hydra composed; keep the exit code and errors of this process for the end of the multirun.

    In a worker process errors are raised instead, since nothing kept there would be seen.
    """
    from lpbench.cli.composed import run_config

    overrides = list(HydraConfig.get().overrides.task)
    is_parent = os.environ.get(_PARENT) == str(os.getpid())
    try:
        hydra_config = HydraConfig.get()
        job_folder = hydra_config.runtime.output_dir if hydra_config.mode == RunMode.MULTIRUN else None
        composed: Config = OmegaConf.to_object(config)  # type: ignore[assignment]
        code = run_config(_checked(composed, hydra_config.runtime.choices, overrides), overrides, job_folder)
    except LpbenchError as error:
        if not is_parent:
            raise
        _errors.append(error)
        return
    if is_parent:
        _exit_codes.append(code)
    elif code:
        raise CellError(f"{' '.join(overrides)}: no result; the job's output says why")
