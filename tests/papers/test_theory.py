import itertools
import math
import re
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lpbench.datasets import make_problem
from lpbench.datasets.label_dp import sign_cubes, three_point
from lpbench.experiments import catalog
from lpbench.experiments.committed import record
from lpbench.papers.theory import FRESH, NAMES, read
from lpbench.papers.theory.cases import judged
from lpbench.papers.theory.computed import labels_read
from lpbench.papers.theory.lower_bounds import least_leak, two_point
from lpbench.papers.theory.theorems import (
    BOUND_FAILS,
    BOUND_HOLDS,
    CANNOT,
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
from lpbench.paths import COMMITTED, ROOT
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
        (row(unjudged="2 of 4 points are resolved"), NOT_JUDGED),
        (row(0.1, 0.0, kind="exact"), BOUND_HOLDS),
        (row(0.5, 0.0, kind="exact"), BOUND_FAILS),
        (row(0.5, 0.2, kind="exact"), BOUND_HOLDS),
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


#: The seed that chose, and those that judge.
SEEDS = (2025, *FRESH)


def folder_of(seed):
    return COMMITTED if seed == SEEDS[0] else COMMITTED / f"theory_seed{seed}"


@pytest.fixture(scope="module")
def committed():
    runs = itertools.product(SEEDS, NAMES)
    return {(s, n): list(judged(Evidence(folder_of(s)), catalog.experiment(n))) for s, n in runs}


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


def test_a_paper_has_four_judged_rows_or_more_under_every_seed(committed):
    for key, rows in committed.items():
        assert sum(r.kind == "dependence" and r.word != NOT_JUDGED for r in rows) >= 4, key


def changed(**change):
    """A theorem with other constants: numbers, or functions of the true ones."""

    def exponent(facts):
        values = {k: v(getattr(facts, k)) if callable(v) else v for k, v in change.items()}
        return replace(facts, **values).exponent()

    return exponent


def halved(axis, model=""):
    """The budget in another power: ε for ε², or ε² for ε under a model."""
    return lambda f: f.exponent() * (0.5 if not model else 2.0) ** (f.axis == axis and f.model.endswith(model))


#: Paper and change of its statement -> exponent of the changed statement.
MUTANTS = {
    "H: s* + 1": changed(hidden=lambda s: s + 1),
    "H: s* - 1": changed(hidden=lambda s: max(s - 1, 0)),
    "H: 2 s*": changed(hidden=lambda s: 2 * s),
    "H: 3 s*": changed(hidden=lambda s: 3 * s),
    "H: s* dropped": changed(hidden=0),
    "H: s* where one is protected": changed(hidden=1),
    "H: d + 1": changed(d=lambda d: d + 1),
    "H: d - 1": changed(d=lambda d: d - 1),
    "H: 2 d": changed(d=lambda d: 2 * d),
    "H: d dropped": changed(d=1),
    "H: α twice": changed(alpha=lambda a: 2 * a),
    "H: α half": changed(alpha=lambda a: a / 2),
    "H: α dropped": changed(alpha=1.0),
    "H: ε for ε²": halved("epsilon"),
    "H: n beside no ε": lambda f: 0.0 if f.axis == "epsilon" else f.exponent(),
    "H: 2α of the denominator dropped": lambda f: 2 * f.alpha / (f.d + f.hidden) * (2 if f.axis == "epsilon" else 1),
    "H: 2α of the numerator dropped": lambda f: f.exponent() / (2 * f.alpha),
    "L: γ twice": changed(gamma=lambda g: 2 * g),
    "L: γ half": changed(gamma=lambda g: g / 2),
    "L: γ dropped": changed(gamma=1.0),
    "L: γ = 0": changed(gamma=0.0),
    "L: d + 1": changed(d=lambda d: d + 1),
    "L: d - 1": changed(d=lambda d: d - 1),
    "L: 2 d": changed(d=lambda d: 2 * d),
    "L: α twice": changed(alpha=lambda a: 2 * a),
    "L: β dropped": changed(margin=0.0),
    "L: β half": changed(margin=lambda b: b / 2),
    "L: ε for ε²": halved("epsilon"),
    "L: public as private rows": lambda f: replace(f, axis="n").exponent() if f.axis == "n_public" else f.exponent(),
    "L: private as public rows": lambda f: replace(f, axis="n_public").exponent() if f.axis == "n" else f.exponent(),
    "L: n_Q dropped": lambda f: 0.0 if f.axis == "n_public" else f.exponent(),
    "Z: d + 1": changed(d=lambda d: d + 1),
    "Z: d - 1": changed(d=lambda d: d - 1),
    "Z: 2 d": changed(d=lambda d: 2 * d),
    "Z: d dropped": changed(d=1),
    "Z: β twice": changed(alpha=lambda b: 2 * b),
    "Z: β half": changed(alpha=lambda b: b / 2),
    "Z: β dropped": changed(alpha=1.0),
    "Z: γ + 1": changed(margin=lambda g: g + 1),
    "Z: γ twice": changed(margin=lambda g: 2 * g),
    "Z: γ dropped": changed(margin=0.0),
    "Z: ε for ε²": halved("epsilon", "ldp"),
    "Z: ε² for ε": halved("epsilon", "cdp"),
    "Z: central as label LDP": changed(model=lambda m: "label_ldp" if m == "label_cdp" else m),
    "Z: full LDP as label LDP": changed(model=lambda m: "label_ldp" if m == "ldp" else m),
    "Z: full CDP as full LDP": changed(model=lambda m: "ldp" if m == "cdp" else m),
    "Z: full CDP as label LDP": changed(model=lambda m: "label_ldp" if m == "cdp" else m),
    "Z: p + 1": changed(moment=lambda p: p and p + 1),
    "Z: tails dropped": changed(moment=None),
    "Z: K dropped": changed(spread=0.0),
    "Z: K²": changed(spread=lambda k: 2 * k),
}
#: Rows by short names.
ROWS = {
    "H-T1 d": "H-T1 d: 1 against 2, s* = 0, α = 1",
    "H-T1 s": "H-T1 s*: 0 against 1, d = 1, α = 1",
    "H-T1 α0": "H-T1 α: 1 against ½, s* = 0, d = 1",
    "H-T1 α": "H-T1 α: 1 against ½, s* = d = 1",
    "H-T1 ε²": "H-T1 ε² against n, s* = d = 1, α = 1",
    "L-T1 n_Q": "L-T1 n_Q (γ = ½) against n_P",
    "L-T1 γ2": "L-T1 γ: ½ against 2, over n_Q",
    "L-T1 γ5": "L-T1 γ: ½ against 5, over n_Q",
    "L-T1 ε²": "L-T1 ε² against n_P",
    "L-T5 falls": "L-T5 the risk falls as n_Q grows, where public data (Q) dominate",
    "Z-T1 prior": "Z-T1 K: RR with prior against plain RR",
    "Z-T1 bits": "Z-T1 K: bits against plain RR",
    "Z-T1 d": "Z-T1 d: 1 against 2",
    "Z-T1 γ": "Z-T1 γ: 2 against 1",
    "Z-T2 CDP": "Z-T2 label CDP against label LDP",
    "Z-T3 β": "Z-T3 β: 1 against ½",
    "Z-T3 ε²": "Z-T3 ε² against N",
    "Z-T4 CDP": "Z-T4 label CDP against label LDP",
    "Z-T4 ε": "Z-T4 ε against N (equal exponents)",
    "Z-T6 p": "Z-T6 p = 2: private against non-private (equal exponents)",
    "Z-T7 full CDP": "Z-T7 full CDP against label CDP (equal exponents)",
    "Z-T8 full CDP": "Z-T8 full CDP against label CDP (equal exponents)",
}
#: Mutant -> rows that tell it from the true statement, under the seed that decides; no row tells the others.
TELLS = {
    "H: s* - 1": "H-T1 s",
    "H: 3 s*": "H-T1 s",
    "H: s* dropped": "H-T1 s",
    "H: s* where one is protected": "H-T1 s",
    "H: d - 1": "H-T1 d, H-T1 s, H-T1 α0",
    "H: d dropped": "H-T1 d",
    "H: α dropped": "H-T1 α0, H-T1 α",
    "H: ε for ε²": "H-T1 ε²",
    "H: n beside no ε": "H-T1 ε²",
    "H: 2α of the denominator dropped": "H-T1 d, H-T1 s, H-T1 α0, H-T1 α, H-T1 ε²",
    "H: 2α of the numerator dropped": "H-T1 α0, H-T1 α",
    "L: γ twice": "L-T1 γ2, L-T1 γ5, L-T5 falls",
    "L: γ half": "L-T1 γ2, L-T1 γ5",
    "L: γ dropped": "L-T1 γ2, L-T1 γ5, L-T5 falls",
    "L: γ = 0": "L-T1 γ2, L-T1 γ5, L-T5 falls",
    "L: d + 1": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: d - 1": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: 2 d": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: α twice": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: β dropped": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: β half": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T1 ε², L-T5 falls",
    "L: ε for ε²": "L-T1 ε²",
    "L: public as private rows": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T5 falls",
    "L: private as public rows": "L-T1 n_Q, L-T1 ε²",
    "L: n_Q dropped": "L-T1 n_Q, L-T1 γ2, L-T1 γ5, L-T5 falls",
    "Z: d + 1": "Z-T3 ε², Z-T4 CDP",
    "Z: d - 1": "Z-T1 prior, Z-T1 bits, Z-T1 d, Z-T1 γ, Z-T2 CDP, Z-T3 β, Z-T3 ε², Z-T4 CDP",
    "Z: 2 d": "Z-T3 ε², Z-T4 CDP",
    "Z: d dropped": "Z-T1 d",
    "Z: β twice": "Z-T2 CDP, Z-T3 ε², Z-T4 CDP",
    "Z: β half": "Z-T3 ε², Z-T4 CDP",
    "Z: β dropped": "Z-T2 CDP, Z-T3 β, Z-T3 ε², Z-T4 CDP",
    "Z: γ twice": "Z-T1 γ",
    "Z: γ dropped": "Z-T1 γ",
    "Z: ε for ε²": "Z-T3 ε²",
    "Z: ε² for ε": "Z-T4 ε",
    "Z: central as label LDP": "Z-T2 CDP, Z-T4 CDP, Z-T4 ε, Z-T6 p, Z-T7 full CDP, Z-T8 full CDP",
    "Z: full CDP as full LDP": "Z-T7 full CDP, Z-T8 full CDP",
    "Z: full CDP as label LDP": "Z-T7 full CDP, Z-T8 full CDP",
    "Z: p + 1": "Z-T6 p",
    "Z: tails dropped": "Z-T6 p",
    "Z: K dropped": "Z-T1 prior, Z-T1 bits",
    "Z: K²": "Z-T1 prior, Z-T1 bits",
}


def tells(mutant, rows):
    """Rows of the mutant's paper that reject it in 80 % of simulated trials."""
    values = ((r, sum(sign * MUTANTS[mutant](facts) for sign, facts, _ in r.legs)) for r in rows if r.legs)
    return {f"{r.theorem} {r.judged}" for r, v in values if r.theorem[0] == mutant[0] and r.rejects(v) >= POWER}


def test_listed_rows_tell_mutant_theorems_from_the_true_one(committed):
    assert len(MUTANTS) >= 40
    deciding = [r for name in NAMES for r in committed[FRESH[0], name]]
    listed = {m: {ROWS[name] for name in names.split(", ")} for m, names in TELLS.items()}
    assert {m: found for m in MUTANTS if (found := tells(m, deciding))} == listed


def test_a_row_that_is_seen_rejects_its_nearest_mutants(committed):
    for found in (r for rows in committed.values() for r in rows if r.word == SEEN):
        assert all(found.rejects(value) >= POWER for value in found.neighbors), found.judged


@pytest.mark.parametrize("seed", SEEDS)
def test_committed_tables_are_those_of_committed_scores(seed, committed):
    for name in NAMES:
        table, folder = tabulate(committed[seed, name]), folder_of(seed)
        written = pd.read_csv(folder / name / "theorems.csv" if folder == COMMITTED else folder / f"{name[7:]}.csv")
        written = table[["theorem", "judged"]].merge(written, on=["theorem", "judged"])
        assert written["outcome"].tolist() == table["outcome"].tolist()
        for column in ("expected", "ours", "low", "high", "power"):
            np.testing.assert_allclose(written[column], table[column].astype(float), rtol=2e-6, atol=1e-6)


def test_scores_of_all_seeds_were_run_at_one_clean_commit_of_this_history():
    runs = itertools.product(SEEDS, NAMES)
    (commit,) = {record(folder_of(seed), name)["environment"]["commit"] for seed, name in runs}
    assert "+" not in commit
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    if shallow.stdout.strip() == "false":
        subprocess.run([*git, "merge-base", "--is-ancestor", commit, "HEAD"], check=True)


def test_fresh_seeds_agree_where_the_power_is_high(committed):
    pairs = [p for n in NAMES for p in zip(*(committed[seed, n] for seed in FRESH), strict=True)]
    assert not any({a.word, b.word} == {SEEN, OPPOSITE} for a, b in pairs)
    strong = [(a, b) for a, b in pairs if a.legs and b.legs and max(a.power, b.power) >= 0.98]
    assert len(strong) >= 8
    assert np.mean([a.word == b.word for a, b in strong]) >= 0.95


def test_a_row_is_printed_for_each_case():
    found = _trials([{"plain": table} for name in NAMES for table in read(COMMITTED / name)[:1]])
    assert re.match(r"^\d+ cases of theorems: [a-z ]+ \d+, ", found)
    assert len(tabulate([row(), row(unjudged="few")])) == 2


def test_cells_of_protected_features_dilute_the_floor():
    known = {"classes": False, "n": 400, "cubes": 4, "height": 0.5, "epsilon": 1.0}
    values = [two_point("label_ldp", share=q, **known) for q in (1.0, 0.5, 0.1)]
    assert values == sorted(values)
    assert two_point("label_ldp", share=0.5, public=(50, 0.5), **known) < values[1]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, math.inf])
def test_the_floor_of_label_ldp_is_the_bayes_risk_of_randomized_response(epsilon):
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
