"""The cells of docs/tutorial.md in this process, with few replications: what every run of the suite tries of the page.

Whole audits, each of which starts processes, and the sweep are left to tests/test_tutorial.py, which runs the page as
it stands: here one fit with recorded users is audited, and the sweep planned.
"""

import functools
import re
import shlex
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from lpbench.audit.methods import complaints_in, recorded_users, settings
from lpbench.cli.main import main
from lpbench.experiments.fits import GuardedUsers
from lpbench.paths import ROOT
from tests.shell import blocks, in_bash

TUTORIAL = ROOT / "docs" / "tutorial.md"
#: A line that runs lpbench, and if it must fail.
LINE = re.compile(r"^(?P<fails>if )?lpbench (?P<words>.*?)(?(fails); then exit 1; fi)$")
#: Printed where the method is audited at places of its own; one fit in this process finds the broken law.
AT_ITS_PLACES = ("LabelDevice states report of its own",)
#: What makes the experiment of the page small.
SMALL = {
    "replications: 5": "replications: 1",
    "[my_mean, private_mean, label_dt, hist]": "[my_mean, private_mean]",
    "dataset: [costs, diabetes_progression]": "dataset: [costs]",
    "epsilon: [1, 4]": "epsilon: [4]",
}


def parts(cell: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a cell in order: lines of lpbench, and what stands between them for a shell."""
    for_shell, end = [], ""
    for line in cell.splitlines():
        if end or not LINE.match(line):
            for_shell.append(line)
            end = "" if line == end else end or "".join(re.findall(r"<<'(\w+)'", line))
        else:
            yield "shell", "\n".join(for_shell)
            for_shell = []
            yield "lpbench", line
    yield "shell", "\n".join(for_shell)


def shortened(words: list[str]) -> list[str]:
    """Words of a command with one replication, without an audit and without processes; a sweep is planned."""
    if words[0] == "-m":
        return [*words, "dry_run=true"]
    if "=" in words[0]:
        words = [re.sub(r"^replications=\d+$", "replications=1", word) for word in words]
        return [*words, "audit=false", "runner=serial"]
    return [*words, "--no-audit", "--backend", "serial"] if words[0] == "reproduce" else words


def complaints_of_one_fit() -> list[str]:
    """Audit the method of the folder, as its module stands, by one fit with recorded users."""
    spec = spec_from_file_location("my_mean", "lpbench_plugins/my_mean.py")
    module = sys.modules["my_mean"] = module_from_spec(spec)  # a fitted model is pickled by the audit
    try:
        exec(Path("lpbench_plugins/my_mean.py").read_text(encoding="utf-8"), vars(module))
        model, sample = next(settings(module.MyMean()))
        # users are guarded as in every run of somebody's own method: what reads a record is refused
        return list(map(str, complaints_in(model, sample, lambda *asked: GuardedUsers(recorded_users(*asked)))))
    finally:
        del sys.modules["my_mean"]


@pytest.fixture
def run_cells(home, forget, capsys, monkeypatch):
    """Run cells of the page; return all that was printed, and the complaints of each audited cell."""
    study = home / "my_study"
    study.mkdir()
    monkeypatch.chdir(study)
    monkeypatch.setenv("LPBENCH_RESULTS", str(study / "results"))

    def run(cells):
        printed, complaints = "", []
        for kind, text in (part for cell in cells for part in parts(cell)):
            if kind == "shell" and text.strip():
                in_bash(functools.reduce(lambda shell, change: shell.replace(*change), SMALL.items(), text), study)
            elif kind == "lpbench":
                line = LINE.match(text)
                words = shlex.split(line["words"])
                if words[0] == "audit" or words[:2] == ["check", "method"]:
                    complaints.append((bool(line["fails"]), complaints_of_one_fit()))
                else:
                    forget()
                    assert main(shortened(words)) == 0, text
                    printed += capsys.readouterr().out
        return printed, complaints

    return run


def test_every_cell_of_the_tutorial_runs(run_cells):
    first, *cells = blocks(TUTORIAL, "sh")
    assert first.startswith("mkdir -p my_study && cd my_study\n") and len(cells) >= 12
    assert all(any(large in cell for cell in cells) for large in SMALL)
    printed, complaints = run_cells(cells)
    assert [bool(found) for _, found in complaints] == [fails for fails, _ in complaints]
    told = "\n".join(line for _, found in complaints for line in found)
    for line in (line for block in blocks(TUTORIAL, "text") for line in block.splitlines() if line.strip()):
        assert line in printed + told or line in AT_ITS_PLACES, line
    assert "1 dataset(s), 3 checks, 0 broken" in printed
    assert re.search(r"^ *my_mean .*", printed, re.MULTILINE) and re.search(r"^ *method .*costs", printed, re.MULTILINE)
