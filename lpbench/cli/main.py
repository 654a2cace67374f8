"""The command line: commands by name, each in a module of its name; everything else is Hydra's.

Exit codes: 0 done; 1 something was run and failed; 2 the request is not valid, there is nothing to run or to compare,
or a file cannot be used; 3 an error that nobody thought of; 130 interrupted; 141 output pipe closed.
"""

import difflib
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem, shell_complete

import lpbench
from lpbench.cli import completion, names, surroundings
from lpbench.disk import refusal
from lpbench.errors import ConfigurationError, LpbenchError
from lpbench.experiments import catalog
from lpbench.selectors import plain_name

USAGE = """lpbench - reproducible experiments in locally private learning

Start here (no download, a few seconds):
  lpbench method=histoftree_cart epsilon=2 replications=2

Run    lpbench dataset=abalone method=krr epsilon=2     one cell
       lpbench -m dataset=abalone,red_wine epsilon=1,2  a sweep of cells
       lpbench reproduce 'histoftree/*'                 tables, figures, report
       lpbench verify bitwise                           the same bits again?
Look   lpbench list methods|datasets|masks|experiments  what is registered
       lpbench show histoftree/table1                   settings, cost, table
       lpbench explain abalone krr 2                    selected, spent, scores
       lpbench export own/first                         PDF, PNG, LaTeX of it
       lpbench ui                                       runs in MLflow
Add    lpbench new method my_mean                       your own method
       lpbench new dataset file.csv                     your own data set
       lpbench check method my_mean                     is it what it promises?
       lpbench rank my_mean                             where does it stand?
Also   rates, need, submit, report, plan (as show), audit, completion

lpbench COMMAND --help: its options. lpbench --cfg job: every key and its value.
Exit codes: 0 done, 1 something failed, 2 request not valid, 3 a fault of ours.
Next page: docs/tutorial.md - your own method and data set in ten minutes.
"""

#: Commands: each is ``command`` of the module of its name (or of another's), imported when it is asked for.
COMMANDS = (
    "audit", "check", "completion", "explain", "export", "list", "need", "new", "plan", "rank", "rates", "report",
    "reproduce", "show", "submit", "ui", "verify",
)  # fmt: skip
#: Those that run blocks, as overrides do; what they have finished is kept.
_RUNS = ("rank", "rates", "reproduce", "submit", "verify")
#: Hydra's options; those of the second group take a value as the next argument.
_HYDRA_FLAGS = ("--hydra-help", "--resolve", "--run", "-r", "--multirun", "-m")
_HYDRA_VALUES = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd",
    "--experimental-rerun", "--info", "-i",
)  # fmt: skip
_MORE = "(`lpbench` alone lists the commands.)"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the ``lpbench`` command; returns the exit code."""
    words = [*map(plain_name, sys.argv[1:] if argv is None else argv)] or ["--help"]
    if words[0] == "help":
        words = [*words[1:], "--help"]
    catalog.passed_over.clear()  # by an earlier command of this process
    with surroundings.fixed():
        code, sentence = _answered(words)
        for passed_over in catalog.passed_over.values():
            if str(passed_over) != sentence:
                surroundings.say(f"warning: passed over: {passed_over}")
    return code


def _answered(words: Sequence[str]) -> tuple[int, str]:
    """Run a command; return its exit code, and the sentence of the error that ended it (empty without one).

    The sentence is printed on standard error.
    """
    try:
        code = _invoked(words)
        sys.stdout.flush()
        return code, ""
    except (click.ClickException, LpbenchError) as error:
        code, sentence = 2, _sentence(error)
    except KeyboardInterrupt:
        runs_blocks = words[0] in _RUNS or words[0] not in COMMANDS
        more = ": finished blocks are kept; run the same command again to go on" if runs_blocks else ""
        surroundings.say(f"\ninterrupted{more}")
        return 130, ""
    except BrokenPipeError:  # `lpbench list methods | head -1`: nobody reads on
        surroundings.silence(sys.stdout)
        return 141, ""
    except (Exception, SystemExit) as error:
        code, sentence = 2, ""
        if isinstance(error, OSError):
            # of a copy, the second is the target
            sentence = refusal(error, error.filename2 or error.filename or "a file or the output")
        elif isinstance(error, UnicodeEncodeError) and error.encoding == sys.getfilesystemencoding():
            sentence = f"{error.object!r} is no name of a file where names are in {error.encoding}; set LC_ALL=C.UTF-8"
        if not sentence:
            code, sentence = 3, surroundings.unforeseen(error)
    surroundings.say(f"error: {sentence}")
    try:
        sys.stdout.flush()
    except OSError:
        surroundings.silence(sys.stdout)
    return code, sentence


def _invoked(words: Sequence[str]) -> int:
    """Let click run the words of a command, or complete them for the shell; return the exit code."""
    try:
        if instruction := os.environ.get(completion.VARIABLE):
            return shell_complete(cli, {}, "lpbench", completion.VARIABLE, instruction)
        with cli.make_context("lpbench", [*words]) as context:
            return cli.invoke(context)
    except click.exceptions.Exit as end:  # --help, --version
        return end.exit_code


def _sentence(error: click.ClickException | LpbenchError) -> str:
    """Text of an error for the user; one of click's begins with the command and ends with its help."""
    if isinstance(error, LpbenchError):
        return str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "lpbench"
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"{command}: {text[0].lower()}{text[1:]} (`{command} --help` shows how)"


class _Screen(click.Command):
    """Click command whose help is lpbench's overview of commands."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first screen in place of click's help."""
        formatter.write(USAGE)


class _Commands(_Screen, click.Group):
    """The commands; a first word that is none of them begins a list of Hydra's overrides."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of the first screen."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and return its command; None if there is no such command."""
        module = "show" if cmd_name == "plan" else cmd_name
        return import_module(f"lpbench.cli.{module}").command if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Choose the command of the first word, or Hydra's overrides if it is none."""
        return super().resolve_command(ctx, args) if args[0] in COMMANDS else ("", overrides, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands and overrides that begin with what was typed, or click's own words."""
        words = [] if incomplete.startswith("-") else [*COMMANDS, *completion.overrides(incomplete)]
        return [CompletionItem(w) for w in words if w.startswith(incomplete)] or super().shell_complete(ctx, incomplete)


_LEAVE_OPTIONS = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"], "max_content_width": 80}


@click.group(cls=_Commands, context_settings=_LEAVE_OPTIONS)
@click.version_option(lpbench.__version__, message="lpbench %(version)s")
def cli() -> None:
    """Reproducible experiments in locally private learning."""


@click.command(cls=_Screen, context_settings=_LEAVE_OPTIONS)
@click.argument("words", nargs=-1, type=completion.Override())
def overrides(words: tuple[str, ...]) -> int:
    """Run a configuration that Hydra composes from ``key=value`` words; returns the exit code."""
    words = tuple("audit=false" if word == "--no-audit" else word for word in words)
    _check_overrides(words)
    names.check_names(words)  # before anything heavy is imported
    from lpbench.cli import hydra_app

    return hydra_app.main(list(words))


def _check_overrides(words: Sequence[str]) -> None:
    """Refuse what is neither ``key=value`` nor an option of Hydra, before anything heavy is imported."""
    previous = ""
    for word in words:
        option = word.partition("=")[0]
        if word.startswith("-"):
            options = (*_HYDRA_FLAGS, *_HYDRA_VALUES)
            if option not in options:
                near = difflib.get_close_matches(option, (*options, "--help", "--version"), n=1)
                hint = f"did you mean {near[0]}?" if near else "settings are written key=value, as in epsilon=2"
                raise ConfigurationError(f"unknown option {word!r}: {hint} {_MORE}")
        elif "=" not in word and not word.startswith(("+", "~")) and previous not in _HYDRA_VALUES:
            raise _unknown_word(word, first=word == words[0])
        previous = word
    if "--resolve" in words and not any(word.partition("=")[0] in ("--cfg", "-c") for word in words):
        raise ConfigurationError("--resolve is about what --cfg prints: write --cfg job --resolve")


def _unknown_word(word: str, first: bool) -> ConfigurationError:
    """Error for a lone word that says what it may have been meant to be: a command, a key, or the name of something.

    ``first`` is True for the first word, which may be a command.
    """
    names_of = names.known_names()
    if word in (*names_of, *names.plain_keys()):
        return ConfigurationError(f"{word!r} is a key and needs a value, without blanks: lpbench {word}=... {_MORE}")
    for kind, of_kind in names_of.items():
        if word in of_kind:
            return ConfigurationError(f"{word!r} is the name of a {kind}: lpbench {kind}={word} {_MORE}")
    near = difflib.get_close_matches(word, COMMANDS, n=2, cutoff=0.5) if first else []
    if near:
        hint = f"did you mean {' or '.join(f'`lpbench {c}`' for c in near)}?"
    else:
        hint = "it is neither a command nor of the form key=value."
    return ConfigurationError(f"unknown {'command' if first else 'argument'} {word!r}: {hint} {_MORE}")


if __name__ == "__main__":
    sys.exit(main())
