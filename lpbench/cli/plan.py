"""``lpbench plan``: blocks, fits and time of a run that is not started."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from lpbench.cli import experiments, names
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


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog="Next: lpbench reproduce with the same experiments.",
)
@click.argument("words", nargs=-1, type=Override("experiment"), metavar="[EXPERIMENT | KEY=VALUE]...")
def command(words: Sequence[str]) -> int:
    """Print blocks, fits and time of a run, without running it.

    EXPERIMENT is a name or a pattern such as 'histoftree/*'; several are added up.
    """
    for word in words:
        if word.startswith("-"):
            raise ConfigurationError(
                f"lpbench plan: no such option {word!r}; settings are written key=value, as in runner.workers=2 "
                "(`lpbench plan --help` shows how)"
            )
    named = [word for word in words if "=" not in word and not word.startswith("~")]
    overrides = [word for word in words if word not in named]
    names.check_names(overrides)
    twice = [word for word in overrides if word.startswith("experiment=")] if named else []
    if twice:
        raise ConfigurationError(f"{twice[0]!r} stands beside {', '.join(named)}: write lpbench plan NAME NAME")
    from lpbench.cli import hydra_app

    if not named:
        code = hydra_app.main([*overrides, "dry_run=true"])
        if code == 0 and overrides:
            print(f"Next: {shlex.join(['lpbench', *overrides])} (runs it)")
        return code
    chosen = experiments.matching(named)
    from lpbench.cli.composed import print_plans
    from lpbench.experiments import catalogue

    composed = [hydra_app.compose([f"experiment={name}", *overrides]) for name in chosen]
    for name, config in zip(chosen, composed, strict=True):
        catalogue.check_chosen("experiment", name, config.experiment.name, overrides)
    print_plans(composed, overrides)
    for line in _next(named, chosen, overrides):
        print(f"Next: {line}")
    return 0


def _next(named: Sequence[str], chosen: Sequence[str], overrides: Sequence[str]) -> list[str]:
    """Commands that run what was planned: one where ``lpbench reproduce`` has an option for every setting."""
    given = dict(word.split("=", 1) for word in overrides)
    if given.keys() <= _OPTIONS.keys():
        options = [word for key, value in given.items() for word in (_OPTIONS[key], value)]
        return [
            f"{shlex.join(['lpbench', 'reproduce', *named, *options])} (runs {'it' if len(chosen) == 1 else 'them'})"
        ]
    return [f"{shlex.join(['lpbench', f'experiment={name}', *overrides])} (runs it)" for name in chosen]
