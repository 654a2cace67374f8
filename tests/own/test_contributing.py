"""A method is its module, its YAML and its test: CONTRIBUTING's steps in a copy of the checkout end green."""

import os
import re
import shutil
import subprocess

import pytest

from lpbench.paths import COMMITTED, ROOT
from tests.shell import in_bash

#: Tests that look at every method, file or page; the contract's are those of the name.
EVERYWHERE = "architecture docs lint_scripts reporting/test_names own/test_schemas integration/test_machines".split()
#: Every command of ``make lint``.
LINT = re.findall(r"^lint: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0]
LINT = LINT.replace("\t$(BIN)/", "").splitlines()


@pytest.fixture
def copy(tmp_path):
    """A copy of the tracked files with the committed results, and what runs commands in it."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--", ".", ":!results/reproduced"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip("not a checkout")
    for name in filter(None, done.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(COMMITTED, tmp_path / "results" / COMMITTED.name, dirs_exist_ok=True)

    def run(command: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LPBENCH_PLUGINS": ""}
        return in_bash(command, tmp_path, environment)

    return run


def steps(*, checked: bool) -> str:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (moves,) = re.findall(r"^   ```sh\n(.*?)^   ```$", page, re.MULTILINE | re.DOTALL)
    lines = ["lpbench new method my_slices", *(line.strip() for line in moves.splitlines())]
    assert all(line in page for line in lines) and lines[-1] == "lpbench check method my_slices"
    return "\n".join(lines if checked else lines[:-1])


def test_the_files_are_in_their_places_and_well_kept(copy):
    copy(steps(checked=False))
    copy("; ".join([*LINT[:2], "lpbench check method my_slices --only grid --only guarantee"]))


@pytest.mark.slow
def test_the_steps_end_green(copy):
    assert "8 checks, 0 broken" in copy(steps(checked=True))
    copy(" && ".join(LINT))
    files = [f"tests/{name}.py" if "/" in name else f"tests/test_{name}.py" for name in EVERYWHERE]
    copy(f"python -m pytest -q -m 'not slow' -p no:cacheprovider {' '.join(files)}")
    said = copy("python -m pytest -m 'not slow' -p no:cacheprovider -k my_slices tests/estimators tests/audit")
    assert re.search(r"1\d passed", said), "its own test, and the contracts and audits of all methods"
