"""Roles of data sets: every set of an experiment that compares a method has one."""

import pytest

from lpbench.datasets.manifest import ROLES
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment

TABLES = ("extensions/ablation", "extensions/tuning_free", "comparison/sealed")
NAMES = [f"{table}_{task}" for table in TABLES for task in ("regression", "classification")]


@pytest.mark.parametrize(
    "name", [*NAMES, "comparison/regression", "comparison/classification", "comparison/public_sample"]
)
def test_every_set_has_one_role(name):
    spec = experiment(name)
    named = [name for kind in spec["settings"]["data_sets"].values() for name in kind]
    assert sorted(named) == sorted({parse_selector(d)[0] for g in spec["groups"] for d in g["dataset"]})
    assert {*spec["settings"]["data_sets"]} <= {*ROLES}
    assert spec["settings"]["compared"] in {m for g in spec["groups"] for m in g["method"]}
