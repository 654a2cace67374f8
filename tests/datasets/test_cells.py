"""Tables as people write them: each column is what it says, and nothing is changed without a word."""

import re
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lpbench.cli.new_dataset import new_dataset
from lpbench.datasets import load_table, make_problem
from lpbench.datasets.cells import MISSING, decide, typed
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.preprocess import prepare
from lpbench.datasets.readers import read_table
from lpbench.errors import DataError, LpbenchError
from tests.datasets.conftest import ARFF, TABLE

#: 200 tables; one seed draws a table.
MANY = settings(max_examples=200, derandomize=True, deadline=None, database=None,
                suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
N = 12


def thousands(number: float, mark: str, point: str) -> str:
    return f"{number:,.2f}".replace(",", "\0").replace(".", point).replace("\0", mark)


#: Kind of column -> its cells from a generator, and what they are worth: numbers, or texts.
COLUMNS = {
    "whole": lambda rng: [(str(v), float(v)) for v in rng.integers(-50, 5000, N)],
    "decimals": lambda rng: [(f"{v:.4f}", round(v, 4)) for v in rng.normal(size=N)],
    "powers": lambda rng: [(f"{v:.2e}", float(f"{v:.2e}")) for v in rng.lognormal(5, 3, N)],
    "plus": lambda rng: [(f"+{v}", float(v)) for v in rng.integers(1, 99, N)],
    "codes": lambda rng: [(f"{v:05d}", f"{v:05d}") for v in [7, *rng.integers(0, 99999, N - 1)]],
    "long codes": lambda rng: [(f"9{v:016d}", f"9{v:016d}") for v in rng.integers(0, 10**16, N)],
    "comma": lambda rng: [(f"{v:.2f}".replace(".", ","), round(v, 2)) for v in rng.normal(70, 9, N)],
    "thousands": lambda rng: [(thousands(v, ",", "."), round(v, 2)) for v in rng.uniform(1e3, 1e7, N)],
    "points": lambda rng: [(thousands(v, ".", ","), round(v, 2)) for v in rng.uniform(1e3, 1e7, N)],
    "blanks": lambda rng: [(thousands(v, "\u202f", ","), round(v, 2)) for v in rng.uniform(1e3, 1e7, N)],
    "dollars": lambda rng: [(f"${v}", float(v)) for v in rng.integers(1, 500, N)],
    "euros": lambda rng: [(f"{v:.2f}".replace(".", ",") + " €", round(v, 2)) for v in rng.uniform(1, 99, N)],
    "percent": lambda rng: [(f"{v}%", float(v)) for v in rng.integers(0, 100, N)],
    "unit": lambda rng: [(f"{v} kg", float(v)) for v in rng.integers(40, 100, N)],
    "words": lambda rng: [(v, v) for v in rng.choice(["None", "NA", "paved", "-", "unknown", "a, b", "ü"], N)],
    "signs": lambda rng: [(v, v) for v in rng.choice(["+", "-"], N)],
    "flags": lambda rng: [(v, v) for v in rng.choice(["yes", "No", "TRUE"], N)],
    "mixed signs": lambda rng: [(f"{c}{v}", f"{c}{v}") for c, v in zip("$€" * N, rng.integers(1, 99, N), strict=False)],
    "dates": lambda rng: [(f"2024-01-{v:02d}", f"2024-01-{v:02d}") for v in rng.integers(1, 28, N)],
    "times": lambda rng: [(f"{v:02d}:30", f"{v:02d}:30") for v in rng.integers(0, 24, N)],
}  # fmt: skip


@MANY
@given(st.integers(0, 2**32 - 1))
def test_columns_are_read_for_what_they_are_worth(tmp_path, seed):
    rng = np.random.default_rng(seed)
    sep = rng.choice([",", ";", "\t", "|"])
    kinds = rng.permutation(list(COLUMNS))[:5].tolist()
    table = {kind: COLUMNS[kind](rng) for kind in kinds}
    cells = {kind: [cell for cell, _ in column] for kind, column in table.items()}
    word = str(rng.choice(["", *MISSING, "NaN", "None"]))
    for kind, column in table.items():  # a word among numbers means missing, one among words does not
        if isinstance(column[0][1], float):
            cells[kind][0], table[kind][0] = word, (word, np.nan)
    ends = {"ends": [f"e{k}" for k in range(N)]}
    pd.DataFrame(cells | ends).to_csv(tmp_path / "t.csv", index=False, sep=sep)
    found = read_table(tmp_path / "t.csv")
    for kind, column in table.items():
        right = [value for _, value in column]
        if isinstance(right[1], float):
            np.testing.assert_array_equal(found[kind], right, err_msg=f"{kind} {sep!r}")
        else:
            assert found[kind].tolist() == right, (kind, sep)


@MANY
@given(st.lists(st.text("0123456789.,-+ $%eENAunko", max_size=8), min_size=1, max_size=6), st.data())
def test_whatever_is_written_stays_or_is_said(cells, data):
    """Text stays as it is; a number has its cell's digits; what is missing was empty or is a word that is named."""
    cells = [cell.strip() for cell in cells]
    column = decide(cells, None, data.draw(st.sampled_from(",;")), data.draw(st.booleans()))
    values = typed(pd.Series(cells), column.missing, *column.written[: column.kind == "number"])
    assert (values.dtype.kind in "if") == (column.kind == "number")
    for cell, value in zip(cells, values, strict=True):
        if value is None or value != value:
            assert cell == "" or cell in column.missing
        elif column.kind == "number":
            digits = re.sub(r"\D", "", re.split(r"[eE]\D*\d", cell)[0]).strip("0")
            assert digits == re.sub(r"\D", "", np.format_float_positional(value)).strip("0") or len(digits) > 15
        else:
            assert value == cell


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["01067", "2826"], "'01067' is a code"),
        (["1,234", "5,678"], "could be meant otherwise: write '1234,5'"),
        (["None", "full"], "'None' taken for a category; --missing-words None means missing"),
    ],
)
def test_what_could_be_meant_otherwise_is_asked(cells, said):
    assert said in decide(cells).remark


def test_numbers_with_points_are_thousands_where_other_columns_have_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1.234;0,5\n2.500;7,25\n")
    assert read_table(tmp_path / "t.csv").to_numpy().tolist() == [[1234, 0.5], [2500, 7.25]]
    (tmp_path / "t.csv").write_text("a,b\n1.234,0.5\n2.500,7.25\n")
    assert read_table(tmp_path / "t.csv").to_numpy().tolist() == [[1.234, 0.5], [2.5, 7.25]]


@MANY
@given(st.integers(0, 3000), st.sampled_from(["latin-1", "utf-16", "cp1252"]))
def test_other_encodings_are_named_wherever_they_begin(tmp_path, line, encoding):
    rows = ["a,b", *(f"{k},Bonn" for k in range(3000))]
    rows[line] = "7,Köln"
    (tmp_path / "t.csv").write_bytes("\n".join(rows).encode(encoding))
    with pytest.raises(DataError, match=f"UTF-8.*iconv -f {'utf-16' if encoding == 'utf-16' else 'cp1252'} -t"):
        read_table(tmp_path / "t.csv")


@MANY
@given(st.integers(0, 2**32 - 1))
def test_a_public_sample_holds_whole_units(seed):
    rng = np.random.default_rng(seed)
    units = rng.integers(0, 30, 100)
    raw = pd.DataFrame({"id": units, "x": rng.random(100), "y": rng.random(100)})
    size = int(rng.integers(1, 100))
    manifest = Manifest("t", "T", "regression", target="y", features=("x",), unit="id",
                        public={"sample": size, "seed": int(rng.integers(99))})  # fmt: skip
    public = prepare(raw, manifest).public
    assert size <= public.sum() < size + np.bincount(units).max() and not set(units[public]) & set(units[~public])


@pytest.mark.parametrize("words", [("yes", "no"), ("on", "off"), ("y", "n"), ("0123", "0456"), ("12:30", "01:15"),
                                   ("2024-01-31", "2024-02-01"), ("true", "false"), ("null", "some"), ("1e3", "2e3"),
                                   ("1.50", "2.25"), ("TRUE", "FALSE"), ("~", "x"), ("=", "<<")])  # fmt: skip
@pytest.mark.parametrize("strict", [True, False])
def test_words_of_a_manifest_are_the_cells_of_the_file_or_the_error_says_to_quote_them(workshop, words, strict):
    one, other = words
    workshop.file("kind,size,label\n" + f"{one},1,1\n{other},2,2\n" * 5)
    text = "title: T\ntask: regression\ntarget: label\ny_range: [1, 2]\nsensitivity: {order: columns, reason: no}\n"
    text += f"sources: [{{kind: file, files: {{data: toy/toy.csv}}, format: {{strict: {str(strict).lower()}}}}}]\n"
    text += f"features: [{{column: kind, map: {{{one}: 1, {other}: 0}}}}, size]\n"
    (workshop.manifests / "toy.yaml").write_text(text)
    try:
        np.testing.assert_array_equal(load_table("toy").X[:, 0], np.tile([1, 0], 5))
    except DataError as error:
        assert "quote" in str(error), words


@pytest.mark.parametrize(
    "text",
    [
        ARFF.replace("{a,b}", "{a,b} % {what it is}"), ARFF.replace("size real", "size real % in meters"),
        ARFF.replace("@attribute", "@ATTRIBUTE").replace("real", "\tNUMERIC"), ARFF.replace("{a,b}", "{ 'a' , \"b\" }"),
        ARFF.replace("a,0.5", "'a',0.5"), ARFF.replace("@data\n", "@data\n% a remark\n\n"),
        ARFF.partition("@data")[0] + "@data\n{1 0.5, 2 1}\n{0 b, 1 1.5, 2 2}\n{1 -2, 2 3}\n{0 b, 1 .25, 2 5}\n",
    ],
)  # fmt: skip
def test_arff_as_it_is_written(workshop, text):
    (workshop.mirror / "toy.arff").write_text(text)
    source = {"kind": "file", "files": {"data": "toy.arff"}, "format": {"type": "arff"}}
    workshop.manifest(sources=[source])
    assert load_table("toy").fingerprint == TABLE.fingerprint


def test_an_arff_file_becomes_a_data_set_with_what_it_misses_said(tmp_path):
    rows = "".join(f"{'?' if k == 3 else 'ab'[k % 2]},{'?' if k == 4 else k % 7},{k * 0.5}\n" for k in range(40))
    (tmp_path / "own.arff").write_text(ARFF.partition("@data")[0] + "@data\n" + rows)
    _, profile = new_dataset(tmp_path / "own.arff", tmp_path)
    assert profile.content["fingerprint"]["rows"] == 38 and "2 cells are missing (kind 1, size 1)" in "".join(
        profile.lines()
    )
    assert profile.content["features"] == [{"column": "kind", "map": {"a": 0, "b": 1}}, "size"]


@settings(MANY, max_examples=60)
@given(st.text(string.ascii_letters + string.digits + " ._-()äÉデ漢#%?$", min_size=1, max_size=80))
def test_any_file_name_makes_a_data_set_or_the_error_says_name(tmp_path, name):
    file = tmp_path / f"{name}.csv"
    file.write_text("a,b,y\n" + "".join(f"{k % 7},{k % 5},{k * 0.5}\n" for k in range(20)))
    try:
        path, _ = new_dataset(file, tmp_path / "made")
    except LpbenchError as error:
        assert "--name" in str(error)
    else:
        for made in path.parent.glob(f"{path.stem}*"):
            made.unlink()


def profiled(workshop, tmp_path, table: pd.DataFrame, **choices):
    """The data set of a table, and what was said of it."""
    table.to_csv(tmp_path / "own.csv", index=False)
    path, profile = new_dataset(tmp_path / "own.csv", tmp_path, **choices)
    path.rename(workshop.manifests / path.name)
    (path.parent / "own.csv").rename(workshop.manifests / "own.csv")
    return load_table("own"), "\n".join(profile.lines())


def test_doubled_names_saved_indexes_and_the_target_over_again_are_said(workshop, tmp_path):
    rng = np.random.default_rng(1)
    y = rng.normal(size=40).round(3)
    table = pd.DataFrame({"Unnamed: 0": rng.permutation(40), "x": rng.random(40), "twin": 32 + 1.8 * y, "y": y})
    table.insert(2, "x2", rng.random(40))
    found, said = profiled(workshop, tmp_path, table.rename(columns={"Unnamed: 0": "", "x2": "x"}))
    assert found.columns == ("x", "x.1", "twin")
    assert "the name 'x' stands there more than once" in said and "Unnamed: 0: identifies the rows" in said
    assert "twin is the target 'y' over again" in said and "x is the target" not in said


@pytest.mark.parametrize("unit", [None, "none", "x"])
def test_a_classification_of_visits_has_a_public_sample_of_whole_persons(workshop, tmp_path, unit):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"patient_id": np.repeat(np.arange(50), 4), "x": np.repeat(rng.integers(0, 40, 100), 2),
                          "z": rng.random(200), "sick": rng.choice(["no", "yes"], 200)})  # fmt: skip
    found, said = profiled(workshop, tmp_path, table, unit=unit, public=0.1)
    assert ("patient_id" in found.columns) == (unit is not None) and "public sample" in said
    assert 20 <= make_problem("own").X_public.shape[0] < 26
    assert (found.units is None) == (unit == "none")


def test_words_for_missing_are_the_users_where_she_says_so(workshop, tmp_path):
    rng = np.random.default_rng(3)
    job, age = rng.choice(["clerk", "unknown"], 60), rng.choice(["30", "40", "NA"], 60)
    table = pd.DataFrame({"job": job, "age": age, "b": rng.random(60), "y": rng.random(60)})
    found, said = profiled(workshop, tmp_path, table)
    assert len(found.y) == (age != "NA").sum() and "'NA' means missing in age" in said and "'unknown' taken" in said
    for name in ("own.yaml", "own.csv"):
        (workshop.manifests / name).unlink()
    found, said = profiled(workshop, tmp_path, table, missing_words="unknown", missing="fill")
    assert len(found.y) == 60 and "'unknown' means missing in job" in said and "age: 30, 40, NA" in said


@pytest.mark.parametrize(
    ("head", "row", "said"),
    [
        ("a,b,y,", "{k},{m},{k}.5,", "target      y (the last"),
        ("a,m,y", "{m},{sign}{k},{k}.5", "m: numbers that are written in several ways"),
        (" a , b,y ", "{m},{m},{k}.5", "target      y (the last"),
        ("a,b,b.1,b,y", "{m},{k},{m},{m},{k}.5", "the second is called 'b.2'"),
        ("a,2.5,y", "{m},{m},{k}.5", "though '2.5' in it is a number"),
        ("# of mine\na,b,y", "{m},{m},{k}.5", "remarks above the names"),
        ("a,y", "r{k},{m},{k}.5", "row names without a name"),
        ("a,b,y", "{m},n.a.,{k}.5", "b: constant"),
    ],
)
def test_first_lines_and_signs_that_are_not_what_they_should_be_are_said(tmp_path, head, row, said):
    lines = [row.format(k=k, m=k * 7 % 5, sign="$€"[k % 2]) for k in range(40)]
    (tmp_path / "own.csv").write_text("\n".join([head, *lines]))
    try:
        found = "\n".join(new_dataset(tmp_path / "own.csv", tmp_path)[1].lines())
    except DataError as error:
        found = str(error)
    assert said in found


def test_many_columns_of_a_kind_fit_a_screen(workshop, tmp_path):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({f"c{k}": rng.choice(["u", "v", "w"], 40) for k in range(60)} | {"y": rng.random(40)})
    table.to_csv(tmp_path / "wide.csv", index=False)
    _, profile = new_dataset(tmp_path / "wide.csv", tmp_path)
    assert len(profile.said) > 60 and len(profile.lines()) < 30 and "and 48 more columns" in "".join(profile.lines())


STAMP = pd.Timestamp("2024-01-13 17:05:09.250000")
STAMPS = [STAMP + k * pd.Timedelta("9 days 3:07:11.125") for k in range(40)]
ISO = [lambda t: f"{t:%Y-%m-%dT%H:%M:%SZ}", lambda t: f"{t + pd.Timedelta('2h'):%Y-%m-%dT%H:%M:%S}+02:00",
       lambda t: f"{t:%Y-%m-%dT%H:%M:%S.%f}Z", lambda t: f"{t:%Y-%m-%d %H:%M}", lambda t: f"{t:%Y%m%dT%H%M%S}Z",
       lambda t: f"{t:%Y-%m-%d}", lambda t: f"{t - pd.Timedelta('5h'):%Y-%m-%d %H:%M:%S}-0500"]  # fmt: skip
FORMATS = ["%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%d/%m/%Y", "%d-%b-%Y", "%b %d, %Y", "%d/%b/%Y:%H:%M:%S +0000",
           "%Y-%m", "%Y-%m-%d %H:%M:%S,%f", "%Y/%m/%d %H:%M:%S"]  # fmt: skip


@pytest.mark.parametrize("write", [*ISO, *(lambda t, f=f: t.strftime(f) for f in FORMATS)], ids=lambda w: w(STAMP))
def test_time_stamps_are_days_in_utc(workshop, tmp_path, write):
    table = pd.DataFrame({"x": np.arange(40) % 7, "when": list(map(write, STAMPS)), "y": np.arange(40) / 2})
    found, said = profiled(workshop, tmp_path, table)
    assert "date        when: days since 1970" in said
    days = np.array([(t - pd.Timestamp(0)) / pd.Timedelta(days=1) for t in STAMPS])
    coarse = 31 if write(STAMP) == "2024-01" else 1  # what is written is the beginning of a month, a day or a minute
    late = days - found.X[:, 1]
    assert (-1e-9 < late).all() and (late < coarse).all()
    if "17" in write(STAMP) or "19" in write(STAMP):
        assert (late < 1 / 1440).all()


@pytest.mark.parametrize("far", ["9999-12-31", "0001-01-01", "1600-01-01", "2262-04-12", "2999-01-01"])
def test_dates_far_from_all_others_are_read_and_asked_about(workshop, tmp_path, far):
    when = [far if k == 3 else f"2024-01-{k % 28 + 1:02d}" for k in range(60)]
    table = pd.DataFrame({"when": when, "x": np.arange(60) % 7, "y": np.arange(60) / 2})
    found, said = profiled(workshop, tmp_path, table)
    assert found.X[3, 0] == (np.datetime64(far) - np.datetime64(0, "D")).astype(int)
    assert f"when: '{far}' in 1 rows: far from the other values; missing? --missing-words {far}" in said


@pytest.mark.parametrize(
    ("cells", "word", "asked"),
    [
        ([0, 1, 2, 3, 2, 1], "-9", True), ([0, 1, 2, 3, 2, 1], "99", True), ([1, 2], "-8", True),
        ([0, 1, 2, 3], "-1", True), (range(18, 90), "999", True), (range(18, 98), "99", False), ([-1, 0], "1", False),
        ([1.5, 2.25, 0.5, -0.75], "-9999", True), ([1.5, 2.25, 0.5], "9.96921e36", True), (range(-20, 30), "-9", False),
        (range(99), "1e20", True),  (range(1, 6), "6", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", [False, True])
def test_codes_of_missing_values_are_asked_about(workshop, tmp_path, cells, word, asked, target):
    column = [word if k % 20 == 3 else str(np.resize(cells, 200)[k]) for k in range(200)]
    table = pd.DataFrame({"n": column, "x": np.arange(200) % 11, "z": np.arange(200) % 13 / 2})
    _, said = profiled(workshop, tmp_path, table, target="n" if target else "z", task="regression")
    assert (
        f"n: {word!r} in 10 rows: far from the other values; missing? --missing-words {word} takes" in said
    ) == asked
    if asked:
        for name in ("own.yaml", "own.csv"):
            (workshop.manifests / name).unlink()
        found, said = profiled(workshop, tmp_path, table, target="z", missing_words=word)
        assert len(found.y) == 190 and "far from" not in said


def test_the_cure_of_a_left_out_column_makes_it_one_of_numbers_or_dates(workshop, tmp_path):
    """The words of all such columns, and those that mean missing already, are one option."""
    k = np.arange(90)
    age, paid = (k * 7 % 71 + 18).astype(str), [f"{v:.2f} €".replace(".", ",") for v in k * 13.37 + 9]
    when = [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in k]
    age[4], age[5], paid[6], paid[7], when[8] = "refused", "n/a", "refused", "k. A., or", "0000-00-00"
    rooms = np.where(k == 9, "NA", k % 6)
    table = pd.DataFrame({"age": age, "paid": paid, "when": when, "rooms": rooms, "y": k / 2})
    _, said = profiled(workshop, tmp_path, table)
    option = "--missing-words 'refused,n/a,\"k. A., or\",0000-00-00,NA'"
    assert f"age: 2 cells are no numbers, e.g. 'refused'; {option} takes" in said
    assert "paid: 2 cells are no numbers" in said and said.count("--missing-words '") == 3
    assert "when: 1 cells are no days written like '2024-01-01', e.g. '0000-00-00'" in said
    for name in ("own.yaml", "own.csv"):
        (workshop.manifests / name).unlink()
    found, _ = profiled(workshop, tmp_path, table, missing_words='refused,n/a,"k. A., or",0000-00-00,NA')
    assert found.columns == ("age", "paid", "when", "rooms") and len(found.y) == 84


def test_a_category_or_a_target_that_is_nearly_numbers_names_the_word(tmp_path):
    rows = "".join(f"{'refused' if k == 3 else k % 5},{k % 7},{k % 3}\n" for k in range(40))
    (tmp_path / "own.csv").write_text("n,x,y\n" + rows)
    said = "\n".join(new_dataset(tmp_path / "own.csv", tmp_path, task="regression")[1].lines())
    assert "n is a category: 1 cells are no numbers, e.g. 'refused'; --missing-words refused takes" in said
    with pytest.raises(
        DataError, match=r"target 'n' is text .*1 cells are no numbers, e.g. 'refused'; --missing-words"
    ):
        new_dataset(tmp_path / "own.csv", tmp_path, target="n", name="other")


@pytest.mark.parametrize(
    ("first", "missing"),
    [
        ("34,Rome,2024-01-03,1.5", True), ("34,Rome,2024-01-03,3.0", True), ("age,city,day,paid", False),
        ("34,Paris,2024-01-03,1.5", True), ("2019,Rome,2024-01-03,1.5", False), ("age,Rome,day,1.5", False),
    ],
)  # fmt: skip
def test_a_first_line_of_values_is_pointed_out(tmp_path, first, missing):
    rows = [f"{k % 60 + 18},{['Rome', 'Oslo', 'Lima'][k % 3]},2024-01-{k % 28 + 1:02d},{k / 2}" for k in range(90)]
    (tmp_path / "own.csv").write_text("\n".join([first, *rows]))
    said = "\n".join(new_dataset(tmp_path / "own.csv", tmp_path)[1].lines())
    assert ("first line consists of values of its columns" in said) == missing


@pytest.mark.parametrize("strict", [True, False])
def test_two_unicode_forms_of_a_word_are_one(workshop, strict):
    forms = ["Z\u00fcrich", "Zu\u0308rich"]
    workshop.file("kind,size,label\n" + "".join(f"{forms[k % 2] if k % 3 else 'Rom'},{k},{k}.5\n" for k in range(12)))
    source = {"kind": "file", "files": {"data": "toy/toy.csv"}, "format": {"strict": strict}}
    for form in forms:
        workshop.manifest(
            sources=[source], features=[{"column": "kind", "one_hot": ["Rom", form]}, "size"], fingerprint={}
        )
        assert load_table("toy").X[:, 1].tolist() == [float(k % 3 > 0) for k in range(12)]


def test_forms_of_a_word_are_one_category(workshop, tmp_path):
    city = np.resize(["Z\u00fcrich", "Zu\u0308rich", "Rom"], 40)
    table = pd.DataFrame({"city": city, "x": np.arange(40) % 7, "y": np.arange(40) / 2})
    assert profiled(workshop, tmp_path, table)[0].columns == ("city", "x")


def test_a_few_shops_are_no_persons(workshop, tmp_path):
    k = np.arange(200)
    table = pd.DataFrame({"StoreID": k % 5 + 301, "x": k * 7 % 31, "sick": np.where(k * 13 % 29 < 9, "yes", "no")})
    with pytest.warns(UserWarning, match="StoreID repeats"):
        found, said = profiled(workshop, tmp_path, table, public=0.1)
    assert found.units is None and found.public.sum() == 20 and "StoreID: its 5 values repeat" in said
    assert "--unit StoreID keeps" in said


def test_times_and_short_years_are_named_for_what_they_are(tmp_path):
    rows = "".join(
        f"{k % 24:02d}:{k % 60:02d},{k % 28 + 1:02d}.03.{k % 100:02d},2024{k % 12 + 1:02d}01,{k}.5\n"
        for k in range(120)
    )
    (tmp_path / "own.csv").write_text("at,on,compact,y\n" + rows)
    said = "\n".join(new_dataset(tmp_path / "own.csv", tmp_path)[1].lines())
    assert "at: times without a date" in said and "on: days whose years have two digits" in said
    assert "compact: '20240101' looks like a date" in said


def test_a_target_is_found_in_either_unicode_form_and_dates_are_none(tmp_path):
    rows = "".join(f"{k % 7},2024-01-{k % 28 + 1:02d},{k / 2}\n" for k in range(40))
    (tmp_path / "own.csv").write_text("x,when,Gro\u0308sse\n" + rows)
    assert new_dataset(tmp_path / "own.csv", tmp_path, target="Gr\u00f6sse")[1].content["target"] == "Gro\u0308sse"
    with pytest.raises(DataError, match="'when' holds dates, which are no labels"):
        new_dataset(tmp_path / "own.csv", tmp_path, target="when", name="other")


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity"])
def test_an_infinite_cell_among_numbers_is_refused_with_the_way_out(tmp_path, word):
    rows = "".join(f"{word if k == 3 else k % 31},{k % 7},{k / 2}\n" for k in range(90))
    (tmp_path / "own.csv").write_text("n,x,y\n" + rows)
    with pytest.raises(DataError, match=f"column 'n' holds '{word}' among numbers; --missing-words {word} takes"):
        new_dataset(tmp_path / "own.csv", tmp_path)
    assert new_dataset(tmp_path / "own.csv", tmp_path, missing_words=word)[1].content["features"] == ["n", "x"]
