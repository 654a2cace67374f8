"""Development and held-out data sets: planted differences, seen in the kind of sets where they are."""

from __future__ import annotations

import numpy as np
import pytest

from lpbench.reporting.artefact import summarise_experiment, write_artefact
from lpbench.reporting.development_sets import FILE, compare_by_kind, sets_by_kind, shown_by_kind, tables_by_kind
from lpbench.reporting.entries import ReportEntry
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed

NAME = "extensions/ablation_regression"


def planted(key):
    """The variant without a forest is worse by a fifth on development sets and better by a fifth on the others."""
    seen = key["dataset"] not in ("abalone", "white_wine")
    return 2.0 * (1.0 if "variant=gp" not in key["method"] else 1.2 if seen else 0.8)


@pytest.fixture(scope="module")
def compared():
    spec = experiment(NAME)
    scores = scores_of(spec, planted, points=({},))
    table = compare_by_kind(typed(spec), summarise_experiment(typed(spec), scores, {}), {})
    return table[table["epsilon"] == 2.0].set_index(["kind", "method"])


TABLES = ("extensions/ablation", "extensions/tuning_free", "field/sealed")
NAMES = [f"{table}_{task}" for table in TABLES for task in ("regression", "classification")]


@pytest.mark.parametrize("name", [*NAMES, "field/regression", "field/classification", "field/public_sample"])
def test_every_set_is_of_one_kind(name):
    spec = experiment(name)
    kinds = sets_by_kind(typed(spec))
    assert not set(kinds.get("development", ())) & set(kinds.get("conclusions", ()))
    assert sorted(kinds["all"]) == sorted({parse_selector(d)[0] for g in spec["groups"] for d in g["dataset"]})
    assert spec["settings"]["compared"] in {m for g in spec["groups"] for m in g["method"]}
    assert sets_by_kind(typed(experiment("histoftree/table1"))) == {}


def test_planted_differences_are_found_where_they_are(compared):
    variant = "ResidualGP, gp"
    development, conclusions = compared.loc["development", variant], compared.loc["conclusions", variant]
    assert development["effect"] == pytest.approx(1.2, rel=0.02) and conclusions["effect"] == pytest.approx(
        0.8, rel=0.02
    )
    assert (development["better"], development["worse"]) == (8, 0)
    assert (conclusions["better"], conclusions["worse"]) == (0, 2)
    assert max(development["p"], conclusions["p"]) < 0.05
    assert compared.loc["all", variant]["datasets"] == 10


def test_the_compared_method_has_ranks_and_no_test(compared):
    own = compared[compared["compared"]]
    assert len(own) == 3 and own["p"].isna().all() and (own[["better", "worse"]] == 0).all(axis=None)
    total = compared.groupby("kind")["rank_sum"].sum()
    methods = compared.groupby("kind").size()
    np.testing.assert_allclose(total, methods * (methods + 1) / 2 * compared.groupby("kind")["datasets"].max())


def test_it_is_written_beside_the_table(tmp_path):
    spec = experiment(NAME)
    spec["groups"][0] |= {"dataset": ["abalone", "building"], "method": ["residual_gp", "private_mean"]}
    write_artefact(typed(spec), scores_of(spec, planted, points=({},)), {}, tmp_path / NAME)
    assert (tmp_path / NAME / FILE).is_file()
    shown = shown_by_kind(ReportEntry(typed(spec), tmp_path))
    assert "Held-out data sets (1)" in [title for title, _, _ in shown["tables"]] and "seed 777" in shown["legend"]


def test_tables_have_the_compared_method_on_top(compared):
    for title, heads, rows in tables_by_kind(compared.reset_index(), accuracy=False):
        assert rows[0][0] == "ResidualGP" and len(heads) == len(rows[0])
        assert "variant=" not in title
