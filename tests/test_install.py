import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest

import lpbench
from lpbench import paths

PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: Imported by a declared dependency on behalf of the package: pandas reads spreadsheets with it.
ENGINES_OF_PANDAS = {"openpyxl"}

BLOCKED = """
import importlib, pkgutil, sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement

needed, todo = set(), ["scikit-learn"]  # and what it needs itself: numpy, scipy, joblib, ...
while todo:
    needed.add(name := todo.pop())
    parsed = map(Requirement, requires(name) or [])
    todo += {r.name for r in parsed if r.marker is None or r.marker.evaluate({"extra": ""})} - needed
blocked = {n for n, owners in packages_distributions().items() if not needed & set(owners)} - {"lpbench"}

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"blocked: {name}")

assert {"pandas", "hydra", "mlflow", "matplotlib"} <= blocked
sys.meta_path.insert(0, Blocker())
for room in ("lpbench.estimators", "lpbench.privacy", "lpbench.partitions"):
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, room + "."):
        importlib.import_module(module.name)
from lpbench.estimators import HistOfTree
import numpy as np
X = np.random.default_rng(0).random((200, 2))
HistOfTree(epsilon=2.0, bins=2, depth=1, y_range=(0, 2), random_state=0).fit(X, X[:, 0]).predict(X[:3])
"""


def test_estimators_need_numpy_scipy_and_scikit_learn_alone():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, cwd=paths.ROOT)
    assert done.returncode == 0, done.stderr


def _imported() -> set[str]:
    """Top-level modules that the package's code imports, outside of itself and of the standard library."""
    found = set()
    for path in Path(lpbench.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"lpbench", "setuptools"}


def _names(requirements) -> set[str]:
    return {re.match(r"[\w.-]+", line).group().lower().replace("_", "-") for line in requirements}


def test_declared_dependencies_are_those_that_are_imported():
    known = packages_distributions()
    extras = PROJECT["project"]["optional-dependencies"]
    default, optional = _names(PROJECT["project"]["dependencies"]), set().union(*map(_names, extras.values()))
    imported = {name: {d.lower().replace("_", "-") for d in known.get(name, [name])} for name in _imported()}
    undeclared = {name for name, packages in imported.items() if not packages & (default | optional)}
    assert not undeclared
    assert default - set().union(*imported.values()) <= ENGINES_OF_PANDAS


def test_make_install_says_a_line_a_package(tmp_path):
    lock = tmp_path / "a.lock"
    lock.write_text(f"# pins\nnumpy=={version('numpy')}\nscikit-learn=={version('scikit-learn')}\n")
    command = [sys.executable, paths.ROOT / "scripts" / "install_pinned.py", lock]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "installing 2 packages" in done.stdout and "2 to 5 minutes" in done.stdout
    assert re.findall(r"(\d)/2 ", done.stdout) == ["1", "2"]
    assert set(re.findall(r"/2 (\S+)", done.stdout)) == {"numpy", "scikit-learn"}


def test_make_install_shows_what_pip_said_when_it_failed(tmp_path):
    lock = tmp_path / "a.lock"
    lock.write_text("numpy==not-a-version\n")
    command = [sys.executable, paths.ROOT / "scripts" / "install_pinned.py", lock]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "not-a-version" in done.stderr


def test_results_of_a_checkout_go_into_it_and_those_of_a_wheel_into_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("LPBENCH_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert paths.results_folder() == paths.ROOT / "results"
    monkeypatch.setattr(paths, "IN_CHECKOUT", False)
    assert paths.results_folder() == tmp_path / "results"
    monkeypatch.setenv("LPBENCH_RESULTS", str(tmp_path / "own"))
    assert paths.results_folder() == tmp_path / "own"


def test_data_are_cached_outside_of_an_installed_package(tmp_path, monkeypatch):
    monkeypatch.delenv("LPBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert paths.cache_folder() == paths.ROOT / "datasets" / "cache"
    monkeypatch.setattr(paths, "IN_CHECKOUT", False)
    assert paths.cache_folder() == tmp_path / "lpbench"


def test_an_installed_package_does_not_record_the_commit_of_a_repository_around_it(monkeypatch):
    from lpbench.experiments import records

    monkeypatch.setattr(records, "IN_CHECKOUT", False)
    assert records.git_commit() == "unknown"


def test_no_file_names_an_address_of_a_package_index():
    listed = subprocess.run(["git", "ls-files"], cwd=paths.ROOT, capture_output=True, text=True, check=True).stdout
    names = [n for n in listed.splitlines() if not n.startswith(("results/", "datasets/", "tests/"))]
    address = re.compile(r"https?://[^\s\"')]*(pypi|pythonhosted|/simple\b)|--(extra-)?index-url|--find-links")
    assert not [n for n in names if address.search((paths.ROOT / n).read_text(encoding="utf-8", errors="ignore"))]
    assert "uv.lock" not in names


@pytest.mark.slow
def test_the_wheel_works_outside_the_checkout():
    subprocess.run([sys.executable, paths.ROOT / "scripts" / "wheel_smoke.py"], check=True)


def test_a_folder_of_the_same_name_beside_a_script_does_not_hide_the_package(tmp_path):
    (tmp_path / "lpbench" / "conf").mkdir(parents=True)  # a clone, seen from its parent folder
    command = [sys.executable, "-c", "import lpbench; print(lpbench.__version__)"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == lpbench.__version__, done.stderr
