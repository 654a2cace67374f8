"""Claims from the table of verdicts: three claims by three checks, by hand."""

import pandas as pd
import pytest

from lpbench.analysis.verdicts import claims_of, cross_table, in_words


@pytest.fixture
def verdicts():
    shared = {"paper": "L", "configuration": "text", "judges": True, "counts": True, "artifact": "table2"}
    shared |= {"section": "", "sentence": "s", "reason": "", "cause": "", "counted_apart": False}
    outcomes = [
        *(("L1", "a", "holds", "mostly"), ("L1", "b", "not printed", "holds"), ("L1", "c", "fails", "fails")),
        *(("L2", k, "not printed", ours) for k, ours in zip("abc", ("holds", "undecided", "holds"), strict=True)),
        *(("L3", "a", "holds", "fails"), ("L3", "b", "holds", "holds"), ("L3", "c", "mostly", "holds")),
    ]
    rows = [shared | {"claim": c, "check": k, "published_outcome": p, "ours_outcome": o} for c, k, p, o in outcomes]
    rows[2] |= {"counts": False, "reason": "shown beside"}
    rows[6] |= {"cause": "the grid"}
    rows.append(rows[6] | {"configuration": "code", "judges": False, "ours_outcome": "holds"})
    rows.append(rows[0] | {"claim": "L4", "counted_apart": True})
    return pd.DataFrame(rows)


def test_a_claim_is_as_weak_as_its_weakest_check_that_counts(verdicts):
    found = claims_of(verdicts).set_index("claim")
    assert found["print"].tolist() == ["holds", "not printed", "holds", "holds"]
    assert found["ours"].tolist() == ["holds", "undecided", "fails", "holds"]
    # the authors' code comes to another outcome in a check that counts; a claim that fails against print has a cause
    assert found["depends"].tolist() == ["no", "no", "yes", "no"]
    assert found["cause"].tolist() == ["", "", "the grid", ""]
    assert claims_of(verdicts.assign(cause=""))["cause"].tolist() == ["", "", "no cause was found", ""]


@pytest.mark.parametrize("code", ["holds", "mostly", "undecided", "fails", "no verdict"])
@pytest.mark.parametrize("text", ["holds", "mostly", "undecided", "fails", "no verdict"])
def test_a_claim_depends_on_its_configuration_where_two_come_to_other_outcomes(text, code, verdicts):
    judging = verdicts.iloc[:1].assign(ours_outcome=text)
    [claim] = claims_of(pd.concat([judging, judging.assign(judges=False, ours_outcome=code)])).to_dict("records")
    outcomes = [{"mostly": "holds"}.get(outcome, outcome) for outcome in (text, code)]
    unknown = "no verdict" in outcomes
    assert claim["depends"] == ("unknown" if unknown else "yes" if len(set(outcomes)) > 1 else "no")


def test_a_claim_without_a_check_that_counts_has_no_verdict_but_a_reason(verdicts):
    [claim] = claims_of(verdicts.iloc[[2]]).to_dict("records")
    assert (claim["ours"], claim["reason"]) == ("no verdict", "shown beside")


def test_claims_are_counted_by_both_outcomes(verdicts):
    claims = claims_of(verdicts)
    table = cross_table(claims)
    assert table.loc["holds", "holds"] == table.loc["undecided", "not printed"] == table.loc["fails", "holds"] == 1
    assert table.to_numpy().sum() == 3
    assert in_words(claims) == (
        "Of 3 claims in words 1 holds here (1 also in print, 0 without a printed number), 1 is undecided, 1 fails; the "
        "outcome of 1 depends on how an open point is interpreted; 1 more sentence is counted apart"
    )
