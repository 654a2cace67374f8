"""The light distribution: its command, its parts and its options beside those of the whole."""

import os
import sys

import pytest

from lpbench import paths
from lpbench.cli import light, numbers
from lpbench.cli import main as whole
from lpbench.experiments.config import ROOT_SEED
from scripts import light_wheel

MINE = """
from lpbench import PrivateMean

class Mine(PrivateMean):
    pass

class Reveals(PrivateMean):
    def learn(self, users):
        super().learn(users)
        self.mean_ = float(users.reveal().y.mean())
        return self

class Leaks:
    pass
"""


@pytest.mark.parametrize("words", [["list", "methods"], ["audit", "krr"], ["method=krr"], ["check", "dataset"]])
def test_other_commands_say_which_distribution_has_them(words, capsys):
    assert light.main(words) == 2
    assert "pip install lpbench" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["audit", "code", "--help"], ["check", "method", "-h"], ["--version"]])
def test_help_is_there(words, capsys):
    assert light.main(words) == 0 and capsys.readouterr().out


def test_every_part_is_there_and_the_wheel_states_what_it_needs(tmp_path):
    package = paths.ROOT / "lpbench"
    assert all(list(package.glob(pattern)) for pattern in light_wheel.PARTS)
    light_wheel.write_sources(tmp_path)
    assert 'name = "lpbench-light"' in (tmp_path / "pyproject.toml").read_text()
    assert not (tmp_path / "lpbench/audit/black_box/files.py").exists()


def test_the_seed_of_an_audit_is_that_of_the_experiments():
    assert numbers.SEED == ROOT_SEED


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("main", [light.main, whole.main])
def test_a_class_in_a_file_is_checked_without_a_registry(main, mine, capsys):
    cheap = ["--only", "grid", "--only", "guarantee", "--only", "determinism"]
    assert main(["check", "method", "mine.py:Mine", *cheap]) == 0
    assert capsys.readouterr().out.endswith("1 method(s), 3 checks, 0 broken\n")
    assert main(["check", "method", "mine.py:Reveals", "--only", "audit"]) == 1
    assert "sealed: the method takes a budget and reads the records themselves" in capsys.readouterr().out


@pytest.mark.parametrize("main", [light.main, whole.main])
def test_a_class_in_a_file_runs_in_the_callers_process(main, mine, tmp_path):
    (tmp_path / "mine.py").write_text(f"import os\nprocess = os.getpid()\n{MINE}")
    assert main(["check", "method", "mine.py:Mine", "--only", "grid"]) == 0
    module = [module for name, module in sys.modules.items() if name.startswith("mine_")][-1]
    assert module.process == os.getpid()
    text = (paths.ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "`lpbench check method FILE:Class`, the only check of `lpbench-light`" in text


@pytest.mark.slow
def test_every_check_is_made_of_a_class_in_a_file(mine, capsys):
    assert light.main(["check", "method", "mine.py:Mine"]) == 0
    assert "8 checks, 0 broken" in capsys.readouterr().out


def test_a_file_without_the_class_is_told(mine, capsys):
    assert light.main(["check", "method", "mine.py:Yours"]) == 2
    assert "has no 'Yours'" in capsys.readouterr().err
    assert light.main(["check", "method", "mine.py:Leaks"]) == 2
    assert "must be a class under lpbench.estimators.base.LocalRegressor" in capsys.readouterr().err
