"""Rows of one person: kept together by splits and public samples, told of and counted."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lpbench.cli.new_dataset import new_dataset
from lpbench.datasets import make_problem, splits
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.preprocess import prepare
from lpbench.errors import ConfigurationError, DataError
from lpbench.seeds import Streams

RAW = pd.DataFrame({"patient_id": ["b", "a", "b", "c", "a", "b"], "x": range(6), "y": [1.0, 2, 3, 4, 5, 6]})
MANIFEST = Manifest("visits_of", "Visits", "regression", target="y", features=("x",), unit="patient_id")


def test_a_table_numbers_its_units_and_refuses_what_cannot_be_one():
    table = prepare(RAW, MANIFEST)
    assert table.units.tolist() == [0, 1, 0, 2, 1, 0] and table.columns == ("x",)
    other = prepare(RAW.assign(patient_id=list("aabbcc")), MANIFEST)
    assert table.fingerprint["values"] != other.fingerprint["values"]
    with pytest.raises(DataError, match="feature"):
        prepare(RAW, replace(MANIFEST, unit="x"))
    with pytest.raises(DataError, match="missing in row 1"):
        prepare(RAW.assign(patient_id=["b", None, "b", "c", "a", "b"]), MANIFEST)
    with pytest.raises(DataError, match="public and private"):
        prepare(RAW, replace(MANIFEST, public={"first": 2}))


def test_rows_that_repeat_an_identifier_are_warned_of():
    with pytest.warns(UserWarning, match="unit: patient_id"):
        prepare(RAW, replace(MANIFEST, unit=""))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare(RAW.assign(patient_id=range(6)), replace(MANIFEST, unit=""))
        prepare(RAW.assign(patient_id=[0, 0, 2, 0, 1, 0]), replace(MANIFEST, unit=""))  # counts of a word


@pytest.mark.parametrize("replication", range(5))
def test_splits_and_public_samples_keep_the_rows_of_a_unit_together(replication):
    units = np.random.default_rng(replication).integers(0, 30, 200)
    units = np.unique(units, return_inverse=True)[1]
    streams = Streams(1).child("data", replication=replication)
    train, test = splits.train_test_rows(200, 0.3, "random", streams, replication, units)
    assert sorted([*train, *test]) == list(range(200)) and 60 <= test.size < 60 + np.bincount(units).max()
    private, public = splits.publish_rows(train, 0.25, units[train])
    groups = [set(units[rows]) for rows in (private, public, test)]
    assert sum(map(len, groups)) == len(set.union(*groups)) and public.size
    few = train[splits.first_of_units(units[train], 2)]
    assert np.array_equal(np.bincount(units[few], minlength=30), np.minimum(np.bincount(units[train], minlength=30), 2))
    with pytest.raises(ConfigurationError, match="split='published'"):
        splits.train_test_rows(200, 0.3, "published", streams, replication, units)


@pytest.mark.mirror
def test_a_new_data_set_has_its_unit_and_problems_count_its_rows(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 4)
    table = pd.DataFrame({"PatientId": people, "x": rng.random(240).round(3), "y": rng.random(240).round(3)})
    table.to_csv(tmp_path / "stays.csv", index=False)
    monkeypatch.chdir(tmp_path)
    _, profile = new_dataset(tmp_path / "stays.csv", tmp_path, target="y")
    assert profile.content["unit"] == "PatientId" and profile.content["features"] == ["x"]
    monkeypatch.setenv("LPBENCH_DATASETS", str(tmp_path / "datasets"))
    problem = make_problem("stays")
    assert problem.context["rows_per_unit"] == 4 and problem.context["units"].size == len(problem.y_train) == 168
    assert len(make_problem("stays", {"rows_per_unit": 1}).y_train) == 42
    with pytest.raises(ConfigurationError, match="rows_per_unit"):
        make_problem("airfoil", {"rows_per_unit": 1})
