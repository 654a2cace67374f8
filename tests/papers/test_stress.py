import math

import pandas as pd
import pytest

from lpbench.analysis.standings import Run, standings
from lpbench.errors import ConfigurationError
from lpbench.papers.extensions import stress
from lpbench.papers.theory.theorems import mask_rows
from lpbench.selectors import Selector
from tests.analysis.test_standings import rows, run
from tests.reporting.fake import card

CARDS = {name: card(name.upper(), "regression") for name in ("a", "b")}
SETS = ("d1", "d2", "d3", "d4", "d5")


def laid_out(lay_out, cells, metric="mse"):
    """A table of losses (method, data set, mask, budget, panel) -> loss."""
    parts = [
        rows(m, d, [v, v * 1.0001], metric=metric, selection="tuning_free", mask=mask, epsilon=e, panel=panel)
        for (m, d, mask, e, panel), v in cells.items()
    ]
    return lay_out(standings([run(*parts)]), CARDS)


def test_odds_of_a_mask_are_exponentials_and_the_error_is_over_that_of_a_mask_that_tells_nothing():
    cells = {("a", d, f"informative[strength={s}]", 1.0, ""): 2.0 + s for d in SETS for s in (0, 1)}
    table = laid_out(stress.strength_table, cells)
    assert table.heads[-1] == "strength 1: odds 2.72"
    assert table.rows == (("1", "2.72", "A", "1.50 [1.50, 1.50]"),)
    assert "multiplies the odds of a secret bit by 2.72" in table.finding and "1.50 to 1.50" in table.finding
    assert table.remark.startswith("Sought: at most 10 % more. Otherwise in 5 of 5 cells, such as D5, A, ε = 1 (1.50)")


def test_random_cuts_are_compared_with_both_rules():
    names = {"histoftree_max_edge": 1.0, "histoftree_cart": 4.0, "histoftree_max_edge[rule=random]": 2.0}
    table = laid_out(stress.rules_table, {(m, d, "aligned", 1.0, ""): v for d in SETS for m, v in names.items()})
    assert [row[3] for row in table.rows] == ["2.00 [2.00, 2.00]", "0.50 [0.50, 0.50]"]
    assert "by 1.00 on average and by 2.00 at most" in table.finding


def test_liars_are_compared_with_the_same_method_without_them():
    losses = {"": 1.0, "[metric=at_point]": 2.0}
    losses |= {f"[{Selector('x', dict(s))}]"[2:].rstrip("]") + "]": 3.0 for s in stress.SCENARIOS.values()}
    cells = {("a", f"{d}{given}", "aligned", e, ""): v * (1 + (v == 3.0) / e)
             for d in SETS for given, v in losses.items() for e in (0.5, 4.0)}  # fmt: skip
    table = laid_out(stress.liars_table, cells)
    small, large = (dict(zip(table.heads, row, strict=True)) for row in table.rows)
    assert small["10 % false reports"] == "9.00 [9.00, 9.00]" and large["10 % false reports"] == "3.75 [3.75, 3.75]"
    assert small["10 %, first test row"] == "4.50 [4.50, 4.50]"
    assert table.finding.startswith("A smaller ε is easier to poison") and "by 9.00 at ε = 0.5" in table.finding
    assert "No exception" in table.remark


def test_every_method_is_compared_with_itself_at_each_share_of_liars_and_the_least_hurt_comes_first():
    losses = {"": 1.0, "[liars=0.05,poison=output]": 2.0, "[liars=0.1,poison=output]": 3.0,
              "[liars=0.1,poison=input]": 1.5}  # fmt: skip
    cells = {(m, f"{d}{given}", "aligned", 1.0, ""): v ** (1 + 9 * (m == "a"))
             for m in CARDS for d in SETS[:2] for given, v in losses.items()}  # fmt: skip
    table = laid_out(stress.every_method_table, cells)
    assert table.heads[2:] == ("5 % false reports, ε = 1", "10 % false reports, ε = 1", "10 % false records, ε = 1")
    assert [row[0] for row in table.rows] == ["B", "A"] and table.rows[0][2:] == ("2.00", "3.00", "1.50")
    assert (
        table.rows[1][3] == "10^5"
        and "leaves 0 of 2 methods" in table.finding
        and "; 1 loses more than" in table.finding
    )


@pytest.mark.parametrize(
    "method, expected",
    [
        ("private_mean", math.inf),
        ("private_majority", pytest.approx((math.e + 1) / (math.e - 1))),
        ("residual_gp", "bounded"),
        ("dt", "no report"),
    ],
)
def test_the_influence_of_a_method_is_that_of_its_loosest_report(method, expected):
    assert stress.influence(method, 1.0, {}) == expected


def test_a_method_that_does_not_run_is_not_called_bounded(monkeypatch):
    def fails(*arguments):
        raise ConfigurationError("n=240 must be larger")

    monkeypatch.setattr("lpbench.audit.recorded.recorded_run", fails)
    assert stress.influence("private_mean", 1.0, {}) == "not run"


def test_gaps_are_wider_where_their_intervals_say_so():
    cells, models = [], {"a": "ldp", "free": "none"}
    for d, gap in (("d1", 0.3), ("d2", 0.1)):
        for method, panel, value in (("a", "", gap), ("free", "without privacy", 0.1)):
            for metric in ("group_gap", "worst_group"):
                found = [value, value + 0.001]
                cells += rows(method, f"{d}[metric={metric}]", found, metric=f"{metric}_accuracy", panel=panel,
                              selection="tuning_free")  # fmt: skip
    table = stress.groups_table(standings([Run("test/table", pd.DataFrame(cells), models, {})]), CARDS)
    assert "wider in 1, narrower in 0 of 2 cells" in table.finding
    assert table.rows[0][2].startswith("30 ± ") and table.rows[0][2].endswith("(30)")
    assert {row[1] for row in table.rows} == {"1", "without privacy"}


def test_what_the_paper_says_of_masks_is_counted_exactly():
    assert [(row.theorem, row.word) for row in mask_rows()] == [("H-T3", "fails")]
