import math

import pandas as pd
import pytest

from lpbench.analysis.standings import Run, standings
from lpbench.errors import ConfigurationError
from lpbench.papers.extensions import stress
from lpbench.papers.theory.computed import mask_rows
from lpbench.selectors import Selector
from tests.analysis.test_standings import rows, run
from tests.reporting.fake import card

CARDS = {name: card(name.upper(), "regression") for name in ("a", "b")}
SETS = ("d1", "d2", "d3", "d4", "d5")


def laid_out(lay_out, cells, metric="mse"):
    """A table of losses (method, data set, mask, budget, panel) -> loss."""
    parts = [
        rows(
            m, d, [v, v * 1.0001, v * 1.0002], metric=metric, selection="tuning_free", mask=mask, epsilon=e, panel=panel
        )
        for (m, d, mask, e, panel), v in cells.items()
    ]
    return lay_out(standings([run(*parts)]), CARDS)


def test_odds_of_a_mask_are_exponentials_and_the_error_is_over_that_of_a_mask_that_tells_nothing():
    cells = {("a", d, f"informative[strength={s}]", 1.0, ""): 2.0 + s for d in SETS for s in (0, 1)}
    table = laid_out(stress.strength_table, cells)
    assert table.heads[-1] == "strength 1: odds 2.72"
    assert table.rows == (("1", "2.72", "A", "1.50 [1.50, 1.50]"),)
    # the odds are e^s by construction, and no finding
    assert table.finding.endswith("changes the error by a factor of 1.50 [1.50, 1.50], on average over 5 data sets")


def test_random_cuts_are_compared_with_both_rules():
    names = {"histoftree_max_edge": 1.0, "histoftree_cart": 4.0, "histoftree_max_edge[rule=random]": 2.0}
    table = laid_out(stress.rules_table, {(m, d, "aligned", 1.0, ""): v for d in SETS for m, v in names.items()})
    assert [row[3] for row in table.rows] == ["2.00 [2.00, 2.00]", "0.50 [0.50, 0.50]"]
    assert (
        table.finding == ""
        and "factor of 1.00 [1.00, 1.00]" in table.remark
        and "This average shows no difference" in table.remark
    )


def test_a_finding_needs_enough_sets_and_replications_and_an_interval_without_one():
    cases = {(5, 3, 0.1): True, (4, 3, 0.1): False, (5, 2, 0.1): False, (5, 3, 2.0): False}
    for (sets, replications, spread), decided in cases.items():
        ratios = {f"d{k}": 1.5 * math.exp(spread * (k % 2 - 0.5)) for k in range(sets)}
        effect = stress.Effect.of([ratios], pd.DataFrame({"replications": [replications]}))
        assert bool(effect.finding("x")) == decided != bool(effect.remark("x")), (sets, replications, spread)


def test_cells_of_one_data_set_count_once():
    one = stress.Effect.of([{"d1": 4.0, "d2": 1.0}, {"d1": 1.0}], pd.DataFrame({"replications": [9]}))
    assert one.sets == 2 and one.ratio.estimate == pytest.approx(math.sqrt(2))


def test_liars_are_compared_with_the_same_method_without_them():
    losses = {"": 1.0, "[metric=at_point]": 2.0}
    losses |= {f"[{Selector('x', dict(s))}]"[2:].rstrip("]") + "]": 3.0 for s in stress.SCENARIOS.values()}
    cells = {("a", f"{d}{given}", "aligned", e, ""): v * (1 + (v == 3.0) / e)
             for d in SETS for given, v in losses.items() for e in (0.5, 4.0)}  # fmt: skip
    table = laid_out(stress.liars_table, cells)
    small, large = (dict(zip(table.heads, row, strict=True)) for row in table.rows)
    assert small["10 % false reports"] == "9.00 [9.00, 9.00]" and large["10 % false reports"] == "3.75 [3.75, 3.75]"
    assert small["10 % false reports, first test row"] == "4.50 [4.50, 4.50]"
    # "a" does not run in the audit, and what liars can do to it is not known
    assert table.finding == ""


def test_only_methods_with_bounded_reports_are_compared_over_budgets(monkeypatch):
    monkeypatch.setattr(stress, "influence", lambda method, *_: {"a": 4.1, "b": math.inf}[method])
    losses = {"": 1.0, "[liars=0.1,poison=output]": 3.0}
    cells = {(m, f"{d}{given}", "aligned", e, ""): v / e ** (v == 3.0 and m == "a")
             for m in CARDS for d in SETS for given, v in losses.items() for e in (0.5, 4.0)}  # fmt: skip
    table = laid_out(stress.liars_table, cells)
    assert table.finding.endswith("false reports by a factor of 8.00 [8.00, 8.00], on average over 5 data sets")


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


def gaps(*cells):
    """A table of gaps (data set, method, panel) -> values by replication."""
    parts, models = [], {"a": "ldp", "private_mean": "ldp", "free": "none"}
    for d, method, panel, values in cells:
        for metric in ("group_gap", "worst_group"):
            parts += rows(method, f"{d}[metric={metric}]", values, metric=f"{metric}_accuracy", panel=panel,
                          selection="tuning_free")  # fmt: skip
    return stress.groups_table(standings([Run("test/table", pd.DataFrame(parts), models, {})]), CARDS)


def test_gaps_are_ratios_that_differ_after_a_correction():
    near = [0.1, 0.101, 0.099]
    free = [(d, "free", "without privacy", near) for d in SETS]
    table = gaps(*free, *((d, "a", "", [3 * v for v in near] if d == "d1" else near) for d in SETS))
    assert table.rows[0][2].startswith("30 ± ") and table.rows[0][2].endswith(" ×3* (30)")
    assert table.rows[0][3].endswith(" ×1 (10)")
    assert (
        "In 5 single cells" in table.remark
        and "in 1 of these cells and narrows it in 0." in table.remark
        and table.finding == ""
    )
    # one set in five is no finding; all five are, and a constant is not counted
    wider = [(d, m, "", [3 * v for v in near]) for d in SETS for m in ("a", "private_mean")]
    assert gaps(*free, *wider).finding.endswith("a factor of 3.00 [3.00, 3.00], on average over 5 data sets")


def test_a_gap_without_privacy_that_noise_explains_is_no_denominator():
    table = gaps(("d1", "free", "without privacy", [0.5, -0.4, 0.1]), ("d1", "a", "", [0.3, 0.3, 0.3]))
    assert "In 0 single cells" in table.remark and "×" not in table.rows[0][2]


def test_what_the_paper_says_of_masks_is_counted_exactly():
    assert [(row.theorem, row.word) for row in mask_rows()] == [("H-T3", "fails")]
