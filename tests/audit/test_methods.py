"""Every method of the harness: a randomizer, an exact loss within its promise, a guarantee that says the same, a sample
that agrees, and a transcript that fits the wire.

False alarms: the lower bounds of this file and of ``make audit`` together accuse a method that keeps its promise with
probability at most 1e-3 each time the seed is changed (Bonferroni); the seed is fixed.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from lpbench.audit import devices
from lpbench.audit.devices import EXTRA, audited_methods, builds, randomizer_of
from lpbench.audit.exact import exact_loss
from lpbench.audit.known_bad import KNOWN_BAD
from lpbench.audit.randomizers import BY_DEVICE
from lpbench.audit.table import COLUMNS, FALSE_ALARM, audit, failure_per_row, problems, subjects, write_csv
from lpbench.deployment.costs import measure_methods, measure_protocols
from lpbench.errors import ConfigurationError
from lpbench.estimators import PrivateMean
from lpbench.estimators.histoftree.rounds import Rounds
from lpbench.experiments import catalogue as registry
from lpbench.papers.lpct.deviations import DEVIATIONS
from lpbench.privacy import (
    BitVector,
    DiscreteLaplace,
    Exponential,
    FiniteMechanism,
    Laplace,
    RandomizedResponse,
    SubsetSelection,
)
from lpbench.seeds import Streams
from tests.audit.test_leaks import MASK, Y_RANGE

METHODS = audited_methods()
#: Some randomizers take a second to build: the public part of an interview is one.
method_randomizer = cache(devices.method_randomizer)
PROTECTED = [name for name in METHODS if registry.method(name).estimator_class.uses_epsilon]

#: Selector -> exact epsilon at budget 1, where it is not the budget.
SLACK = {
    "cdp_vote": 0.5,
    "cdp_mean": 20 / 31,
    "histoftree_max_edge[bins=1]": 0.7,
    "adhistoftree_max_edge[bins_offset=-9]": 0.5,
    "krr[variant=per_attribute]": 3.0,
    "lpct_q": 0.0,
}


def test_every_registered_method_is_audited():
    assert set(registry.methods()) <= set(METHODS)
    assert set(EXTRA) <= set(METHODS), "an extra setting names a method that is gone"
    for name in METHODS:
        method_randomizer(name, 1.0)


def test_a_method_without_a_randomizer_is_refused():
    class Unknown(PrivateMean):
        pass

    with pytest.raises(ConfigurationError, match="Unknown has no randomizer"):
        randomizer_of(Unknown())
    builds(Unknown)(lambda model: randomizer_of(PrivateMean(model.epsilon)))
    assert randomizer_of(Unknown(2.0)).claimed == 2.0


@pytest.mark.parametrize("name", METHODS)
def test_exact_loss_is_within_the_promise_and_meets_it_where_it_is_tight(name):
    for epsilon in (0.1, 0.5, 1.0, 2.0, 8.0):
        randomizer = method_randomizer(name, epsilon)
        loss = exact_loss(randomizer)
        assert loss.epsilon <= randomizer.claimed + 1e-9
        if name.startswith("adhistoftree") and "tight" not in name and len(randomizer.messages) == 1:
            # small budgets choose one bin: the cell is public, the label spends half
            assert loss.epsilon == pytest.approx(epsilon / 2)
        elif randomizer.model != "none" and name not in SLACK:
            assert loss.epsilon == pytest.approx(epsilon if randomizer.messages else 0.0, abs=1e-7)
        if epsilon == 1.0:
            assert loss.epsilon == pytest.approx(SLACK.get(name, loss.epsilon), abs=1e-9)
            # the listed values come close to a supremum over all values
            assert 0.7 * loss.epsilon <= loss.attained <= loss.epsilon or math.isinf(loss.epsilon)


def test_random_cuts_do_not_hide_the_mask():
    """HistOfTree 3.4 (ii) would not release W, but the cells with a nonzero entry of (8) differ (docs/privacy.md)."""
    X = np.full((2, 3), 0.3)
    masks = np.array([[True, False, False], [True, True, False]])
    rounds = Rounds(X, np.zeros(2), masks, Streams(0))
    split = rounds.split(np.arange(3), 1)
    [(tree, depths)] = split.trees("random", "weighted", np.zeros(2), [2])
    [leaves] = split.leaves(tree, depths)
    assert leaves.choices[0] == 1 < leaves.choices[1]


def test_an_infinite_budget_is_no_protection():
    for name in ("private_mean", "label_dt", "hist", "lpct_max_edge", "phist"):
        assert exact_loss(method_randomizer(name, math.inf)).epsilon == math.inf


def small_problem(estimator, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random(MASK.shape)
    arguments = {}
    if hasattr(estimator, "predict_proba"):
        y = (X[:, 0] + 0.3 * rng.standard_normal(len(X)) > 0.5).astype(int)
    else:
        y = np.clip(X[:, 0] + 0.3 * rng.standard_normal(len(X)), *Y_RANGE)
    if estimator.uses_public:
        X_public = rng.random((50, MASK.shape[1]))
        arguments = {"X_public": X_public, "y_public": (X_public[:, 0] > 0.5).astype(int)}
    return {"X": X, "y": y, "mask": MASK if estimator.uses_mask else None, **arguments}


@pytest.mark.parametrize("name", METHODS)
def test_the_fitted_guarantee_says_what_the_audit_says(name):
    spec = registry.method(name)
    estimator = spec.build().set_params(**(spec.tuning_free or {}))
    options = {"epsilon": 1.0} if estimator.uses_epsilon else {}
    if "y_range" in estimator.get_params():
        options["y_range"] = Y_RANGE
    if name in ("ldp_mean", "ldp_vote"):
        options["bins"] = 2  # the width for this few users would be a single cell, of which nothing need be told
    arguments = small_problem(estimator)
    if "bins=1" in name or "bins_offset=-9" in name:
        arguments["mask"] = np.tile([True, False, False], (len(MASK), 1))
    guarantee = estimator.set_params(random_state=0, **options).fit(**arguments).guarantee_
    randomizer = method_randomizer(name, 1.0)
    exact = exact_loss(randomizer)
    assert guarantee.model == randomizer.model
    assert guarantee.delta <= 1 / len(MASK) ** 2 if randomizer.delta else guarantee.delta == 0
    if name.startswith("cdp_mean"):
        assert guarantee.epsilon <= 2 / 3 or "tight" in name
    elif name.startswith("lpct_prune_max_edge[terminate"):
        assert guarantee.epsilon in (0.5, 1.0)
    else:
        assert guarantee.epsilon == pytest.approx(exact.epsilon, abs=1e-9)
    assert guarantee.epsilon <= randomizer.claimed + 1e-9


def noise_p_values(mechanism, true, sent, shifted):
    """Laplace noise, continuous or on a grid: one p-value per entry."""
    jitter = 0.0
    if isinstance(mechanism, DiscreteLaplace):
        # Spread evenly over its step, a grid point has a continuous law that is close enough at these scales.
        jitter = np.random.default_rng(1).uniform(-0.5, 0.5, sent.shape) * mechanism.step
    elif mechanism.scale == 0:
        return []
    centre = np.median(sent, axis=0) if shifted and sent.shape[1] == 1 else true
    return stats.kstest((sent + jitter - centre) / mechanism.scale, "laplace", axis=0).pvalue


def bit_p_values(response, true, sent):
    """Bits that are kept or flipped one by one; of cells where a user cannot lie HistOfTree sends 0."""
    ones, shares = sent.sum(axis=0), np.where(true, response.keep, response.flip)
    if ones.size > true.size:
        ones, shares = np.sort(ones[ones > 0]), np.sort(shares)
    return [stats.binomtest(int(k), len(sent), p).pvalue for k, p in zip(ones, shares, strict=True)]


def category_p_value(law, sent, named):
    """Categories; ``named``: they go by the numbers of the law (cells of HistOfTree have codes of their own)."""
    codes, counts = np.unique(sent, return_counts=True)
    if named:
        seen, possible = np.bincount(codes.astype(int), counts, law.size), law > 0
        assert not seen[~possible].any()
        return stats.chisquare(seen[possible], len(sent) * law[possible]).pvalue if possible.sum() > 1 else 1.0
    return stats.chisquare(np.sort(counts), len(sent) * np.sort(law)).pvalue


def p_values(message, value, sent, shifted):
    """P-values of reports (n, k) against the law that the message's mechanism states for a protected value."""
    mechanism, true = message.mechanism, np.asarray(message.inputs[value])
    if isinstance(mechanism, (Laplace, DiscreteLaplace)):
        return noise_p_values(mechanism, np.ravel(true), sent, shifted)
    if isinstance(mechanism, RandomizedResponse):
        return bit_p_values(mechanism, np.ravel(true), sent)
    if isinstance(mechanism, BitVector):
        return bit_p_values(mechanism.response, np.eye(mechanism.n_categories, dtype=bool)[true], sent)
    if isinstance(mechanism, Exponential):
        return category_p_value(mechanism.channel(true[None])[0], sent, named=True)
    if isinstance(mechanism, SubsetSelection):
        members = [mechanism.probabilities[int(j != true)] for j in range(mechanism.n_categories)]
        counts = np.bincount(sent.astype(int).ravel(), minlength=mechanism.n_categories)
        return [stats.binomtest(int(k), len(sent), p).pvalue for k, p in zip(counts, members, strict=True)]
    if isinstance(mechanism, FiniteMechanism):
        law = mechanism.channel()[true]
        if law.size == 1:  # users of a group that is not asked: one report, always
            return [float(not sent.any())]
        return category_p_value(law, sent, named=message.fields[0].size == law.size)
    return []


@pytest.mark.parametrize("name", PROTECTED)
def test_the_client_code_has_the_law_of_its_mechanism(name):
    """The exact audit reads mechanisms, the estimator runs client code: reports are tested against the mechanism.

    Gaussian noise and PrivUnitG have tests of their own (tests/privacy). About 600 p-values in all.
    """
    randomizer, n = method_randomizer(name, 1.0), 4000
    for number, message in enumerate(part for m in randomizer.messages for part in getattr(m, "parts", [m])):
        for value in (0, len(message.inputs) - 1):
            sent = np.asarray(message.send(value, n, Streams(5).child("law", number=number)), dtype=float)
            found = p_values(message, value, sent.reshape(n, -1), randomizer.model in ("label_ldp", "label_cdp"))
            assert np.min(found, initial=1.0) > 1e-8


@pytest.mark.parametrize("name", PROTECTED)
def test_users_of_one_call_and_two_calls_have_noise_of_their_own(name):
    """Continuous entries never repeat, but two points of a mixture; categories of neighbours are uncorrelated."""
    randomizer, n = method_randomizer(name, 1.0), 3000
    reports, others = (randomizer.sample(0, n, Streams(seed)) for seed in (1, 2))
    for column, other in zip(reports.T, others.T, strict=True):
        found, counts = np.unique(column, return_counts=True)
        if found.size > 200:
            assert found.size > 0.5 * n or (counts > 1).sum() <= 2
        if column.std() > 0:
            for first, second in ((column[1:], column[:-1]), (column, other)):
                if second.std() > 0:
                    assert abs(stats.spearmanr(first, second).statistic) < 5.5 / math.sqrt(n)


@pytest.mark.parametrize("name", METHODS)
def test_samples_agree_with_the_exact_loss(name):
    row = audit("method", name, 10_000, 2025)
    assert problems([("method", row)]) == []
    assert row.lower_bound <= row.exact_epsilon + 1e-9
    if row.model != "none" and row.rounds and row.delta == 0:
        assert row.confidence == pytest.approx(1 - failure_per_row())


def test_false_alarms_are_bounded_over_all_rows():
    assert failure_per_row() * len(subjects()) == pytest.approx(FALSE_ALARM) and FALSE_ALARM <= 1e-3


def test_problems_are_named():
    from dataclasses import replace

    row = audit("method", "private_mean", 2_000, 0)
    assert problems([("method", row)]) == []
    assert "promises" in problems([("method", replace(row, exact_epsilon=1.1))])[0]
    assert len(problems([("good", replace(row, lower_bound=1.2, exact_epsilon=1.3))])) == 2
    assert "not caught" in problems([("bad", replace(row, exact_epsilon=2.0))])[0]
    assert "exact audit missed" in problems([("bad", replace(row, lower_bound=1.5, exact_epsilon=1.0))])[-1]
    assert "above the exact loss" in problems([("method", replace(row, lower_bound=1.2, claimed_epsilon=2.0))])[0]


def test_csv_has_the_columns_of_the_page(tmp_path):
    rows = [audit("method", name, 1_000, 0) for name in ("private_mean", "dt")]
    write_csv(rows, tmp_path / "audit.csv")
    lines = (tmp_path / "audit.csv").read_text().splitlines()
    assert (
        lines[0]
        == ",".join(COLUMNS)
        == "method,model,claimed_epsilon,exact_epsilon,lower_bound,confidence,rounds,bits_up,bits_down,"
        "device,fit_path,sweep_path"
    )
    assert lines[1].startswith("private_mean,ldp,1,1,") and lines[2].startswith("dt,none,inf,inf,")


@pytest.mark.parametrize("name", METHODS)
def test_what_was_sampled_is_named_or_the_reason_is_given(name):
    randomizer = method_randomizer(name, 1.0)
    for text in randomizer.sampled:
        assert text and text != "not named"
        assert (text == randomizer.note) == (not randomizer.messages or randomizer.model == "none")


@pytest.mark.parametrize(
    "name", [name for name in METHODS if any(m.asked for m in method_randomizer(name, 1.0).messages)]
)
def test_sums_that_fit_and_sweep_draw_have_the_law_of_the_devices_reports(name):
    """Kolmogorov-Smirnov of each entry and of the total, 400 draws of 3 users; rejects with probability 1e-6 in all."""
    for message in (m for m in method_randomizer(name, 1.0).messages if m.asked):
        asked = message.asked
        records = asked.records.take([0, len(asked.records) - 1, 0])
        for path in {asked.fit, asked.sweep} - {BY_DEVICE}:
            drawn = np.array([path.draw(records, asked.question, Streams(s)) for s in range(400)])
            reports = asked.reports(records.take(np.tile(np.arange(3), 400)), Streams(10**6))
            users = asked.device.addends(reports, asked.question)
            sums = users.reshape(400, 3, -1).sum(axis=1)
            added = np.array([asked.device.estimate(one, asked.question, 3) for one in sums])
            pairs = [*zip(drawn.T, added.T, strict=True), (drawn.sum(axis=1), added.sum(axis=1))]
            assert min(stats.ks_2samp(*(np.round(x, 9) for x in pair)).pvalue for pair in pairs) > 1e-9


def test_transcripts_of_every_method_survive_the_wire():
    costs = measure_methods(1.0, 0)
    assert costs.keys() == set(METHODS)
    for name, cost in costs.items():
        randomizer = method_randomizer(name, 1.0)
        least = randomizer.bits_up / 8 + 28 * randomizer.rounds
        assert least <= cost.user_bytes <= least + 2 * randomizer.rounds


def test_the_released_deviations_are_rebuilt():
    named = {deviation.known_bad for deviation in DEVIATIONS} - {""}
    assert named <= KNOWN_BAD.keys() and len(named) >= 5


@pytest.mark.slow
def test_protocol_costs_are_those_of_the_paper():
    """HistOfTree A.2: d + 1 numbers up, then t^s 2^p bits (2^2 * 2^4), the logarithm with GRR."""
    costs = {(c.protocol, c.round): c for c in measure_protocols(0)}
    assert list(costs.values()) == measure_protocols(0), "the same seed, the same costs"
    # The label is a point of a grid: 17 bits.
    assert costs["HistOfTree (rr)", 1].payload_bits == 64 * 8 + 8 + 17
    assert costs["HistOfTree (rr)", 2].payload_bits == 64 and costs["HistOfTree (grr)", 2].payload_bits == 6
    assert costs["LPCT (rr)", 1].payload_bits == 2 * 16
    assert costs["LPCT (discrete)", 1].payload_bits < 64 * 2 * 16 / 3
    assert costs["ResidualGP", 1].payload_bits == 64 * 8 + 8 and costs["ResidualGP", 2].payload_bits <= 12
    assert costs["CalibratedScore", 1].kept == "counts"
    assert {name.partition(" ")[0] for name, _ in costs} == {"HistOfTree", "LPCT", "ResidualGP", "CalibratedScore"}
