"""Whatever a method predicts, its score is that of the test rows, or none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.errors import DataError
from lpbench.problem import Problem

M = 4
CELLS = st.sampled_from([0.0, 1.0, 2.0, float("nan"), float("inf")])
FORMS = {"plain": lambda p: p, "column": lambda p: p[:, None], "first": lambda p: p[:1], "scalar": lambda p: p[0],
         "text": lambda p: p.astype(str), "complex": lambda p: p.astype(complex)}  # fmt: skip


@settings(max_examples=300, derandomize=True, deadline=None, database=None)
@given(st.lists(CELLS, min_size=M, max_size=M), st.sampled_from(sorted(FORMS)), st.sampled_from(["mse", "accuracy",
       "balanced_accuracy", "excess_risk"]))  # fmt: skip
def test_a_score_is_that_of_numbers_one_a_row_or_there_is_none(cells, form, metric):
    y = np.array([0.0, 1.0, 1.0, 2.0])
    problem = Problem(np.zeros((M, 1)), y, np.zeros((M, 1)), y, metric=metric, classes=np.arange(3.0),
                      eta_test=np.eye(3)[y.astype(int)])  # fmt: skip
    predicted = FORMS[form](np.array(cells))
    if form != "plain" or (metric == "excess_risk" and np.inf in cells):
        with pytest.raises(DataError, match=r"predictions have shape|none of the classes"):
            problem.score(predicted)
        return
    score = problem.score(predicted)
    assert np.isnan(score) == np.isnan(cells).any()
    if metric == "accuracy" and not np.isnan(score):
        assert score == sum(a == b for a, b in zip(cells, y, strict=True)) / M
