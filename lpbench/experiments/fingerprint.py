"""Hashes of what determines a block's numbers: source code of the modules it uses, library versions."""

import ast
import hashlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lpbench
from lpbench.files import write_text
from lpbench.paths import cache_folder, own_folders

_PACKAGE = Path(lpbench.__file__).resolve().parent
#: What a class states about its rounding: nothing computes with it.
FACTS = frozenset({"rounding"})
#: Nanoseconds after which a change of a file is seen in its time, however coarse the clock of its disk.
_SETTLED = 2_000_000_000


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces; infinities as ``Infinity``."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=True)


@cache
def versions() -> dict[str, str]:
    """Versions of the libraries that decide bits."""
    return {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


@cache
def source_hash(module: str) -> str:
    """Hash of the code, but for layout and :data:`FACTS`, of a module and what it imports of ours and its owner's."""

    def found() -> tuple[str, Iterable[str]]:
        digest, closure = hashlib.sha256(), sorted(import_closure(module))
        for name in closure:
            source = _module_path(name).read_text(encoding="utf-8")
            digest.update(name.encode() + b"\0" + _without_layout(source).encode() + b"\0")
        return digest.hexdigest()[:16], closure

    return str(kept(f"hash of {module}", found))


def kept(name: str, find: Callable[[], tuple[Any, Iterable[str | Path]]]) -> Any:
    """What was found in modules and files, kept in the cache folder until one, or a folder, changes."""
    start, own = time.time_ns(), canonical_json([str(_PACKAGE), sys.version, name])
    file = cache_folder() / "sources" / f"{hashlib.sha256(own.encode()).hexdigest()[:32]}.json"
    with suppress(OSError, ValueError, KeyError):
        known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if all(_stamp(path) == stamp for path, stamp in known["stamps"].items()):
            return known["found"]
    found, modules = find()
    # a new module in a folder may be what an import means from then on
    files = {Path(__file__), *(_module_path(m) if isinstance(m, str) else m for m in modules)}
    stamps = {str(path): _stamp(path) for path in files | {path.parent for path in files}}
    if all(changed < start - _SETTLED for changed, *_ in stamps.values()):
        with suppress(OSError):
            write_text(json.dumps({"found": found, "stamps": stamps}), file)  # in the order in which it was found
    return found


def _stamp(path: Path | str) -> list[int]:
    found = os.stat(path)
    return [max(found.st_mtime_ns, found.st_ctime_ns), found.st_mtime_ns, found.st_size]


@cache
def _without_layout(source: str) -> str:
    """The syntax tree of a source without docstrings and facts, as text (methods share most of their modules)."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        if isinstance(node, ast.ClassDef):
            node.body = [part for part in node.body if not _is_fact(part)]
    return ast.dump(tree)


def _is_fact(node: ast.stmt) -> bool:
    """Whether a statement of a class sets one of :data:`FACTS`."""
    return isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id in FACTS for t in node.targets)


@cache
def import_closure(module: str) -> frozenset[str]:
    """Names of a module and of all it imports, of ``lpbench`` or its owner (a package, a user's folder)."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        todo.extend(_imports(name))
    return frozenset(seen)


@cache
def _imports(module: str) -> frozenset[str]:
    path = _module_path(module)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            found.update(name if _is_module(name, module) else base for name in inner)
    return frozenset(name for name in found if _is_module(name, module))


def _is_module(name: str, importer: str) -> bool:
    """Whether a name is a module of ``lpbench`` or of the owner of the module that imports it."""
    (top, *parts), owner = name.split("."), importer.split(".")[0]
    if top == "lpbench":
        base = _PACKAGE.joinpath(*parts)
        return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()
    files = f"{top}.py", f"{top}/__init__.py"
    if owner == "lpbench" or not (top == owner or any((f / x).is_file() for f in own_folders() for x in files)):
        return False
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # a name inside a module that is no package
        return False
    return spec is not None and spec.origin is not None


def _module_path(name: str) -> Path:
    parts = name.split(".")
    if parts[0] == "lpbench":
        base = _PACKAGE.joinpath(*parts[1:])
        return base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"cannot find the source of module {name!r}")
    return Path(spec.origin)
