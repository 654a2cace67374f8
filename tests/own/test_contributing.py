"""CONTRIBUTING's steps for a method, a mechanism, a data set and a claim, in a copy of the checkout, end green."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lpbench.paths import COMMITTED, ROOT
from tests.shell import in_bash

#: Every command of ``make lint``.
LINT = re.findall(r"^lint: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0]
LINT = LINT.replace("\t$(BIN)/", "").splitlines()
#: Tests that look at every method, file or page; the contract's are those of the name.
EVERYWHERE = "architecture docs lint_scripts reporting/test_names own/test_schemas integration/test_machines".split()

SPINNER = '''"""Spinner: a category, told with probability e^budget / (e^budget + K - 1), else one of the others.

Source: Warner (1965), for K = 2.
"""

import math
from dataclasses import dataclass

import numpy as np

from lpbench.privacy.mechanism import CategoryMechanism, registered


@registered(lambda epsilon: Spinner(epsilon, 3))
@dataclass(frozen=True)
class Spinner(CategoryMechanism):
    """Tell a category, or one of the others at random.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories, at least 1.

    Examples
    --------
    >>> from lpbench.privacy import Spinner
    >>> Spinner(1.0, 3).epsilon
    1.0
    """

    def log_channel(self) -> np.ndarray:
        """Channel of shape (K, K)."""
        table = np.ones((self.n_categories,) * 2) + math.expm1(self.budget) * np.eye(self.n_categories)
        return np.asarray(np.log(table / table.sum(axis=1)))

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        truthful = rng.random(values.size) < self.channel()[0, 0]
        turned = values + rng.integers(1, max(self.n_categories, 2), size=values.size)
        return np.where(truthful, values, turned % self.n_categories)

    def _influence(self) -> float:
        p, q = self.channel()[0, :2]
        return float(1.0 / (p - q))
'''

CHECK = '''

@checks("H99", "ends, CART", above())
def falls_end_to_end_under_cart(results: Evidence) -> Iterator[Instance]:
    """For every s* the error under CART at the smallest ε exceeds the error at the largest."""
    for line in _by_mask(results, "histoftree/figure2a_cart", "histoftree_cart"):
        yield difference(_mask(line), line.cells([0]), line.cells([-1]))
'''


@pytest.fixture
def folder(tmp_path):
    """The tracked files with the committed results, and this Python's environment as the checkout's own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", ".", ":!results/reproduced"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("not a checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(COMMITTED, tmp_path / "results" / COMMITTED.name, dirs_exist_ok=True)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def run(commands: str, folder: Path) -> str:
    """Run commands in the copy; ``make`` takes the environment for installed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "LPBENCH_PLUGINS": ""}
    return in_bash(
        re.sub(r"^make ", "make --old-file .venv/.installed ", commands, flags=re.MULTILINE), folder, environment
    )


def steps(what: str) -> str:
    """Commands of the section of CONTRIBUTING on adding a method, a mechanism, a data set or a claim."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^### A {what}\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return commands


def write_method(folder: Path) -> None:
    run("lpbench new method my_slices", folder)


def write_mechanism(folder: Path) -> None:
    (folder / "lpbench" / "privacy" / "spinner.py").write_text(SPINNER, encoding="utf-8")
    exports = folder / "lpbench" / "privacy" / "__init__.py"
    text = exports.read_text(encoding="utf-8").replace("__all__ = [\n", '__all__ = [\n    "Spinner",\n')
    text = text.replace("\n\nfrom ", "\n\nfrom lpbench.privacy.spinner import Spinner\nfrom ", 1)
    exports.write_text(text, encoding="utf-8")
    counted = folder / "tests" / "privacy" / "test_exact_maps.py"
    text = counted.read_text(encoding="utf-8")
    counted.write_text(text.replace("NOT_COUNTED = {", 'NOT_COUNTED = {"Spinner", '), encoding="utf-8")
    with (folder / "SECURITY.md").open("a", encoding="utf-8") as file:
        file.write("\n`Spinner` decides by doubles.\n")
    raise_ceiling(folder)


def write_dataset(folder: Path) -> None:
    towns = ("Ulm", "Graz", "Bern")
    rows = [f"{18 + 7 * k % 60},{1 + 0.25 * (k % 37)},{towns[k % 3]},{2 + 1.5 * (k % 37) + k % 5}" for k in range(300)]
    with (folder / "datasets" / "README.md").open("a", encoding="utf-8") as file:
        file.write("\n| name | rows |\n| --- | --- |\n| my_trips | 300 |\n")
    (folder / "my_trips.csv").write_text("\n".join(["age,distance,town,fare", *rows]) + "\n", encoding="utf-8")


def write_claim(folder: Path) -> None:
    claims = folder / "results" / "published" / "claims.csv"
    lines = claims.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(k for k, line in enumerate(lines) if line.startswith("H,"))
    lines.insert(last + 1, "H,H99,figure2a,5.1,The error under CART falls as well,\n")
    claims.write_text("".join(lines), encoding="utf-8")
    with (folder / "lpbench" / "papers" / "histoftree" / "claims_figures.py").open("a", encoding="utf-8") as file:
        file.write(CHECK)


def raise_ceiling(folder: Path) -> None:
    """Allow the package 1,000 tokens more, as a commit that needs them does."""
    project = folder / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    (ceiling,) = re.findall(r"^most_tokens = (\S+)$", text, re.MULTILINE)
    project.write_text(text.replace(ceiling, str(int(ceiling.replace("_", "")) + 1000)), encoding="utf-8")


WRITTEN = {"method": write_method, "mechanism": write_mechanism, "data set": write_dataset, "claim": write_claim}


def test_the_files_are_in_their_places_and_well_kept(folder):
    write_method(folder)
    moves, _, _ = steps("method").partition("lpbench check")
    run("\n".join([moves, *LINT[:2], "lpbench check method my_slices --only grid --only guarantee"]), folder)


@pytest.mark.slow
@pytest.mark.parametrize("what", WRITTEN)
def test_the_steps_end_green(what, folder):
    WRITTEN[what](folder)
    commands = steps(what)
    assert re.search(r"^make lint\nmake test ROOM=\S+\n\Z", commands, re.MULTILINE)
    printed = run(commands, folder)
    assert re.search(r"\d+ passed", printed) and "failed" not in printed
    if "lpbench check" in commands:
        assert re.search(r"\d checks, 0 broken", printed)


@pytest.mark.slow
def test_the_contracts_of_all_methods_meet_a_new_one(folder):
    write_method(folder)
    moves, _, _ = steps("method").partition("lpbench check")
    run(moves, folder)
    files = [f"tests/{name}.py" if "/" in name else f"tests/test_{name}.py" for name in EVERYWHERE]
    run(f"python -m pytest -q -m 'not slow' -p no:cacheprovider {' '.join(files)}", folder)
    printed = run(
        "python -m pytest -m 'not slow' -p no:cacheprovider -k my_slices tests/estimators tests/audit", folder
    )
    assert re.search(r"1\d passed", printed), "its own test, and the contracts and audits of all methods"
