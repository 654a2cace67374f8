"""attack.csv: ratios of errors to those of the constant, by hand."""

import pandas as pd
import pytest

from lpbench.analysis import Setting, summarise
from lpbench.experiments.experiment import Experiment
from lpbench.papers.extensions.corrupted_data import FILE, read_corrupted, write_corrupted
from tests.analysis.tables import cell, table
from tests.reporting.fake import card


def written(folder, metric, rows):
    parts = [cell(m, [v, v], dataset=d, metric=metric) for (m, d), v in rows.items()]
    settings = {("", "aligned", m): Setting("{}") for m, _ in rows}
    cards = {m: card(m.upper(), "regression") for m, _ in rows}
    write_corrupted(Experiment(name="test/table"), summarise(table(*parts), settings), cards, folder)
    return pd.read_csv(folder / FILE).set_index("method")


def test_errors_are_divided_by_those_of_the_constant(tmp_path):
    rows = {("a", "d1"): 2.0, ("a", "d2"): 8.0, ("private_mean", "d1"): 4.0, ("private_mean", "d2"): 4.0}
    found = written(tmp_path, "mse", rows).loc["a"]
    assert (found["geometric_mean"], found["largest"], found["worst"]) == (1.0, 2.0, "d2")
    assert read_corrupted(tmp_path).rows == (("recorded", "1", "A", "1.000", "2.000", "D2"),)


def test_the_page_says_which_methods_keep_to_the_bounds_and_where_others_do_not(tmp_path):
    rows = {
        ("a", "d1"): 4.1, ("a", "d2"): 3.0, ("b", "d1"): 4.0, ("b", "d2"): 4.5, ("c", "d1"): 4.2, ("c", "d2"): 4.0,
        ("private_mean", "d1"): 4.0, ("private_mean", "d2"): 4.0,
    }  # fmt: skip
    written(tmp_path, "mse", rows)
    assert read_corrupted(tmp_path).remark == (
        "At most 1.02 in the geometric mean and 1.10 on any data set everywhere: A. "
        "C is worse with labels recorded at ε = 1 (1.025, 1.050 on D1). "
        "B is worse with labels recorded at ε = 1 (1.061, 1.125 on D2)."
    )


def test_accuracies_are_compared_by_their_error_rates(tmp_path):
    rows = {("a", "d1"): 0.8, ("private_majority", "d1"): 0.9}
    assert written(tmp_path, "accuracy", rows).loc["a", "largest"] == pytest.approx(2.0)


def test_without_a_constant_nothing_is_written(tmp_path):
    summary = summarise(table(cell("a", [1.0, 2.0])), {("", "aligned", "a"): Setting("{}")})
    assert (
        write_corrupted(Experiment(name="test/table"), summary, {}, tmp_path) == [] and read_corrupted(tmp_path) is None
    )
