"""Data sets of OpenML, read with its package from a small server on this machine."""

import numpy as np
import pandas as pd
import pytest

from lpbench.cli.main import main
from lpbench.datasets import load_manifest, load_table, make_problem
from lpbench.datasets.dates import days
from lpbench.datasets.description import describe
from lpbench.errors import LpbenchError
from tests.datasets.odd_openml import CLASSES, DATES, ROWS, TWO, arff, described, odd_ones, with_task
from tests.datasets.server import Answer, serve
from tests.datasets.test_download import UNKNOWN


@pytest.fixture
def server(monkeypatch, workshop):
    with serve() as fake:
        odd_ones(fake)
        fake.add("/api/v1/xml/data/99", Answer(UNKNOWN, status=412))
        monkeypatch.setenv("LPBENCH_OPENML_URL", fake.url)
        yield fake


def new(*words: str) -> int:
    return main(["new", "dataset", *words])


def test_what_openml_says_is_in_the_manifest(server, capsys):
    assert new("openml:100") == 0
    out = capsys.readouterr().out
    assert "lpbench check dataset openml/100" in out and "LPBENCH_PLUGINS" not in out, "the cache is looked into anyway"
    manifest = load_manifest("openml/100")
    assert manifest.openml.keys() == {"id", "version", "md5", "task"} and manifest.openml["version"] == 2
    assert manifest.license == "CC0" and manifest.origin == "https://www.openml.org/d/100. Odd (2026)"
    assert manifest.target == {"column": "y", "positive": ["yes"], "negative": ["no"]}
    assert manifest.features == ("a", "b") and manifest.sources[1] == {"kind": "openml", "id": 100}


@pytest.mark.slow
def test_it_passes_the_contract_of_data_sets(server):
    assert new("openml:100") == 0
    assert main(["check", "dataset", "openml/100"]) == 0


@pytest.mark.slow
def test_a_sweep_takes_it_from_the_cache(server, tmp_path, monkeypatch):
    assert new("openml:100") == 0
    monkeypatch.setenv("LPBENCH_OPENML_URL", "http://127.0.0.1:9")
    words = ["dataset=openml/100", "method=private_majority", "epsilon=1,2", "replications=2", "tracking=none"]
    assert main(["-m", *words, f"results_dir={tmp_path / 'results'}"]) == 0


def test_it_is_in_the_cache_from_then_on(server, monkeypatch):
    assert new("openml:100") == 0
    monkeypatch.setenv("LPBENCH_OPENML_URL", "http://127.0.0.1:9")
    assert describe("openml/100").available and make_problem("openml/100").X_train.shape == (48, 2)
    assert load_manifest("openml_100") == load_manifest("openml/100")


def test_a_data_set_that_is_not_in_the_cache_is_named_with_its_way_there(capsys, workshop):
    assert main(["dataset=openml/31", "method=krr", "epsilon=1", "tracking=none"]) == 2
    assert "`lpbench new dataset openml:31` fetches it" in capsys.readouterr().err


def test_without_a_network_there_is_one_sentence(workshop, monkeypatch, capsys):
    monkeypatch.setenv("LPBENCH_OPENML_URL", "http://openml.invalid")
    assert new("openml:31") == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0 and "there is no network here" in said


def test_sparse_rows_have_zeros_and_first_categories(server):
    assert new("openml:101") == 0
    table = load_table("openml/101")
    np.testing.assert_array_equal(table.X[:, -1], [k * 0.5 if k % 2 else 0 for k in range(ROWS)])
    np.testing.assert_array_equal(table.y, [k % 3 > 0 for k in range(ROWS)])


def test_texts_are_left_out_and_dates_are_days(server, capsys):
    assert new("openml:102") == new("openml:103") == 0
    assert "remark: text with 60 different values" in capsys.readouterr().out
    assert load_table("openml/102").columns == ("a", "b")
    table = load_table("openml/103")
    np.testing.assert_array_equal(table.X[:, 2], days(pd.Series(DATES), "%Y-%m-%d"))


@pytest.mark.parametrize(("data_id", "said"), [(104, "c: no feature at OpenML"), (109, "who: no feature at OpenML")])
def test_ignored_columns_and_row_ids_are_no_features(server, capsys, data_id, said):
    assert new(f"openml:{data_id}") == 0
    assert said in capsys.readouterr().out
    assert load_table(f"openml/{data_id}").columns == ("a", "b")


def test_ignored_columns_that_commas_separate_are_several(server, capsys):
    path = "/api/v1/xml/data/104"
    answer = server.answers[path][0]
    two = b"<oml:ignore_attribute>c</oml:ignore_attribute><oml:ignore_attribute>d</oml:ignore_attribute>"
    answer.body = answer.body.replace(two, b"<oml:ignore_attribute>c,d</oml:ignore_attribute>")
    assert new("openml:104") == 0 and load_table("openml/104").columns == ("a", "b")


def test_many_classes_stay_classes(server):
    assert new("openml:105") == 0
    manifest, problem = load_manifest("openml/105"), make_problem("openml/105")
    assert manifest.target == {"column": "y", "classes": CLASSES} and problem.classes.size == 12


@pytest.mark.parametrize(
    ("data_id", "said"),
    [
        (106, "names no target: choose one, --target"),
        (107, "(odd) is deactivated there"),
        (99, "Unknown dataset"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(server, capsys, data_id, said):
    assert new(f"openml:{data_id}") == 2
    error = capsys.readouterr().err.strip()
    assert said in error and error.count("\n") == 0


def test_a_target_of_ones_own_is_taken(server):
    assert new("openml:106", "--target", "y") == 0
    assert load_manifest("openml/106").task == "regression"


def test_large_files_are_read_whole(server):
    assert new("openml:108", "--rows", "500") == 0
    assert load_table("openml/108").y.size == 500


def test_names_and_categories_are_read_in_their_alphabets(server):
    assert new("openml:110") == 0
    manifest = load_manifest("openml/110")
    assert manifest.target == "Zahl der Käufe" and load_table("openml/110").columns[-2:] == ("größe", "b")
    assert {"column": "Farbe", "one_hot": ["größer", "rot", "大"]} in manifest.features


def test_the_packages_own_reader_finds_the_same_cells(server, tmp_path):
    import openml

    with openml.config.overwrite_config_context({"server": f"{server.url}/api/v1/xml", "cachedir": str(tmp_path)}):
        for data_id in (100, 102, 104, 105, 109):
            frame = openml.datasets.get_dataset(data_id).get_data(include_row_id=True, include_ignore_attribute=True)[0]
            assert new(f"openml:{data_id}") == 0
            table = load_table(f"openml/{data_id}")
            for name in ("a", "b"):
                np.testing.assert_array_equal(table.X[:, table.columns.index(name)], frame[name].astype(float))


def test_the_splits_of_a_task_are_those_of_the_replications(server):
    with_task(server)
    assert new("openml:task:900") == 0
    table, facts = load_table("openml/100"), describe("openml/100", {"split": "openml"})
    assert facts.available and facts.n_train is None, "folds differ in size"
    for fold in range(3):
        problem = make_problem("openml/100", {"split": "openml"}, replication=fold)
        assert sorted(problem.context["rows"]) == [row for row in range(ROWS) if row % 3 != fold]
        assert sorted(problem.y_test) == sorted(table.y[fold::3].astype(int))
    with pytest.raises(LpbenchError, match="has 3 splits; use replications=3 at most"):
        make_problem("openml/100", {"split": "openml"}, replication=3)
    with pytest.raises(LpbenchError, match="split=openml says which rows are for tests"):
        make_problem("openml/100", {"split": "openml", "test_size": 0.5})
    with pytest.raises(LpbenchError, match="openml:task:ID"):
        make_problem("breast_cancer", {"split": "openml"})


@pytest.mark.parametrize(
    ("content", "said", "sentence"),
    [
        (arff(TWO | {"y1": "REAL", "y2": "REAL"}, ["1,2,3,4"] * 20), {"default_target_attribute": "y1,y2"}, "y1,y2"),
        (arff(TWO | {"y": "REAL"}, ["1,2,3"]), {"md5_checksum": "0" * 32}, "does not match the known hash"),
        (arff(TWO | {"y": "REAL"}, ["1,2,3"]), {"default_target_attribute": "z"}, "unknown column --target 'z'"),
        (arff(TWO | {"r": "RELATIONAL", "y": "REAL"}, []), {}, "Bad @ATTRIBUTE type"),
        (arff(TWO | {"y": "REAL"}, []), {}, "has 0 rows"),
        ("a,b,y\n1,2,3\n", {"format": "CSV"}, "cannot be read as arff"),
    ],
    ids="two-targets checksum no-such-target relational empty csv".split(),
)
def test_further_answers_that_cannot_be_read_are_one_sentence(server, capsys, content, said, sentence):
    described(server, 111, content, **said)
    assert new("openml:111") == 2
    error = capsys.readouterr().err.strip()
    assert sentence in error and error.count("\n") == 0
    assert main(["dataset=openml/111", "method=krr", "tracking=none"]) == 2, "nothing half is in the cache"
