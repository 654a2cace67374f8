"""Verdicts of two seeds, and the tables of docs/reproduction.md that follow from committed files."""

import pandas as pd

from lpbench.analysis.verdicts import changes
from lpbench.paths import COMMITTED
from lpbench.reporting.pages.about import SEED_FILE, changed_by_seed
from lpbench.reporting.report import write_claims
from scripts.write_interpretations import COLUMNS, PAGE, keep_verdicts, page
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
        "1 of 3 checks have another outcome, 1 of the 2 claims that have a verdict under both; 1 checks"
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


def test_the_documentation_has_the_tables_of_the_committed_files():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, COMMITTED) == text, "run scripts/write_interpretations.py"
