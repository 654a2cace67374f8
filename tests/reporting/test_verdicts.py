"""Claims on pages: outcomes in words, and captions that count what stands in the files."""

import pandas as pd
import pytest

from lpbench.paths import COMMITTED
from lpbench.reporting.pages.claims import here_and_in_print


def test_both_outcomes_of_a_claim_are_said():
    assert here_and_in_print("holds", "holds") == "holds here and in print"
    assert here_and_in_print("fails", "holds") == "fails here, holds in print"
    assert here_and_in_print("undecided", "not printed") == "undecided here"


@pytest.fixture(scope="module")
def instances():
    return pd.read_csv(COMMITTED / "claims_instances.csv").query("instance != 'pooled'")


def test_a_captions_counts_are_those_of_its_rows(instances):
    counted = 0
    for (claim, check), rows in instances.groupby(["claim", "check"]):
        text = (COMMITTED / "claims" / f"{claim}.html").read_text(encoding="utf-8")
        here, printed = ((rows["source"] == source).sum() for source in ("ours", "published"))
        beside = f" ({printed} in print)" if here and printed not in (0, here) else ""
        said = f"{here or printed} instances{beside}"
        assert f"Of {said} the 4 are drawn" in text or f"All {said} are drawn" in text, (claim, check)
        counted += 1
    assert counted > 60


def test_a_number_that_is_computed_has_a_unit_of_its_own(instances):
    computed = instances[instances["statistic"] == "stated"]
    assert set(computed["claim"]) == {"H15", "L18"} and (computed["low"] == computed["high"]).all()
    text = (COMMITTED / "claims" / "H15.html").read_text(encoding="utf-8")
    assert "Unit: bins." in text and "Judged at every instance" in text and "on average over" not in text
