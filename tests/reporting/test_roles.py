"""Development and held-out data sets: planted differences, seen in the role of sets where they are."""

from __future__ import annotations

import pytest

from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.roles import shown_by_role
from lpbench.reporting.standings import ROLES, standings_of
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put

NAME = "extensions/ablation_regression"


def planted(key):
    """The variant without a forest is worse by a fifth on development sets and better by a fifth on the others."""
    seen = key["dataset"] not in ("abalone", "white_wine")
    return 2.0 * (1.0 if "variant=gp" not in key["method"] else 1.2 if seen else 0.8)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder, spec = tmp_path_factory.mktemp("roles"), experiment(NAME)
    put(folder, spec, scores_of(spec, planted, points=({},)))
    entry = ReportEntry(typed(spec), folder)
    return shown_by_role(entry, standings_of([entry], {}), {})


TABLES = ("extensions/ablation", "extensions/tuning_free", "field/sealed")
NAMES = [f"{table}_{task}" for table in TABLES for task in ("regression", "classification")]


@pytest.mark.parametrize("name", [*NAMES, "field/regression", "field/classification", "field/public_sample"])
def test_every_set_has_one_role(name):
    spec = experiment(name)
    named = [name for kind in spec["settings"]["data_sets"].values() for name in kind]
    assert sorted(named) == sorted({parse_selector(d)[0] for g in spec["groups"] for d in g["dataset"]})
    assert {*spec["settings"]["data_sets"]} <= {*ROLES}
    assert spec["settings"]["compared"] in {m for g in spec["groups"] for m in g["method"]}


def test_planted_differences_are_found_where_they_are(shown):
    found = {}
    for title, heads, rows in shown["tables"]:
        place = next(k for k, head in enumerate(heads) if head.startswith("ε = 2"))
        found[title] = {row[0]: row[place] for row in rows}
    development, held_out = found["Development data sets (8)"], found["Held-out data sets (2: Abalone, White wine)"]
    assert "; ×1.20† [" in development["ResidualGP, gp"] and development["ResidualGP, gp"].endswith("; 8:0")
    # two data sets have names, and neither an interval nor a test
    assert held_out["ResidualGP, gp"].endswith("; ×0.80; 0:2")
    assert "seed 777" in shown["legend"]


def test_the_compared_method_is_on_top_and_has_no_test(shown):
    for _, heads, rows in shown["tables"]:
        assert rows[0][0] == "ResidualGP" and len(heads) == len(rows[0]) and not any("×" in cell for cell in rows[0])


def test_the_least_p_value_stands_in_the_head(shown):
    assert all("p ≥" in head for _, heads, _ in shown["tables"] for head in heads[1:])


def test_without_roles_there_is_nothing_to_show(tmp_path):
    spec = experiment("histoftree/table1")
    put(tmp_path, spec, scores_of(spec, lambda key: 1.0, points=({},), replications=2))
    entry = ReportEntry(typed(spec), tmp_path)
    assert shown_by_role(entry, standings_of([entry], {}), {}) == {}
