"""Advice: a planted change of the scores changes what a user is told; nobody is told a method that reads more."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.gains import gains, numbers
from lpbench.analysis.summary import NON_PRIVATE_PANEL
from lpbench.experiments import catalog
from lpbench.members import bare_name
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages import advice
from lpbench.reporting.pages.advice import ASKED, RULE, advise, choices, code_of, sizes, worked
from lpbench.reporting.pages.site import USE
from lpbench.reporting.render import render
from lpbench.reporting.standings import read_standings, standings_of
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
    cards = {s: replace(catalog.method(s), grid={}, grid_by_mask={}, tuning_free={}) for s in selectors}
    put(folder, spec, scores, cards=cards)
    return typed(spec), standings_of([ReportEntry(typed(spec), folder)], cards), cards


def advised(name, best, folder, larger=True):
    """Advice by inputs and budget."""
    body, table, _ = made(name, best, folder, larger)
    return {(found.inputs, found.epsilon): found for found in advise(body, table)}


CLASSES = {
    ("calibrated_score", 1.0): 0.7,
    ("residual_score", 1.0): 0.8,
    ("residual_score", 4.0): 0.8,
    ("residual_score[variant=features]", 1.0): 0.6,
    ("private_labels_classifier[randomizer=rr,learner=ridge]", 4.0): 0.75,
    ("public_forest", 4.0): 0.72,
}


RECORD, SHOWN, BOTH = ("label and features, public sample", "label, public features",
                       "label, public features, public sample")  # fmt: skip


def test_the_best_fair_method_of_equal_inputs_is_advised(tmp_path):
    every = advised("comparison/classification", CLASSES, tmp_path)
    assert {place: found.method for place, found in every.items() if place[0] != "label and features"} == {
        (SHOWN, 1.0): "residual_score[variant=features]",
        (SHOWN, 4.0): "private_labels_classifier[randomizer=rr,learner=ridge]",
        (RECORD, 1.0): "calibrated_score",
        (RECORD, 4.0): every[RECORD, 4.0].method,
        (BOTH, 1.0): "residual_score",
        (BOTH, 4.0): "residual_score",
    }
    assert {len(found.sets) for found in every.values()} == {5}


def test_asking_nobody_is_advised_unless_users_add_something_for_certain(tmp_path):
    every = advised("comparison/classification", CLASSES, tmp_path)
    assert not every[BOTH, 1.0].instead and not every[RECORD, 1.0].instead, "0.8 and 0.7 beside 0.5 of public data"
    assert every[RECORD, 4.0].instead == "public", "0.5 beside 0.72 of public data"
    assert not every[SHOWN, 4.0].instead and every["label and features", 1.0].instead == "constant"


@pytest.mark.parametrize("inputs", [SHOWN, BOTH])
def test_one_rule_with_a_public_sample_and_without_the_interval_lies_above_0(inputs, tmp_path):
    body, table, cards = made("comparison/classification", CLASSES, tmp_path)
    columns, held = ["over_constant", "over_public"], table["role"] == "held out"
    uneven = table.assign(**{c: table[c].where(~held, table.groupby("method").cumcount() % 2 + 0.4) for c in columns})
    found = next(one for one in advise(body, uneven) if (one.inputs, one.epsilon) == (inputs, 4.0))
    added = numbers(found.rows, "held out")
    assert added["gain"] > 0 > added["low"] and found.instead == added["beside"]
    (answer,) = [a for a in choices([body], uneven, cards) if f"epsilon={found.epsilon:g}&" in f"{a['link']}&"
                 and urlencode({"inputs": inputs}) + "&" in a["link"]]  # fmt: skip
    named = (
        "PrivateMajority"
        if inputs == SHOWN
        else "ask nobody, and use the best of PublicForest, CT-Q, Learner on public rows"
    )
    assert answer["method"] == named, "the line of public data is the best of several learners"


def test_no_private_method_was_run_where_the_page_says_so():
    """Label-only answers would need runs in which no feature is protected, those of a curator runs of their own."""
    table = read_standings(COMMITTED)
    held = table[(table["privacy"] != "none") & (table["role"] == "held out")]
    held = held[held["mask"].map(bare_name).eq("label_only") | held["inputs"].str.contains("curator")]
    assert held.groupby(["task", "inputs", "epsilon"])["dataset"].nunique().max() < 2 or held.empty


def test_a_public_forest_under_another_name_is_never_advised_over_asking_nobody(tmp_path):
    """It ignores its users: its losses are those of public data alone, whatever it asks, and however it ranks."""
    body, table, _ = made("comparison/classification", CLASSES, tmp_path)
    same = table.assign(over_public=1.0)
    found = [one for one in advise(body, same) if "public sample" in one.inputs]
    assert found and {one.instead for one in found} == {"public"}
    both = gains(same)
    assert not (both.loc[both["beside"] == "public", "low"] > 0).any()


def test_a_planted_change_of_the_scores_changes_the_advice(tmp_path):
    before = advised("comparison/classification", CLASSES, tmp_path / "a")
    changed = {**CLASSES, ("residual_score[variant=features]", 1.0): 0.4, ("calibrated_score", 4.0): 0.9}
    after = advised("comparison/classification", changed, tmp_path / "b")
    assert before[RECORD, 4.0].instead == "public" and not after[RECORD, 4.0].instead
    assert after[RECORD, 4.0].method == "calibrated_score"
    assert after[SHOWN, 1.0].method != before[SHOWN, 1.0].method


def test_advice_rests_on_held_out_sets_alone_two_at_least(tmp_path):
    body, table, _ = made("comparison/classification", CLASSES, tmp_path)
    sets = sorted(set(table["dataset"]))

    def rests_on(held_out, development):
        roles = dict.fromkeys(held_out, "held out") | dict.fromkeys(development, "development")
        rows = table.assign(role=table["dataset"].map(roles)).dropna(subset=["role"])
        return {tuple(found.sets) for found in advise(body, rows)}

    assert rests_on(sets[:5], sets[5:]) == {tuple(sets[:5])}
    assert rests_on(sets[:3], sets[3:]) == {tuple(sets[:3])}
    assert rests_on(sets[:1], sets[1:]) == set()


def test_few_sets_tell_nobody_apart_and_the_page_says_so(tmp_path):
    body, table, cards = made("comparison/classification", CLASSES, tmp_path)
    assert all(found.second in ("", *found.tied) for found in advise(body, table))
    shown = choices([body], table, cards)
    assert any(row["second"].endswith(" (not significantly different from the first)") for row in shown)


def test_small_errors_win_and_masks_are_choices_of_their_own(tmp_path):
    best = {("public_forest_regressor", 1.0): 0.3, ("residual_gp", 4.0): 0.3, ("public_residual_gp", 4.0): 0.35}
    found = advised("comparison/public_sample", best, tmp_path, larger=False)
    assert {len(one.sets) for one in found.values()} == {2}
    methods = {place: one.method for place, one in found.items()}
    assert methods["label and features, public features", 4.0] == "residual_gp"
    assert methods["label and features", 4.0] == "residual_gp", "under the other mask nothing is shown"
    assert methods["label and features, public sample", 4.0] == "public_residual_gp"


def test_an_answer_has_both_numbers_and_one_of_several_runs(tmp_path):
    ratios = {"abalone": 2, "airfoil": 2, "bike": 4, "white_wine": 4, "visits": 2, "portfolio": 16}
    names = {"panel": "", "mask": "aligned", "epsilon": 1.0, "selection": "tuning_free", "task": "regression",
             "experiment": "comparison/regression", "privacy": "semi_feature_ldp", "bits": 1.0, "metric": "mse",
             "over_constant": 0.5, "inputs": "label, public features", "public_over_free": np.nan}  # fmt: skip
    held = dict.fromkeys(("abalone", "bike", "white_wine"), "held out")
    rows = [names | {"dataset": d, "method": m, "loss": level * v, "over_free": level * v,
                     "role": held.get(d, "development")}
            for d, v in ratios.items() for m, level in (("residual_gp", 1.0), ("krr", 2.0))]  # fmt: skip
    (found,) = choices([catalog.experiment("comparison/regression")], pd.DataFrame(rows), {})
    same = {"task": "regression", "asked": "label", "features": "some", "sample": "no", "epsilon": "1",
            "method": "ResidualGP", "change": "50 % less error [50, 50] on 3 sets: Abalone, Bike, White wine",
            "development": "50 % less error [50, 50]", "lines": "6.35 – 3.17",
            "command": "lpbench dataset=NAME method=residual_gp epsilon=1"}  # fmt: skip
    assert found.items() >= same.items()


CASES = [("residual_gp", "regression", False), ("public_residual_gp", "regression", True),
         ("public_forest_regressor", "regression", True), ("residual_score", "classification", True),
         ("residual_score[variant=features]", "classification", False),
         ("calibrated_score", "classification", True), ("public_forest", "classification", True),
         ("private_majority", "classification", False), ("private_constant", "regression", False),
         *((f"private_labels_regressor[learner=gaussian_process,randomizer={r}]", "regression", False)
           for r in ("optimal_unbiased", "levels", "rr_on_bins")),
         ("private_labels_regressor[learner=ridge,randomizer=optimal_unbiased]", "regression", False)]  # fmt: skip


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
    shown = choices([body], table, cards)
    assert {row["task"] for row in shown} == {"classification"}
    menu = {"pages": [("use.html", USE)], "here": "use.html", "codes": [0] * len(shown)}
    text = render(
        "use.html.j2", title=USE, choices=shown, rule=RULE, sizes=sizes(shown, table), worked=worked(shown), **menu
    )
    page = Page(text)
    assert "Classification, label and features sent, some features protected, no public sample." in text
    assert not page.open and {"filters", "answer"} <= set(page.ids)


def test_sizes_are_those_of_the_held_out_sets_that_are_at_hand(monkeypatch):
    facts = {"abalone": (900, 8), "airfoil": (4000, 40), "taxi": (None, 5)}
    monkeypatch.setattr(
        advice, "describe", lambda name, _: SimpleNamespace(n_train=facts[name][0], n_features=facts[name][1])
    )
    roles = ["held out", "held out", "held out", "development"]
    table = pd.DataFrame({"task": "regression", "role": roles, "dataset": ["abalone", "airfoil", "taxi", "nothing"]})
    # s* = ceil(ln sqrt(d)): 1 of 5, 2 of 8 and of 40 features
    assert sizes([{"task": "regression"}], table) == {"users": (900, 4000), "protected": (1, 2)}
    assert sizes([{"task": "classification"}], table) == {}


def test_the_committed_page_answers_each_choice_once_by_the_rule_that_it_states():
    text = (COMMITTED / "use.html").read_text(encoding="utf-8")
    rows = [tuple(re.findall("<td>(.*?)</td>", row)[: len(ASKED)]) for row in text.split("<tr>") if "<td>" in row]
    assert len(set(rows)) == len(rows) >= 40 and html.escape(RULE) in text
    need = " ".join((ROOT / "docs" / "need.md").read_text(encoding="utf-8").split())
    assert RULE in need, "one rule on the page and in docs/need.md"
