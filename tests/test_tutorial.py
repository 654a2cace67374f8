"""docs/tutorial.md works as it stands: every command, in a folder of its own, without the real data files."""

import os
import re
import subprocess

import pytest

from lpbench.paths import ROOT
from tests.shell import blocks, in_bash

TUTORIAL = ROOT / "docs" / "tutorial.md"
#: Seconds after which a command that hangs is given up.
PATIENCE = 600


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Output of all commands, and the folder they ran in."""
    folder = tmp_path_factory.mktemp("tutorial")
    hidden = ("LPBENCH_DATA_MIRROR", "LPBENCH_PLUGINS", "LPBENCH_DATASETS", "LPBENCH_RESULTS", "PYTHONPATH")
    environment = {k: v for k, v in os.environ.items() if k not in hidden}
    environment["LPBENCH_CACHE"] = str(folder / "cache")
    said = in_bash("\n".join(blocks(TUTORIAL, "sh")), folder, environment, PATIENCE)
    return said, folder / "my_study"


@pytest.mark.slow
def test_the_output_is_what_the_page_shows(run):
    shown = [line.strip() for block in blocks(TUTORIAL, "text") for line in block.splitlines() if line.strip()]
    assert len(shown) >= 5
    assert not [line for line in shown if line not in run[0]]


@pytest.mark.slow
def test_method_and_data_set_keep_the_contract(run):
    assert "1 method(s), 8 checks, 0 broken" in run[0]
    assert run[0].count("1 method(s), 1 checks, 1 broken") == 3, "broken promises are caught"
    assert "1 dataset(s), 3 checks, 0 broken" in run[0]


@pytest.mark.slow
def test_both_are_in_the_table_and_on_the_page(run):
    assert re.search(r"^ *my_mean .* ±", run[0], re.MULTILINE) and re.search(r"^ *method .*costs", run[0], re.MULTILINE)
    table = (run[1] / "results" / "own" / "first" / "first.tex").read_text(encoding="utf-8")
    assert "My mean" in table and "Costs" in table
    assert "paper's rule" not in table + run[0]
    exported = {path.suffix for path in (run[1] / "export" / "own" / "first").iterdir()}
    assert exported == {".pdf", ".png", ".tex"}
    page = (run[1] / "results" / "own" / "index.html").read_text(encoding="utf-8")
    assert "My mean" in page and "Costs" in page


@pytest.mark.slow
def test_the_checkout_is_left_alone(run):
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True)
    assert "my_mean" not in status.stdout and "costs" not in status.stdout


def test_the_readme_leads_here():
    assert "(docs/tutorial.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
