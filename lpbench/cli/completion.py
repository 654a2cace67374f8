"""Completion in the shell: scripts that ask this module, and what it answers.

Commands, options and names come from files and parsers, which takes a tenth of a second; keys below the top level
(``method.params.depth``) are left to Hydra's own completion, which composes the configuration first.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os

from lpbench.cli import arguments
from lpbench.cli.suggestions import known_names, plain_keys
from lpbench.errors import LpbenchError

_BASH = """_lpbench()
{
    local line="${COMP_LINE:0:COMP_POINT}" IFS=$'\\n'
    COMPREPLY=($(lpbench completion query "$line" 2>/dev/null))
    # bash breaks words at "=": what stands before it must not be repeated
    local word="${line##* }"
    if [[ "$word" == *=* && "$COMP_WORDBREAKS" == *=* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${word%%=*}="}")
    fi
}
complete -o nospace -o default -F _lpbench lpbench
"""
_ZSH = """_lpbench()
{
    local -a found
    found=(${(f)"$(lpbench completion query "${LBUFFER}" 2>/dev/null)"})
    if (( $#found )); then compadd -Q -S '' -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _lpbench lpbench
"""
_FISH = """function __lpbench
    lpbench completion query (commandline -cp) 2>/dev/null
end
complete -c lpbench -a '(__lpbench)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def completion(args: argparse.Namespace) -> int:
    """Print the script of a shell, or the candidates for the last word of a line."""
    if args.shell == "query":
        print("\n".join(candidates(args.line)))
    else:
        print(SCRIPTS[args.shell], end="")
    return 0


def candidates(line: str) -> list[str]:
    """Return what the last word of a command line may become; nothing where it is a file.

    Parameters
    ----------
    line : str
        The command line up to the cursor, beginning with ``lpbench``.
    """
    *before, word = line.split(" ")
    words = [w for w in before[1:] if w]
    parsers = arguments.subcommands()
    depth = 2 if len(words) > 1 and " ".join(words[:2]) in parsers else 1
    command = " ".join(words[:depth])
    if not words:
        return _starting([*sorted({n.partition(" ")[0] for n in parsers}), *_keys()], word) or _values(word, line)
    if command not in parsers:
        return _starting(_keys(), word) if "=" not in word and "." not in word else _values(word, line)
    parser, previous = parsers[command], words[-1]
    option = next((a for a in parser._actions if previous in a.option_strings and a.nargs != 0), None)
    if option is not None:
        return _starting(_names(option.dest, command), word)
    if word.startswith("-"):
        return _starting([o for a in parser._actions for o in a.option_strings if o.startswith("--")], word)
    below = [n.removeprefix(f"{command} ") for n in parsers if n.startswith(f"{command} ")]
    positionals = [a for a in parser._actions if not a.option_strings and not isinstance(a, argparse._SubParsersAction)]
    if below or not positionals:
        return _starting(below, word)
    if command == "plan":
        return _starting([*_keys(), *known_names()["experiment"]], word) if "=" not in word else _values(word, line)
    given = len(words) - depth
    return _starting(_names(positionals[min(given, len(positionals) - 1)].dest, command), word)


def _keys() -> list[str]:
    return [f"{key}=" for key in (*known_names(), *plain_keys())]


def _values(word: str, line: str) -> list[str]:
    """Names behind ``key=``, after commas too; other keys are Hydra's."""
    key, sep, value = word.partition("=")
    known = known_names()
    if sep and key in known:
        earlier, comma, _ = value.rpartition(",")
        return _starting([f"{key}={earlier}{comma}{name}" for name in known[key]], word)
    return _ask_hydra(line) if "." in key else []


def _names(dest: str, command: str) -> list[str]:
    """Values of an argument, by its name."""
    known = known_names()
    fixed = {"what": arguments.LISTS, "level": arguments.LEVELS, "shell": arguments.SHELLS, "backend": known["runner"]}
    if dest == "names":
        return known[command.rpartition(" ")[2]]
    return list(fixed.get(dest) or known.get(dest) or known.get(dest.removesuffix("s")) or [])


def _starting(found: list[str], word: str) -> list[str]:
    return [candidate for candidate in found if candidate.startswith(word)]


def _ask_hydra(line: str) -> list[str]:
    from lpbench.cli import hydra_app

    output = io.StringIO()
    os.environ["COMP_LINE"] = line
    with contextlib.redirect_stdout(output), contextlib.suppress(LpbenchError):
        hydra_app.main(["-sc", "query=bash"])
    return output.getvalue().split()
