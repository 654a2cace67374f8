"""The code behind a result: a module and all that it imports, hashed by content without layout and docstrings."""

import ast
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import lpbench
from lpbench.digest import file_hash, hash_of
from lpbench.disk import write_text
from lpbench.paths import cache_folder, own_folders

_PACKAGE = Path(lpbench.__file__).resolve().parent
_VERSION = hash_of([file_hash(Path(__file__)), sys.version_info])[:16]
#: What a class states about its rounding: nothing computes with it.
FACTS = frozenset({"rounding"})
#: Modules that this process has parsed and not yet saved.
_unsaved: list[str] = []


@cache
def source_hash(module: str) -> str:
    """Hash of the code, but for layout and :data:`FACTS`, of a module and what it imports of ours and its owner's."""
    return hash_of(modules(module))[:16]


@cache
def modules(module: str) -> Mapping[str, str]:
    """Hash of the code of a module and of each that it imports, by name: those of ``lpbench`` and of its owner.

    The owner is a package or a user's folder. Files are read each time, and parsed once for each content.
    """
    hashes: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in hashes:
            hashes[name], imports = _module(name)
            todo.extend(imports)
    if _unsaved:
        with suppress(OSError):
            write_text(json.dumps(_parsed(_file())), _file())
        _unsaved.clear()
    return dict(sorted(hashes.items()))


@cache
def _module(name: str) -> tuple[str, frozenset[str]]:
    """Hash of a module's code, and the modules that it imports."""
    path = _path(name)
    content, parsed = path.read_bytes(), _parsed(_file())
    digest = hashlib.sha256(content).hexdigest()
    if name not in parsed or parsed[name][0] != digest:
        tree = ast.parse(content)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imports = list(_imports(tree, package))
        parsed[name] = [digest, hash_of(_without_layout(tree)), imports]
        _unsaved.append(name)
    _, code, imports = parsed[name]
    return code, frozenset(next(filter(lambda one: _is_module(one, name), words), name) for words in imports)


def _file() -> Path:
    """File with what was parsed, of this module and version of Python."""
    return cache_folder() / f"modules-{_VERSION}.json"


@cache
def _parsed(file: Path) -> dict[str, Any]:
    """Module name to (hash of its file, hash of its code, imported names), as any process has parsed them.

    It is empty without a cache file.
    """
    with suppress(OSError, ValueError):
        return dict(json.loads(file.read_text(encoding="utf-8")))
    return {}


def _imports(tree: ast.Module, package: str) -> Iterator[list[str]]:
    """Yield, for each imported name, the modules that it may be, the longest first, from a syntax tree.

    ``package`` is the one that relative imports refer to.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ([alias.name] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            yield from ([f"{base}.{alias.name}", base] for alias in node.names)


def _without_layout(tree: ast.Module) -> str:
    """A syntax tree without docstrings and :data:`FACTS` as text, which layout and comments do not change."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(node, ast.ClassDef):
            node.body = [statement for statement in node.body if not _is_fact(statement)]
    return ast.dump(tree)


def _is_fact(node: ast.stmt) -> bool:
    """True if a statement of a class sets one of :data:`FACTS`."""
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in FACTS for t in node.targets)


@cache
def _of_the_package() -> Mapping[str, Path]:
    """Files of all modules of ``lpbench``, by name."""
    files = {}
    for folder, _, names in os.walk(_PACKAGE):
        parts = ("lpbench", *Path(folder).relative_to(_PACKAGE).parts)
        for name in names:
            if name.endswith(".py"):
                files[".".join(parts if name == "__init__.py" else (*parts, name[:-3]))] = Path(folder, name)
    return files


def _is_module(name: str, importer: str) -> bool:
    """True if a name is a module of ``lpbench`` or of the owner of the module that imports it."""
    top, owner = name.split(".")[0], importer.split(".")[0]
    if top == "lpbench":
        return name in _of_the_package()
    files = f"{top}.py", f"{top}/__init__.py"
    if owner == "lpbench" or not (top == owner or any((f / x).is_file() for f in own_folders() for x in files)):
        return False
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # a name inside a module that is no package
        return False
    return spec is not None and spec.origin is not None


def _path(name: str) -> Path:
    """File of a module's source; ImportError if it has none."""
    if name in _of_the_package():
        return _of_the_package()[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"cannot find the source of module {name!r}")
    return Path(spec.origin)
