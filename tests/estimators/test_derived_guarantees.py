"""Guarantees that were once written by hand and wrong: each follows from what was asked."""

import numpy as np
import pytest

from lpbench.audit.contract import classification_problem, regression_problem
from lpbench.errors import ClippingWarning, DataError, PrivacyError
from lpbench.estimators import (
    KRR,
    PGLM,
    PrivateMean,
    PrivateSelectionClassifier,
    PrivateSelectionRegressor,
    ResidualScore,
)


def test_delta_of_the_candidates_reaches_the_selection():
    problem = classification_problem(300)
    candidates = [{"delta": 1e-3}, {"delta": 1e-2}]
    model = PrivateSelectionClassifier(1.0, PGLM(), candidates, classes=[0, 1], random_state=0)
    spent = model.fit(problem.X_train, problem.y_train, **problem.fit_arguments).guarantee_
    assert spent.delta >= 1e-2 and spent.epsilon <= 1.0 + 1e-9


def test_features_that_validating_users_show_are_not_protected():
    problem = regression_problem(300)
    mask = np.zeros_like(problem.mask)
    model = PrivateSelectionRegressor(1.0, "hist", y_range=(-1.0, 1.0), random_state=0)
    assert model.fit(problem.X_train, problem.y_train, mask=mask).guarantee_.model == "label_ldp"
    assert model.fit(problem.X_train, problem.y_train).guarantee_.model == "ldp"


def test_the_model_is_that_of_all_groups_of_users():
    problem = classification_problem(300)
    mask = np.zeros(problem.X_train.shape, dtype=bool)
    mask[::2, 0] = True
    model = ResidualScore(1.0, classes=[0, 1], random_state=0)
    options = {**problem.fit_arguments, "mask": mask}
    assert model.fit(problem.X_train, problem.y_train, **options).guarantee_.model == "semi_feature_ldp"


def test_candidates_said_to_share_reports_must_ask_the_same():
    """KRR with another number of bins asks another question: who shares its users would answer twice."""
    problem = regression_problem(300)
    model = PrivateSelectionRegressor(
        1.0, KRR(), [{"bins": 2}, {"bins": 3}], shared=["bins"], y_range=(-1.0, 1.0), random_state=0
    )
    with pytest.raises(PrivacyError, match="asks another question"):
        model.fit(problem.X_train, problem.y_train, mask=problem.mask)


def test_messages_tell_neither_private_ends_nor_shares():
    X, y = np.random.default_rng(0).random((40, 2)), np.linspace(-3.21, 4.56, 40)
    with pytest.raises(DataError) as error:
        PrivateMean(y_range=(0.0, 1.0)).fit(X, y)
    assert "3.21" not in str(error.value) and "4.56" not in str(error.value) and "y_range=(0, 1)" in str(error.value)
    with pytest.warns(ClippingWarning) as caught:
        PrivateMean(y_range=(-4.0, 5.0)).fit(3.0 * X, y)
    assert "%" not in str(caught[0].message)
