"""The command line as a user meets it."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.experiments import catalogue

COMMON = ["tracking=none", "runner=serial", "replications=2"]


@pytest.fixture
def results(tmp_path):
    return f"results_dir={tmp_path}"


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("mask=personalised", "personalized"),
        ("experiment=histoftree/tabel1", "histoftree/table1"),
        ("runner=loki", "loky"),
        ("epsilon=0", "epsilon=0"),
        ("epsilon=nan", "epsilon=nan"),
        ("epsilon=two", "two"),
        ("seed=-1", "seed=-1"),
        ("replications=0", "replications=0"),
        ("runner.workers=many", "many"),
        ("selection=best", "selection='best'"),
        ("method.params.depth=-1", "depth"),
        ("method.params.bins=0", "bins"),
        ("method.params.label_share=1.5", "label_share"),
        ("method.params.colour=1", "colour"),
    ],
)
def test_bad_argument_is_one_clear_sentence(results, capsys, argument, named):
    key = argument.partition("=")[0]
    code = main([*(word for word in COMMON if word.partition("=")[0] != key), results, argument])
    captured = capsys.readouterr()
    assert code != 0
    assert named in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) <= 3


def test_cell_keys_are_refused_beside_an_experiment(results, capsys):
    assert main([*COMMON, results, "experiment=histoftree/table1", "epsilon=3"]) == 2
    assert "epsilon=3" in capsys.readouterr().err


def test_one_cell_writes_results_and_a_second_call_reuses_them(results, tmp_path, capsys):
    argv = [*COMMON, results, "method=private_mean", "epsilon=2"]
    assert main(argv) == 0
    first = capsys.readouterr().out
    assert "diabetes_progression aligned private_mean epsilon=2 oracle: mse" in first
    (summary,) = tmp_path.rglob("summary.csv")
    before = summary.read_bytes()
    assert main(argv) == 0
    assert "[stored]" in capsys.readouterr().out
    assert summary.read_bytes() == before


def test_a_cell_has_the_same_numbers_inside_an_experiment(results, tmp_path):
    assert main([*COMMON, results, "method=par_dt", "epsilon=1"]) == 0
    options = ["--results", str(tmp_path), "--replications", "2", "--backend", "serial", "--tracking", "none"]
    assert main(["reproduce", "extensions/embedded_regression", *options]) == 0
    (single,) = (tmp_path / "single").rglob("scores.parquet")
    alone = pd.read_parquet(single)
    table = pd.read_parquet(tmp_path / "runs/replications=2/extensions/embedded_regression/scores.parquet")
    same = table[
        (table["dataset"] == "diabetes_progression")
        & (table["mask"] == "aligned")
        & (table["method"] == "par_dt")
        & (table["epsilon"] == 1.0)
    ]
    keys = ["params", "replication"]
    pd.testing.assert_frame_equal(
        alone.astype({"params": str}).sort_values(keys)[[*keys, "value"]].reset_index(drop=True),
        same.astype({"params": str}).sort_values(keys)[[*keys, "value"]].reset_index(drop=True),
    )


def test_plan_prints_blocks_fits_and_time(results, capsys):
    assert main(["plan", "experiment=extensions/embedded_regression", results]) == 0
    out = capsys.readouterr().out
    assert "14 blocks, 14 to do" in out and re.search(r"fits, about \d+ s\n", out)


@pytest.mark.parametrize("kind", ["method", "experiment", "mask"])
def test_a_list_says_what_hydra_composes(kind):
    composed = getattr(catalogue, f"{kind}s")()
    keys = {"method": ("title", "task", "privacy", "reference", "params"), "mask": ("title", "params")}.get(
        kind, ("title", "kind", "replications", "paper")
    )
    heads = catalogue.heads(kind, keys)
    assert heads == {name: {key: getattr(found, key) for key in keys} for name, found in composed.items()}


def test_a_list_names_what_a_run_would_refuse(tmp_path, monkeypatch, capsys):
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / "mine.yaml").write_text("name: mine\ntitle: Mine\ntask: regression\ncolour: red\n")
    monkeypatch.setenv("LPBENCH_PLUGINS", str(tmp_path))
    assert main(["list", "methods"]) == 0  # the others are listed, and what is wrong with this one is said
    assert "unknown key 'colour'" in capsys.readouterr().err
    assert main(["check", "method", "mine"]) == 2
    assert "unknown key 'colour'" in capsys.readouterr().err
    catalogue.clear()  # other tests' commands do not name it


def test_listed_rows_are_those_of_the_whole_data_set(capsys):
    assert main(["list", "datasets"]) == 0
    rows = {words[0]: words[2] for words in map(str.split, capsys.readouterr().out.splitlines())}
    assert (rows["abalone"], rows["breast_cancer"], rows["census"]) == ("4177", "569", "45222")
    assert rows["sine_sum"] == "12000", "a synthetic data set is what a replication draws"


def test_module_entry_point():
    out = subprocess.run([sys.executable, "-m", "lpbench"], capture_output=True, text=True, check=True).stdout
    assert out.startswith("lpbench - ")
