"""Rooms (the packages and modules directly under ``lpbench``) use one another's public names only.

Which room may import which is held by import-linter in ``make lint``.
"""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

import lpbench
from lpbench.paths import ROOT
from scripts import write_architecture

PACKAGE = Path(lpbench.__file__).parent
parsed = cache(ast.parse)  # several tests read the whole package


def room_of(module: str) -> str:
    """Second part of a dotted name: ``privacy`` of ``lpbench.privacy.laplace``."""
    return module.split(".")[1] if "." in module else ""


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_names(text: str, room: str) -> list[str]:
    """Private names of other rooms that a module imports, or reads from modules and classes that it imports."""
    tree, imported, found = parsed(text), set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            foreign = [
                alias for alias in node.names if alias.name.startswith("lpbench.") and room_of(alias.name) != room
            ]
            found += [alias.name for alias in foreign if is_private(alias.name)]
            imported |= {alias.asname or alias.name.split(".")[0] for alias in foreign}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lpbench":
            names = [(f"{node.module}.{alias.name}", alias.asname or alias.name) for alias in node.names]
            foreign = [(path, name) for path, name in names if room_of(path) != room]
            found += [path for path, _ in foreign if is_private(path)]
            imported |= {name for _, name in foreign}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            path = ast.unparse(node)
            if path.split(".")[0] in imported:
                found.append(path)
    return found


def test_a_room_uses_public_names_of_others():
    found = {place: private_names(text, room) for place, (room, text) in sources(PACKAGE).items()}
    assert found and {place: names for place, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "from lpbench.privacy.laplace import _draw",
        "from lpbench.privacy._draws import uniform",
        "import lpbench.privacy._draws",
        "from lpbench.privacy import laplace\nlaplace._draw(3)",
        "from lpbench.privacy import Laplace as L\nL._unit",
    ],
)
def test_private_names_are_found(text):
    assert len(private_names(text, "estimators")) == 1
    assert private_names(text, "privacy") == []


def members_defined(tree: ast.Module) -> set[str]:
    """Private names that a module defines: functions, classes, variables, and attributes that it sets."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and of_own_object(node.value):
            names.add(node.attr)
    return {name for name in names if is_private(name)}


def of_own_object(value: ast.expr) -> bool:
    """Whether an attribute is read from ``self``, ``cls`` or ``super()``."""
    own = isinstance(value, ast.Name) and value.id in ("self", "cls")
    return own or is_call_of(value, "super")


def is_call_of(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def members_read(tree: ast.Module) -> list[tuple[str, str]]:
    """Private attributes that a module reads or sets on other objects than its own: (name, expression)."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not of_own_object(node.value):
            found.append((node.attr, ast.unparse(node)))
        elif is_call_of(node, "getattr", "hasattr", "setattr"):
            if isinstance(node.args[1], ast.Constant) and is_private(str(node.args[1].value)):
                found.append((str(node.args[1].value), ast.unparse(node)))
    return found


def foreign_members(texts: Mapping[str, tuple[str, str]]) -> dict[str, list[str]]:
    """Private members that are another room's: place -> expressions, of place -> (room, source)."""
    trees = {place: (room, parsed(text)) for place, (room, text) in texts.items()}
    defined: dict[str, set[str]] = {}
    for room, tree in trees.values():
        defined.setdefault(room, set()).update(members_defined(tree))
    found, rooms = {}, Counter(name for names in defined.values() for name in names)
    for place, (room, tree) in trees.items():
        read = [text for name, text in members_read(tree) if rooms[name] and name not in defined[room]]
        if read:
            found[place] = read
    return found


def sources(folder: Path) -> dict[str, tuple[str, str]]:
    """Place -> (room, source) of the modules under a folder of the package."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        found[str(place)] = (place.parts[0].removesuffix(".py"), path.read_text(encoding="utf-8"))
    return found


def test_no_room_reads_private_members_of_another():
    """By name: a member that several rooms define counts as the reader's own."""
    assert foreign_members(sources(PACKAGE)) == {}


def test_private_members_of_another_room_are_found():
    users = "class Users:\n    def __init__(self):\n        self._records = []\n        self._n = len(self._records)\n"
    reads = "def learn(users):\n    return users._records, getattr(users, '_n'), users.public_features\n"
    own = "class Model:\n    def learn(self, other):\n        return self._records, other._kept\n    _kept = 1\n"
    texts = {"users.py": ("privacy", users), "model.py": ("estimators", reads), "own.py": ("estimators", own)}
    assert foreign_members(texts) == {"model.py": ["users._records", "getattr(users, '_n')"]}


def guarantees_built(text: str) -> list[str]:
    """Calls of ``Guarantee``, under whatever name it is imported."""
    tree = parsed(text)
    imports = [alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {"Guarantee", *(alias.asname for alias in imports if alias.name == "Guarantee" and alias.asname)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [ast.unparse(call) for call in calls if ast.unparse(call.func).split(".")[-1] in names]


def test_no_estimator_builds_a_guarantee():
    """What was spent is the users' account alone."""
    texts = sources(PACKAGE / "estimators")
    found = {place: guarantees_built(text) for place, (_, text) in texts.items()}
    assert found and {place: calls for place, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "text",
    [
        "from lpbench.privacy import Guarantee\nGuarantee('ldp', 1.0)",
        "from lpbench.privacy import Guarantee as G\nG('ldp', 1.0)",
        "import lpbench.privacy as p\np.Guarantee('ldp', 1.0)",
    ],
)
def test_a_guarantee_that_is_built_is_found(text):
    assert len(guarantees_built(text)) == 1


def test_no_test_reads_results_of_the_checkout_that_are_not_committed():
    """``make reproduce`` before ``make test`` leaves others there."""
    known = r"ROOT / \"results(?:\" / \"|/)(?:published|submissions)"
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    named = {
        name: len(re.findall('ROOT / "results', text)) - len(re.findall(known, text)) for name, text in texts.items()
    }
    allowed = {"conftest.py", "test_architecture.py", "test_install.py"}
    assert {name for name, others in named.items() if others} <= allowed


def test_no_selector_is_taken_apart_below_the_edge():
    """The import contract forbids the parser; a bracket that is cut out by hand would pass it by."""
    edge = {"cli", "selectors.py", "experiments/catalog.py"}
    package = ROOT / "lpbench"
    cutting = re.compile(r"""\.(?:r?partition|r?split|r?find|r?index)\(["']\[["']""")
    found = {path.relative_to(package) for path in package.rglob("*.py") if cutting.search(path.read_text("utf-8"))}
    assert not {path for path in found if path.as_posix() not in edge and path.parts[0] not in edge}


def test_the_picture_is_drawn_from_the_contracts():
    assert write_architecture.PICTURE.read_text(encoding="utf-8") == write_architecture.picture()


def test_the_page_says_what_each_room_of_the_picture_holds():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ", page.partition("| room |")[2].partition("\n\n")[0], re.MULTILINE)
    assert re.findall(r"\w+", " ".join(rows)) == [room for layer in write_architecture.layers() for room in layer]
