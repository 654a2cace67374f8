"""A sweep from Python gives the numbers of the command line, and leaves no file."""

import json

import pytest

import lpbench
from lpbench.cli.main import main
from lpbench.errors import ConfigurationError
from lpbench.experiments.results import Artifact


def test_a_sweep_from_python_has_the_numbers_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    methods, budgets = ["private_mean"], [1, 2]
    table = lpbench.run("diabetes_progression", methods, epsilon=budgets, replications=2)
    assert not list(tmp_path.iterdir()), "nothing is written here"
    assert table.groupby("epsilon")["method"].unique().map(list).to_dict() == {1.0: methods, 2.0: methods}
    words = ["dataset=diabetes_progression", "method=private_mean", "epsilon=2", "replications=2"]
    assert main([*words, "runner=serial", f"results_dir={tmp_path}"]) == 0
    (record,) = tmp_path.glob("single/**/run.json")
    assert json.loads(record.read_text())["config"]["seed"] == 2025
    cell = Artifact(record.parent, "single").full.table.set_index("selection")["mean"]
    ours = table[table["epsilon"] == 2.0].set_index("selection")["mean"]
    assert ours.to_dict() == cell.to_dict()


def test_a_word_that_is_no_data_set_is_refused():
    with pytest.raises(ConfigurationError, match="diabetis"):
        lpbench.run("diabetis", "private_mean")
