from lpbench.reporting.pages.claims import here_and_in_print


def test_both_outcomes_of_a_claim_are_said():
    assert here_and_in_print("holds", "holds") == "holds here and in print"
    assert here_and_in_print("fails", "holds") == "fails here, holds in print"
    assert here_and_in_print("undecided", "not printed") == "undecided here"
