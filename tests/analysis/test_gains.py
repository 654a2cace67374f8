"""Gains of users over public data and a constant, by hand; no comparison of the committed results crosses inputs."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lpbench.analysis.gains import UNKNOWN, comparable, gain, gains, in_words
from lpbench.analysis.standings import Run, standings
from tests.analysis.test_standings import rows

SAMPLE = "label, public sample"


def table(private, **sets):
    """Standings of a constant with loss 4, public forests with loss 2, no privacy with loss 1, and a private method."""
    parts = []
    for dataset in sets:
        parts += [
            rows("private_constant", dataset, [4.0, 4.0]),
            rows("public_forest_regressor", dataset, [2.0, 2.0], selection="tuning_free"),
            rows("dt", dataset, [1.0, 1.0]),
            rows("own", dataset, private[dataset], selection="tuning_free"),
        ]
    chosen = pd.DataFrame([row for part in parts for row in part])
    found = standings([Run("test/table", chosen, dict.fromkeys(chosen["method"], "ldp"), sets)])
    inputs = {"own": SAMPLE, "public_forest_regressor": "nothing, public sample", "private_constant": "label"}
    return found.assign(inputs=found["method"].map(inputs).fillna("records"))


def test_both_numbers_by_hand():
    assert vars(gain([0.5])) == pytest.approx({"estimate": 0.5, "low": np.nan, "high": np.nan}, nan_ok=True)
    found, logs = gain([0.5, 0.8, 0.9]), np.log([0.5, 0.8, 0.9])
    half = stats.t.ppf(0.975, 2) * stats.sem(logs)
    assert found.estimate == pytest.approx(1 - stats.gmean([0.5, 0.8, 0.9]))
    assert (found.low, found.high) == pytest.approx((1 - np.exp(logs.mean() + half), 1 - np.exp(logs.mean() - half)))


@pytest.mark.parametrize(
    ("gained", "words"),
    [
        (
            [(-0.06, -0.11, -0.01), (0.0, -0.03, 0.03), (0.02, -0.01, 0.05), (0.05, 0.01, 0.09), (0.08, 0.03, 0.12)],
            "6 % more error than public data alone at ε = 0.5, no difference shown at 1 and 2, "
            "5 to 8 % less error at 4 and 8",
        ),
        ([(-0.01, -0.03, 0.01), (0.04, -0.01, 0.1)], "no difference from public data alone is shown at any ε"),
        (
            [(0.01, -0.1, 0.1), (0.02, -0.1, 0.1), (0.03, -0.1, 0.1), (0.061, 0.02, 0.1), (0.058, 0.01, 0.1)],
            "no difference from public data alone shown at ε = 0.5, 1 and 2, 6 % less error at 4 and 8",
        ),
        ([(0.2, np.nan, np.nan)], "no difference from public data alone is shown at any ε"),
    ],
)
def test_only_gains_whose_interval_leaves_out_zero_are_called_a_difference(gained, words):
    of = pd.DataFrame(gained, columns=["gain", "low", "high"]).assign(epsilon=[0.5, 1.0, 2.0, 4.0, 8.0][: len(gained)])
    assert in_words(of) == words


def test_held_out_and_development_sets_are_never_taken_together():
    sets = {"a": "held out", "b": "held out", "c": "development"}
    found = gains(table({"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [3.0, 3.0]}, **sets)).set_index("role")
    assert found["method"].tolist() == ["own", "own"] and set(found["beside"]) == {"public"}
    assert found.loc["held out", ["sets", "names", "gain", "low", "high"]].tolist() == [2, "a b", 0.5, 0.5, 0.5]
    assert found.loc["development", ["sets", "gain"]].tolist() == [1, -0.5]
    assert found.loc["held out", ["constant", "public", "private"]].tolist() == [4.0, 2.0, 1.0]


def test_without_a_public_sample_the_gain_is_over_the_constant():
    known = table({"a": [1.0, 1.0], "b": [1.0, 1.0]}, a="held out", b="held out")
    found = gains(known.assign(inputs=known["inputs"].replace(SAMPLE, "label, public features")))
    assert found[["beside", "gain"]].to_numpy().tolist() == [["constant", 0.75]]


def test_public_learners_constants_and_unknown_inputs_are_compared_with_nobody():
    known = table({"a": [1.0, 1.0]}, a="held out")
    assert comparable(known)["method"].tolist() == ["own"]
    assert comparable(known.assign(inputs=known["inputs"].replace(SAMPLE, UNKNOWN))).empty


def test_a_public_forest_under_another_name_adds_nothing():
    same = table({"a": [2.0, 2.0], "b": [2.0, 2.0]}, a="held out", b="held out")
    assert gains(same)[["gain", "low"]].to_numpy().tolist() == [[0.0, 0.0]]


def test_a_public_learner_with_few_replications_elsewhere_does_not_shorten_the_reference():
    many = [
        rows("public_forest", "a", [2.0] * 8, selection="tuning_free"),
        rows("ct_q", "a", [3.0] * 8, selection="tuning_free", params='{"max_depth":8}'),
        rows("own", "a", [1.0] * 4 + [3.0] * 4),
    ]
    few = rows("ct_q", "a", [1.0] * 2, selection="oracle", params='{"max_depth":8}')
    chosen = [pd.DataFrame([row for part in parts for row in part]) for parts in (many, [few])]
    runs = [Run(f"test/{k}", one, dict.fromkeys(one["method"], "ldp"), {}) for k, one in enumerate(chosen)]
    found = standings(runs).set_index("method")
    assert found.loc["own", "over_public"] == 1.0


def test_public_learners_that_read_shown_features_stand_beside_methods_that_do():
    parts = [
        rows("public_forest", "a", [2.0, 2.0], selection="tuning_free"),
        rows("public_learner_regressor", "a", [1.0, 1.0], selection="tuning_free", mask="aligned"),
        rows("public_learner_regressor", "a", [0.5, 0.5], selection="tuning_free", mask="label_only"),
        *(rows(name, "a", [1.0, 1.0], mask="aligned") for name in ("sees", "blind")),
    ]
    chosen = pd.DataFrame([row for part in parts for row in part])
    reads = {"sees": f"{SAMPLE}, public features", "public_learner_regressor": "nothing, public features"}
    run = Run("test/table", chosen, dict.fromkeys(chosen["method"], "ldp"), {})
    found = standings([run], lambda row: reads.get(row["method"], SAMPLE)).set_index("method")
    assert found.loc["sees", "over_public"] == 1.0 and found.loc["blind", "over_public"] == 0.5
