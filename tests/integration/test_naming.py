"""Experiments are named in one way: names, several of them, patterns, each with totals; a key is given once."""

import re
import shlex

import pytest

from lpbench.cli.main import main
from lpbench.cli.options import matching
from tests.experiments.helpers import own_experiments, study

NAMES = ("own/one", "own/two")


@pytest.fixture(autouse=True)
def own(tmp_path):
    """Two small experiments that share a block, and an empty results folder."""
    one, two = (study(("private_mean", method), epsilon=[1]) for method in ("label_dt", "par_dt"))
    with own_experiments(tmp_path / "own", {**one, "name": NAMES[0]}, {**two, "name": NAMES[1]}):
        yield tmp_path / "results"


COMMANDS = ("reproduce", "plan", "show", "verify bitwise", "report")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_name_that_is_not_there_is_answered_alike(own, command, capsys):
    own.mkdir()
    where = f"results_dir={own}" if command == "plan" else f"--results {own}"
    assert main(shlex.split(f"{command} own/one own/tow {where}")) == 2
    assert "unknown experiment 'own/tow': did you mean own/two" in capsys.readouterr().err


def test_names_and_patterns_mean_each_experiment_once():
    assert matching(["own/two", "own/*"]) == ["own/two", "own/one"]


def test_a_plan_of_several_adds_up_and_its_next_command_runs_them_all(own, capsys):
    words = "'own/*'"
    assert main(shlex.split(f"plan {words} results_dir={own} runner=serial tracking=none")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == list(NAMES)
    total = next(line for line in lines if line.startswith("2 experiments"))
    fits = [int(re.search(r"(\d+) fits", line).group(1)) for line in (*lines[:2], total)]
    assert "3 blocks, 3 to do" in total and fits[2] < fits[0] + fits[1], "a block of both counts once"
    (line,) = [line for line in lines if line.startswith("Next: ")]
    command = shlex.split(line.removeprefix("Next: ").removesuffix(" (runs them)"))
    assert command[:2] == ["lpbench", "reproduce"] and main(command[1:]) == 0
    assert all((own / name / "run.json").is_file() for name in NAMES)
    assert "3 blocks run" in capsys.readouterr().out
    for command in ("show", "report"):
        assert main(shlex.split(f"{command} {words} --results {own}")) == 0
        out = capsys.readouterr().out
        assert "2 experiments" in out, command
    assert main(shlex.split(f"verify bitwise {words} --all --results {own}-again --against {own} --workers 1")) == 0
    assert "bitwise: holds for 2 experiments" in capsys.readouterr().out


def test_a_plan_whose_settings_reproduce_lacks_names_a_command_for_each(own, capsys):
    assert main(["plan", "own/*", f"results_dir={own}", "experiment.title=Other"]) == 0
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Next: ")]
    assert [f"experiment={name}" in line for name, line in zip(NAMES, found, strict=True)] == [True, True]


@pytest.mark.parametrize("command", ["", "plan "])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("epsilon=1 epsilon=2", "key 'epsilon' is given 2 times, '1' and '2': give it once"),
        ("experiment=own/one experiment=own/two", "give it once; several: lpbench reproduce own/one own/two"),
        ("method.params.depth=1 ++method.params.depth=2", "key 'method.params.depth' is given 2 times"),
    ],
)
def test_a_key_given_twice_is_refused(own, command, words, said, capsys):
    assert main(shlex.split(f"{command}{words} results_dir={own}")) == 2
    assert said in capsys.readouterr().err
    assert not own.exists()


def test_a_named_experiment_beside_the_key_is_refused(own, capsys):
    assert main(["plan", "own/one", "experiment=own/two"]) == 2
    assert "'experiment=own/two' stands beside own/one" in capsys.readouterr().err
