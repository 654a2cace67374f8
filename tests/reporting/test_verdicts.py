"""Claims on pages: outcomes in words, and captions that count what stands in the files."""

import pandas as pd
import pytest

from lpbench.paths import COMMITTED
from lpbench.reporting.render import _environment


@pytest.mark.parametrize(
    ("ours", "printed", "words"),
    [
        ("holds", "holds", "holds in our runs and in print"),
        ("fails", "holds", "fails in our runs, holds in print"),
        ("undecided", "not printed", "undecided in our runs"),
    ],
)
def test_both_outcomes_of_a_claim_are_said(ours, printed, words):
    macros = _environment().get_template("macros.html.j2").module
    assert str(macros.both({"ours": ours, "print": printed})) == words


@pytest.fixture(scope="module")
def instances():
    return pd.read_csv(COMMITTED / "claims_instances.csv").query("instance != 'pooled'")


def test_a_captions_counts_are_those_of_its_rows(instances):
    counted = 0
    for (claim, check), rows in instances.groupby(["claim", "check"]):
        text = (COMMITTED / "claims" / f"{claim}.html").read_text(encoding="utf-8")
        here, printed = ((rows["source"] == source).sum() for source in ("ours", "published"))
        beside = f" ({printed} have printed numbers)" if here and printed not in (0, here) else ""
        said = f"{here or printed} instances{beside}"
        if (here or printed) == 1:
            assert "The figure shows the only instance" in text, (claim, check)
        else:
            assert f"The figure shows 4 of {said}" in text or f"The figure shows all {said}" in text, (claim, check)
        counted += 1
    assert counted > 60


def test_a_number_that_is_computed_has_a_unit_of_its_own(instances):
    computed = instances[instances["statistic"] == "stated"]
    assert set(computed["claim"]) == {"H15", "L18"} and (computed["low"] == computed["high"]).all()
    text = (COMMITTED / "claims" / "H15.html").read_text(encoding="utf-8")
    assert "Unit: bins." in text and "no instance may contradict it" in text and "The average over" not in text
