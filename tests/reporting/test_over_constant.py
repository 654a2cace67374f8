"""Losses over the constant's by hand, and the sentence and chart that follow from them."""

import pandas as pd
import pytest

from lpbench.experiments import catalogue
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.findings import on_noisy_labels
from lpbench.reporting.pages.over_constant import over_constant, published_methods, sentence
from lpbench.reporting.standings import standings_of
from tests.reporting.fake import card, experiment, scores_of, typed
from tests.reporting.store import put

NOISE = "private_labels_regressor[learner=gaussian_process,randomizer={}]"
LEVEL = {"residual_gp": 1.0, "histoftree_cart": 5.0, "par_dt": 4.0, NOISE.format("laplace"): 3.0,
         NOISE.format("piecewise"): 2.0, "private_mean": 4.5}  # fmt: skip


SETS = {"abalone": 1.0, "airfoil": 10.0, "student": 100.0, "visits": 0.1, "portfolio": 1.0, "pyrimidines": 1.0}


def run(folder, level, sets=SETS):
    body = experiment("field/regression")
    body["groups"] = [{"dataset": list(sets), "mask": ["aligned"], "method": list(LEVEL), "epsilon": [1.0, 2.0, 4.0]}]
    cards = {"residual_gp": card("ResidualGP", "regression", {"depth": 1}, {"depth": [1]})}
    put(folder, body, scores_of(body, level, replications=4, points=({"depth": 1},)), cards=cards)
    return ReportEntry(typed(body), folder)


def chart(folder, level, sets=SETS):
    cards = catalogue.methods()
    entry = run(folder, level, sets)
    table = over_constant(standings_of([entry], cards), [entry], cards)
    return table, sentence(table, cards)


def test_ratios_by_hand(tmp_path):
    table, said = chart(tmp_path, lambda k: LEVEL[k["method"]] * SETS[k["dataset"]])
    assert set(table["sets"]) == {6} and set(table["task"]) == {"regression"}
    means = table[table["epsilon"] == 1].set_index("contender")["mean"]
    # the noise of the scores is small; the best of the published methods stands for all
    assert means["published"] == pytest.approx(4 / 4.5, rel=0.05)
    # the randomiser that is named first, not the one that turns out best
    assert means["noisy labels"] == pytest.approx(3 / 4.5, rel=0.05)
    assert means["ours"] == pytest.approx(1 / 4.5, rel=0.05)
    assert (table["low"] <= table["mean"]).all() and (table["mean"] <= table["high"]).all()
    over = table[table["contender"] == "noisy labels"]["over_published"]
    assert over.tolist() == pytest.approx([3 / 4] * 3, rel=0.05)
    shown = on_noisy_labels(table, catalogue.methods(), "").charts[0].rows
    assert [v.value for _, (v,) in shown] == pytest.approx([25, 75] * 3, abs=4) and "ε = 1" in shown[0][0]
    assert said == (
        "A Gaussian process on noisy labels (label and protected features) has a clearly smaller loss than the best "
        "published method in regression at ε = 1, 2, 4, beside ParDT (label and protected features)."
    )


def test_the_sentence_rests_on_the_interval_of_the_ratio(tmp_path):
    noise = NOISE.format("laplace")

    def level(key):
        # on average smaller at every budget, but at ε = 2 by one data set alone
        worse = 4.4 if key["dataset"] != "visits" else 0.1
        change = {1.0: 3.0, 2.0: worse, 4.0: 5.0}[key["epsilon"]] if key["method"] == noise else LEVEL[key["method"]]
        return change * SETS[key["dataset"]]

    assert " at ε = 1, beside" in chart(tmp_path / "a", level)[1]
    _, said = chart(tmp_path / "b", lambda k: 9.0 if k["method"] == noise else LEVEL[k["method"]])
    assert " at no budget, beside" in said


def test_few_data_sets_have_no_interval_and_no_clear_difference(tmp_path):
    few = dict(list(SETS.items())[:3])
    table, said = chart(tmp_path, lambda k: LEVEL[k["method"]] * few[k["dataset"]], few)
    assert table[["low", "high"]].isna().all(axis=None) and "at no budget" in said


def test_every_published_method_counts_also_on_public_rows_alone():
    assert published_methods(["ct_q", "lpct_cart", "residual_gp", "private_mean"]) == ["ct_q", "lpct_cart"]


def test_nothing_is_said_without_scores():
    assert sentence(over_constant(pd.DataFrame(columns=["task", "privacy", "experiment"]), [], {}), {}) == ""
