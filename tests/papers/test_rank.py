"""Rank of a method: ranks are of committed scores or of the user's own run, and nobody else's blocks are run."""

import numpy as np
import pandas as pd
import pytest

from lpbench import pipeline
from lpbench.analysis.standings import FEWEST, NONE, over_sets, view
from lpbench.cli import ranking
from lpbench.cli.main import main
from lpbench.experiments import catalog
from lpbench.experiments.single_method import alone, at_one_setting
from lpbench.reporting.standings import read_standings


def test_nobody_elses_blocks_are_planned():
    job = alone(catalog.method("par_dt"), catalog.experiment("comparison/regression"), "rank/par_dt/regression")
    assert job.experiment.methods == ["par_dt"]
    assert {group.panel for group in job.experiment.groups} == {""}
    assert {entry.method for entry in job.plan.entries} == {"par_dt"}
    registered = catalog.experiment("comparison/regression")
    assert {e.dataset for e in job.plan.entries} == {d for g in registered.groups for d in g.dataset}
    assert job.experiment.replications == registered.replications
    one = at_one_setting(catalog.method("par_dt"))
    assert one.params == {"max_depth": 4, "min_samples_leaf": 10} and one.grid == {}


def test_a_method_is_not_first_on_sets_where_nobody_else_ran():
    rows = pd.DataFrame({"dataset": [*"abbc"], "method": ["own", "own", "other", "other"]})
    assert ranking.on_shared_sets(rows, "own")["dataset"].tolist() == ["b", "b"]
    assert ranking.on_shared_sets(rows[:2], "own")["dataset"].tolist() == ["a", "b"]


@pytest.mark.slow
def test_a_method_that_is_there_is_ranked_without_a_run(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("a block was run")

    monkeypatch.setattr(pipeline, "run_blocks", refuse)
    assert main(["rank", "par_dt", "--epsilon", "1", "--results", str(tmp_path)]) == 0
    table = read_standings(ranking.COMMITTED)
    table = table[table["experiment"] == "comparison/regression"]
    n = table["dataset"][table["role"] == "held out"].nunique()
    assert f"ParDT in comparison/regression, {n} held-out data sets" in capsys.readouterr().out
    folder = tmp_path / "rank" / "par_dt" / "regression"
    rows = table[(table["epsilon"] == 1) & (table["privacy"] != NONE) & (table["role"] == "held out")]
    inputs = rows.loc[rows["method"] == "par_dt", ["mask", "inputs"]].drop_duplicates()
    rows = rows.merge(inputs, on=["mask", "inputs"])  # like with like
    known = over_sets(view(rows, "fair"), "par_dt").set_index("method")
    found = pd.read_csv(folder / "rank.csv").set_index("method")
    assert len(found) > 5 and set(found.index) == set(known.index)
    for column in ("rank_sum", "constant", "free", "control"):
        np.testing.assert_allclose(found.loc[known.index, column], known[column], rtol=1e-4)
    bits = rows.drop_duplicates("method").set_index("method")["bits"]
    np.testing.assert_allclose(found["bits"], bits[found.index], rtol=1e-4)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "▸ ParDT" in page and "Where it wins" in page
    assert (folder / "ranks.svg").is_file() == (n >= FEWEST), "held-out sets alone"
    export = ["export", "rank/par_dt/regression", "--selection", "fair", "--folder", str(tmp_path / "export")]
    assert main([*export, "--results", str(tmp_path)]) == 0
    written = {p.suffix for p in (tmp_path / "export").rglob("*") if p.is_file()}
    assert {".tex", *([".pdf", ".png"] if n >= FEWEST else [])} <= written


@pytest.mark.slow
def test_a_method_is_stressed_without_a_line_of_code(tmp_path, capsys):
    given = ["--stress", "--experiment", "extensions/groups_regression", "--epsilon", "1", "--workers", "1"]
    assert main(["rank", "private_mean", *given, "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "PrivateMean in extensions/groups_regression\n" in said, "three data sets are too few for a finding"
    assert "without privacy" in said and "After Holm's correction" in said
    assert main(["rank", "private_mean", "--stress", "--experiment", "comparison/regression"]) != 0
    assert "no stress test" in capsys.readouterr().err


ROWS = '''
from dataclasses import dataclass
from typing import Any

from lpbench.estimators import PrivateMean


@dataclass(eq=False, repr=False)
class Brings(PrivateMean):
    """Reads labeled rows that no account holds."""

    rows: Any = (1.0, 2.0, 3.0)
'''


@pytest.mark.slow
def test_a_method_with_rows_in_its_constructor_is_run_and_has_no_rank(tmp_path, monkeypatch, capsys):
    (tmp_path / "brings_rows.py").write_text(ROWS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    given = ["--epsilon", "1", "--workers", "1", "--results", str(tmp_path)]
    code, said = main(["rank", "brings_rows:Brings", *given]), capsys.readouterr()
    assert code == 0 and "no rank, unknown inputs" in said.out, said
    assert not list(tmp_path.rglob("rank.csv"))


def test_four_classes_go_from_a_file_to_a_rank_among_methods_of_the_same_inputs(tmp_path, monkeypatch, capsys):
    own = tmp_path / "lpbench_plugins"
    (own / "experiments" / "four").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LPBENCH_PLUGINS", str(own))
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    draws = np.random.default_rng(0)
    table = pd.DataFrame(draws.random((240, 3)), columns=["a", "b", "c"])
    table["wind"] = np.array(["north", "east", "south", "west"])[2 * (table["a"] > 0.5) + (table["b"] > 0.5)]
    table.to_csv(tmp_path / "winds.csv", index=False)
    assert main(["new", "dataset", "winds.csv"]) == 0
    catalog.clear()
    assert "4 classes" in capsys.readouterr().out
    methods = ["residual_score", "private_labels_classifier", "public_tree_classifier", "private_majority"]
    (own / "experiments" / "four" / "table.yaml").write_text(
        "name: four/table\npaper: four\nkind: table\ntitle: Four classes\ngroups:\n"
        f"  - {{dataset: [winds], mask: [aligned], method: [{', '.join(methods)}], epsilon: [4]}}\nreplications: 2\n"
    )
    words = ["--results", str(tmp_path / "r"), "--workers", "1"]
    assert main(["rank", "residual_score", "--experiment", "four/table", *words]) == 2
    assert "run `lpbench reproduce four/table` first" in capsys.readouterr().err
    assert main(["reproduce", "four/table", *words, "--tracking", "none"]) == 0
    assert main(["rank", "residual_score", "--experiment", "four/table", *words]) == 0
    assert "inputs: label, public features;" in capsys.readouterr().out
    found = pd.read_csv(tmp_path / "r/rank/residual_score/table/rank.csv")
    assert {*found["method"]} == {"residual_score", "private_labels_classifier"}, "the others read something else"
    assert (tmp_path / "r/four/index.html").is_file()
