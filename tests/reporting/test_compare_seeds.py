"""Verdicts of two seeds."""

import pandas as pd

from scripts.compare_seeds import changes

COLUMNS = ["paper", "claim", "check", "counts", "ours_outcome", "status", "claim_status", "stability", "power"]


def table(*outcomes):
    rows = [("H", c, k, "true", o, f"s {o}", f"c {c} {o}", "1", "") for c, k, o in outcomes]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_a_changed_verdict_is_listed_once_and_what_was_not_judged_is_not():
    first = table(("1", "a", "holds"), ("1", "b", "fails"), ("2", "a", "holds"), ("3", "a", "no verdict"))
    second = table(("1", "a", "holds"), ("1", "b", "holds"), ("2", "a", "holds"), ("3", "a", "fails"))
    changed, said = changes(first, second)
    assert changed[["claim", "check", "ours_outcome", "ours_outcome_other"]].values.tolist() == [
        ["1", "b", "fails", "holds"]
    ]
    assert said == "1 of 3 checks have another outcome and 0 of 2 claims another status"
