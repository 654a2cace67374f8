"""advice.csv: a planted change of the scores changes what a user is told; nobody is told a method that reads more."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from lpbench.experiments import catalogue
from lpbench.papers.comparison.advice import (
    FILE,
    GIVEN,
    HEADS,
    _judges,
    first_of,
    may_use,
    read_advice,
    read_choices,
    write_advice,
)
from lpbench.papers.comparison.ranking import NON_PRIVATE_PANEL
from lpbench.paths import ROOT
from lpbench.reporting.artefact import summarise_experiment
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.site import USE, choices_of
from lpbench.reporting.paper import hook_for
from lpbench.reporting.render import render
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.test_html import Page

SETS = {
    "field/classification": ["titanic", "anonymity", "employ", "rice", "hmda", "magic[private_fraction=0.265]"],
    "field/sealed_classification": ["spambase", "bank[private_fraction=0.11]"],
    "field/public_sample": [
        "student[label_range=scale,public_share=0.1]", "airfoil[public_share=0.1]", "abalone[public_share=0.1]",
        "red_wine[label_range=scale,public_share=0.1]", "white_wine[label_range=scale,public_share=0.1]",
    ],
}  # fmt: skip
METHODS = ("calibrated_score", "residual_score", "public_forest", "private_majority", "lpct_prune_max_edge", "phist",
           "public_residual_gp", "public_forest_regressor", "residual_gp", "private_mean", "ct_w", "dt")  # fmt: skip


def advise(name, best, folder, larger=True):
    """Advice of an experiment with few sets, in which ``best`` maps (method, epsilon) to its score."""
    spec = experiment(name)
    spec["groups"] = [
        {**group, "dataset": SETS[name], "epsilon": [1000] if group.get("panel") == NON_PRIVATE_PANEL else [1, 4],
         "method": methods}
        for group in spec["groups"]
        if (methods := [m for m in group["method"] if parse_selector(m)[0] in METHODS or "learner=ridge" in m])
    ]  # fmt: skip
    for group in spec["groups"]:
        group.pop("grid", None)
    metric = "accuracy" if larger else "mse"
    scores = scores_of(
        spec, lambda key: best.get((key["method"], key["epsilon"]), 0.5), points=({},), metric=metric, noise=0.001
    )
    selectors = {selector for group in spec["groups"] for selector in group["method"]}
    # every method at one setting, which it states
    cards = {s: replace(catalogue.method(s), grid={}, grid_by_mask={}, tuning_free={}) for s in selectors}
    body = typed(spec)
    [path] = write_advice(body, summarise_experiment(body, scores, cards), cards, folder)
    assert path == folder / FILE
    return pd.read_csv(path, keep_default_na=False).set_index(["given", "epsilon"])


CLASSES = {
    ("calibrated_score", 1.0): 0.7,
    ("residual_score", 1.0): 0.8,
    ("residual_score", 4.0): 0.8,
    ("residual_score[variant=features]", 1.0): 0.6,
    ("private_labels_classifier[randomizer=rr,learner=ridge]", 4.0): 0.75,
    ("public_forest", 4.0): 0.72,
}


def test_the_best_fair_method_that_reads_no_more_is_advised(tmp_path):
    every = advise("field/classification", CLASSES, tmp_path)
    assert every["method"].to_dict() == {
        ("public features", 1.0): "residual_score[variant=features]",
        ("public features", 4.0): "private_labels_classifier[randomizer=rr,learner=ridge]",
        ("public sample", 1.0): "calibrated_score",
        ("public sample", 4.0): "public_forest",
        ("public features and sample", 1.0): "residual_score",
        ("public features and sample", 4.0): "residual_score",
    }
    assert (every["held_out"] == 5).all() and (every["datasets"] == 5).all()
    assert every["ours"].tolist() == [True, False, True, False, True, True]
    assert every.loc[("public features and sample", 1.0), "second"] == "CalibratedScore"
    assert every.loc[("public sample", 1.0), "rank_sum"] == 5.0


def test_a_planted_change_of_the_scores_changes_the_advice(tmp_path):
    before = advise("field/classification", CLASSES, tmp_path)
    changed = {**CLASSES, ("calibrated_score", 4.0): 0.9, ("residual_score", 1.0): 0.4}
    after = advise("field/classification", changed, tmp_path)
    differ = before["method"].compare(after["method"], result_names=("before", "after"))
    assert set(differ["after"]) == {"calibrated_score"}
    assert set(differ.index) == {
        ("public sample", 4.0), ("public features and sample", 1.0), ("public features and sample", 4.0)
    }  # fmt: skip


def test_advice_rests_on_five_data_sets_at_least_and_says_how_many_are_held_out():
    kinds = {"conclusions": ["a", "b", "c"], "development": ["d", "e"], "sealed": ["f", "g"]}
    assert _judges(kinds, ["a", "b[x=1]", "c", "f", "g", "d"]) == (["a", "b[x=1]", "c", "f", "g"], 5)
    assert _judges(kinds, ["a", "b", "c", "d", "e"]) == (["a", "b", "c", "d", "e"], 3)
    assert _judges(kinds, ["a", "b", "c", "d"]) == ((), 3)


def test_equal_methods_are_not_told_apart(tmp_path):
    found = advise("field/classification", {}, tmp_path)
    row = found.loc[("public features and sample", 1.0)]
    assert "PublicForest" in row["not_told_apart"] or row["title"] == "PublicForest"


def test_small_errors_win_and_masks_are_choices_of_their_own(tmp_path):
    best = {("public_forest_regressor", 1.0): 0.3, ("residual_gp", 4.0): 0.3, ("public_residual_gp", 4.0): 0.35}
    found = advise("field/public_sample", best, tmp_path, larger=False)
    assert (found["held_out"] == 2).all() and (found["datasets"] == 5).all()
    assert found["method"].to_dict() == {
        ("public sample", 1.0): "public_forest_regressor",
        ("public sample", 4.0): "residual_gp",
        ("public features and sample", 1.0): "public_forest_regressor",
        ("public features and sample", 4.0): "residual_gp",
    }


def test_the_page_says_who_wins_and_how_to_read_it(tmp_path):
    assert read_advice(tmp_path) is None
    advise("field/classification", CLASSES, tmp_path)
    table = read_advice(tmp_path)
    assert table.heads[:4] == ("public", "ε", "use", "second choice")
    assert ("public sample", "1", "CalibratedScore") == table.rows[2][:3]
    assert table.remark.startswith(
        "Smallest rank sum, public features: ours at ε = 1; Ridge on randomised response at ε = 4. "
        "Smallest rank sum, public sample: ours at ε = 1; PublicForest at ε = 4. "
        "Smallest rank sum, public features and sample: ours at ε = 1, 4. Candidates"
    )


def test_every_experiment_that_asks_gets_advice():
    mine = replace(catalogue.experiment("field/regression"), name="mine/regression")
    assert hook_for("advice", mine) is read_advice and hook_for("outputs", mine).write is not None
    assert hook_for("advice", catalogue.experiment("histoftree/table1")) is None


@pytest.mark.parametrize(
    ("selector", "choices"),
    [
        ("residual_gp", {"public features", "public features and sample"}),
        ("lpct_prune_max_edge", {"public sample", "public features and sample"}),
        ("private_mean", set(GIVEN)),
        ("residual_score", {"public features and sample"}),
        ("residual_score[variant=features]", {"public features", "public features and sample"}),
        ("private_selection_regressor[estimator=par_dt]", {"public features", "public features and sample"}),
        ("private_selection_classifier[estimator=ct_q]", {"public sample", "public features and sample"}),
    ],
)
def test_what_a_method_reads_decides_where_it_may_be_used(selector, choices):
    assert {given for given in GIVEN if may_use(selector, given)} == choices


def test_a_page_names_few_of_the_methods_that_are_not_told_apart():
    assert first_of("") == "–"
    assert first_of("A, b; C") == "A, b; C"
    assert first_of("A; B; C; D; E") == "A; B; C and 2 more"


def test_choices_are_losses_over_the_least_without_privacy_and_the_page_of_the_committed_ones_is_well_formed(tmp_path):
    (tmp_path / FILE).write_text("given,epsilon,method,title,second\npublic features,1,a[x=1],A,B\n")
    many = {"abalone": 2, "airfoil": 3, "bike": 4, "white_wine": 5, "visits": 6}
    (tmp_path / "summary.csv").write_text(
        "panel,dataset,method,epsilon,selection,metric,mean\n"
        + "".join(
            f"without privacy,{name},c,1000,oracle,mse,2\nwithout privacy,{name},d,1000,oracle,mse,3\n"
            f",{name},a[x=1],1,tuning_free,mse,{2 * ratio}\n,{name},a[x=1],1,oracle,mse,1\n"
            for name, ratio in {**many, "portfolio": 9}.items()
        )
    )
    found = read_choices(tmp_path)
    given, answer, command = "public features", ("1", "A", "B"), "lpbench dataset=NAME method='a[x=1]' epsilon=1"
    assert found.rows == (
        (given, "any number", *answer, "4.50 [2.00, 9.00], 6", command),
        (given, "1,000 or more", *answer, "4.00 [2.00, 6.00], 5", command),
    )
    assert found.legend == "Regression" and read_choices(tmp_path / "none") is None

    shown = choices_of(ReportEntry(e, ROOT / "results" / "reproduced") for e in catalogue.experiments().values())
    assert "Classification" in shown and all(len(row) == len(HEADS) for rows in shown.values() for row in rows)
    menu = {"pages": [("use.html", USE)], "here": "use.html", "stored": False}
    page = Page(render("use.html.j2", title=USE, choices=shown, **menu))
    assert not page.open and {"filters", *map(str.lower, shown)} <= set(page.ids)
