"""Find words that this project replaces by the field's term, in documents, configuration and messages.

Names that say nothing of what they hold are counted: their share of all assigned names may not grow.

Usage: python scripts/check_words.py FOLDER
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

#: Pattern -> what to write instead.
WORDS = {
    r"interviews?": "sequentially interactive rounds",
    r"(?:first|second) builds?": "one version, or a version with a number",
    r"overdrafts?": "budget exceeded",
    r"heats": "rounds of a race",
    r"told apart": "significantly different",
    r"points of 0\.0\d*": "percentage points",
    r"ladders?": "candidate interpretations",
    r"rivals?": "compared methods",
    r"with hindsight": "oracle selection",
    r"(?:kept|sets) for conclusions": "held-out",
    r"the floors?": "the constant baseline",
    r"under (?:attack|stress)": "on corrupted data",
    r"last bits": "rounding error",
    r"honest (?:floor|baseline)": "constant baseline",
    r"nobody can see": "is visible only with",
    r"(?:which nothing|nobody) calibrates": "is not calibrated",
    r"went away": "was closed, was removed",
    r"(?:is|are) no size": "does not measure how large it is",
}
#: Names that say nothing of what they hold.
NAMES = frozenset(
    "found part known own place shown other kept said mine told left rest here there whole some every begun asked both "
    "this such thing".split()
)
#: Share of assigned names that they may have at most.
MOST_SHARE = 0.03
_SPACED = [word.replace(" ", r"\s+") for word in WORDS]
_ANY = re.compile("|".join(rf"(?P<w{k}>(?<![\w.`/]){word}(?![\w`/]))" for k, word in enumerate(_SPACED)), re.IGNORECASE)


def find(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and replacement of each word of the list; code in backticks and numpydoc's names are not prose."""
    prose = re.sub(r"`[^`\n]*`|(?m:^ *\w+ : .*$)", lambda code: "`" * len(code[0]), text)
    for match in _ANY.finditer(prose):
        word = list(WORDS.values())[int(str(match.lastgroup)[1:])]
        yield text.count("\n", 0, match.start()) + 1, match[0], word


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings and other strings of several words, with the line where each begins."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def share_of_names(sources: Iterable[str]) -> float:
    """Return the share of :data:`NAMES` among the names that some modules assign."""
    nodes = (node for source in sources for node in ast.walk(ast.parse(source)))
    names = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return sum(name in NAMES for name in names) / max(len(names), 1)


def arguments_of_no_meaning(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each argument of a signature, or of a lambda, that is of :data:`NAMES`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg) and node.arg in NAMES:
            yield node.lineno, node.arg


def documents(root: Path) -> Iterator[tuple[str, int, str]]:
    """Path, first line and text of everything that is checked."""
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "datasets/README.md")]
    found = ("docs/**/*.md", "docs/**/*.py", "conf/**/*.yaml", "lpbench/**/*.j2", "lpbench/**/*.py")
    for path in [*pages, *(path for pattern in found for path in sorted(root.glob(pattern)))]:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        yield from ((name, line, part) for line, part in (strings(text) if path.suffix == ".py" else [(1, text)]))


def main(folder: str) -> int:
    """Print what was found; returns the exit code."""
    found = [
        f"{name}:{first + line - 1}: {word!r}: write {better!r}"
        for name, first, text in documents(Path(folder))
        for line, word, better in find(text)
    ]
    modules = {path: path.read_text(encoding="utf-8") for path in sorted(Path(folder, "lpbench").rglob("*.py"))}
    found += [
        f"{path.relative_to(folder)}:{line}: argument {name!r}: name what it holds"
        for path, source in modules.items()
        for line, name in arguments_of_no_meaning(source)
    ]
    share = share_of_names(modules.values())
    if share > MOST_SHARE:
        found.append(f"{share:.2%} of the assigned names are of NAMES, more than {MOST_SHARE:.0%}: name what they hold")
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
