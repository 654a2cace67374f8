"""``lpbench show``, also called ``plan``: what cells and experiments run, what it costs, and the tables they have."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from lpbench.cli import names, options
from lpbench.cli.completion import Override
from lpbench.errors import ConfigurationError

#: Keys that ``lpbench reproduce`` takes as options.
_OPTIONS = {
    "replications": "--replications",
    "seed": "--seed",
    "results_dir": "--results",
    "experiment.work_limit": "--work-limit",
    "runner": "--backend",
    "runner.backend": "--backend",
    "runner.workers": "--workers",
    "runner.address": "--address",
    "runner.order": "--order",
    "tracking": "--tracking",
    "tracking.uri": "--tracking-uri",
}


@click.command(epilog="Next: lpbench reproduce with the same experiments.")
@click.argument("words", nargs=-1, type=Override("experiment"), metavar="[EXPERIMENT | KEY=VALUE]...")
@click.option("--results", type=options.FOLDER_TYPE, metavar="DIR", help="Results folder.  [default: that of a run]")
def command(words: Sequence[str], results: Path | None) -> int:
    """Print settings, blocks, fits, time and tables of a run, without running it.

    EXPERIMENT is a name or a pattern such as 'histoftree/*'; several are added up.
    """
    named = [word for word in words if "=" not in word and not word.startswith("~")]
    overrides = [word for word in words if word not in named]
    names.check_names(overrides)
    twice = [word for word in overrides if word.startswith("experiment=")] if named else []
    if twice:
        raise ConfigurationError(f"{twice[0]!r} stands beside {', '.join(named)}: write lpbench show NAME NAME")
    from lpbench.cli.hydra_app import compose
    from lpbench.cli.plans import print_plans
    from lpbench.experiments.job import job_from, placed

    chosen = options.matching(named) if named else []
    configs = [compose([f"experiment={name}", *overrides]) for name in chosen] or [compose(overrides)]
    if results:
        configs = [replace(config, results_dir=str(results)) for config in configs]
        overrides.append(f"results_dir={results}")
    jobs = placed([job_from(config, overrides) for config in configs])
    print_plans(jobs, Path(configs[0].results_dir).resolve(), configs[0].runner)
    for line in _next(named, chosen, overrides) if words else []:
        print(f"Next: {line}")
    if len(jobs) == 1 and not jobs[0].is_cell:
        print("Next: lpbench explain DATASET METHOD EPSILON (a cell of the table)")
    return 0


def _next(named: Sequence[str], chosen: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """Commands, as text, that run what was planned: one where ``lpbench reproduce`` has an option for every setting.

    ``named`` are the words of the command line, ``chosen`` the experiments that they stand for.
    """
    if not named:
        if "mask=file" in overrides and not any(word.startswith("mask.params.path=") for word in overrides):
            overrides = [*overrides, "mask.params.path=FILE.csv"]
        return [f"{shlex.join(['lpbench', *overrides])} (runs it)"]
    given = dict(word.split("=", 1) for word in overrides)
    if given.keys() <= _OPTIONS.keys():
        words = [word for key, value in given.items() for word in (_OPTIONS[key], value)]
        return [f"{shlex.join(['lpbench', 'reproduce', *named, *words])} (runs {'it' if len(chosen) == 1 else 'them'})"]
    return [f"{shlex.join(['lpbench', f'experiment={name}', *overrides])} (runs it)" for name in chosen]
