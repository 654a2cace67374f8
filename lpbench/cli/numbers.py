"""Options that are numbers or words, of commands that need no registry."""

from collections.abc import Callable, Sequence
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
#: Root seed, that of the experiments.
SEED = 2025


def seed(text: str = "Root seed.", default: int | None = SEED) -> Decorator:
    """Option ``--seed N``: a root seed of at least 0; ``default`` None: no seed."""
    return click.option(
        "--seed", type=click.IntRange(0), default=default, metavar="N", show_default=default is not None, help=text
    )


def choice(name: str, words: Sequence[str], default: str) -> Decorator:
    """Option whose value is one of some words, which the help lists."""
    text = f"{', '.join(words)}  [default: {default}]"
    return click.option(name, type=click.Choice(words), default=default, metavar="NAME", help=text)


def count(name: str, text: str, default: int | None = None) -> Decorator:
    """Option with a whole number that is at least 1."""
    has_default = default is not None
    return click.option(name, type=click.IntRange(1), default=default, metavar="N", show_default=has_default, help=text)


def above_0(name: str, letter: str, text: str, default: float | None = None) -> Decorator:
    """Option whose value is a number above 0, shown as ``letter`` in the help."""
    return click.option(name, type=click.FloatRange(0, min_open=True), default=default, metavar=letter, help=text)
