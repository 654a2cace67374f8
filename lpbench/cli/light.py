"""The ``lpbench`` command of the distribution ``lpbench-light``: audits of anybody's code, without the harness."""

import sys
from collections.abc import Sequence

import click

import lpbench
from lpbench.cli import surroundings
from lpbench.cli.audit_code import code
from lpbench.cli.checking import method
from lpbench.errors import LpbenchError

#: End of the message about a command or module that only the whole distribution has.
_WHOLE = ": lpbench-light has `audit code` and `check method FILE:Class` alone; all commands: pip install lpbench"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(lpbench.__version__, message="lpbench-light %(version)s")
def cli() -> None:
    """Hold code to its privacy claim; `pip install lpbench` brings all commands."""


cli.add_command(click.Group("audit", {"code": code}, help="Audit a function, a command, or a model with fit(X, y)."))
cli.add_command(click.Group("check", {"method": method}, help="Hold a method's class to the contract."))


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the light ``lpbench`` command; returns the exit code."""
    with surroundings.fixed():
        try:
            words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
            return int(cli.main(words, "lpbench", standalone_mode=False) or 0)
        except (click.ClickException, LpbenchError, ModuleNotFoundError) as error:
            sentence = error.format_message() if isinstance(error, click.ClickException) else str(error)
            lacks = sentence.startswith(("No such command", "No module named"))
            surroundings.say(f"error: {sentence}{_WHOLE if lacks else ''}")
        except click.Abort:
            surroundings.say("interrupted")
            return 130
        return 2
