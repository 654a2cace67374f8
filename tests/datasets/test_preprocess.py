import dataclasses

import numpy as np
import pandas as pd
import pytest

from lpbench.datasets.manifest import Manifest
from lpbench.datasets.preprocess import prepare
from lpbench.errors import DataError

RAW = pd.DataFrame(
    {
        "id": ["r1", "r2", "r3", "r4"],
        "sex": ["F", "M", "F", " M"],
        "age": [30, 40, np.nan, 50],
        "year": [2012, 2013, 2012.0, 2014],
        "out": ["yes", "no", "no", "yes"],
    },
    index=pd.MultiIndex.from_tuples([("old", 0), ("old", 1), ("new", 0), ("new", 1)]),
)


def table(raw=RAW, **changes):
    keys = {
        "name": "toy",
        "title": "Toy",
        "task": "classification",
        "rows": ({"drop_missing": "all"},),
        "target": {"column": "out", "positive": ["yes"], "negative": ["no"]},
        "features": ({"column": "sex", "map": {"F": 0, "M": 1}}, "age"),
    }
    return prepare(raw, Manifest(**{**keys, **changes}))


def test_one_hot_follows_the_listed_categories():
    result = table(features=({"column": "year", "one_hot": [2014, 2012, 2013]},))
    assert result.columns == ("year=2014", "year=2012", "year=2013")
    np.testing.assert_array_equal(result.X, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_all_except_keeps_the_file_order():
    raw = RAW[["year", "id", "out", "age"]]
    result = table(raw, features={"all_except": ["id"]})
    assert result.columns == ("year", "age")


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"first": 2}, [1, 1, 0]),
        ({"column": "year", "values": [2012, 2014]}, [1, 0, 1]),
        ({"column": "sex", "size": 2}, [0, 1, 1]),
        ({"file": "new"}, [0, 0, 1]),
    ],
)
def test_public_rows_are_chosen_after_rows_are_dropped(rule, expected):
    np.testing.assert_array_equal(table(public=rule).public, np.array(expected, bool))


def test_sampled_public_rows_are_the_same_every_time():
    raw = pd.concat([RAW[RAW.age.notna()]] * 50, ignore_index=True)
    first, second = (table(raw, public={"sample": 60, "seed": 3}).public for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.sum() == 60
    assert (first != table(raw, public={"sample": 60, "seed": 4}).public).any()


@pytest.mark.parametrize(
    ("step", "ages"),
    [
        ({"keep": {"column": "year", "values": [2012, 2013]}}, [30, 40]),
        ({"drop": {"column": "sex", "values": ["M"]}}, [30]),
        ({"drop_missing": ["sex"]}, [30, 40, 50]),
    ],
)
def test_rows(step, ages):
    np.testing.assert_array_equal(table(rows=({"drop_missing": "all"}, step)).X[:, 1], ages)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features": ("height",)}, "column 'height' is missing; the file has id, sex"),
        ({"features": ("id",)}, "column 'id', row 0 holds 'r1', expected a number"),
        ({"rows": ()}, "column 'age', row 2 holds nothing, expected a number"),
        ({"features": ({"column": "sex", "map": {"F": 0}},)}, "column 'sex' holds 'M', expected one of F"),
        ({"features": ({"column": "year", "one_hot": [2012]},)}, "column 'year' holds '2013'"),
        ({"target": {"column": "out", "positive": ["yes"], "negative": []}}, "column 'out' holds 'no'"),
    ],
)
def test_errors_name_the_column_the_cell_and_what_was_expected(changes, reason):
    with pytest.raises(DataError, match=reason):
        table(**changes)


def test_missing_cells_dates_and_a_cap_on_rows():
    n = 40
    raw = pd.DataFrame({"day": ["2024-01-02"] * n, "a": np.arange(n, dtype=float), "b": ["u", "v", "v", "v"] * 10})
    raw["y"] = np.arange(n, dtype=float)
    raw.loc[3, "a"], raw.loc[0, "b"] = np.nan, None
    manifest = Manifest(
        name="t",
        title="T",
        task="regression",
        target="y",
        rows=({"fill_missing": ["a", "b"]}, {"sample": {"size": 10, "seed": 1}}),
        features=({"column": "day", "date": "%Y-%m-%d"}, "a", {"column": "b", "map": {"u": 0, "v": 1}}),
    )
    table = prepare(raw, manifest)
    assert table.X.shape == (10, 3) and (np.diff(table.y) > 0).all(), "the rows keep their order"
    assert (table.X[:, 0] == 19724).all()
    whole = prepare(raw, dataclasses.replace(manifest, rows=manifest.rows[:1]))
    assert whole.X[3, 1] == np.nanmedian(raw["a"]) and whole.X[0, 2] == 1
    np.testing.assert_array_equal(table.X, whole.X[np.isin(whole.y, table.y)])
    again = prepare(raw, manifest)
    np.testing.assert_array_equal(again.X, table.X)
    with pytest.raises(DataError, match=r"'day', row 0 holds '2024-01-02', expected a date"):
        prepare(raw, dataclasses.replace(manifest, features=({"column": "day", "date": "%d.%m.%Y"},)))


def test_several_classes_are_numbered_gaps_get_a_category_of_their_own_and_numbers_are_rounded():
    raw = pd.DataFrame(
        {"vote": ["Y", "N", "A", "N"], "home": ["u", None, "v", None], "a": [0.30000000000000004, 1.0, 2.0, 0.25]}
    )
    manifest = Manifest(
        name="t",
        title="T",
        task="classification",
        target={"column": "vote", "classes": ["A", "N", "Y"]},
        rows=({"fill_missing": {"home": "unknown"}},),
        features=({"column": "home", "one_hot": ["u", "v", "unknown"]}, {"column": "a", "round": 2}),
    )
    table = prepare(raw, manifest)
    assert table.y.tolist() == [2, 1, 0, 1]
    assert table.X.tolist() == [[1, 0, 0, 0.3], [0, 0, 1, 1.0], [0, 1, 0, 2.0], [0, 0, 1, 0.25]]
    with pytest.raises(DataError, match="column 'vote' holds 'Y', expected one of A, N"):
        prepare(raw, dataclasses.replace(manifest, target={"column": "vote", "classes": ["A", "N"]}))
