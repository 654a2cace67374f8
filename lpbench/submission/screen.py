"""Static screen of a submitted module: public names and numbers, nothing else.

The screen is read before anything is run. It is no proof (the sealed run and the operating system's isolation stand
behind it): it makes what reaches for private values, files or the harness itself visible in the source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

#: What may be imported: a name admits its submodules.
MODULES = (
    "__future__", "abc", "bisect", "collections", "dataclasses", "enum", "fractions", "functools", "heapq", "itertools",
    "math", "statistics", "typing", "numpy", "scipy", "sklearn", "lpbench.checks", "lpbench.errors",
    "lpbench.estimators", "lpbench.masks", "lpbench.partitions", "lpbench.privacy",
)  # fmt: skip
#: Modules within those that read or write files, or compile.
_NOT_THESE = ("numpy.ctypeslib", "numpy.f2py", "numpy.lib", "scipy.io", "scipy.datasets", "sklearn.datasets")
#: Built-in functions that reach names by text, files, or the interpreter.
_BUILTINS = {
    "__import__", "breakpoint", "compile", "delattr", "dir", "eval", "exec", "getattr", "globals", "input", "locals",
    "open", "setattr", "vars",
}  # fmt: skip
#: Attributes that read or write files, or lead to other modules.
_ATTRIBUTES = {
    "builtins", "ctypeslib", "ctypes", "fromfile", "gc", "genfromtxt", "importlib", "inspect", "io", "load", "loadtxt",
    "memmap", "os", "savetxt", "save", "savez", "savez_compressed", "subprocess", "sys", "tofile", "types",
}  # fmt: skip
_OWN = ("self", "cls")


def complaints(path: Path) -> Iterator[str]:
    """Everything in a module that a submission may not say, with its line."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        yield f"{path.name} cannot be read: {error}"
        return
    for node in ast.walk(tree):
        for what in _said(node):
            yield f"{path.name}, line {getattr(node, 'lineno', 0)}: {what}"


def _said(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for name in node.names:
            yield from _imported(name.name)
    elif isinstance(node, ast.ImportFrom):
        yield from _imported("." * node.level + (node.module or ""))
        for name in node.names:
            if name.name.startswith("_") and node.module != "__future__":
                yield f"{node.module}.{name.name} is private"
            elif f"{node.module}.{name.name}" in _NOT_THESE or name.name in _ATTRIBUTES:
                yield f"{node.module}.{name.name} is out of reach for a submission"
    elif isinstance(node, ast.Name) and (node.id in _BUILTINS or node.id.startswith("__")):
        yield f"{node.id} is out of reach for a submission"
    elif isinstance(node, ast.Attribute):
        if node.attr in _ATTRIBUTES:
            yield f".{node.attr} is out of reach for a submission"
        elif node.attr.startswith("_") and not _is_own(node):
            yield f".{node.attr} is private"


def _imported(name: str) -> Iterator[str]:
    if not _within(name, MODULES) or _within(name, _NOT_THESE) or "._" in name:
        yield f"imports {name}: a submission uses {', '.join(m for m in MODULES if m[0] != '_')}"


def _within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(module + ".") for module in modules)


def _is_own(node: ast.Attribute) -> bool:
    """A private name of the object's own class or base: ``self._check_predict``, ``super().__post_init__``."""
    owner = node.value
    if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
        return True
    return isinstance(owner, ast.Name) and owner.id in _OWN and not node.attr.startswith("__")
