"""Inputs of methods follow from what fits ask, whatever their authors call them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpbench.analysis.gains import UNKNOWN
from lpbench.audit.inputs import inputs_of, inputs_of_model
from lpbench.estimators import PrivateMajority, PublicForest


@pytest.mark.parametrize(
    ("selector", "mask", "inputs"),
    [
        ("private_constant", "aligned", "label"),
        ("residual_gp", "aligned", "label and features, public features"),
        ("residual_gp", "all_private", "label and features"),
        ("residual_gp", "label_only", "label, public features"),
        ("private_labels_regressor[randomizer=laplace,learner=ridge]", "aligned", "label, public features"),
        ("residual_score", "aligned", "label, public features, public sample"),
        ("residual_score[variant=features]", "aligned", "label, public features"),
        ("calibrated_score", "aligned", "label and features, public sample"),
        ("public_forest", "aligned", "nothing, public sample"),
        ("public_learner_regressor[learner=ridge]", "aligned", "nothing, public features, public sample"),
        ("public_learner_regressor[learner=ridge]", "all_private", "nothing, public sample"),
        ("public_learner_classifier[learner=ridge,shown=false]", "aligned", "nothing, public sample"),
        ("cdp_mean", "aligned", "label, trusted curator"),
        ("dt", "aligned", "records"),
        ("private_selection_regressor[estimator=krr]", "aligned", "label and features, public features"),
    ],
)
def test_inputs_are_what_fits_ask(selector, mask, inputs):
    assert inputs_of(selector, mask) == inputs


@dataclass(eq=False, repr=False)
class Renamed(PublicForest):
    """The public forest under another name, which says that it takes a budget."""

    uses_epsilon = True
    epsilon: float = 1.0


@dataclass(eq=False, repr=False)
class IgnoresAnswers(PublicForest):
    """Asks for labels and forgets them."""

    uses_epsilon = True
    epsilon: float = 1.0

    def learn(self, users):
        PrivateMajority(self.epsilon, random_state=self.random_state).learn_from(users)
        return super().learn(users)


@dataclass(eq=False, repr=False)
class BringsRows(PrivateMajority):
    """Reads labeled rows that no account holds."""

    rows: Any = None


def test_a_method_that_asks_nobody_or_ignores_answers_says_so():
    assert inputs_of_model(Renamed(), "aligned") == "nothing, public sample"
    assert inputs_of_model(IgnoresAnswers(), "aligned") == "label, public sample"


@pytest.mark.parametrize("rows", [np.ones(3), [1.0, 2.0], {"x": 1}, Path("rows"), "rows.npy", "folder/rows", object()])
def test_data_through_the_constructor_leave_inputs_unknown(rows):
    assert inputs_of_model(BringsRows(rows=rows), "aligned") == UNKNOWN
    assert inputs_of_model(BringsRows(), "aligned") == "label"
