import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.experiments import catalog
from tests.experiments.helpers import own_experiments, study

COMMON = ["tracking=none", "runner=serial", "replications=2"]
PLACE = {"dataset": "diabetes_progression", "mask": "aligned", "method": "par_dt", "epsilon": 1.0}


@pytest.fixture
def results(tmp_path):
    return f"results_dir={tmp_path}"


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
    (single,) = (tmp_path / "single").rglob("scores.parquet")
    alone = pd.read_parquet(single)
    several = study(("private_mean", "par_dt"), mask=["all_private", "aligned"])
    with own_experiments(tmp_path / "own", several):
        assert main([*COMMON, results, "experiment=own/small"]) == 0
    table = pd.read_parquet(tmp_path / "own/small/scores.parquet")
    same = table[(table[list(PLACE)] == list(PLACE.values())).all(axis=1)]
    keys = ["params", "replication"]
    pd.testing.assert_frame_equal(
        alone.astype({"params": str}).sort_values(keys)[[*keys, "value"]].reset_index(drop=True),
        same.astype({"params": str}).sort_values(keys)[[*keys, "value"]].reset_index(drop=True),
    )


@pytest.mark.parametrize("kind", ["method", "experiment", "mask"])
def test_a_list_says_what_hydra_composes(kind):
    composed = getattr(catalog, f"{kind}s")()
    keys = {"method": ("title", "task", "privacy", "reference", "params"), "mask": ("title", "params")}.get(
        kind, ("title", "kind", "replications", "paper")
    )
    heads = catalog.heads(kind, keys)
    assert heads == {name: {key: getattr(found, key) for key in keys} for name, found in composed.items()}


def test_listed_rows_are_those_of_the_whole_data_set(capsys):
    assert main(["list", "datasets"]) == 0
    rows = {words[0]: words[2] for words in map(str.split, capsys.readouterr().out.splitlines())}
    assert (rows["abalone"], rows["breast_cancer"], rows["census"]) == ("4177", "569", "45222")
    assert rows["sine_sum"] == "12000", "a synthetic data set is what a replication draws"
