"""Fail where ``# fmt: skip`` keeps the formatter from anything but a table, and where there are too many of them.

A table is a tuple, list, dictionary or set that a module's or class's name is assigned to, with its columns aligned by
hand. Everything else is laid out by the formatter.

Usage: python scripts/check_skips.py [FOLDER]
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

MARK = "# fmt: skip"
#: How many there may be.
MOST = 60
_TABLES = ast.Tuple | ast.List | ast.Dict | ast.Set


def marks(source: str) -> Iterator[tuple[int, bool]]:
    """Yield the line of each mark, and whether it stands at the end of a table."""
    tree = ast.parse(source)
    owners = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    ends = {
        node.end_lineno
        for owner in owners
        for node in owner.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, _TABLES)
    }
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.string.startswith(MARK):
            yield token.start[0], token.start[0] in ends


def main(root: Path) -> str:
    """Return what is wrong below ``lpbench/``; empty if nothing is."""
    found = [
        (path.relative_to(root), line, is_table)
        for path in sorted((root / "lpbench").rglob("*.py"))
        for line, is_table in marks(path.read_text(encoding="utf-8"))
    ]
    wrong = [
        f"{path}:{line}: {MARK} stands on tables of a module alone" for path, line, is_table in found if not is_table
    ]
    if len(found) > MOST:
        wrong.append(f"{len(found)} times {MARK} in lpbench/: at most {MOST}")
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:])) or 0)
