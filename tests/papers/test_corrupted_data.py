"""Losses over the constant's where there is little to learn, by hand."""

import pytest

from lpbench.analysis.standings import standings
from lpbench.papers.extensions.stress import corrupted_table
from tests.analysis.test_standings import rows, run
from tests.reporting.fake import card


def shown(metric, losses):
    parts = [rows(m, d, [v, v], metric=metric, selection="tuning_free") for (m, d), v in losses.items()]
    return corrupted_table(standings([run(*parts)]), {m: card(m.upper(), "regression") for m, _ in losses})


def test_errors_are_divided_by_those_of_the_constant():
    losses = {("a", "d1"): 2.0, ("a", "d2"): 8.0, ("private_mean", "d1"): 4.0, ("private_mean", "d2"): 4.0}
    assert shown("mse", losses).rows == (("recorded", "1", "A", "1.000", "2.000", "D2"),)


def test_the_page_says_which_methods_keep_to_the_bounds_and_where_others_do_not():
    losses = {
        ("a", "d1"): 4.1, ("a", "d2"): 3.0, ("b", "d1"): 4.0, ("b", "d2"): 4.5, ("c", "d1"): 4.2, ("c", "d2"): 4.0,
        ("private_mean", "d1"): 4.0, ("private_mean", "d2"): 4.0,
    }  # fmt: skip
    assert shown("mse", losses).remark == (
        "For all kinds of labels and budgets, these methods have a ratio of at most 1.02 in the geometric mean, "
        "and of at most 1.10 on each data set: A. "
        "C has larger ratios with labels recorded at ε = 1 (1.025, 1.050 on D1). "
        "B has larger ratios with labels recorded at ε = 1 (1.061, 1.125 on D2)."
    )


def test_kinds_of_labels_and_accuracies_are_apart():
    losses = {("a", "d1[labels=cauchy]"): 0.8, ("private_majority", "d1[labels=cauchy]"): 0.9}
    assert shown("accuracy", losses).rows[0][0] == "cauchy"
    assert float(shown("accuracy", losses).rows[0][4]) == pytest.approx(2.0)


def test_without_a_constant_nothing_is_shown():
    assert shown("mse", {("a", "d1"): 1.0}) is None
