"""Check docstrings: numpydoc sections of all that docs/api.md renders, and first words of the whole package.

Usage: python scripts/check_docstrings.py FOLDER

A class may state its fields by comments ``#:`` or under Attributes, and a method what its base class states already.
"""

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

#: Checks of numpydoc that do not apply here, and why.
OFF = {
    **dict.fromkeys(("GL01", "GL02", "SS03", "SS06"), "ruff holds the layout of quotes and lines"),
    **dict.fromkeys(("ES01", "SA01", "EX01"), "not every function needs an extended summary, See Also or Examples"),
    "SS05": "classes and properties begin with a noun",
    "PR03": "parameters that are inherited come last",
    **dict.fromkeys(("PR08", "RT04"), "a description may begin with a symbol, whose case has a meaning"),
    **dict.fromkeys(("PR09", "RT05"), "a description may end with a formula"),
    "RT02": "the first line of a return value states its shape",
}
#: First words that make a reader look for the noun.
RIDDLES = {"What", "Whether", "Of", "How", "Where", "Who", "Which", "That", "When", "Why"}
_DIRECTIVE = re.compile(r"^\.\. automodule:: (?P<module>\S+)\n(?P<options>(?:   :.*\n?)*)", re.MULTILINE)


def rendered(page: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, object and class (None: a module's own) of every member that a page's directives render."""
    for directive in _DIRECTIVE.finditer(page):
        module = importlib.import_module(directive["module"])
        listed = re.search(r":members:(.*)", directive["options"])
        names = [name.strip() for name in listed[1].split(",") if name.strip()] if listed else []
        for name in names or getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"]):
            member = getattr(module, name)
            if getattr(member, "__module__", "").startswith("lpbench") and callable(member):
                path = f"{member.__module__}.{member.__qualname__}"
                yield path, member, None
                yield from methods(path, member)


def methods(path: str, kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the public methods and properties that a class defines; nothing for a function."""
    for name, value in vars(kind).items() if inspect.isclass(kind) else ():
        if name[0] != "_" and (inspect.isroutine(value) or isinstance(value, property)):
            yield f"{path}.{name}", value, kind


def stated_by(kind: type) -> set[str]:
    """Return the fields that a class or its bases document: in a section, or by a comment ``#:``."""
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        sections = NumpyDocString(textwrap.dedent(base.__doc__ or ""))
        for parameter in sections["Parameters"] + sections["Attributes"]:
            names |= {name.strip(" *") for name in parameter.name.split(",")}
        if base.__module__.startswith("lpbench"):
            source = inspect.getsource(base)
            names |= set(re.findall(r"^    (\w+):.*#: ", source, re.MULTILINE))
            names |= set(re.findall(r"^    #: .*\n    (\w+):", source, re.MULTILINE))
    return names


def is_override(name: str, kind: Any) -> bool:
    """Return True for a method that a base class documents, whose parameters it shares."""
    return kind is not None and any(getattr(vars(base).get(name), "__doc__", None) for base in kind.__mro__[1:])


def refers(member: Any, parameter: str) -> bool:
    """Return True if a line of several names without types holds the parameter: their text names the docstring."""
    lines = re.findall(r"^ *((?:\w+, )+\w+)$", member.__doc__, re.MULTILINE)
    return any(parameter in line.split(", ") for line in lines)


def is_stated(code: str, text: str, path: str, member: Any, kind: Any) -> bool:
    """Return True if what a check misses stands elsewhere: at a field, in the base class, or where the text refers."""
    names = {name for name in re.findall(r"'\**(\w+)'", text) if not name.startswith("_")}
    if code in ("PR01", "RT01") and is_override(path.rpartition(".")[2], kind):
        return True
    if code == "PR01" and inspect.isclass(member):
        return names <= stated_by(member) or bool(getattr(member, "_is_protocol", False))
    return code == "PR04" and refers(member, re.findall(r'"(\w+)"', text)[0])


def incomplete(page: str) -> Iterator[str]:
    """Yield a line for each check of numpydoc that a rendered member fails."""
    for path, member, kind in rendered(page):
        for code, text in validate(path)["errors"]:
            if code not in OFF and not is_stated(code, text, path, member, kind):
                yield f"{path}: {code} {text}"


def riddles(path: str, source: str) -> Iterator[str]:
    """Yield a line for each docstring of a module whose first word is one of :data:`RIDDLES`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node) or ""
            if re.split(r"\W", text, maxsplit=1)[0] in RIDDLES:
                line = getattr(node, "lineno", 1)
                yield f"{path}:{line}: begin with a verb or a noun of the field: {text.splitlines()[0]!r}"


def main(folder: str) -> int:
    """Print a line for each docstring to mend; return the exit code."""
    root = Path(folder)
    lines = list(incomplete((root / "docs" / "api.md").read_text(encoding="utf-8")))
    for path in sorted((root / "lpbench").rglob("*.py")):
        lines += riddles(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
    print("\n".join(lines), end="\n" if lines else "")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
