import math

import numpy as np
import pandas as pd
import pytest

from lpbench.analysis.exponents import least_leak, two_point
from lpbench.analysis.rates import Interval
from lpbench.datasets import make_problem
from lpbench.datasets.label_dp import sign_cubes, three_point
from lpbench.papers.theory import FILE, NAMES, read
from lpbench.papers.theory.theorems import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNRESOLVED,
    Row,
    judge,
    labels_read,
    longest,
    tabulate,
)
from lpbench.paths import COMMITTED
from lpbench.reporting.pages.site import _trials


def row(kind="rate", expected=(0.3, 0.3), found=(0.3, 0.29, 0.31), **options):
    return Row("H-T1", "", "", "", kind, expected, Interval(*found), **options)


@pytest.mark.parametrize(
    "case, verdict, word",
    [
        (row(found=(0.31, 0.29, 0.33)), HOLDS, "sharp"),
        (row(found=(0.5, 0.48, 0.52)), HOLDS, "faster here"),
        (row(found=(0.1, 0.08, 0.12)), FAILS, "slower"),
        (row(found=(0.3, 0.1, 0.5)), UNDECIDED, ""),
        (row(unresolved="2 of 4 sizes"), UNRESOLVED, ""),
        (row(expected=(0.3, 0.5), found=(0.4, 0.38, 0.42)), HOLDS, "sharp"),
        (row("above", (1, 1), (1.5, 1.4, 1.6)), HOLDS, ""),
        (row("above", (1, 1), (0.9, 0.88, 0.92)), FAILS, ""),
        (row("above", (1, 1), (0.9, 0.88, 0.92), tests=10**30), UNDECIDED, ""),
        (row("below", (0.1, 0.1), (0.0, 0.0, 0.01)), HOLDS, ""),
        (row("power", (2, 2), (1.9, 1.8, 2.0)), HOLDS, ""),
        (row("power", (2, 2), (0.8, 0.7, 0.9)), FAILS, ""),
        (row("counted", (0, 2), (2, 2, 2)), HOLDS, ""),
        (row("counted", (0, 1), (2, 2, 2)), FAILS, ""),
    ],
)
def test_a_rule_decides_each_row(case, verdict, word):
    [(found, said, _)] = judge([case])
    assert (found, said) == (verdict, word)


def test_holm_counts_the_rows_that_are_resolved():
    weak = row("above", (0, 0), (1.0, 0.1, 1.9))
    assert judge([weak])[0][0] == HOLDS
    assert judge([weak] * 10)[0][0] == UNDECIDED
    assert judge([weak, *[row(unresolved="few")] * 10])[0][0] == HOLDS
    assert len(tabulate([weak, row(unresolved="few")])) == 2


def test_the_longest_run_is_the_last_of_equals():
    assert longest(np.array([1, 1, 0, 1, 1], dtype=bool)).tolist() == [False, False, False, True, True]
    assert not longest(np.zeros(3, dtype=bool)).any()


@pytest.mark.parametrize("epsilon", [0.5, 1.0, math.inf])
def test_the_floor_of_label_ldp_is_the_bayes_risk_of_randomised_response(epsilon):
    n, cubes, height = 1000, 4, 0.2
    rng = np.random.default_rng(1)
    k = rng.binomial(n, 1 / cubes, 200_000)
    lead = 2 * rng.binomial(k, 0.5 * (1 + height * np.tanh(epsilon / 2))) - k
    wrong = (lead < 0) + 0.5 * (lead == 0)
    floor = two_point("label_ldp", classes=True, n=n, cubes=cubes, height=height, epsilon=epsilon)
    # five standard errors
    assert floor == pytest.approx(height * wrong.mean(), abs=5 * height * wrong.std() / k.size**0.5)
    signal = height * np.tanh(epsilon / 2)
    guess = np.tanh(lead / 2 * np.log((1 + signal) / (1 - signal)))
    loss = (height * (1 - guess)) ** 2
    floor = two_point("label_ldp", classes=False, n=n, cubes=cubes, height=height, epsilon=epsilon)
    assert floor == pytest.approx(loss.mean(), abs=5 * loss.std() / k.size**0.5)


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
def test_the_floor_of_label_cdp_is_the_error_of_a_private_test(epsilon):
    """The noise of the optimal test is a difference of geometric variables plus a uniform one (Tulap)."""
    n, cubes, height = 1000, 4, 0.2
    rng = np.random.default_rng(2)
    k = rng.binomial(n, 1 / cubes, 200_000)
    lead = rng.binomial(k, 0.5 * (1 + height)) - k / 2
    stop = 1 - np.exp(-epsilon)
    noise = rng.geometric(stop, k.size) - rng.geometric(stop, k.size) + rng.uniform(-0.5, 0.5, k.size)
    wrong = lead + noise < 0
    floor = two_point("label_cdp", classes=True, n=n, cubes=cubes, height=height, epsilon=epsilon)
    assert floor == pytest.approx(height * wrong.mean(), abs=5 * height * wrong.std() / k.size**0.5)


@pytest.mark.parametrize("model", ["label_ldp", "label_cdp"])
@pytest.mark.parametrize("moment", [None, 2.0])
def test_floors_fall_with_the_budget_and_see_leaks(model, moment):
    family = {"model": model, "classes": False, "n": 1000, "cubes": 4, "height": 0.25, "moment": moment}
    values = [two_point(epsilon=e, **family) for e in (0.01, 0.1, 0.5, 1, 4, math.inf)]
    assert values == sorted(values, reverse=True)
    assert values[0] <= 0.25**2
    assert 0.1 < least_leak(10_000, 0.1, **family) <= least_leak(1000, 0.1, **family)


@pytest.mark.parametrize("family", ["sign_classes", "sign_regression"])
def test_signs_are_drawn_anew_and_public_labels_are_coins(family):
    params = {"n": 20_000, "bins": 4, "d": 2, "n_public": 20_000}
    first, second = (make_problem(family, params, replication=r) for r in (0, 1))
    truth = [p.eta_test if p.eta_test.ndim == 1 else p.eta_test[:, 1] - p.eta_test[:, 0] for p in (first, second)]
    assert np.unique(np.abs(truth).round(12)).tolist() == [0.25]
    assert (truth[0] != truth[1]).any()
    bins, height = sign_cubes(params | {"beta": 0.5})
    place = tuple((first.X_train * bins).astype(int).T)
    y = first.y_train if family == "sign_regression" else 2 * first.y_train - 1
    means = np.zeros((bins, bins))
    np.add.at(means, place, y)
    count = np.zeros((bins, bins))
    np.add.at(count, place, 1)
    # 1250 rows a cube: five standard errors
    assert np.abs(np.abs(means / count) - height).max() < 5 / 1000**0.5
    public = first.y_public if family == "sign_regression" else 2 * first.y_public - 1
    assert abs(public.mean()) < 5 / public.size**0.5


def test_three_points_have_the_moment_one():
    for moment in (2.0, 4.0):
        bound, share = three_point(0.3, moment)
        assert share * bound == pytest.approx(0.3)
        assert share * bound**moment == pytest.approx(1.0)
    y = make_problem("sign_regression", {"bins": 4, "moment": 2.0}).y_train
    assert sorted(set(y)) == [-4.0, 0.0, 4.0]


def test_candidate_cuts_of_the_first_levels_read_each_label_once_a_longest_edge():
    # level 1 has d longest edges, level 2 has d - 1
    assert labels_read(100, 4, 1) == 400
    assert labels_read(100, 4, 2) == 700


def test_a_theorem_has_one_row_with_its_cases_by_verdict():
    found = _trials([{"plain": table} for name in NAMES for table in read(COMMITTED / name)])
    cases = pd.concat([pd.read_csv(COMMITTED / name / FILE) for name in NAMES])
    count = pd.crosstab(cases["theorem"] + " " + cases["source"], cases["verdict"])
    assert found["heads"] == ["theorem", "states", "here", "holds", "fails", "undecided", "unresolved"]
    counted = [[name, *count.loc[name, found["heads"][3:]]] for name in sorted(count.index)]
    assert [[row[0], *row[3:]] for row in found["rows"]] == counted
    for _, _, here, *of in found["rows"]:
        assert (here.startswith("fails"), here == "holds") == (of[1] > 0, of[0] == sum(of))
    assert found["said"].startswith(f"{len(cases)} cases of theorems: {count['holds'].sum()} holds, ")
