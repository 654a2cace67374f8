"""The ``lpbench`` command of the distribution ``lpbench-light``: audits of anybody's code, without the harness."""

import sys
from collections.abc import Sequence

import click

import lpbench
from lpbench.cli import surroundings
from lpbench.cli.audit_code import code
from lpbench.cli.checking import method
from lpbench.errors import LpbenchError

#: Other commands, which only the whole distribution has.
_WHOLE = (
    "the distribution lpbench-light has `lpbench audit code` and `lpbench check method FILE:Class` alone; "
    "all commands: pip install lpbench"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(lpbench.__version__, message="lpbench-light %(version)s")
def cli() -> None:
    """Hold code to its privacy claim; `pip install lpbench` brings all commands."""


@cli.group()
def audit() -> None:
    """Audit a function, a command, or a model with fit(X, y)."""


@cli.group()
def check() -> None:
    """Hold a method's class to the contract."""


audit.add_command(code)
check.add_command(method)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the light ``lpbench`` command; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    with surroundings.fixed():
        try:
            group, *rest = words
            known = {"audit": "code", "check": "method"}.get(group)
            if group[:1] != "-" and not (known and rest[:1] in ([], [known], ["--help"], ["-h"])):
                surroundings.say(f"error: `lpbench {words[0]}`: {_WHOLE}")
                return 2
            with cli.make_context("lpbench", words) as context:
                return int(cli.invoke(context) or 0)
        except click.exceptions.Exit as end:
            return end.exit_code
        except ModuleNotFoundError as error:
            surroundings.say(f"error: {error.name} is missing: {_WHOLE}")
        except (click.ClickException, LpbenchError) as error:
            said = str(error) if isinstance(error, LpbenchError) else error.format_message()
            surroundings.say(f"error: {said}")
        except KeyboardInterrupt:
            surroundings.say("\ninterrupted")
            return 130
        return 2
