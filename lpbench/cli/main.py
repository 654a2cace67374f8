"""The command line: Hydra for experiments and sweeps, a few plain subcommands around it.

Exit codes: 0 done; 1 something was run and failed; 2 the request is not valid, or data or results cannot be used;
130 interrupted; 141 whoever read the output went away.
"""

from __future__ import annotations

import difflib
import os
import sys

import lpbench
from lpbench.cli import arguments
from lpbench.errors import ConfigurationError, LpbenchError

USAGE = """lpbench - reproducible experiments in locally private learning

Start here (no download, a few seconds):
  lpbench method=histoftree_cart epsilon=2 replications=2

Run    lpbench dataset=abalone method=krr epsilon=2     one cell
       lpbench -m dataset=abalone,red_wine epsilon=1,2  a sweep of cells
       lpbench reproduce 'histoftree/*'                 tables, figures, report
       lpbench verify bitwise                           the same bits again?
Look   lpbench list methods|datasets|masks|experiments  what there is
       lpbench show histoftree/table1                   an experiment, its table
       lpbench plan histoftree/table1                   its cost; runs nothing
       lpbench explain abalone krr 2                    selected, spent, scores
       lpbench ui                                       runs in MLflow
Add    lpbench new method my_mean                       your own method
       lpbench new dataset file.csv                     your own data set
       lpbench check method my_mean                     is it what it promises?
Also   report, track, audit, stream, completion bash|zsh|fish

lpbench COMMAND --help: its options. lpbench --cfg job: every key and its value.
Exit codes: 0 done, 1 something failed, 2 request not valid, 130 interrupted.
Next page: docs/tutorial.md - your own method and data set in ten minutes.
"""

#: Hydra's options; those of the second group take a value as the next argument.
_HYDRA_FLAGS = ("--hydra-help", "--resolve", "--run", "-r", "--multirun", "-m", "--shell-completion", "-sc")
_HYDRA_VALUES = (
    "--cfg", "-c", "--package", "-p", "--config-path", "-cp", "--config-name", "-cn", "--config-dir", "-cd",
    "--experimental-rerun", "--info", "-i",
)  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Entry point of the ``lpbench`` command; returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(argv)
    except LpbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted: finished blocks are kept; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `lpbench list methods | head -1`: nobody reads on, and the interpreter must not try to flush at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _dispatch(argv: list[str]) -> int:
    commands = {name.partition(" ")[0] for name in arguments.subcommands()}
    if argv and argv[0] in commands:
        return _quit_on_help(argv)
    if not argv or argv == ["help"] or {"-h", "--help"} & set(argv):
        print(USAGE, end="")
        return 0
    if argv[0] == "help":
        return _dispatch([*argv[1:], "--help"])
    if argv == ["--version"]:
        print(f"lpbench {lpbench.__version__}")
        return 0
    _check_overrides(argv, sorted(commands))
    from lpbench.cli import hydra_app

    return hydra_app.main(argv)


def _quit_on_help(argv: list[str]) -> int:
    try:
        return arguments.run(argv)
    except SystemExit as quit_after_help:
        return int(quit_after_help.code or 0)


def _check_overrides(argv: list[str], commands: list[str]) -> None:
    """Refuse what is neither ``key=value`` nor an option of Hydra, before anything heavy is imported."""
    previous = ""
    for argument in argv:
        option = argument.partition("=")[0]
        if argument.startswith("-"):
            if option not in (*_HYDRA_FLAGS, *_HYDRA_VALUES):
                near = difflib.get_close_matches(option, (*_HYDRA_FLAGS, *_HYDRA_VALUES, "--help", "--version"), n=1)
                hint = f"did you mean {near[0]}?" if near else "settings are written key=value, as in epsilon=2"
                raise ConfigurationError(f"unknown option {argument!r}: {hint} (`lpbench` alone shows what there is.)")
        elif "=" not in argument and not argument.startswith(("+", "~")) and previous not in _HYDRA_VALUES:
            raise _unknown_word(argument, commands, first=argument == argv[0])
        previous = argument


def _unknown_word(word: str, commands: list[str], first: bool) -> ConfigurationError:
    """Say what a lone word may have been meant to be: a command, a key, or the name of something."""
    from lpbench.cli import suggestions

    more = "(`lpbench` alone shows what there is.)"
    known = suggestions.known_names()
    if word in (*known, *suggestions.plain_keys()):
        return ConfigurationError(f"{word!r} is a key and needs a value, without blanks: lpbench {word}=... {more}")
    for kind, of_kind in known.items():
        if word in of_kind:
            return ConfigurationError(f"{word!r} is the name of a {kind}: lpbench {kind}={word} {more}")
    near = difflib.get_close_matches(word, commands, n=2, cutoff=0.5) if first else []
    if near:
        hint = f"did you mean {' or '.join(f'`lpbench {c}`' for c in near)}?"
    else:
        hint = "it is neither a command nor of the form key=value."
    return ConfigurationError(f"unknown {'command' if first else 'argument'} {word!r}: {hint} {more}")


if __name__ == "__main__":
    sys.exit(main())
