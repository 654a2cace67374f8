"""The front page's chart: errors over the constant's by hand, and the sentence that follows from them."""

from html import unescape

import numpy as np
import pandas as pd
import pytest

from lpbench.experiments import catalogue
from lpbench.paths import COMMITTED
from lpbench.reporting.baselines import collect_baselines, published_wins
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.findings import findings
from lpbench.reporting.pages.over_constant import FILE, over_constant, sentence
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import put

NOISE = "private_labels_regressor[learner=gaussian_process,randomizer={}]"
PAPERS = ("histoftree", "lpct", "label_dp")
LEVEL = {"residual_gp": 1.0, "histoftree_cart": 5.0, "par_dt": 4.0, NOISE.format("laplace"): 3.0,
         NOISE.format("piecewise"): 2.0, "private_mean": 4.5}  # fmt: skip


def run(folder, level):
    body = experiment("field/regression")
    sets = ["abalone", "airfoil", "student"]
    body["groups"] = [{"dataset": sets, "mask": ["aligned"], "method": list(LEVEL), "epsilon": [1.0, 2.0, 4.0]}]
    put(folder, body, scores_of(body, level, replications=4, points=({"depth": 1},)))
    return ReportEntry(typed(body), folder)


def test_ratios_by_hand(tmp_path):
    scale = {"abalone": 1.0, "airfoil": 10.0, "student": 100.0}
    table = over_constant([run(tmp_path, lambda k: LEVEL[k["method"]] * scale[k["dataset"]])])
    assert set(table["sets"]) == {3} and set(table["task"]) == {"regression"}
    means = table[table["epsilon"] == 1].set_index("contender")["mean"]
    # the noise of the scores is small; the best of the published methods and of the Gaussian processes stand for all
    assert means["published"] == pytest.approx(4 / 4.5, rel=0.05)
    assert means["noisy labels"] == pytest.approx(2 / 4.5, rel=0.05)
    assert means["ours"] == pytest.approx(1 / 4.5, rel=0.05)
    assert (table["low"] <= table["mean"]).all() and (table["mean"] <= table["high"]).all()
    assert (table["worst"] >= table["mean"]).all()
    assert (
        sentence(table)
        == "On average, a Gaussian process on noisy labels beats HistOfTree's tuned methods at every budget."
    )


def test_the_sentence_says_where_a_learner_on_noisy_labels_is_better():
    def table(noisy):
        contenders = (("published", "par_dt", (2, 2, 2)), ("noisy labels", "x", noisy))
        rows = [
            ("regression", c, e, m, v) for c, m, values in contenders for e, v in zip((1, 2, 4), values, strict=True)
        ]
        return pd.DataFrame(rows, columns=["task", "contender", "epsilon", "method", "mean"])

    for noisy, words in (((1, 1, 1), "at every budget"), ((3, 1, 1), "from ε = 2 on"), ((3, 3, 3), "at no budget"),
                         ((1, 3, 1), "at ε = 1, 4")):  # fmt: skip
        assert sentence(table(noisy)).endswith(f"HistOfTree's tuned methods {words}.")
    assert sentence(table((1, 1, 1)).iloc[:3]) == ""


def test_the_front_page_says_what_the_committed_scores_say():
    experiments = catalogue.experiments().values()
    entries = [
        ReportEntry(e, COMMITTED) for e in experiments if e.name.partition("/")[0] in ("field", "extensions", *PAPERS)
    ]
    table, known = over_constant(entries), collect_baselines(entries)
    shown = pd.read_csv(COMMITTED / f"{FILE}.csv")
    pd.testing.assert_frame_equal(shown, table, check_dtype=False, rtol=1e-6)
    assert np.isfinite(table[["mean", "low", "high", "worst"]]).all(axis=None)
    wins = [row for e in entries if e.was_run for row in published_wins(e.name, known)]
    found = findings(wins, table, entries, catalogue.methods())
    text = unescape((COMMITTED / "index.html").read_text(encoding="utf-8"))
    assert [f.name for f in found] == ["floor", "noisy-labels", "tuning-free"]
    assert [f.name for f in found if not (f.sentence in text and f.measured in text)] == []
