"""advice.csv: a planted change of the scores changes what a user is told; nobody is told a method that reads more."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from lpbench.experiments import catalogue
from lpbench.papers.field import PAPER
from lpbench.papers.field.advice import FILE, GIVEN, first_of, may_use, n_users, read_advice, read_choices, write_advice
from lpbench.papers.field.ranking import NON_PRIVATE
from lpbench.paths import ROOT
from lpbench.reporting.artefact import summarise_experiment
from lpbench.reporting.entries import Entry
from lpbench.reporting.pages.site import USE, choices_of
from lpbench.reporting.render import render
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.test_html import Page

SETS = {
    "field/classification": ["titanic", "anonymity", "employ", "magic[private_fraction=0.265]"],
    "field/sealed_classification": ["spambase", "bank[private_fraction=0.11]"],
    "field/public_sample": ["student[label_range=scale,public_share=0.1]", "abalone[public_share=0.1]"],
}
METHODS = ("calibrated_score", "residual_score", "public_forest", "private_majority", "lpct_prune_max_edge", "phist",
           "public_residual_gp", "public_forest_regressor", "residual_gp", "private_mean", "ct_w", "dt")  # fmt: skip


def advise(name, best, folder, larger=True):
    """Advice of an experiment with few sets, in which ``best`` maps (method, epsilon) to its score."""
    spec = experiment(name)
    spec["groups"] = [
        {**group, "dataset": SETS[name], "epsilon": [1000] if group.get("panel") == NON_PRIVATE else [1, 4],
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
    return pd.read_csv(path, keep_default_na=False).set_index(["given", "users", "epsilon"])


CLASSES = {
    ("calibrated_score", 1.0): 0.7,
    ("residual_score", 1.0): 0.8,
    ("residual_score", 4.0): 0.8,
    ("residual_score[variant=features]", 1.0): 0.6,
    ("private_labels_classifier[randomizer=rr,learner=ridge]", 4.0): 0.75,
    ("public_forest", 4.0): 0.72,
}


def test_the_best_fair_method_that_reads_no_more_is_advised(tmp_path):
    found = advise("field/classification", CLASSES, tmp_path)
    every = found.xs("any number", level="users")
    assert every["method"].to_dict() == {
        ("public features", 1.0): "residual_score[variant=features]",
        ("public features", 4.0): "private_labels_classifier[randomizer=rr,learner=ridge]",
        ("public sample", 1.0): "calibrated_score",
        ("public sample", 4.0): "public_forest",
        ("public features and sample", 1.0): "residual_score",
        ("public features and sample", 4.0): "residual_score",
    }
    assert (every["judged_on"] == "conclusions").all() and (every["datasets"] == 3).all()
    assert every["ours"].tolist() == [True, False, True, False, True, True]
    assert every.loc[("public sample", 1.0), "first_build"] == "CalibratedScore: 3 [3, 3]"
    assert every.loc[("public features", 1.0), "first_build"] == "ResidualScore, no public sample: 3 [3, 3]"


def test_a_planted_change_of_the_scores_changes_the_advice(tmp_path):
    before = advise("field/classification", CLASSES, tmp_path)
    changed = {**CLASSES, ("calibrated_score", 4.0): 0.9, ("residual_score", 1.0): 0.4}
    after = advise("field/classification", changed, tmp_path)
    differ = before["method"].compare(after["method"], result_names=("before", "after"))
    assert set(differ["after"]) == {"calibrated_score"}
    assert {index[0::2] for index in differ.index} == {
        ("public sample", 4.0), ("public features and sample", 1.0), ("public features and sample", 4.0)
    }  # fmt: skip


def test_advice_is_told_apart_by_the_number_of_users(tmp_path):
    """On anonymity, the one small set for conclusions, another method is best."""
    spec = {**CLASSES}
    assert n_users("anonymity") < 1500 <= n_users("employ")
    found = advise("field/classification", spec, tmp_path)
    small = found.xs("under 1500", level="users")
    assert (small["datasets"] == 1).all()
    assert (found.xs("1500 or more", level="users")["datasets"] == 2).all()


def test_equal_methods_are_not_told_apart(tmp_path):
    found = advise("field/classification", {}, tmp_path)
    row = found.loc[("public features and sample", "any number", 1.0)]
    assert "PublicForest" in row["not_told_apart"] or row["title"] == "PublicForest"


def test_small_errors_win_and_masks_are_choices_of_their_own(tmp_path):
    best = {("public_forest_regressor", 1.0): 0.3, ("residual_gp", 4.0): 0.3, ("public_residual_gp", 4.0): 0.35}
    found = advise("field/public_sample", best, tmp_path, larger=False).xs("any number", level="users")
    assert found["method"].to_dict() == {
        ("public sample", 1.0): "public_forest_regressor",
        ("public sample", 4.0): "residual_gp",
        ("public features and sample", 1.0): "public_forest_regressor",
        ("public features and sample", 4.0): "residual_gp",
    }


def test_sealed_sets_judge_both_versions(tmp_path):
    """On other scores than real ones: the experiment of the sealed sets is run once, by somebody else."""
    second = "residual_score[variant=second]"
    planted = {
        **CLASSES,
        (second, 1.0): 0.9,
        (second, 4.0): 0.55,
        ("residual_score[variant=second_features]", 1.0): 0.6,
    }
    found = advise("field/sealed_classification", planted, tmp_path)
    row = found.loc[("public features and sample", "any number", 1.0)]
    assert row["judged_on"] == "sealed" and row["datasets"] == 2
    assert row["first_build"].startswith(
        "CalibratedScore: 6 [6, 6]; ResidualScore: 4 [4, 4]; ResidualScore, no public sample: "
    )
    assert row["second_build"].startswith(
        "ResidualScore, version 2: 2 [2, 2]; ResidualScore, version 2, no public sample: "
    )
    assert row["second_beats_first_low"] == "1.0"
    assert row["method"] == second and row["ours"]
    assert (
        "Smallest rank sum, public features and sample: ours at ε = 1, 4. Version 2 of our methods beside version 1: "
        "better at ε = 1; worse at ε = 4."
    ) in read_advice(tmp_path).remark


def test_the_page_says_who_wins_and_how_to_read_it(tmp_path):
    assert read_advice(tmp_path) is None
    advise("field/classification", CLASSES, tmp_path)
    table = read_advice(tmp_path)
    assert table.heads[:4] == ("public", "users", "ε", "use")
    assert ("public sample", "any number", "1", "CalibratedScore") == table.rows[6][:4]
    assert table.remark.startswith(
        "Smallest rank sum, public features: ours at ε = 1; Ridge on randomised response at ε = 4. "
        "Version 2 of our methods beside version 1: worse at ε = 1; not significantly different at ε = 4. "
        "Smallest rank sum, public sample: ours at ε = 1; PublicForest at ε = 4. "
        "Smallest rank sum, public features and sample: ours at ε = 1, 4. "
        "Version 2 of our methods beside version 1: worse at ε = 1, 4. Candidates"
    )
    assert set(PAPER.advice) <= set(PAPER.outputs)


def test_advice_that_compared_no_versions_is_still_read(tmp_path):
    advise("field/classification", CLASSES, tmp_path)
    path = tmp_path / FILE
    rows = pd.read_csv(path, keep_default_na=False)
    rows.drop(columns=[name for name in rows if name.startswith("second_beats_first")]).to_csv(path, index=False)
    assert "Version 2" not in read_advice(tmp_path).remark.partition("Candidates")[0]


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
    (tmp_path / FILE).write_text("given,users,epsilon,method,title\npublic features,any number,1,a[x=1],A\n")
    (tmp_path / "summary.csv").write_text(
        "panel,dataset,method,epsilon,selection,metric,mean\n"
        "without privacy,s,c,1000,oracle,mse,2\nwithout privacy,s,d,1000,oracle,mse,3\n"
        "without privacy,t,c,1000,oracle,mse,1\n"
        ",s,a[x=1],1,tuning_free,mse,4\n,s,a[x=1],1,oracle,mse,1\n,t,a[x=1],1,private,mse,3\n"
    )
    found = read_choices(tmp_path)
    command = "lpbench dataset=NAME method='a[x=1]' epsilon=1"
    assert found.rows == (("public features", "any number", "1", "A", "2.50 [2.00, 3.00], 2", command),)
    assert found.legend == "Numbers" and read_choices(tmp_path / "none") is None

    shown = choices_of(Entry(catalogue.experiment(name), ROOT / "results" / "reproduced") for name in PAPER.choices)
    assert list(shown) == ["Numbers", "Classes"] and all(len(row) == 6 for rows in shown.values() for row in rows)
    menu = {"pages": [("use.html", USE)], "here": "use.html", "stored": False}
    page = Page(render("use.html.j2", title=USE, choices=shown, **menu))
    assert not page.open and {"filters", "numbers", "classes"} <= set(page.ids)
