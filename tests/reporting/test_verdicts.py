"""The verdict line of a table or figure, and differences of printed numbers that have no budget or standard error."""

import re

import numpy as np

from lpbench.analysis import read_csv
from lpbench.experiments import catalogue
from lpbench.paths import COMMITTED
from lpbench.reporting.causes import CELLS
from lpbench.reporting.comparison import one_row_each
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.pages.causes import explained
from lpbench.reporting.pages.claims import here_and_in_print
from lpbench.reporting.report import compared, verdict


def entry(name: str) -> ReportEntry:
    return ReportEntry(catalogue.experiment(name), COMMITTED)


def test_a_verdict_counts_the_numbers_met_and_the_claims_that_fail():
    made = entry("lpct/figure6a")
    rows = made.comparison.drop_duplicates(["dataset", "method", "x", "published"])
    words = verdict(made, [])
    apart = 100 * rows["difference"].abs()
    count = len(rows)
    assert words.startswith(f"{(apart <= 1.5 + 1e-9).sum()} of {count} points met within 1.5 percentage points")
    assert (f"largest miss {apart.max():.2g} percentage points" in words) is bool((apart > 1.5 + 1e-9).any())


def test_both_outcomes_of_a_claim_are_said():
    assert here_and_in_print("holds", "holds") == "holds here and in print"
    assert here_and_in_print("fails", "holds") == "fails here, holds in print"
    assert here_and_in_print("undecided", "not printed") == "undecided here"


def test_a_large_miss_is_a_factor_and_what_explains_misses_is_counted():
    words = verdict(entry("histoftree/table1"), [])
    rows = one_row_each(entry("histoftree/table1").comparison).dropna(subset=["reproduced"])
    factor = np.exp(np.log(rows["reproduced"] / rows["published"]).abs().max())
    assert factor > 2 and f"largest miss by a factor of {factor:,.0f}" in words
    cells = read_csv(COMMITTED / CELLS)
    for name, sentence in explained(COMMITTED).items():
        mine = cells[cells["experiment"] == name]
        total, *shares = map(int, re.findall(r"\d+(?= (?:missed|unexplained|ruled|known|met))", sentence))
        assert total == len(mine) == sum(shares)
        assert ("unexplained" in sentence) is bool((mine["cause"] == "none found").any())


def test_a_number_without_budget_or_error_is_told_without_them():
    for name in ("lpct/table1", "histoftree/table1"):
        text, lines = compared(entry(name))
        assert lines and not any("nan" in line for line in (text, *lines))
