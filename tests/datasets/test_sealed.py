"""Sealed data sets: every way to a run refuses them by name, unless it asks; the one run wants a clean commit."""

import json

import pytest

from lpbench.cli.main import main
from lpbench.datasets import load_manifest, load_table, make_problem
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment, Group, deviations
from lpbench.experiments.plan import plan_experiment
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from scripts import run_sealed
from scripts.need_calibration import DATASETS, HELD_OUT

SAID = "data set toy is sealed"
CELL = ["method=private_mean", "replications=2", "tracking=none", "runner.workers=1"]


@pytest.fixture
def sealed(workshop):
    """A sealed set of 40 rows, at hand."""
    rows = "".join(f"{'ab'[k % 2]},{k / 40},{1 + k % 5}\n" for k in range(40))
    workshop.file("kind,size,label\n" + rows)
    workshop.manifest(role="sealed", fingerprint={"features": 2})


@pytest.mark.parametrize(
    "words",
    [
        ["dataset=toy", *CELL],
        ["-m", "dataset=toy", "epsilon=1,2", *CELL],
        ["dataset=toy", "+sealed=no", *CELL],
    ],
    ids=["one cell", "a sweep", "said no"],
)
def test_no_run_reads_a_sealed_set_unless_it_asks(sealed, tmp_path, capsys, words):
    assert main([*words, f"results_dir={tmp_path}"]) == 2
    assert SAID in capsys.readouterr().err


def test_blocks_of_experiments_and_ranks_are_refused_before_the_first_one_runs(sealed, tmp_path):
    groups = (Group(dataset=("diabetes_progression", "toy"), method=("private_mean",), epsilon=(1.0,)),)
    plan = plan_experiment(Experiment("own/one", groups=groups, replications=2))
    with pytest.raises(ConfigurationError, match=SAID):
        run_blocks(plan.blocks, Store(tmp_path), progress=False)
    assert not list(tmp_path.rglob("*.parquet"))


def test_python_reads_a_sealed_set_if_its_parameters_say_so(sealed):
    with pytest.raises(ConfigurationError, match=SAID):
        make_problem("toy")
    open_set = make_problem("toy", {"sealed": True})
    assert len(open_set.y_train) + len(open_set.y_test) == 40


def test_a_table_is_sealed_too_and_no_script_reads_one(sealed):
    with pytest.raises(ConfigurationError, match=SAID):
        load_table("toy")
    assert load_table("toy", sealed=True).X.shape == (40, 2)
    for name in (*DATASETS, *HELD_OUT):
        assert load_manifest(name).role != "sealed"


def test_a_run_that_asks_reads_it(sealed, tmp_path):
    assert main(["dataset=toy", "+sealed=yes", *CELL, f"results_dir={tmp_path}"]) == 0


def test_asking_changes_neither_other_sets_nor_what_deviates():
    asks = Experiment("own/one", groups=(Group(dataset=("abalone", "ames")),), sealed=True)
    assert str(asks.data_set("abalone")) == "abalone"
    assert asks.data_set("ames").params == {"sealed": True}
    registered = catalog.experiment("comparison/sealed_regression")
    assert deviations(asks, Experiment("own/one", groups=asks.groups)) == [] and not registered.sealed


def test_the_one_run_wants_a_clean_commit_and_is_made_once(tmp_path, monkeypatch):
    monkeypatch.setattr(run_sealed, "git", lambda *words: " M lpbench/members.py" if words[0] == "status" else "abc")
    assert "has changes (M lpbench/members.py)" in run_sealed.refusal(tmp_path / "sealed.json")
    monkeypatch.setattr(run_sealed, "git", lambda *words: "")
    assert run_sealed.refusal(tmp_path / "sealed.json") == ""
    (tmp_path / "sealed.json").write_text(json.dumps({"date": "2026-11-29", "commit": "0123456789"}))
    assert "read on 2026-11-29 by commit 01234567" in run_sealed.refusal(tmp_path / "sealed.json")
