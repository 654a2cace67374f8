"""Fail when the package has more tokens of code than pyproject states in ``[tool.lpbench] most_tokens``.

Counted are names, operators, numbers and strings of all modules of lpbench/ but those of ``estimators`` and ``papers``,
which grow with every method and paper. Comments, docstrings and blank lines are free: whoever explains pays nothing.

Usage: python scripts/check_size.py [FOLDER]
"""

import ast
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

#: Rooms that may grow with what is added.
FREE = ("estimators", "papers")
_COUNTED = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
# Python 3.12 and later read an f-string in parts, earlier ones as one string
_FSTRING_START = getattr(tokenize, "FSTRING_START", None)
_FSTRING_END = getattr(tokenize, "FSTRING_END", None)


def docstring_lines(source: str) -> set[int]:
    """Return the numbers of all lines that a docstring covers."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def tokens_of(source: str) -> int:
    """Count the tokens of code of one module; an f-string is one token on every Python."""
    without = docstring_lines(source)
    lines: Iterator[str] = iter(source.splitlines(keepends=True))
    count = depth = 0
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if _FSTRING_START is not None and token.type == _FSTRING_START:
            count += depth == 0
            depth += 1
        elif _FSTRING_END is not None and token.type == _FSTRING_END:
            depth -= 1
        elif depth == 0 and token.type in _COUNTED and token.start[0] not in without:
            count += 1
    return count


def rooms(package: Path) -> Counter[str]:
    """Count the tokens of each room, a folder or module directly under the package, but those that are free."""
    counts: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room not in FREE:
            counts[room] += tokens_of(path.read_text(encoding="utf-8"))
    return counts


def too_large(root: Path) -> str:
    """Return a sentence if the package exceeds its ceiling, else an empty text."""
    most = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["lpbench"]["most_tokens"]
    total = rooms(root / "lpbench").total()
    if total <= most:
        return ""
    return (
        f"lpbench/ without {' and '.join(FREE)} has {total:,} tokens of code, and pyproject.toml allows {most:,}: "
        "delete as many as you add, or raise most_tokens in the commit that needs it and say why"
    )


if __name__ == "__main__":
    root = Path(*sys.argv[1:])
    counts = rooms(root / "lpbench")
    for room, count in [*counts.most_common(), ("in all", counts.total())]:
        print(f"{count:9,} {room}")
    sys.exit(too_large(root) or 0)
