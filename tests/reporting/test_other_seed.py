"""Verdicts and classes of two seeds, and the tables of docs/reproduction.md that follow from committed files."""

import pandas as pd
import pytest

from lpbench.analysis.alternatives import NUMBER_CLASSES
from lpbench.analysis.numbers import judged_numbers
from lpbench.analysis.verdicts import changes
from lpbench.paths import COMMITTED
from lpbench.reporting.alternative_table import number_names
from lpbench.reporting.number_table import OTHER_SEED_CLASSES, kept_by_seed, read_numbers
from lpbench.reporting.pages.about import SEED_FILE, changed_by_seed
from lpbench.reporting.report import write_claims
from scripts.write_interpretations import CHANGES, COLUMNS, KINDS, PAGE, keep_classes, keep_verdicts, kinds, page
from tests.reporting.fake import experiment, scores_of
from tests.reporting.store import put


def write(path, *outcomes):
    keys = ("claim", "check", "ours_outcome")
    rows = [dict.fromkeys(COLUMNS, "0.9") | {"counts": "true", "judges": "true"} for _ in outcomes]
    rows = [row | dict(zip(keys, outcome, strict=True)) for row, outcome in zip(rows, outcomes, strict=True)]
    pd.DataFrame(rows, columns=[*COLUMNS, "judges"]).to_csv(path, index=False)


def test_a_changed_verdict_is_listed_once_and_what_was_not_judged_is_counted(tmp_path):
    one = [("1", "a", "holds"), ("1", "b", "fails")]
    rest = [("2", "a", "holds"), ("3", "a", "no verdict")]
    write(tmp_path / "verdicts.csv", *one, *rest)
    one[1] = ("1", "b", "mostly")
    write(tmp_path / SEED_FILE, *one, *rest[:1], ("3", "a", "fails"))
    changed, said = changes(tmp_path / "verdicts.csv", tmp_path / SEED_FILE)
    assert changed[["claim", "check", "ours_outcome", "ours_outcome_other"]].to_numpy().tolist() == [
        ["1", "b", "fails", "mostly"]
    ]
    assert said.startswith(
        "1 of 3 checks and 1 of 2 claims that were judged under both seeds have another outcome. 1 checks"
    )
    sentence, heads, rows = changed_by_seed(tmp_path)
    assert said in sentence and [len(row) for row in rows] == [len(heads)]


def test_without_another_seed_nothing_is_said(tmp_path):
    assert changed_by_seed(tmp_path) is None


def test_the_verdicts_of_a_run_with_another_seed_are_kept_as_it_judged_them(tmp_path):
    body = experiment("histoftree/figure2c")
    put(tmp_path, body, scores_of(body, lambda key: 1.0 + (key["x"] - 2) ** 2, metric="mse", replications=16))
    write_claims(tmp_path, tmp_path)
    found = pd.read_csv(keep_verdicts(tmp_path, tmp_path), keep_default_na=False)
    assert list(found.columns) == COLUMNS
    judged = found[found["ours_outcome"] != "no verdict"]
    assert set(judged["claim"]) == {"H4", "H5", "H6"} and len(found) > 60


@pytest.fixture(scope="module")
def judged():
    rows = judged_numbers(read_numbers(COMMITTED))
    return rows.assign(number=number_names(rows))


def test_classes_kept_under_the_other_seed_are_counted(judged, tmp_path):
    rows = judged.iloc[:20].assign(**{"class": "equivalent", "identifies": ["method", "nothing"] * 10})
    assert kept_by_seed(rows, tmp_path) == ""
    other = rows.assign(identifies=["nothing", *rows["identifies"][1:]])
    other.loc[other.index[3:5], "class"] = "cannot tell"
    other[::-1].to_csv(tmp_path / OTHER_SEED_CLASSES, index=False)
    assert kept_by_seed(rows, tmp_path).startswith("Under another seed 18 of 20 numbers keep their outcome, and 9 of")


@pytest.mark.parametrize("page", ["index.html", "report.md"])
def test_pages_say_how_many_classes_the_other_seed_keeps(judged, page):
    other = pd.read_csv(COMMITTED / OTHER_SEED_CLASSES).set_index("number")
    assert sorted(other.index) == sorted(judged["number"]) and set(other["class"]) <= set(NUMBER_CLASSES)
    kept = (other.loc[judged["number"], "class"].to_numpy() == judged["class"]).sum()
    text = (COMMITTED / page).read_text(encoding="utf-8")
    assert f"Under another seed {kept:,} of 1,395 numbers keep their outcome" in text


def test_every_number_stands_beside_its_outcome_before_it_had_a_class(judged):
    rows = pd.read_csv(COMMITTED / CHANGES, keep_default_na=False).set_index("number").loc[judged["number"]]
    for column in ("class", "identifies", "cause"):
        assert (rows[column].to_numpy() == judged[column]).all(), "run scripts/write_interpretations.py"
    assert len(rows) == 1395 and set(kinds(rows)) == set(KINDS)
    assert rows["outcome"].isin(["same within noise", "within the tolerance"]).sum() == 1058


def test_the_classes_of_a_run_are_kept(judged, tmp_path):
    found = pd.read_csv(keep_classes(COMMITTED, tmp_path))
    assert found["number"].tolist() == judged["number"].tolist()
    assert found["class"].tolist() == judged["class"].tolist()


def test_the_documentation_has_the_tables_of_the_committed_files():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, COMMITTED) == text, "run scripts/write_interpretations.py"
