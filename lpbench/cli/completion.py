"""Completion in the shell: ``lpbench completion``, and the words of ``key=value`` that click does not know."""

import click
from click.shell_completion import CompletionItem, get_completion_class

from lpbench.cli.names import known_keys, known_names, plain_keys

#: Environment variable with which a shell's script asks for candidates.
VARIABLE = "_LPBENCH_COMPLETE"
#: Changes to click's scripts: ``dataset=red`` is one word in bash, and a candidate may go on (``dataset=``).
_CHANGES = {"complete -o nosort": "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}\ncomplete -o nosort -o nospace",
            "compadd -U": "compadd -S '' -U"}  # fmt: skip


@click.command(
    epilog='bash, zsh: eval "$(lpbench completion bash)" in .bashrc or .zshrc; '
    "fish: lpbench completion fish > ~/.config/fish/completions/lpbench.fish"
)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script of a shell."""
    complete = get_completion_class(shell)
    assert complete is not None
    script = complete(context.find_root().command, {}, "lpbench", VARIABLE).source()
    for of_click, of_lpbench in _CHANGES.items():
        script = script.replace(of_click, of_lpbench)
    print(script)
    return 0


class Override(click.ParamType):
    """Click type of a word ``key=value`` as Hydra takes it; bare names of a kind (``experiment``) are completed too."""

    name = "key=value"

    def __init__(self, kind: str = ""):
        self.kind = kind

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name in ``experiment=NAME``; leave every other override to Hydra."""
        key, sep, name = value.partition("=")
        if key != "experiment" or not sep:
            return value
        from lpbench.cli.options import NameOf

        return f"{key}={NameOf(key).convert(name, param, ctx)}"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return registered names of the kind and overrides that begin with what was typed."""
        return [
            CompletionItem(word)
            for word in [*known_names().get(self.kind, ()), *overrides(incomplete)]
            if word.startswith(incomplete)
        ]


def overrides(word: str) -> list[str]:
    """Return what the beginning of an override may become: keys, and names, after commas too."""
    names = known_names()
    key, sep, value = word.partition("=")
    if sep:
        earlier, comma, _ = value.rpartition(",")
        return [f"{key}={earlier}{comma}{name}" for name in names.get(key, ())]
    return [f"{option}=" for option in (known_keys()[0] if "." in key else (*names, *plain_keys()))]
