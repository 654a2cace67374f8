"""Find tests that compare a measured time with a constant: under load they fail though nothing is wrong.

Ratios of times within one run are allowed, and so are limits of patience: a loop or a time-out that ends a wait.

Usage: python scripts/check_clocks.py FOLDER...
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns"}
#: Attributes and keys under which measured times are recorded.
RECORDED = {"seconds", "elapsed", "duration", "wall", "wall_time"}
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def find(source: str) -> Iterator[int]:
    """Line numbers of assertions that order a measured time and a number other than 0."""
    tree = ast.parse(source)
    measured = _measured_names(tree)
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.Assert):
            continue
        for comparison in ast.walk(statement.test):
            if not (isinstance(comparison, ast.Compare) and any(isinstance(op, _ORDERED) for op in comparison.ops)):
                continue
            sides = [comparison.left, *comparison.comparators]
            if any(_is_number(side) for side in sides) and any(_is_time(side, measured) for side in sides):
                yield statement.lineno
            elif any(_is_clock(side) for side in sides):
                yield statement.lineno


def _measured_names(tree: ast.AST) -> set[str]:
    """Names that hold a time: assigned from a clock, from such names, or from functions that return them."""
    found: set[str] = set()
    while True:
        more = set(found)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _is_time(node.value, found):
                more |= {t.id for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name)}
            elif isinstance(node, ast.FunctionDef):
                returned = [r.value for r in ast.walk(node) if isinstance(r, ast.Return) and r.value is not None]
                more |= {node.name} if any(_is_time(value, found) for value in returned) else set()
        if more == found:
            return found
        found = more


def _is_clock(node: ast.AST) -> bool:
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "time" and function.attr in CLOCKS
    return isinstance(function, ast.Name) and function.id in CLOCKS - {"time"}


def _is_time(node: ast.AST, measured: set[str]) -> bool:
    """Whether an expression is a measured time; a quotient of two is none."""
    if isinstance(node, ast.BinOp):
        sides = [_is_time(side, measured) for side in (node.left, node.right)]
        return any(sides) and not (isinstance(node.op, ast.Div) and all(sides))
    if isinstance(node, ast.Call):
        if _is_clock(node) or (isinstance(node.func, ast.Name) and node.func.id in measured):
            return True
        folding = isinstance(node.func, ast.Name) and node.func.id in {"min", "max", "sum", "abs", "float"}
        return folding and any(_is_time(a, measured) for a in node.args)
    if isinstance(node, ast.Attribute):
        return node.attr in RECORDED
    return isinstance(node, ast.Name) and node.id in measured


def _is_number(node: ast.AST) -> bool:
    """Whether an expression is a number, of literals or a constant's name, and not 0."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and node.value != 0
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Name) and node.id.isupper()


def main(folders: list[str]) -> int:
    """Print what was found; returns the exit code."""
    found = [
        f"{path}:{line}: a test compares a measured time with a constant; compare times of one run, or leave it out"
        for folder in folders
        for path in sorted(Path(folder).rglob("*.py"))
        for line in find(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
