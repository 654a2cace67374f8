"""``lpbench plan``: blocks, fits and time of a run that is not started."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from lpbench.cli import names
from lpbench.cli.completion import Override
from lpbench.errors import ConfigurationError, unknown_name
from lpbench.experiments import catalogue


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("overrides", nargs=-1, type=Override("experiment"), metavar="[EXPERIMENT | KEY=VALUE]...")
def command(overrides: Sequence[str]) -> int:
    """Print blocks, fits and time of a run, without running it."""
    known = catalogue.experiment_names()
    for word in overrides:
        if word.startswith("-"):
            raise ConfigurationError(
                f"lpbench plan: no such option {word!r}; settings are written key=value, as in runner.workers=2 "
                "(`lpbench plan --help` shows how)"
            )
        if word not in known and "=" not in word and not word.startswith("~"):
            raise unknown_name("experiment", word, known)
    named = [f"experiment={word}" if word in known else word for word in overrides]
    names.check_names(named)
    from lpbench.cli import hydra_app

    code = hydra_app.main([*named, "dry_run=true"])
    if code == 0 and named:
        print(f"Next: {shlex.join(['lpbench', *named])} (runs it)")
    return code
