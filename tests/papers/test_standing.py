"""Where a method stands: the ranks are the committed ones, and nobody else's blocks are run."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis import is_ranked
from lpbench.analysis.ranks import ranks
from lpbench.cli import rank
from lpbench.cli.main import main
from lpbench.experiments import catalogue, run
from lpbench.experiments.results import Results
from lpbench.experiments.single_method import alone, at_one_setting
from lpbench.papers.comparison.standing import selected, standing, where_it_wins

RANKED = ("regression", "public_sample", "classification", "sealed_regression", "sealed_classification")


def committed(name):
    artefact = Results(rank.COMMITTED).artefact(f"field/{name}")
    return artefact.summary, pd.read_csv(artefact.folder / "field.csv")


@pytest.mark.parametrize("selection", ["fair", "oracle"])
@pytest.mark.parametrize("name", RANKED)
def test_ranks_are_the_committed_ones(name, selection):
    """To the last digit, but where two means agree in all digits of the summary: field.csv knew further ones."""
    table, ranking = committed(name)
    ranking = ranking[(ranking["kind"] == "all") & (ranking["selection"] == selection)]
    own = ranking["method"].iloc[-1]
    mine = table[(table["method"] == own) & (table["panel"].fillna("") == "")]
    found = standing(table, mine, selection, {}, {}, {}).set_index(["mask", "epsilon", "method"])
    known = ranking.set_index(["mask", "epsilon", "method"])["rank_sum"]
    assert len(found) == len(known) and set(found.index) == set(known.index)
    larger, rows = mine["metric"].iloc[0] == "accuracy", selected(table, selection)
    for (mask, epsilon), here in rows[rows["method"].map(is_ranked)].groupby(["mask", "epsilon"]):
        wide = here.pivot(index="dataset", columns="method", values="mean")
        low, high = (ranks(wide.to_numpy(), larger_is_better=larger, ties=t).sum(axis=0) for t in ("min", "max"))
        theirs = known[mask, epsilon][wide.columns].to_numpy()
        ours = found.loc[(mask, epsilon), "rank_sum"][wide.columns].to_numpy()
        assert (low <= theirs + 1e-6).all() and (theirs <= high + 1e-6).all()
        np.testing.assert_allclose(ours[low == high], theirs[low == high], rtol=1e-6)


def row(dataset, method, mean, selection="tuning_free", panel="", epsilon=1.0):
    return {"panel": panel, "dataset": dataset, "mask": "aligned", "method": method, "epsilon": epsilon,
            "selection": selection, "metric": "mse", "mean": mean}  # fmt: skip


def by_hand():
    rows = [row("a", "krr", 4.0), row("b", "krr", 2.0), row("a", "private_mean", 2.0), row("b", "private_mean", 4.0)]
    rows += [row(d, "dt", v, "oracle") for d, v in (("a", 1.0), ("b", 1.0))]
    rows += [row("a", "x", 0.5, "oracle", "without privacy", 1000.0), row("a", "krr", 0.1, "oracle")]
    return pd.DataFrame(rows), pd.DataFrame([row("a", "mine", 1.0), row("b", "mine", 8.0)])


def test_wins_constant_and_best_without_privacy_by_hand():
    others, mine = by_hand()
    found = standing(others, mine, "fair", {}, {"mine": 3.0}, {("mine", 1.0): 7.0}).set_index("method")
    assert found["rank"].to_dict() == {"mine": 2.0, "krr": 2.0, "private_mean": 2.0}
    assert found.loc["krr", ["wins", "losses"]].tolist() == [1, 1]
    assert found.loc["mine", "constant"] == pytest.approx(1.0)  # 1/2 and 8/4
    assert found.loc["mine", "non_private"] == pytest.approx(4.0)  # 1/0.5 and 8/1: the oracle's best of each set
    assert found.loc["mine", ["seconds", "bits"]].tolist() == [3.0, 7.0]
    places = where_it_wins(others, mine, "fair").set_index("dataset")
    assert places["rank"].to_dict() == {"a": 1, "b": 3} and places.loc["b", "ratio"] == pytest.approx(4.0)


def test_private_selection_replaces_the_stated_setting_and_the_oracle_is_apart():
    others, _ = by_hand()
    table = pd.concat([others, pd.DataFrame([row("a", "krr", 3.0, "private")])])
    fair = selected(table, "fair").set_index(["dataset", "method"])["mean"]
    assert fair["a", "krr"] == 3.0 and set(selected(table, "oracle")["method"]) == {"dt", "krr"}


def test_nobody_elses_blocks_are_planned():
    job = alone(catalogue.method("par_dt"), catalogue.experiment("field/regression"), "rank/par_dt/regression")
    assert job.experiment.methods == ["par_dt"]
    assert {group.panel for group in job.experiment.groups} == {""}
    assert {entry.method for entry in job.plan.entries} == {"par_dt"}
    registered = catalogue.experiment("field/regression")
    assert {e.dataset for e in job.plan.entries} == {d for g in registered.groups for d in g.dataset}
    assert job.experiment.replications == registered.replications
    one = at_one_setting(catalogue.method("par_dt"))
    assert one.params == {"max_depth": 4, "min_samples_leaf": 10} and one.grid == {}


@pytest.mark.slow
def test_a_method_that_is_there_is_ranked_without_a_run(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise AssertionError("a block was run")

    monkeypatch.setattr(run, "run_blocks", refuse)
    assert main(["rank", "par_dt", "--epsilon", "1", "--results", str(tmp_path)]) == 0
    assert "ParDT in field/regression, 14 data sets" in capsys.readouterr().out
    folder = tmp_path / "rank" / "par_dt" / "regression"
    _, ranking = committed("regression")
    known = ranking[(ranking["kind"] == "all") & (ranking["selection"] == "fair") & (ranking["epsilon"] == 1)]
    found = pd.read_csv(folder / "rank.csv").set_index("method")
    np.testing.assert_allclose(found.loc[known["method"], "rank_sum"], known["rank_sum"], rtol=1e-6)
    np.testing.assert_allclose(found.loc[known["method"], "bits"], known["bits"])
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "▸ ParDT" in page and "Where it wins" in page and (folder / "ranks.svg").is_file()
    export = ["export", "rank/par_dt/regression", "--selection", "fair", "--folder", str(tmp_path / "export")]
    assert main([*export, "--results", str(tmp_path)]) == 0
    written = {p.suffix for p in (tmp_path / "export").rglob("*") if p.is_file()}
    assert {".tex", ".pdf", ".csv"} <= written
