"""Advice: a planted change of the scores changes what a user is told; nobody is told a method that reads more."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.standings import NONE
from lpbench.analysis.summary import NON_PRIVATE_PANEL
from lpbench.experiments import catalogue
from lpbench.paths import COMMITTED
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.advice import ASKED, GIVEN, advise, choices, code_of, may_use
from lpbench.reporting.pages.site import USE
from lpbench.reporting.render import render
from lpbench.reporting.standings import standings_of
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put
from tests.reporting.test_html import Page

SETS = {
    "comparison/classification": ["titanic", "anonymity", "employ", "rice", "hmda", "magic[private_fraction=0.265]"],
    "comparison/sealed_classification": ["spambase", "bank[private_fraction=0.11]"],
    "comparison/public_sample": [
        "student[label_range=scale,public_share=0.1]", "airfoil[public_share=0.1]", "abalone[public_share=0.1]",
        "red_wine[label_range=scale,public_share=0.1]", "white_wine[label_range=scale,public_share=0.1]",
    ],
}  # fmt: skip
METHODS = ("calibrated_score", "residual_score", "public_forest", "private_majority", "lpct_prune_max_edge", "phist",
           "public_residual_gp", "public_forest_regressor", "residual_gp", "private_mean", "ct_w", "dt")  # fmt: skip


def made(name, best, folder, larger=True):
    """An experiment with few sets, in which ``best`` maps (method, epsilon) to its score, and its standings."""
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
    put(folder, spec, scores, cards=cards)
    return typed(spec), standings_of([ReportEntry(typed(spec), folder)], cards), cards


def advised(name, best, folder, larger=True):
    """Advice by what is public and budget."""
    body, table, _ = made(name, best, folder, larger)
    return {(found.given, found.epsilon): found for found in advise(body, table)}


CLASSES = {
    ("calibrated_score", 1.0): 0.7,
    ("residual_score", 1.0): 0.8,
    ("residual_score", 4.0): 0.8,
    ("residual_score[variant=features]", 1.0): 0.6,
    ("private_labels_classifier[randomizer=rr,learner=ridge]", 4.0): 0.75,
    ("public_forest", 4.0): 0.72,
}


def test_the_best_fair_method_that_reads_no_more_is_advised(tmp_path):
    every = advised("comparison/classification", CLASSES, tmp_path)
    assert {place: found.method for place, found in every.items()} == {
        ("public features", 1.0): "residual_score[variant=features]",
        ("public features", 4.0): "private_labels_classifier[randomizer=rr,learner=ridge]",
        ("public sample", 1.0): "calibrated_score",
        ("public sample", 4.0): "public_forest",
        ("public features and sample", 1.0): "residual_score",
        ("public features and sample", 4.0): "residual_score",
    }
    assert {(found.held_out, len(found.sets)) for found in every.values()} == {(5, 5)}
    assert every["public features and sample", 1.0].second == "calibrated_score"


def test_a_planted_change_of_the_scores_changes_the_advice(tmp_path):
    before = advised("comparison/classification", CLASSES, tmp_path / "a")
    changed = {**CLASSES, ("calibrated_score", 4.0): 0.9, ("residual_score", 1.0): 0.4}
    after = advised("comparison/classification", changed, tmp_path / "b")
    differ = {place: found.method for place, found in after.items() if found.method != before[place].method}
    assert differ == dict.fromkeys(
        [("public sample", 4.0), ("public features and sample", 1.0), ("public features and sample", 4.0)],
        "calibrated_score",
    )


def test_advice_rests_on_five_data_sets_at_least_and_says_how_many_are_held_out(tmp_path):
    body, table, _ = made("comparison/classification", CLASSES, tmp_path)
    sets = sorted(set(table["dataset"]))

    def rests_on(held_out, development):
        roles = dict.fromkeys(held_out, "sealed") | dict.fromkeys(development, "development")
        rows = table.assign(role=table["dataset"].map(roles)).dropna(subset=["role"])
        return {(tuple(found.sets), found.held_out) for found in advise(body, rows)}

    assert rests_on(sets[:5], sets[5:]) == {(tuple(sets[:5]), 5)}
    assert rests_on(sets[:3], sets[3:]) == {(tuple(sets), 3)}
    assert rests_on(sets[:4], []) == set()


def test_few_sets_tell_nobody_apart_and_the_page_says_so(tmp_path):
    body, table, cards = made("comparison/classification", CLASSES, tmp_path)
    assert all(found.second in found.tied for found in advise(body, table))
    shown = choices([body], table.assign(over_free=2.0), cards)
    assert shown and all(row["second"].endswith(" (not significantly different)") for row in shown)


def test_small_errors_win_and_masks_are_choices_of_their_own(tmp_path):
    best = {("public_forest_regressor", 1.0): 0.3, ("residual_gp", 4.0): 0.3, ("public_residual_gp", 4.0): 0.35}
    found = advised("comparison/public_sample", best, tmp_path, larger=False)
    assert {(one.held_out, len(one.sets)) for one in found.values()} == {(2, 5)}
    assert {place: one.method for place, one in found.items()} == {
        ("public sample", 1.0): "public_forest_regressor",
        ("public sample", 4.0): "residual_gp",
        ("public features and sample", 1.0): "public_forest_regressor",
        ("public features and sample", 4.0): "residual_gp",
    }


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


def test_choices_are_losses_over_the_best_without_privacy(tmp_path):
    ratios = {"abalone": 2, "airfoil": 2, "bike": 4, "white_wine": 4, "visits": 2, "portfolio": 16}
    names = {"panel": "", "mask": "aligned", "epsilon": 1.0, "selection": "tuning_free", "task": "regression",
             "experiment": "comparison/regression", "privacy": "semi_feature_ldp", "bits": 1.0, "metric": "mse",
             "over_constant": 0.5}  # fmt: skip
    held = dict.fromkeys(("abalone", "bike", "white_wine"), "held out")
    rows = [names | {"dataset": d, "method": m, "loss": level * v, "over_free": level * v,
                     "role": held.get(d, "development")}
            for d, v in ratios.items() for m, level in (("residual_gp", 1.0), ("private_constant", 2.0))]  # fmt: skip
    found = choices([catalogue.experiment("comparison/regression")], pd.DataFrame(rows), {})
    assert [(row["users"], row["free"].partition(" ")[0], row["sets"]) for row in found] == [
        ("any number", f"{2 ** (11 / 6):.2f}", "6"), ("1,000 or more", f"{2 ** (7 / 5):.2f}", "5")
    ]  # fmt: skip
    assert [row["held"] for row in found] == [f"{n}; × {2 ** (5 / 3):.2f} on 3" for n in (3, 2)]
    same = {"task": "regression", "features": "some", "sample": "no", "epsilon": "1", "method": "ResidualGP",
            "second": "PrivateConstant", "command": "lpbench dataset=NAME method=residual_gp epsilon=1"}  # fmt: skip
    assert all(row.items() >= same.items() and row["constant"].startswith("0.50") for row in found)


CASES = [("residual_gp", "regression", False), ("public_residual_gp", "regression", True),
         ("public_forest_regressor", "regression", True), ("residual_score", "classification", True),
         ("residual_score[variant=features]", "classification", False),
         ("calibrated_score", "classification", True), ("public_forest", "classification", True)]  # fmt: skip


@pytest.mark.parametrize(("selector", "task", "sample"), CASES)
def test_the_code_of_an_answer_runs_on_arrays(selector, task, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, n in (("", 200), ("_public", 40), ("_new", 5)):
        np.save(f"X{name}.npy", rng.random((n, 3)))
        np.save(f"y{name}.npy", rng.integers(0, 2, n) if task == "classification" else rng.random(n))
    code = code_of(selector, sample)
    assert len([line for line in code.splitlines() if line]) <= 10
    exec(code.replace("EPSILON", "1"), {})
    assert np.load("predictions.npy").shape == (5,)


def test_every_method_that_a_committed_page_advises_has_code_that_is_tried():
    advised = set(re.findall(r"<code>lpbench dataset=NAME method=(\S+) ", (COMMITTED / "use.html").read_text("utf-8")))
    assert advised and {html.unescape(name).strip("'") for name in advised} <= {selector for selector, _, _ in CASES}


def test_the_page_of_choices_is_well_formed(tmp_path):
    body, table, cards = made("comparison/classification", CLASSES, tmp_path)
    table = table.assign(over_free=2.0).where(table["privacy"] != NONE)
    shown = choices([body], table.dropna(subset=["method"]), cards)
    assert {row["task"] for row in shown} == {"classification"}
    menu = {"pages": [("use.html", USE)], "here": "use.html", "codes": [0] * len(shown)}
    page = Page(render("use.html.j2", title=USE, choices=shown, **menu))
    assert not page.open and {"filters", "answer"} <= set(page.ids)


def test_the_committed_page_answers_for_every_choice():
    text = (COMMITTED / "use.html").read_text(encoding="utf-8")
    for features, sample in ASKED.values():
        assert re.search(rf"<td>{features}</td><td>{sample}</td>", text), (features, sample)
