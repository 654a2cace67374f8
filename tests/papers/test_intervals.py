"""Intervals: at a budget without noise the private answer is the exact one, and each unmet demand is named."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lpbench.experiments import catalog
from lpbench.papers.comparison.intervals import ENOUGH, INTERVALS_FILE, measured, read_intervals, write_intervals
from lpbench.problem import Problem
from lpbench.seeds import Streams


def problem(classes):
    rng = np.random.default_rng(0)
    X = rng.random((1500, 2))
    y = np.clip(X[:, 0] + 0.2 * rng.standard_normal(1500), -1, 2)
    known = {"classes": np.arange(3)} if classes else {"y_range": (-1.0, 2.0)}
    y = np.digitize(y, [0.3, 0.7]) if classes else y
    return Problem(X[:1000], y[:1000], X[1000:], y[1000:], np.zeros((1000, 2), dtype=bool), **known)


@pytest.mark.parametrize("classes", [False, True])
def test_much_budget_gives_about_the_exact_answer_and_little_a_wide_one(classes):
    coverage, width, exact_coverage, exact_width = measured(problem(classes), 16.0, Streams(0))
    assert 0.8 <= exact_coverage <= 0.97 and abs(coverage - exact_coverage) < 0.1
    assert 0.8 <= width / exact_width <= 1.5
    assert measured(problem(classes), 0.05, Streams(0))[0] >= 0.88


def test_one_row_a_set_and_budget_and_a_page_that_names_what_is_not_met(tmp_path):
    settings = {"datasets": ["diabetes_progression"], "epsilon": [1, 8]}
    write_intervals(replace(catalog.experiment("comparison/intervals"), replications=2, settings=settings), tmp_path, 0)
    rows = pd.read_csv(tmp_path / INTERVALS_FILE)
    assert (rows["enough"] == (rows["users"] * rows["epsilon"] ** 2 >= ENOUGH)).all() and len(rows) == 2
    np.testing.assert_allclose(rows["ratio"], rows["width"] / rows["exact_width"], rtol=1e-5)
    rows.assign(coverage=[0.7, 0.9], ratio=[1.0, 2.0]).to_csv(tmp_path / INTERVALS_FILE, index=False)
    remark = read_intervals(tmp_path)[0].remark
    assert "in 1 of all 2" in remark and "at ε = 1 (0.700, 1.00)" in remark and "at ε = 8 (0.900, 2.00)" in remark
    assert read_intervals(tmp_path / "none") == []
