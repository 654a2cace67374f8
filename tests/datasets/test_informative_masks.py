"""Masks that tell something of the values: exact odds by hand, equal numbers; groups of people in test rows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lpbench.audit.contract import regression_problem
from lpbench.datasets import load_manifest, make_problem
from lpbench.datasets.masks import make_mask, posterior_odds, secret_bits
from lpbench.errors import ConfigurationError


def test_odds_that_a_mask_gives_away_by_hand():
    choices = np.array([[0.25, 0.5], [0.75, 0.5]])  # bit 0 and 1, two features
    shown = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)  # three users
    assert posterior_odds(choices, shown).tolist() == [3.0, pytest.approx(1 / 3), 3.0]
    alike = np.array([[0.2, 0.2], [0.6, 0.6]])  # both features tell of one bit
    assert posterior_odds(alike, shown) == pytest.approx([1.5, 1.5, 9.0])


def test_a_mask_of_a_strength_multiplies_odds_by_its_exponential():
    rng = np.random.default_rng(0)
    secret = rng.integers(0, 2, (200_000, 3))
    mask = make_mask("informative", len(secret), 2, rng, {"strength": 1.5}, secret)
    for feature in range(2):
        among = [mask[secret[:, feature] == bit, feature].mean() for bit in (0, 1)]
        assert among == pytest.approx([1 / (1 + math.e**1.5), 1 / (1 + math.e**-1.5)], abs=0.01)
    odds = posterior_odds(np.array([[1 / (1 + math.e**1.5)], [1 / (1 + math.e**-1.5)]]), np.array([[True], [False]]))
    assert odds == pytest.approx([math.e**1.5, math.e**-1.5])
    by_label = make_mask("informative", len(secret), 2, rng, {"strength": 1.5, "label": True}, secret)
    assert by_label[secret[:, -1] == 1].mean() == pytest.approx(1 / (1 + math.e**-1.5), abs=0.01)
    assert make_mask("informative", 50_000, 2, rng, {"strength": 0.0}, secret[:50_000]).mean() == pytest.approx(
        0.5, abs=0.01
    )


def test_secret_bits_split_values_and_labels_in_the_middle():
    X, y = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [2.0, 0.0, 0.0], [3.0, 0.0, 1.0]]), np.array([0, 0, 1, 1])
    bits = secret_bits(X, y, np.array([0, 1, 1]))
    assert bits.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]]


@pytest.mark.mirror
def test_everybody_protects_as_many_features():
    mask = make_mask("equal_number", 5000, 6, np.random.default_rng(1), {"n_protected": 2})
    assert (mask.sum(axis=1) == 2).all() and mask.mean(axis=0) == pytest.approx([1 / 3] * 6, abs=0.03)
    assert make_problem("titanic", None, "informative", {"strength": 2.0}).mask.any()


@pytest.mark.mirror
def test_groups_fare_by_hand_and_are_never_trained_on():
    problem = replace(
        regression_problem(), y_test=np.array([0.0, 0.0, 1.0, 1.0]), metric="worst_group_mse",
        context={"group": np.array([0, 0, 1, 1])},
    )  # fmt: skip
    wrong = np.array([0.0, 0.5, 0.0, 0.0])
    assert problem.score(wrong) == 1.0
    assert replace(problem, metric="group_gap_mse").score(wrong) == 1.0 - 0.125
    assert replace(problem, metric="at_point_mse").score(wrong) == 0.0
    classes = replace(problem, y_test=np.array([0, 0, 1, 1]), metric="worst_group_accuracy")
    assert classes.score(np.array([[0, 1, 1, 1], [0, 0, 0, 0]])).tolist() == [0.5, 0.0]
    with pytest.raises(ConfigurationError, match="groups"):
        replace(problem, context={}).score(wrong)
    drawn = make_problem("titanic", {"metric": "worst_group"})
    assert drawn.metric == "worst_group_accuracy" and drawn.context["group"].size == len(drawn.y_test)
    assert (drawn.context["group"] == (drawn.X_test[:, drawn.context["columns"].index("Sex")] > 0.5)).all()
    columns = make_problem("titanic", {"sensitivity": "group"}).context["columns"]
    assert columns[0] == load_manifest("titanic").group["column"]
    with pytest.raises(ConfigurationError, match="names no group"):
        make_problem("rice", {"metric": "group_gap"})


@pytest.mark.mirror
def test_liars_are_a_parameter_of_a_data_set():
    drawn = make_problem("titanic", {"liars": 0.05, "poison": "output"})
    assert drawn.context["liars"].share == 0.05 and "liars" not in make_problem("titanic").context
