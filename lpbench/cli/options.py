"""Argument types and options that several commands share."""

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from lpbench.cli.names import known_names
from lpbench.cli.numbers import Decorator, above_0, choice, count, seed
from lpbench.errors import ConfigurationError, unknown_key, unknown_name
from lpbench.experiments import catalog
from lpbench.paths import OWN_FOLDER, RESULTS_VARIABLE, results_folder

__all__ = [
    "FOLDER_TYPE", "Decorator", "Kinds", "NameOf", "above_0", "audit", "choice", "count", "counted", "experiments",
    "matching", "own_folder", "results", "seed", "tracking", "tracking_uri",
]  # fmt: skip
FOLDER_TYPE = click.Path(file_okay=False, resolve_path=True, path_type=Path)


class NameOf(click.ParamType):
    """Name of a registered data set, experiment, mask or method; the shell completes it, the command checks it."""

    def __init__(self, kind: str):
        self.name = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the registered names that begin with what was typed."""
        return [CompletionItem(name) for name in known_names()[self.name] if name.startswith(incomplete)]


class Kinds(click.Group):
    """Click group ``lpbench COMMAND method|dataset``: a missing or mistyped kind is answered with those there are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an empty command line with the list of kinds."""
        if not args and not ctx.resilient_parsing:
            ctx.fail(f"the kind is missing: {'|'.join(self.commands)}")
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown kind with the nearest names."""
        if args[0] not in self.commands and not ctx.resilient_parsing and not args[0].startswith("-"):
            raise unknown_key(f"{ctx.command_path}: unknown argument", args[0], self.commands)
        return super().resolve_command(ctx, args)


def results(exists: bool = False) -> Decorator:
    """Option ``--results``; the folder may have to be there."""
    kind = click.Path(exists=exists, file_okay=False, resolve_path=True, path_type=Path)
    text = f"Folder.  [default: ${RESULTS_VARIABLE}, else results/]"
    return click.option("--results", type=kind, default=results_folder, metavar="DIR", help=text)


def audit() -> Decorator:
    """Option ``--no-audit``: skip the audit of the user's own methods, and say so in their rows."""
    text = "Rows of your own methods say: not audited."
    return click.option("--no-audit", "audit", flag_value=False, default=True, help=text)


def tracking(default: str = "none") -> Decorator:
    """Option ``--tracking``: log in MLflow or not."""
    return choice("--tracking", ("mlflow", "none"), default)


def tracking_uri() -> Decorator:
    """Option ``--tracking-uri``: address of the MLflow store."""
    text = "MLflow store.  [default: sqlite, in the results folder]"
    return click.option("--tracking-uri", metavar="URI", help=text)


def own_folder() -> Decorator:
    """Option ``--folder``: destination of a user's own files."""
    text = f"Where to write.  [default: {OWN_FOLDER}, where lpbench looks]"
    return click.option("--folder", type=FOLDER_TYPE, default=OWN_FOLDER, metavar="DIR", help=text)


def experiments(required: bool = False) -> Decorator:
    """Argument ``experiments``: any number of names and patterns."""
    return click.argument(
        "experiments", nargs=-1, required=required, type=NameOf("experiment"), metavar="[EXPERIMENT]..."
    )


def matching(words: Sequence[str]) -> list[str]:
    """Experiments that a word (default: "*") is or matches, in order; on-request ones must be named in full."""
    names = catalog.experiment_names()
    chosen: dict[str, None] = {}
    for word in words or ["*"]:
        matches = fnmatch.filter(names, word)
        if not matches:
            raise unknown_name("experiment", word, names)
        if matches != [word]:
            heads = catalog.heads("experiment", ("on_request",))
            matches = [name for name in matches if name == word or not heads[name]["on_request"]]
        chosen |= dict.fromkeys(matches)
    if not chosen:
        raise ConfigurationError(f"{', '.join(words)} matches experiments that run only if they are named in full")
    return list(chosen)


def counted(number: int) -> str:
    """``1 experiment``, ``2 experiments``."""
    return f"{number} experiment{'' if number == 1 else 's'}"
