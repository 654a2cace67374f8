import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.scores import (
    POINT,
    canonical_params,
    check_scores,
    first_rows,
    format_value,
    point_numbers,
    read_csv,
    write_csv,
)
from lpbench.errors import DataError
from tests.analysis.tables import cell, row, table


def test_good_table_passes_and_is_sorted():
    scores = check_scores(table(cell("b", [1, 2]), cell("a", [3, 4])))
    assert scores["method"].tolist() == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (cell("a", [1.0, np.nan]), r"not finite.*method=a.*replication=1"),
        (cell("a", [1.0, np.inf]), r"not finite.*method=a.*replication=1"),
        ([row(params='{"a": 1, "b": 2}'), row(params='{"b":2,"a":1}')], "twice"),  # however params are spelled
        (cell("a", [1, 2]) + cell("b", [1]), r"not dense.*method=b.*1 of 2"),
        ([row(status="done")], "status='done'"),
        ([row(metric="r2")], "metric='r2'"),
    ],
)
def test_rows_without_a_number_doubled_missing_or_of_unknown_words_are_refused(rows, said):
    with pytest.raises(DataError, match=said):
        check_scores(table(rows))


def test_hole_with_a_stated_reason_is_accepted():
    lost = [row("b", 1, np.nan, status="timeout", reason="slow")]
    assert len(check_scores(table(cell("a", [1, 2]), cell("b", [1]), lost))) == 4


def test_missing_column_is_named():
    with pytest.raises(DataError, match="seconds"):
        check_scores(table([row()]).drop(columns="seconds"))


def test_points_are_numbered_as_a_grouping_by_all_their_columns_would():
    rows = [row(method, r, params=f'{{"a":{a}}}', x=x)
            for method in "ba" for r in range(2) for a in (2, 1) for x in (1.0, np.nan)]  # fmt: skip
    scores = check_scores(table(rows))
    numbers = point_numbers(scores)
    expected = scores.groupby(POINT, observed=True, dropna=False).ngroup()
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(first_rows(numbers), np.arange(0, len(rows), 2))
    assert point_numbers(scores.iloc[:0]).size == first_rows(np.array([], dtype=int)).size == 0


def test_canonical_params():
    assert canonical_params('{"b": 1, "a": [1, 2]}') == '{"a":[1,2],"b":1}'
    assert canonical_params("") == "{}"


def test_numbers_survive_the_file_to_seven_digits(tmp_path):
    values = [0.1 + 0.2, 1.234567e-300, 1 / 3, -0.0, np.nan, np.inf]
    write_csv(pd.DataFrame({"mean": values, "best": [True, False] * 3, "panel": [""] * 6}), tmp_path / "t.csv")
    back = read_csv(tmp_path / "t.csv")
    np.testing.assert_array_equal(back["mean"], [0.3, 1.234567e-300, 0.3333333, -0.0, np.nan, np.inf])
    assert back["best"].tolist() == [True, False] * 3
    assert back["panel"].tolist() == [""] * 6


def test_no_last_bit_is_written(tmp_path):
    """Processors do not agree on it: a table of any experiment, whoever writes it, would differ."""
    values = np.random.default_rng(0).standard_normal(200)
    for name, factor in (("a", 1.0), ("b", 1.0 + 2e-15)):
        write_csv(pd.DataFrame({"slope": values * factor, "name": "x"}), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_format_value():
    assert [format_value(v) for v in (None, np.nan, True, np.float64(0.5), 3)] == ["", "", "true", "0.5", "3"]
