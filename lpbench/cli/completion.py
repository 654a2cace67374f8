"""Completion in the shell: ``lpbench completion``, and the words of ``key=value`` that click does not know.

Commands, options and names come from files and take a tenth of a second; keys below the top level
(``method.params.depth``) are left to Hydra's own completion, which composes the configuration first.
"""

from __future__ import annotations

import contextlib
import io
import os

import click
from click.shell_completion import BashComplete, CompletionItem, ZshComplete, add_completion_class, shell_complete

from lpbench.cli.names import known_names, plain_keys
from lpbench.cli.options import OneOf
from lpbench.errors import LpbenchError

#: Environment variable with which a shell's script asks for candidates.
VARIABLE = "_LPBENCH_COMPLETE"


@click.command(
    epilog='bash, zsh: eval "$(lpbench completion bash)" in .bashrc or .zshrc; '
    "fish: lpbench completion fish > ~/.config/fish/completions/lpbench.fish"
)
@click.argument("shell", type=OneOf(("bash", "zsh", "fish")))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell."""
    return shell_complete(context.find_root().command, {}, "lpbench", VARIABLE, f"{shell}_source")


class Override(click.ParamType):
    """``key=value`` as Hydra takes it.

    Parameters
    ----------
    kind : str, optional
        Bare names of this kind are completed too.
    """

    name = "key=value"

    def __init__(self, kind: str = ""):
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Keys, the names behind them (after commas too), and Hydra's own candidates for deeper keys."""
        return [CompletionItem(word) for word in [*known_names().get(self.kind, ()), *overrides(incomplete)]
                if word.startswith(incomplete)]  # fmt: skip


def overrides(word: str) -> list[str]:
    """Return what the beginning of an override may become."""
    known = known_names()
    key, sep, value = word.partition("=")
    if sep and key in known:
        earlier, comma, _ = value.rpartition(",")
        return [f"{key}={earlier}{comma}{name}" for name in known[key]]
    if "." in key:
        return _ask_hydra(word)
    return [] if sep else [f"{key}=" for key in (*known, *plain_keys())]


def _ask_hydra(word: str) -> list[str]:
    from lpbench.cli import hydra_app

    output = io.StringIO()
    os.environ["COMP_LINE"] = f"lpbench {word}"
    with contextlib.redirect_stdout(output), contextlib.suppress(LpbenchError):
        hydra_app.main(["-sc", "query=bash"])
    return output.getvalue().split()


@add_completion_class
class _Bash(BashComplete):
    """bash takes ``dataset=red`` for three words: join them, and answer with what follows the last ``=``."""

    source_template = BashComplete.source_template.replace("-o nosort", "-o nosort -o nospace")
    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        joined: list[str] = []
        for word in (*args, incomplete):
            if joined and (word == "=" or joined[-1].endswith("=")):
                joined[-1] += word
            else:
                joined.append(word)
        *args, last = joined
        self._before = last[: last.rindex("=") + 1] if last != incomplete else ""
        return args, last

    def format_completion(self, item: CompletionItem) -> str:
        item.value = item.value.removeprefix(self._before)
        return super().format_completion(item)


@add_completion_class
class _Zsh(ZshComplete):
    """No blank behind a candidate: ``dataset=`` goes on."""

    source_template = ZshComplete.source_template.replace("compadd -U", "compadd -S '' -U")
