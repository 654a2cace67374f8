"""Rooms (the packages and modules directly under ``lpbench``) use one another's public names only.

Which room may import which is held by import-linter in ``make lint``.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import lpbench
from lpbench.paths import ROOT

PACKAGE = Path(lpbench.__file__).parent


def room_of(module: str) -> str:
    """Second part of a dotted name: ``privacy`` of ``lpbench.privacy.laplace``."""
    return module.split(".")[1] if "." in module else ""


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def private_names(text: str, room: str) -> list[str]:
    """Private names of other rooms that a module imports, or reads from modules and classes that it imports."""
    tree, imported, found = ast.parse(text), set(), []
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
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        found[str(place)] = private_names(path.read_text(encoding="utf-8"), place.parts[0].removesuffix(".py"))
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


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_pages_name_modules_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:lpbench|results/published|docs)/[\w/.]*)`", text))
    assert len(named) >= 8
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_picture_shows_the_floors_that_are_held():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    held = [sorted(re.split(r" [|:] ", floor)) for floor in layers]
    picture = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```")[1]
    lines = [line for line in picture.splitlines()[1:] if "──" not in line]
    # the rooms of a floor are the first words, before two spaces, of the line and of its halves
    shown = [
        sorted(", ".join(re.split(r"\s\s", part.strip())[0] for part in line.split("│")).split(", ")) for line in lines
    ]
    assert shown == held
