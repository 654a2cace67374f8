import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lpbench.datasets import make_problem
from lpbench.datasets.label_dp import sign_cubes, three_point
from lpbench.experiments import catalogue
from lpbench.papers.theory import FRESH, NAMES, read
from lpbench.papers.theory.cases import judged
from lpbench.papers.theory.computed import labels_read
from lpbench.papers.theory.floors import least_leak, two_point
from lpbench.papers.theory.theorems import (
    CANNOT,
    FAILS,
    HOLDS,
    NOT_JUDGED,
    NOT_SEEN,
    OPPOSITE,
    POWER,
    SEEN,
    Row,
    longest,
    points_of,
    tabulate,
)
from lpbench.paths import COMMITTED
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.pages.site import _trials


def row(found=0.2, error=0.02, neighbors=(0.0, 0.4), **options):
    return Row("H-T1", "", "", "", 0.2, neighbors, found, error, 19, **options)


@pytest.mark.parametrize(
    "case, word",
    [
        (row(), SEEN),
        (row(-0.1), OPPOSITE),
        (row(0.01), NOT_SEEN),
        (row(0.5), NOT_SEEN),
        (row(error=0.2), CANNOT),
        (row(-1.0, error=0.2), OPPOSITE),
        (row(unjudged="2 of 4 places resolved"), NOT_JUDGED),
        (row(0.1, 0.0, kind="exact"), HOLDS),
        (row(0.5, 0.0, kind="exact"), FAILS),
        (row(0.5, 0.2, kind="exact"), HOLDS),
    ],
)
def test_a_rule_decides_each_row(case, word):
    assert case.word == word


def test_power_falls_with_the_error_and_is_exact_for_a_known_scale():
    found = [row(error=e).rejects(0.0) for e in (0.02, 0.05, 0.1, 0.2)]
    assert found == sorted(found, reverse=True) and found[0] == 1.0
    # normal: P(|Z + 0.2 / 0.1| > 1.96) = 0.516
    normal = replace(row(error=0.1), freedom=math.inf)
    assert normal.rejects(0.0) == pytest.approx(0.516, abs=0.03)


def test_power_falls_where_a_repetition_could_end_otherwise():
    """Two fresh trials agree as often as a value that varies with twice the variance stays on its side."""
    assert row().power == 1.0
    near = replace(row(0.05, 0.02), freedom=math.inf)
    # normal: P(0.05 + √2 0.02 Z > 1.96 · 0.02) = 0.648
    assert near.rejects(0.0) > 0.99 and near.power == pytest.approx(0.648, abs=0.03)
    assert near.word == CANNOT


def test_the_longest_run_is_the_last_of_equals():
    assert longest(np.array([1, 1, 0, 1, 1], dtype=bool)).tolist() == [False, False, False, True, True]
    assert not longest(np.zeros(3, dtype=bool)).any()


@pytest.fixture(scope="module")
def committed():
    return {name: list(judged(Evidence(COMMITTED), catalogue.experiment(name))) for name in NAMES}


def in_range(facts, n, epsilon, n_public):
    """The inequality of each theorem, written out again."""
    a, d, s = facts.alpha, facts.d, facts.hidden
    if facts.paper == "H":
        return epsilon <= (n / math.log(n)) ** (s / (a + d - s)) and math.exp(epsilon) - 1 <= n ** (s / (4 * a + 2 * d))
    if facts.paper == "L":
        least, most = n ** (-a / (2 * a + 2 * d)), n ** (d / (4 * (facts.alpha_range or a) + 2 * d))
        log = math.log(n + n_public)
        public = (n_public / log) ** ((2 * a + 2 * d) / (2 * facts.gamma * a + d))
        return least <= epsilon <= most and (n * epsilon**2 / log >= public) == (facts.axis != "n_public")
    if facts.model in ("label_cdp", "cdp"):
        return (n * epsilon) ** -facts.rate.privacy >= n**-facts.rate.sampling
    return epsilon <= 1 or facts.model == "none"


def test_every_judged_place_lies_in_its_theorems_range_where_the_term_rules(committed):
    for rows in committed.values():
        for found in rows:
            for _, facts, line in found.legs:
                assert all(in_range(facts, *point) for point in points_of(line, facts.axis)), (found.judged, line.panel)


def test_a_paper_has_four_judged_rows_or_more_under_the_seed_that_decides():
    for name in NAMES:
        table = pd.read_csv(COMMITTED / f"theory_seed{FRESH[0]}" / f"{name[7:]}.csv")
        assert sum((table["kind"] == "dependence") & (table["outcome"] != NOT_JUDGED)) >= 4


CHANGES = {
    "hidden": lambda f: replace(f, hidden=f.hidden + 1),
    "hidden less": lambda f: replace(f, hidden=max(f.hidden - 1, 0)),
    "hidden twice": lambda f: replace(f, hidden=2 * f.hidden),
    "hidden dropped": lambda f: replace(f, hidden=0),
    "d": lambda f: replace(f, d=f.d + 1),
    "d less": lambda f: replace(f, d=max(f.d - 1, 1)),
    "d dropped": lambda f: replace(f, d=1),
    "alpha twice": lambda f: replace(f, alpha=2 * f.alpha),
    "alpha half": lambda f: replace(f, alpha=f.alpha / 2),
    "alpha dropped": lambda f: replace(f, alpha=1.0),
    "gamma twice": lambda f: replace(f, gamma=2 * f.gamma),
    "gamma dropped": lambda f: replace(f, gamma=1.0),
    "margin twice": lambda f: replace(f, margin=2 * f.margin),
    "margin dropped": lambda f: replace(f, margin=0.0),
    "model": lambda f: replace(f, model="label_ldp"),
    "epsilon for its square": lambda f: replace(f, axis="n") if f.axis == "epsilon" else f,
    "public as private": lambda f: replace(f, axis="n") if f.axis == "n_public" else f,
    "tails dropped": lambda f: replace(f, moment=None),
}


def test_mutant_theorems_are_told_apart(committed):
    """A mutant is a changed statement on a case; the rows that tell it reject it in 80 % of simulated trials."""
    tried, told, by_change = 0, 0, dict.fromkeys(CHANGES, 0)
    for rows in committed.values():
        for found in rows:
            for name, change in CHANGES.items() if found.legs else ():
                value = sum(sign * change(facts).exponent() for sign, facts, _ in found.legs)
                if abs(value - found.expected) > 1e-9:
                    tried += 1
                    tells = found.rejects(value) >= POWER
                    told, by_change[name] = told + tells, by_change[name] + tells
            if found.word == SEEN:
                assert all(found.rejects(value) >= POWER for value in found.neighbors)
    assert tried >= 40 and told >= 20
    for name in ("hidden dropped", "epsilon for its square", "public as private", "margin dropped", "alpha dropped"):
        assert by_change[name], name


def test_fresh_seeds_agree_where_the_power_is_high():
    first, second = (
        pd.concat([pd.read_csv(COMMITTED / f"theory_seed{seed}" / f"{n[7:]}.csv") for n in NAMES]) for seed in FRESH
    )
    both = first.merge(second, on=["theorem", "judged"])
    pairs = set(zip(both["outcome_x"], both["outcome_y"], strict=True))
    assert not pairs & {(SEEN, OPPOSITE), (OPPOSITE, SEEN)}
    strong = both[(both["power_x"] >= 0.98) & (both["power_y"] >= 0.98)]
    assert (strong["outcome_x"] == strong["outcome_y"]).mean() >= 0.95


def test_a_row_is_printed_for_each_case():
    found = _trials([{"plain": table} for name in NAMES for table in read(COMMITTED / name)[:1]])
    assert re.match(r"^\d+ cases of theorems: \d+ ", found)
    assert len(tabulate([row(), row(unjudged="few")])) == 2


def test_cells_of_protected_features_dilute_the_floor():
    known = {"classes": False, "n": 400, "cubes": 4, "height": 0.5, "epsilon": 1.0}
    values = [two_point("label_ldp", share=q, **known) for q in (1.0, 0.5, 0.1)]
    assert values == sorted(values)
    assert two_point("label_ldp", share=0.5, public=(50, 0.5), **known) < values[1]


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
