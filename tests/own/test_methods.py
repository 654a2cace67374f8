import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete

from lpbench import paths
from lpbench import testing as contract
from lpbench.cli.completion import VARIABLE
from lpbench.cli.main import cli
from lpbench.experiments import catalog as registry
from lpbench.paths import ROOT
from lpbench.source import source_hash
from tests.own.conftest import change
from tests.slowly import slow_but
from tests.sources import read_sources_again

FILES = ["lpbench_plugins/own_mean.py", "lpbench_plugins/methods/own_mean.yaml", "lpbench_plugins/test_own_mean.py"]


def current_hash(module):
    read_sources_again()
    return source_hash(module)


@pytest.mark.parametrize("task", slow_but(["regression", "classification"], "regression"))
def test_a_new_method_keeps_every_promise(lpbench, task):
    code, out, _ = lpbench(f"new method own_mean --task {task}")
    assert code == 0 and all(f"wrote {file}" in out and Path(file).is_file() for file in FILES)
    assert "lpbench check method own_mean" in out and "LPBENCH_PLUGINS" not in out
    command = re.search(r"lpbench (dataset=\S+ method=own_mean .*)", out)
    assert command is not None
    # one start of worker processes, and of an audit's, is enough for both tasks
    checks = [c for c in contract.METHOD_CHECKS if task == "regression" or c not in ("workers", "audit")]
    code, out, _ = lpbench(f"check method own_mean --only {' --only '.join(checks)}")
    assert code == 0, out
    assert f"{len(checks)} checks, 0 broken" in out
    assert lpbench(f"{command[1]} tracking=none")[0] == 0


def test_checks_of_somebodys_own_method_import_nothing_here(lpbench, home):
    """Forged members of a class passed the guard of `fit` in the process that checked it."""
    lpbench("new method own_mean")
    path = home / "lpbench_plugins" / "own_mean.py"
    path.write_text(path.read_text() + "\nimport numpy\nnumpy.random.default_rng = None\n")
    code, out, _ = lpbench("check method own_mean --only grid --only guarantee --only determinism")
    assert code == 1 and "3 checks" in out and "own_mean" not in sys.modules
    assert np.random.default_rng(0).random() < 1


@pytest.mark.slow
def test_its_test_runs_from_a_folder_below(lpbench, home):
    lpbench("new method own_mean")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "grid or answer", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=home / "lpbench_plugins", env=environment, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_templates_are_formatted(lpbench):
    lpbench("new method own_mean")
    lpbench("new method own_vote --task classification")
    command = [sys.executable, "-m", "ruff", "format", "--check", "--line-length", "120", "lpbench_plugins"]
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_nothing_is_overwritten(lpbench):
    lpbench("new method own_mean")
    before = [Path(file).read_bytes() for file in FILES]
    code, _, error = lpbench("new method own_mean")
    assert code == 2 and "never overwritten" in error
    Path(FILES[0]).unlink()
    assert lpbench("new method own_mean")[0] == 2
    assert [Path(file).read_bytes() for file in FILES[1:]] == before[1:] and not Path(FILES[0]).exists()


@pytest.mark.parametrize("name", ["krr", "numpy", "Big", "a-b", "class", "1st", "../x"])
def test_names_that_cannot_be_used(lpbench, name):
    code, _, error = lpbench(f"new method {name}")
    assert code == 2 and name in error
    assert not Path("lpbench_plugins").exists()


def test_another_folder_is_named_in_the_next_step(lpbench, home, monkeypatch):
    _, out, _ = lpbench("new method own_mean --folder elsewhere")
    assert f"export LPBENCH_PLUGINS={home / 'elsewhere'}" in out
    assert lpbench("check method own_mean --only grid")[0] == 2
    monkeypatch.setenv("LPBENCH_PLUGINS", f"{home / 'none'}{os.pathsep}{home / 'elsewhere'}")
    assert lpbench("check method own_mean --only grid")[0] == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("import numpy as np", "import numpy as np\nimport own_nothing", "own_nothing"),
        ("slices: int = 4", "slices: int = = 4", "line"),
        ("class OwnMean", "class Renamed", "OwnMean"),
        ("import numpy as np", "import numpy as np\n1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_clear_sentence(lpbench, old, new, said):
    lpbench("new method own_mean")
    change(FILES[0], old, new)
    code, _, error = lpbench("dataset=diabetes_progression method=own_mean replications=1 tracking=none")
    assert code == 2 and said in error and "own_mean" in error and "Traceback" not in error
    assert lpbench("list methods")[0] == 0, "the others can still be used"


def test_own_methods_are_listed_completed_planned_and_explained(lpbench):
    lpbench("new method own_mean")
    assert "own_mean" in lpbench("list methods")[1]
    shell = ShellComplete(cli, {}, "lpbench", VARIABLE)
    assert [word.value for word in shell.get_completions(["epsilon=4"], "method=own")] == ["method=own_mean"]
    cell = "method=own_mean epsilon=4 replications=2 tracking=none audit=false"
    assert "OwnMean" in lpbench(f"plan {cell}")[1]
    assert lpbench(f"-m {cell} dataset=diabetes_progression,sine_sum")[0] == 0
    assert "spent: label_ldp, epsilon 4" in lpbench("explain diabetes_progression own_mean 4")[1]


def test_results_are_remade_when_an_own_module_or_its_helper_changes(lpbench, home, forget):
    lpbench("new method own_mean")
    forget()
    helper = home / "lpbench_plugins" / "own_helper.py"
    helper.write_text("FACTOR = 1.0\n")
    change(FILES[0], "import numpy as np", "import numpy as np\nfrom own_helper import FACTOR")
    registry.method("own_mean").build()
    hashes = [current_hash("own_mean")]
    helper.write_text("FACTOR = 2.0\n")
    hashes.append(current_hash("own_mean"))
    helper.write_text('"""A comment changes no number."""\n\nFACTOR = 2.0\n')
    hashes.append(current_hash("own_mean"))
    change(FILES[0], "    protects =", '    rounding = "vectors"\n    protects =')
    hashes.append(current_hash("own_mean"))
    assert hashes[0] != hashes[1] == hashes[2] == hashes[3]


class Package:
    """Entry points of an installed package, without installing one."""

    def __init__(self, monkeypatch, **values: str):
        entries = {group.replace("_", ".", 1): EntryPoint("mine", value, group) for group, value in values.items()}
        monkeypatch.setattr(
            "importlib.metadata.entry_points", lambda group: [entries[group]] if group in entries else []
        )
        paths.entry_folders.cache_clear()


@pytest.mark.parametrize("group", slow_but(["lpbench_plugins", "lpbench_methods"], "lpbench_plugins"))
def test_an_external_package_brings_methods(lpbench, home, monkeypatch, group):
    lpbench("new method own_packed --folder package")
    (home / "package" / "own_entry.py").write_text(
        "from pathlib import Path\nFOLDER = Path(__file__).parent\n\ndef methods():\n    return FOLDER / 'methods'\n"
    )
    monkeypatch.syspath_prepend(str(home / "package"))
    Package(monkeypatch, **{group: "own_entry:FOLDER" if group == "lpbench_plugins" else "own_entry:methods"})
    try:
        checks = "audit" if group == "lpbench_methods" else "sweep --only guarantee"
        code, out, _ = lpbench(f"check method own_packed --only {checks}")
        assert code == 0, out
        cell = "dataset=diabetes_progression method=own_packed replications=1 tracking=none audit=false"
        assert lpbench(cell)[0] == 0
    finally:
        monkeypatch.undo()
        paths.entry_folders.cache_clear()


def test_a_broken_package_is_named(lpbench, monkeypatch):
    Package(monkeypatch, lpbench_plugins="own_missing:FOLDER")
    try:
        code, _, error = lpbench("list methods")
        assert code == 2 and "own_missing" in error and "uninstall" in error
    finally:
        monkeypatch.undo()
        paths.entry_folders.cache_clear()


def test_two_methods_of_one_name_are_refused(lpbench, home, monkeypatch):
    lpbench("new method own_mean --folder a")
    lpbench("new method own_mean --folder b")
    monkeypatch.setenv("LPBENCH_PLUGINS", f"{home / 'a'}{os.pathsep}{home / 'b'}")
    for line, expected in (("list methods", 0), ("plan method=own_mean dataset=diabetes_progression", 2)):
        code, _, error = lpbench(line)
        assert code == expected and "defined twice" in error


def test_the_contract_is_one_call(monkeypatch):
    ran = []
    checks = {name: lambda selector, name=name: ran.append((name, selector)) for name in contract.METHOD_CHECKS}
    with monkeypatch.context() as patched:
        patched.setattr(contract, "METHOD_CHECKS", checks)
        contract.check_method("private_mean")
    assert ran == [(name, "private_mean") for name in checks]
    with pytest.raises(ValueError, match="did you mean"):
        contract.check_method("privat_mean")


@pytest.mark.slow
def test_a_cell_that_runs_apart_has_the_same_scores_and_a_folder_of_its_own(home, lpbench):
    lpbench("new method own_mean")
    line = "dataset=sine_sum[n=60] method=own_mean epsilon=1 replications=2 tracking=none"
    here, apart = (lpbench(f"{line}{more}")[:2] for more in ("", " apart=true"))
    assert here[0] == apart[0] == 0, apart[1]
    assert here[1].splitlines()[-1] == apart[1].splitlines()[-1]
    assert list(home.rglob("*apart=true*"))
    path = home / "lpbench_plugins" / "own_mean.py"
    path.write_text(path.read_text().replace("y_range_, self.epsilon)", "y_range_, 2 * self.epsilon)"))
    code, out, err = lpbench(f"{line} apart=true")
    assert code == 1 and "a user spent 2 of a budget of 1" in out + err
