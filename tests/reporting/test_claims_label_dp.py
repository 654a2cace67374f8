"""Verdicts on Z's claims and the table of slopes, from curves with known exponents."""

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis import read_csv, write_csv
from lpbench.analysis.exponents import table_i
from lpbench.experiments.summaries import CHOSEN_FILE
from lpbench.papers.label_dp.figures import write_budget_rates, write_rates
from lpbench.papers.label_dp.rates import rate_table, read_rates, row_of
from lpbench.reporting.evidence import Evidence
from lpbench.selectors import parse_selector
from tests.reporting.fake import experiment, scores_of, typed
from tests.reporting.store import decided, put

NAME = "label_dp/table1"


def noisy(name: str, mean) -> tuple[dict, pd.DataFrame]:
    """An experiment and scores about a formula, with 2 % of noise of its own in every replication and cell."""
    body = experiment(name)
    scores = scores_of(body, mean, points=({},), metric="excess_risk", noise=0.0, replications=16)
    scores["value"] *= 1 + 0.02 * np.random.default_rng(5).normal(size=len(scores))
    return body, scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("theory")
    put(path, *noisy(NAME, theory))
    return path


def altered(folder, target, change) -> Evidence:
    """The same results with the risks of some curves multiplied by ``change(model, row)``."""
    (target / NAME).mkdir(parents=True)
    summary, chosen = read_csv(folder / NAME / "summary.csv"), pd.read_parquet(folder / NAME / CHOSEN_FILE)
    for frame, column in ((summary, "mean"), (chosen, "value")):
        rows = frame[["dataset", "method", "epsilon", "x"]].to_dict("records")
        frame[column] *= [change(row_of(parse_selector(row["method"])[0])[1], row) for row in rows]
    write_csv(summary, target / NAME / "summary.csv")
    chosen.to_parquet(target / NAME / CHOSEN_FILE, index=False)
    return Evidence(target)


def theory(key) -> float:
    """Risk by the theorems: a sampling term and a privacy term with constants of a plausible size."""
    base, params = parse_selector(key["method"])
    if params.get("bins") == 1:
        return 2.0
    task, model = row_of(base)
    moment = parse_selector(key["dataset"])[1].get("moment")
    rate = table_i(task, model, beta=0.5, d=1, moment=moment)
    n, epsilon = key["x"], key["epsilon"]
    sampling = 0.5 * n ** -table_i(task, "none", beta=0.5, d=1).sampling
    if model == "none":
        return sampling
    if model == "label_ldp":
        return 0.5 * (n * min(epsilon**2, 1.0) / 8) ** -rate.privacy
    if model == "ldp":
        return (n * epsilon**2 / 500) ** -rate.privacy
    constant = {"label_cdp": 1.0, "cdp": 2.0 if task == "classification" else 6.0}[model]
    return sampling + 0.5 * (n * epsilon / constant / 4) ** -rate.privacy


def classes(key) -> float:
    """Bit vector: (ln K)^0.4; K-ary response: K^(1/2), below the bit vector up to K = 8."""
    params = parse_selector(key["method"])[1]
    K = key["x"]
    return 0.6 * (K / 2) ** 0.5 if params.get("mechanism") == "krr" else np.log(K) ** 0.4


@pytest.mark.parametrize("claim", ["Z1", "Z3", "Z4", "Z5"])
def test_curves_that_follow_the_theorems_satisfy_the_claims(folder, claim):
    found = decided(claim, Evidence(folder))
    assert found.outcomes[1] == "holds", found


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        # Label LDP as slow as full LDP.
        ("Z1", lambda model, key: key["x"] ** 0.2 if model == "label_ldp" else 1.0),
        # Label LDP is slower than no privacy.
        ("Z3", lambda model, key: key["x"] ** 0.1 if model == "label_ldp" else 1.0),
        # The budget enters as N eps.
        ("Z3", lambda model, key: key["epsilon"] ** 0.5 if model == "label_ldp" and key["epsilon"] < 1 else 1.0),
        # Heavy tails cost nothing.
        ("Z4", lambda model, key: key["x"] ** -0.2 if "moment=2" in key["dataset"] and model == "label_ldp" else 1.0),
        # The cost of central privacy stays.
        ("Z5", lambda model, key: key["x"] ** 0.2 if model in ("label_cdp", "cdp") else 1.0),
    ],
)
def test_curves_that_contradict_a_claim_fail_it(folder, tmp_path, claim, change):
    assert decided(claim, altered(folder, tmp_path, change)).outcomes[1] == "fails"


def test_what_is_equal_by_construction_does_not_count(folder):
    found = decided("Z2", Evidence(folder))
    assert found.outcomes[1] == "no verdict" and "equal by construction" in found.reason
    assert {v.ours_outcome for v in found.verdicts} == {"holds"}


@pytest.mark.parametrize(
    ("mean", "wanted"),
    [
        (lambda key: classes(key), "holds"),
        # K-ary response no worse than the bit vector; the bit vector as bad as K-ary response.
        (lambda key: np.log(key["x"]) ** 0.4, "fails"),
        (lambda key: key["x"] ** 0.5, "fails"),
    ],
)
def test_bit_vectors_against_k_ary_response(tmp_path, mean, wanted):
    put(tmp_path, *noisy("label_dp/classes", mean))
    found = decided("Z6", Evidence(tmp_path))
    assert found.outcomes[1] == wanted


def test_slopes_are_recovered_and_compared_with_the_right_exponent(folder):
    table = rate_table(Evidence(folder).curves(NAME)).set_index(["panel", "method", "epsilon"])
    label = table.loc["regression", "label_ldp_knn", 1.0]
    assert label["slope"] == pytest.approx(0.5, abs=0.01) == pytest.approx(label["local"], abs=0.02)
    assert label["local_low"] <= 0.5 <= label["local_high"] and label["covers"]
    assert len(label["local_slopes"].split()) == 7
    heavy = table.loc["heavy_tail_2", "label_ldp_knn[label_bound=2,moment=2]", 2.0]
    assert (heavy["expected_low"], heavy["expected_high"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    # Central privacy: the privacy term at a small budget, the sampling term at a large one, a range between.
    private = table.loc["regression", "label_cdp_mean", 0.02]
    assert private["expected_low"] == private["expected_high"] == pytest.approx(2 / 3)
    between = table.loc["regression", "label_cdp_mean", 0.24]
    assert (between["expected_low"], between["expected_high"]) == (pytest.approx(0.5), pytest.approx(2 / 3))
    assert between["covers"] and 0.5 < between["local"] < 2 / 3
    assert np.isnan(table.loc["regression", "cube_mean", np.inf]["ratio_to_non_private"])
    assert not any("bins=1" in method for _, method, _ in table.index)


def test_rates_are_written_with_their_figures(folder):
    write_rates(typed(experiment(NAME)), folder / NAME, 0)
    assert {"rates.csv", "table1.svg", "collapse.svg"} <= {p.name for p in (folder / NAME).iterdir()}
    [shown] = read_rates(folder / NAME)
    assert ("regression", "label LDP", "label_ldp_knn", "1", "0.500") in [row[:5] for row in shown.rows]
    assert read_rates(folder) == []
    table = rate_table(Evidence(folder).curves(NAME))
    assert len(read_csv(folder / NAME / "rates.csv")) == len(table)


def test_slopes_in_the_budget_are_fitted_where_privacy_dominates(tmp_path):
    name = "label_dp/budget"
    put(tmp_path, *noisy(name, lambda key: key["epsilon"] ** -1.0))
    write_budget_rates(typed(experiment(name)), tmp_path / name, 0)
    rates = pd.read_csv(tmp_path / name / "rates.csv").set_index(["panel", "method"])
    label = rates.loc["regression", "label_ldp_knn"]
    assert label["expected"] == pytest.approx(1.0) == pytest.approx(label["slope"], abs=0.02)
    assert (label["epsilon_low"], label["epsilon_high"]) == (0.25, 1.0)
    assert rates.loc["regression", "label_cdp_mean"]["expected"] == pytest.approx(2 / 3)
    assert (tmp_path / name / "budget.svg").is_file()
