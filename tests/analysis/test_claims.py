"""Outcomes by hand: intervals against regions, instances against the pooled value, both sources."""

import re

import numpy as np
import pytest

from lpbench.analysis.claims import (
    OPPOSITE,
    Check,
    Region,
    above,
    below,
    judge,
    power,
    replications_for,
    weakest,
    within,
)
from lpbench.analysis.instances import CellScores, Instance, difference, join, linear, pooled
from lpbench.analysis.rates import Interval
from lpbench.analysis.statistics import STATISTICS, meaning, significant, statistic

YES, NO, OPEN = Interval(2, 1, 3), Interval(-2, -3, -1), Interval(0, -1, 1)


def cells(*columns, step=0.0, name="a") -> CellScores:
    keys = tuple(("e", "", "d", "", f"{name}{k}", 1.0, float("nan")) for k in range(len(columns)))
    return CellScores(keys, np.array(columns, dtype=float).T, np.full(len(columns), step))


def check(**options) -> Check:
    return Check("c", lambda source: source, above(), **options)


@pytest.mark.parametrize(
    ("parts", "whole", "options", "expected"),
    [
        ([YES, YES], YES, {}, "holds"),
        ([YES, OPEN], YES, {}, "holds"),
        ([YES] * 4 + [NO], YES, {}, "mostly"),
        ([YES] * 3 + [NO], YES, {}, "fails"),
        ([YES] * 9 + [NO], YES, {"quantifier": "every"}, "fails"),
        ([OPEN, OPEN], OPEN, {}, "undecided"),
        ([YES] * 5 + [NO], OPEN, {}, "undecided"),
        ([YES, NO], OPEN, {}, "fails"),
        ([OPEN, YES], NO, {}, "fails"),
        ([YES, YES], YES, {"quantifier": "each"}, "holds"),
        ([YES, OPEN], YES, {"quantifier": "each"}, "undecided"),
        ([YES, NO], YES, {"quantifier": "each"}, "fails"),
        ([NO, NO], YES, {"quantifier": "some"}, "fails"),
        ([NO, YES], NO, {"quantifier": "some"}, "holds"),
        ([NO, OPEN], YES, {"quantifier": "some"}, "undecided"),
        ([YES, YES], YES, {"quantifier": "some"}, "undecided"),
    ],
)
def test_outcomes_of_a_check(parts, whole, options, expected):
    table = np.array([[i.estimate, i.low, i.high] for i in (*parts, whole)])[None]
    assert check(**options).outcomes(table[:, :-1], table[:, -1], 30).tolist() == [expected]


def test_contradictions_count_after_holm_within_the_check():
    """With forty instances at zero an "every" check would fail most of the time without it."""
    rng = np.random.default_rng(0)
    made = [[linear(str(k), (cells(rng.normal(size=20)), [1.0])) for k in range(40)] for _ in range(150)]
    alone = [any(above().judge(pooled([i])) == "contradicts" for i in instances) for instances in made]
    assert np.mean(alone) > 0.4
    fails = [judge(check(quantifier="every"), instances).outcome == "fails" for instances in made]
    assert np.mean(fails) < 0.09


def test_a_verdict_that_resamples_do_not_keep_is_undecided():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=20)
    noise = (noise - noise.mean()) / noise.std(ddof=1) / np.sqrt(20) ** -1
    # an interval that just excludes 0, and one far from it
    near, far = (judge(check(), [linear("a", (cells(noise + 2.1 * k), [1.0]))]) for k in (1, 3))
    assert (near.outcome, far.outcome) == ("undecided", "holds")
    assert 0.3 < near.stability < 0.7 and far.stability > 0.95
    assert re.match(r"the check holds in \d\d% of 2,000 bootstrap samples, but a verdict needs 80%", near.reason)


def test_power_is_that_of_the_check_itself():
    """Of a mean it is that of the t test; of a monotone curve under noise it is small although the sentence is true."""
    rng = np.random.default_rng(2)
    one = judge(check(effect=0.7), [linear("a", (cells(rng.normal(size=20)), [1.0]))])
    assert one.power == pytest.approx(power(0.7, 20), abs=0.1)
    trend = Check("c", lambda source: source, above(1, 0.1), quantifier="every")
    for noise, low, high in ((0.1, 0.95, 1.0), (4.0, 0.0, 0.3)):
        curve = cells(*(np.arange(6)[:, None] + noise * rng.normal(size=(6, 20))))
        found = judge(trend, [Instance("a", curve, "trend", {"x": [0, 1, 2, 3, 4, 5]})])
        assert low <= found.power <= high
        assert (found.outcome == "cannot decide") == (noise == 4.0)


def test_power_at_the_mirror_is_that_of_the_check_to_fail():
    """Symmetric for a mean; a single-sided effect beyond either edge of an equivalence."""
    rng = np.random.default_rng(6)
    noise = rng.normal(size=20)
    mean = judge(check(effect=0.7), [linear("a", (cells(noise), [1.0]))])
    assert mean.mirror == pytest.approx(power(0.7, 20), abs=0.1)
    same = Check("c", lambda source: source, within(0.05), effect=0.7)
    found = judge(same, [linear("a", (cells(noise), [1.0]))])
    # in the middle of a region narrower than its noise nothing is seen
    assert found.power == 0.0 and found.outcome == "cannot decide" and OPPOSITE in found.reason


def test_an_instance_beyond_the_margin_keeps_every_from_holding_and_the_other_seed_makes_it_fail():
    """One of forty lies just beyond: Holm's correction would let it pass."""
    rng = np.random.default_rng(7)
    unit = rng.normal(size=30)
    unit = (unit - unit.mean()) / unit.std(ddof=1)
    instances = [linear(str(k), (cells(unit + 3), [1.0])) for k in range(39)] + [
        linear("odd", (cells(unit - 0.6), [1.0]))
    ]
    found = {name: judge(check(quantifier=name), instances) for name in ("", "every")}
    assert (found[""].outcome, found["every"].outcome) == ("holds", "undecided")
    assert found["every"].counts == (39, 0, 1)
    assert judge(check(quantifier="every"), instances, ["odd"]).outcome == "fails"
    assert judge(check(quantifier="every"), instances, ["3"]).outcome == "undecided"


def test_a_check_without_a_number_cannot_decide():
    good, none = linear("a", (cells([1.0, 1.1]), [1.0])), linear("b", (cells([np.nan, np.nan]), [1.0]))
    found = judge(check(), [good, none])
    assert (found.outcome, found.power, found.mirror) == ("cannot decide", 0.0, 0.0) and "such as “b”" in found.reason


def test_an_interval_reaches_to_its_estimate():
    """Ranks of equal methods: every draw breaks the tie, and the estimate lies outside all draws."""
    rng = np.random.default_rng(3)
    table = Instance("r", cells(*rng.normal(size=(60, 15))), "rank_sum_gap",
                     {"columns": 6, "proposed": 3, "ties": "average"})  # fmt: skip
    found = pooled([table])
    assert found.low <= found.estimate <= found.high


def test_regions_and_their_margins():
    assert above(1, 0.1) == Region(0.9, np.inf)
    assert below(0.5, 0.1) == Region(-np.inf, 0.6) and within(0.02) == Region(-0.02, 0.02)
    assert within(0.02).judge(Interval(0, -0.01, 0.01)) == "agrees"
    assert within(0.02).judge(Interval(0.01, -0.01, 0.03)) == "undecided"
    assert within(0.02).judge(Interval(0.03, 0.025, 0.04)) == "contradicts"


def test_a_claim_is_as_good_as_its_weakest_check():
    assert weakest(["holds", "not printed", "mostly"]) == "mostly"
    assert weakest(["holds", "undecided", "fails"]) == "fails"
    assert weakest(["not printed"]) == "not printed"


def test_replications_follow_from_the_power():
    assert replications_for(1.0) == 15 and power(1.0, 14) < 0.8 <= power(1.0, 15)
    assert check(effect=0).replications == 1


def test_power_includes_that_resamples_keep_the_verdict():
    """Ten replications see one standard deviation with 80 % by the t test alone, and keep it in about 59 % of runs."""
    rng = np.random.default_rng(4)
    runs = [[linear("a", (cells(1 + rng.normal(size=10)), [1.0]))] for _ in range(400)]
    assert np.mean([judge(check(), run).outcome == "holds" for run in runs]) == pytest.approx(power(1.0, 10), abs=0.06)


def test_the_mean_of_instances_is_taken_within_each_replication():
    # two instances that share their noise: pooled as if independent, the interval would be too short
    a = cells([1.0, 2.0, 3.0], [1.5, 2.5, 3.5])
    pair = [linear("x", (a[[0]], [1.0])), linear("y", (a[[1]], [1.0]))]
    found = pooled(pair)
    half = 4.302652729911275 * 1 / np.sqrt(3)
    assert (found.estimate, found.low) == (pytest.approx(2.25), pytest.approx(2.25 - half))


def test_rounding_adds_its_variance_and_a_cell_in_two_instances_counts_once():
    still = cells([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], step=0.12)
    pair = [difference("x", still[[1]], still[[0]]), difference("y", still[[1]], still[[0]])]
    half = 4.302652729911275 * np.sqrt(2 * 0.12**2 / 12)
    for instances in (pair, pair[:1]):
        found = pooled(instances)
        assert (found.estimate, found.high - found.estimate) == (1.0, pytest.approx(half))


def test_best_points_are_found_anew_in_each_draw():
    rng = np.random.default_rng(3)
    # the least place is the second or the third, each half of the time
    y = np.array([2.0, 1.0, 1.0, 2.0]) + 0.5 * rng.normal(size=(20, 4))
    curve = cells(*y.T)
    found = pooled([Instance("p", join([curve, curve]), "trend_of_best", {"x": [0, 1, 2, 3], "curves": 2})])
    assert found.estimate == 0 == found.low == found.high


def test_a_curve_without_an_inner_minimum_is_no_u():
    """Flat with one high end: the least of noisy means inside lies below both ends, but not on other replications."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(300):
        y = rng.normal(size=(40, 7)) + np.array([0, 0, 0, 0, 0, 0, 3])
        found.append(judge(check(quantifier="each"), [Instance("u", cells(*y.T), "dip")]).outcome)
    assert np.mean([outcome == "holds" for outcome in found]) < 0.03
    deep = rng.normal(size=(40, 7)) + np.array([2, 2, 2, 0, 2, 2, 2])
    assert judge(check(quantifier="each"), [Instance("u", cells(*deep.T), "dip")]).outcome == "holds"


def test_an_instance_that_cannot_tell_is_left_out():
    good, silent = linear("a", (cells([1.0, 1.1]), [1.0])), linear("b", (cells([-5.0, -5.1]), [1.0]), silent="why")
    assert judge(check(), [good, silent]).overall.estimate == pytest.approx(1.05)
    alone = judge(check(), [silent])
    assert (alone.outcome, alone.reason) == ("undecided", "why")


@pytest.mark.parametrize(
    ("name", "y", "arguments", "expected"),
    [
        ("trend", [3.0, 2.0, 1.0], {"x": [1, 5, 9]}, -1),
        ("trend", [1.0, 1.0, 1.0], {"x": [1, 5, 9]}, 0),
        # the halves choose each other's places: ends 2 and 1, places 1 and 2
        ("dip", [[9.0, 3.0, 4.0, 2.0], [1.0, 5.0, 4.0, 7.0]], {}, [9.0 - 4.0, 7.0 - 5.0]),
        ("dip", [[0.0, 2.0, 1.0]] * 2, {"sign": -1}, [1, 1]),
        ("ratio_of_spreads", [0.0, 4.0, 1.0, 3.0], {}, 0.5),
        ("gap_of_best", [2.0, 1.0, 4.0, 3.0], {}, 2),
        ("excess_over_best", [1.3, 1.2, 1.5], {"floor": 1.0}, 0.5),
        # the first curve is 50 % above the other at its second place, the other 100 % at the first
        ("loss_of_any_single", [1.1, 1.3, 1.2, 1.2], {"curves": 2, "floor": 1.0}, 0.5),
        # two proposed, one rival: rank sums 1 + 2, 2 + 1 and 3 + 3
        ("rank_sum_gap", [1.0, 2.0, 3.0, 2.0, 1.0, 3.0], {"columns": 3, "proposed": 2, "ties": "average"}, 3),
        ("rank_sum_gap", [1.0, 1.0], {"columns": 2, "proposed": 1, "ties": "average"}, 0),
        ("rank_sum_gap", [np.nan, 1.0], {"columns": 2, "proposed": 1, "ties": "min"}, -1),
        # a tie for the best counts for both
        ("wins_gap", [1.0, 2.0, 1.0, 1.0, 3.0, 2.0], {"columns": 2, "proposed": 1}, 0),
        ("median_ratio", [1.0, 4.0, 2.0, 2.0], {}, 1.25),
        ("log_gap", [200.0, 100.0, 1.0, 10.0], {"first": 2}, 1),
        ("gained_or_vanished", [1.0, 1.0, 1.0, 1.0], {"weights": [0, 0, 0, 0], "vanished": np.e}, 1),
    ],
)
def test_statistics_by_hand(name, y, arguments, expected):
    assert statistic(name, np.array(y), arguments) == pytest.approx(expected)


def test_what_a_statistic_measures_is_said_without_its_arguments():
    """The first lines stand on the pages of claims."""
    assert not [name for name in STATISTICS if re.search(r"=|``", meaning(name))]


def test_significant_digits():
    assert significant(np.array([0.123456789, 123456.789, 0.0, -1.0])).tolist() == [0.123457, 123457.0, 0.0, -1.0]
    assert np.isnan(significant(np.array([np.nan]))[0])
