"""The light distribution: its command, its parts and its options beside those of the whole."""

import pytest

from lpbench import paths
from lpbench.cli import light, numbers
from lpbench.experiments.config import ROOT_SEED
from scripts import light_wheel


@pytest.mark.parametrize("words", [["list", "methods"], ["audit", "krr"], ["method=krr"], ["rank"]])
def test_other_commands_say_which_distribution_has_them(words, capsys):
    assert light.main(words) == 2
    assert "pip install lpbench" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["audit", "code", "--help"], ["--version"]])
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
