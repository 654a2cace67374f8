"""Experiments as every command takes them: names, several of them, and patterns such as 'histoftree/*'."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import Any

import click

from lpbench.cli.options import NameOf
from lpbench.errors import ConfigurationError, unknown_name
from lpbench.experiments import catalogue


def argument(required: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Argument ``experiments``: any number of names and patterns."""
    return click.argument(
        "experiments", nargs=-1, required=required, type=NameOf("experiment"), metavar="[EXPERIMENT]..."
    )


def matching(words: Sequence[str]) -> list[str]:
    """Names of the experiments that any of the words (default: "*") is or matches, in their order, each once.

    Experiments that run on request alone must be named in full.
    """
    known = catalogue.experiment_names()
    chosen: dict[str, None] = {}
    for word in words or ["*"]:
        matches = fnmatch.filter(known, word)
        if not matches:
            raise unknown_name("experiment", word, known)
        if matches != [word]:
            heads = catalogue.heads("experiment", ("on_request",))
            matches = [name for name in matches if name == word or not heads[name]["on_request"]]
        chosen |= dict.fromkeys(matches)
    if not chosen:
        raise ConfigurationError(f"{', '.join(words)} matches experiments that run only if they are named in full")
    return list(chosen)


def counted(number: int) -> str:
    """``1 experiment``, ``2 experiments``."""
    return f"{number} experiment{'' if number == 1 else 's'}"
