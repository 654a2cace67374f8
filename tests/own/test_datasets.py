import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from lpbench import testing as contract
from lpbench.cli.new_dataset import new_dataset
from lpbench.datasets import load_manifest, load_table, make_problem
from lpbench.errors import LpbenchError

ROWS = 60


def frame(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    base = {"a": rng.random(ROWS).round(3), "b": rng.integers(0, 9, ROWS), "y": rng.normal(size=ROWS).round(3)}
    return pd.DataFrame({**{k: v for k, v in base.items() if k != "y"}, **columns, "y": columns.get("y", base["y"])})


def profiled(table: pd.DataFrame, name: str = "mine", sep: str = ",", **options):
    table.to_csv(f"{name}.csv", index=False, sep=sep)
    path, profile = new_dataset(Path(f"{name}.csv"), Path("lpbench_plugins"), **options)
    contract.check_dataset(path.stem)
    return yaml.safe_load(path.read_text()), "\n".join(profile.lines())


def test_the_table_is_the_file(home):
    table = frame()
    manifest, said = profiled(table)
    loaded = load_table("mine")
    np.testing.assert_array_equal(loaded.X, table[["a", "b"]].to_numpy(dtype=float))
    np.testing.assert_array_equal(loaded.y, table["y"].to_numpy())
    assert manifest["task"] == "regression" and manifest["features"] == ["a", "b"]
    assert manifest["y_range"] == [table["y"].min(), table["y"].max()]
    assert manifest["fingerprint"] == loaded.fingerprint
    assert "60 rows, 3 columns" in said and "must be public knowledge" in said


def test_a_file_without_header(home):
    frame().to_csv("bare.csv", index=False, header=False)
    path, _ = new_dataset(Path("bare.csv"), Path("lpbench_plugins"))
    assert load_table(path.stem).columns == ("x1", "x2")
    contract.check_dataset("bare")


def test_gzip_byte_order_mark_and_quotes(home):
    text = "﻿" + frame().rename(columns={"a": "a, b"}).to_csv(index=False)
    Path("q.csv.gz").write_bytes(gzip.compress(text.encode()))
    path, _ = new_dataset(Path("q.csv.gz"), Path("lpbench_plugins"))
    assert path.stem == "q" and load_table("q").columns == ("a, b", "b")


def test_columns_that_say_nothing_are_left_out_with_a_reason(home):
    manifest, said = profiled(
        frame(
            id=range(7, 7 + ROWS),
            gaps=np.arange(ROWS) * 3 + np.arange(ROWS) % 2,
            customer_id=np.random.default_rng(1).permutation(ROWS) + 100,
            same=5,
            text=[f"t{i}" for i in range(ROWS)],
            empty=np.where(np.arange(ROWS) < 40, np.nan, 1.5),
            odd=["x" if i == 3 else str(i) for i in range(ROWS)],
        )
    )
    assert manifest["features"] == ["a", "b"]
    for reason in ("id: numbers the rows", "same: constant", "text: text with 60", "empty: 67% of", "odd: 1 cells"):
        assert reason in said
    assert "gaps: numbers the rows, with gaps" in said
    assert "customer_id: identifies the rows" in said


def test_different_whole_numbers_that_name_nothing_stay(home):
    manifest, _ = profiled(frame(paid=np.random.default_rng(1).permutation(ROWS)))
    assert "paid" in manifest["features"]


def test_categories(home):
    city = np.resize(["Lima", "Oslo ", "Rome"], ROWS)
    yes = np.resize(["no", "yes", "yes", "no", "no"], ROWS)
    flag = np.resize([True, False, False, False], ROWS)
    manifest, said = profiled(frame(city=city, yes=yes, flag=flag))
    assert {"column": "city", "one_hot": ["Lima", "Oslo", "Rome"]} in manifest["features"]
    table = load_table("mine")
    assert table.columns == ("a", "b", "city=Lima", "city=Oslo", "city=Rome", "yes", "flag")
    np.testing.assert_array_equal(table.X[:, 2:5].argmax(axis=1), np.resize([0, 1, 2], ROWS))
    np.testing.assert_array_equal(table.X[:, 5], yes == "yes")
    np.testing.assert_array_equal(table.X[:, 6], flag)
    assert "city: Lima, Oslo, Rome; one column each" in said and "yes: no, yes; as 0, 1" in said


@pytest.mark.parametrize("marker", ["", "?", "NA", "-"])
def test_rows_with_missing_cells_are_dropped_and_counted(home, marker):
    values = [marker if i in (4, 9) else str(i % 7) for i in range(ROWS)]
    _, said = profiled(frame(gap=values))
    assert load_table("mine").X.shape == (ROWS - 2, 3)
    assert "2 cells are missing (gap 2): 2 rows are dropped" in said
    assert (f"{marker!r} means missing in gap (2)" in said) == bool(marker)


@pytest.mark.parametrize(
    ("labels", "positive"), [((0, 1), "1"), ((1.0, 2.0), "2"), (("no", "yes"), "yes"), ((False, True), "True")]
)
def test_two_values_are_classes(home, labels, positive):
    y = np.resize(labels, ROWS)
    manifest, said = profiled(frame(y=y))
    assert manifest["task"] == "classification" and manifest["target"]["positive"] == [positive]
    np.testing.assert_array_equal(load_table("mine").y, np.resize([0, 1], ROWS))
    assert "public" not in manifest and make_problem("mine").X_public is None
    assert "classification" in said and "no rows: the range of all rows scales the features" in said


def test_several_words_are_classes_where_each_has_enough_rows(home):
    words = np.array(["east", "north", "south", "west"])
    y = words[np.arange(ROWS) % 4]
    manifest, said = profiled(frame(y=y))
    assert manifest["task"] == "classification" and manifest["target"] == {"column": "y", "classes": [*words]}
    assert "4 classes" in said
    problem = make_problem("mine")
    np.testing.assert_array_equal(problem.classes, np.arange(4))
    np.testing.assert_array_equal(load_table("mine").y, np.arange(ROWS) % 4)
    with pytest.raises(LpbenchError, match=r"is text with .* values"):
        profiled(frame(y=[f"word{k}" for k in range(ROWS)]), name="names")


def test_three_whole_numbers_are_classes_unless_they_are_measured(home):
    y = np.resize([0, 1, 2], ROWS)
    with pytest.raises(LpbenchError, match=r"3 values \(0, 1, 2\): --task classification .* --task regression"):
        profiled(frame(y=y))
    manifest, _ = profiled(frame(y=y), name="one", positive="2")
    assert manifest["target"] == {"column": "y", "positive": ["2"], "negative": ["0", "1"]}
    manifest, _ = profiled(frame(y=y), name="all", task="classification")
    assert manifest["target"] == {"column": "y", "classes": ["0", "1", "2"]}
    np.testing.assert_array_equal(load_table("all").y, y)
    manifest, _ = profiled(frame(y=y), name="two", task="regression")
    assert manifest["task"] == "regression" and manifest["target"] == "y"


@pytest.mark.parametrize(
    ("written", "shown"),
    [("%Y-%m-%d", ""), ("%d.%m.%Y", ""), ("%m/%d/%Y", "; %d/%m/%Y would fit too"), ("%Y/%m/%d", "")],
)
def test_dates_are_days(home, written, shown):
    days = pd.Timestamp("1970-01-01") + pd.to_timedelta(np.arange(ROWS) * 37 % 300, unit="D")
    if shown:
        days = days.map(lambda day: day.replace(day=day.month))
    manifest, said = profiled(frame(day=days.strftime(written)))
    assert {"column": "day", "date": written} in manifest["features"]
    assert f"day: days since 1970, read as {written}{shown}" in said
    table = load_table("mine")
    np.testing.assert_array_equal(table.X[:, table.columns.index("day")], (days - pd.Timestamp(0)).days)


def heavy() -> np.ndarray:
    return np.where(np.arange(ROWS * 4) == 7, 9576.0, 52 + np.arange(ROWS * 4) % 340.0)


def long(**columns) -> pd.DataFrame:
    return pd.DataFrame({"a": np.random.default_rng(1).random(ROWS * 4), **columns})


def test_outliers_of_the_target_are_named_with_two_ways_out(home):
    _, said = profiled(long(y=heavy()))
    assert re.search(
        r"outliers +99% of the labels lie below 28\d.*, but the range ends at 9576.*: consider --log, or --clip", said
    )
    manifest, said = profiled(long(y=heavy()), name="logs", log=True)
    assert "outliers" not in said and manifest["y_range"] == [np.log(52), np.log(9576)]
    np.testing.assert_allclose(load_table("logs").y, np.log(heavy()))
    manifest, said = profiled(long(y=heavy()), name="clipped", clip=(52, 400))
    assert "0.4% of them" in said and manifest["y_range"] == [52, 400]
    np.testing.assert_array_equal(load_table("clipped").y, np.minimum(heavy(), 400))
    manifest, said = profiled(long(y=heavy() - 52), name="zeros", log=True)
    assert "1 + the label" in said and load_table("zeros").y.min() == 0
    _, said = profiled(long(y=-heavy()), name="below")
    assert "lie above -28" in said and "--log" not in said and "--clip" in said
    _, said = profiled(frame(), name="plain")
    assert "outliers" not in said


@pytest.mark.parametrize("y", [None, np.resize(["no", "yes"], ROWS)])
def test_rows_are_capped_and_missing_cells_filled_and_a_sample_made_public_for_numbers_and_classes(home, y):
    gap = np.where(np.arange(ROWS) % 10 == 3, np.nan, np.arange(ROWS) * 7 % 11)
    table = frame(gap=gap, city=np.where(np.arange(ROWS) == 5, None, np.resize(["a", "b", "b"], ROWS)))
    table["y"] = table["y"] if y is None else y
    _, said = profiled(table, rows=40, missing="fill", public=0.25)
    loaded = load_table("mine")
    assert loaded.y.size == 40 and loaded.public.sum() == 10
    assert "7 cells are missing (gap 6, city 1): filled" in said and "40 of 60, drawn once (--rows)" in said
    assert "10 rows (25%), drawn once, are the public sample: they scale the features" in said
    assert make_problem("mine").X_public.shape[0] == 10
    _, said = profiled(table, name="none", public=0.0, rows=10**6)
    assert "no rows: the range of all rows scales the features" in said and "7 rows are dropped" in said
    assert "all 53: no more than --rows" in said


def test_columns_that_code_one_category_are_asked_about(home):
    """A protected column among levels of which one is 1 follows from the others, whatever stands beside them."""
    level = np.arange(ROWS) % 3
    coded = {f"level, {k}": (level == k).astype(int) for k in range(3)}
    beside = {"smoker": (np.arange(ROWS) % 5 == 0).astype(int), **coded, "pair": (level == 0).astype(int)}
    _, said = profiled(frame(**beside))
    (line,) = (line for line in said.splitlines() if "exactly one is 1" in line)
    names = '"level, 0", "level, 1", "level, 2"'
    assert line.startswith(f"question    {names}: ") and f"groups: {{NAME: [{names}]}}" in line
    assert f"smoker, {names}" in said


def test_any_column_can_be_the_target(home):
    manifest, said = profiled(frame(), target="a")
    assert manifest["target"] == "a" and manifest["features"] == ["b", "y"] and "last column" not in said


def test_the_file_is_found_from_any_working_folder(home, monkeypatch):
    profiled(frame())
    (home / "below").mkdir()
    monkeypatch.chdir(home / "below")
    monkeypatch.setenv("LPBENCH_PLUGINS", str(home / "lpbench_plugins"))
    assert load_table("mine").X.shape == (ROWS, 2)
    assert str(home) not in load_manifest("mine").sources[0]["files"]["data"], "the folder can be moved"


def test_a_removed_file_is_missing_not_broken(lpbench):
    frame().to_csv("mine.csv", index=False)
    assert lpbench("new dataset mine.csv")[0] == 0
    Path("mine.csv").unlink()
    assert lpbench("dataset=mine method=private_mean tracking=none")[0] == 0, "the copy beside the manifest serves"
    Path("lpbench_plugins/datasets/mine.csv").unlink()
    code, _, error = lpbench("dataset=mine method=private_mean tracking=none")
    assert code == 2 and "mine.csv" in error


def test_nothing_is_overwritten(lpbench):
    frame().to_csv("mine.csv", index=False)
    lpbench("new dataset mine.csv")
    code, _, error = lpbench("new dataset mine.csv")
    assert code == 2 and "never overwritten" in error
    assert lpbench("new dataset mine.csv --name abalone")[0] == 2
    assert lpbench("new dataset mine.csv --name other")[0] == 0


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", {}, "empty"),
        ("a\n1\n2\n", {}, "at least one feature"),
        ("a,b\n", {}, "0 rows"),
        ("a,y\n1,1\n2,2\n3,3\n", {}, "rows"),
        ("a,y\n" + "1,x\n2,z\n3,w\n" * 5, {}, "--positive"),
        ("a,y\n" + "1,5\n2,5\n" * 9, {}, "different values"),
        ("a,y\n" + "1,5\n1,6\n" * 9, {}, "constant"),
        ("a,b,y\n" + "1,2,5\n3,4,6\n" * 9, {"target": "z"}, "did you mean|known"),
        ("a,y\n" + "1,x\n2,z\n" * 9, {"positive": "u"}, "x, z|did you mean"),
        ("a,y\n1,2,3,4\n5,6\n", {}, "first line has 2 cells, the next one 4"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_a_sentence(home, text, options, said):
    Path("bad.csv").write_text(text)
    with pytest.raises(LpbenchError, match=said):
        new_dataset(Path("bad.csv"), Path("lpbench_plugins"), **options)
    assert not list(Path().rglob("*.yaml"))


def test_whatever_the_columns_hold_the_manifest_loads_or_the_refusal_is_ours(home):
    rng = np.random.default_rng(0)
    makers = [
        lambda n: rng.normal(size=n),
        lambda n: rng.integers(-3, 3, n),
        lambda n: np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2, n)),
        lambda n: rng.choice(["a", " b", "c,d", "e'f", 'g"h', "ü", "yes", "no", "null"], n),
        lambda n: np.where(rng.random(n) < 0.1, "?", rng.integers(0, 99, n).astype(str)),
        lambda n: rng.choice([True, False], n),
        lambda n: np.repeat(rng.integers(0, 5), n),
        lambda n: rng.choice(["1", "2", "x"], n),
        lambda n: np.array(["2024-01-01"] * n),
    ]
    names = ["plain", "with space", "2020", "yes", "comma,name", "colon: name", "#hash", "ünï", "a=b", "[x]"]
    made = 0
    for trial in range(40):
        n, d = int(rng.integers(15, 60)), int(rng.integers(2, 6))
        table = pd.DataFrame({names[k]: makers[rng.integers(len(makers))](n) for k in rng.permutation(len(names))[:d]})
        table.to_csv(f"t{trial}.csv", index=False)
        try:
            path, _ = new_dataset(Path(f"t{trial}.csv"), Path("lpbench_plugins"))
        except LpbenchError:
            continue
        table = load_table(path.stem)
        assert np.isfinite(table.X).all() and np.isfinite(table.y).all()
        make_problem(path.stem, None, "personalized", None, 0, 1)
        made += 1
    assert made >= 15


def test_check_dataset_names_a_label_outside_its_range(lpbench):
    frame().to_csv("mine.csv", index=False)
    lpbench("new dataset mine.csv")
    path = Path("lpbench_plugins/datasets/mine.yaml")
    path.write_text(path.read_text().replace("y_range: [", "y_range: [0.0, 0.1]\n#"))
    code, out, _ = lpbench("check dataset mine")
    assert code == 1 and "y_range [0, 0.1]" in out and "1 broken" in out
