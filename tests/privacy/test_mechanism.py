import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import log_expit

from lpbench.errors import ConfigurationError
from lpbench.privacy import (
    GRR,
    BitVector,
    DiscreteLaplace,
    Exponential,
    FiniteMechanism,
    Gaussian,
    HadamardResponse,
    Hybrid,
    Laplace,
    Mechanism,
    Piecewise,
    PriorResponse,
    PrivUnitG,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
    check_epsilon,
    exact_epsilon,
    rr_on_bins,
)
from lpbench.privacy.exact import BITS
from lpbench.privacy.number_channel import typical_unbiased
from tests.privacy.densities import log_density
from tests.privacy.laws import BUDGETS, assert_frequencies

UNIT = np.eye(3)[[0, 1, 2, 2]]

#: name -> (mechanism of a given budget, values of four users, what they report without noise)
CASES = {
    "laplace": (lambda e: Laplace.for_budget(e, 2.0), np.array([0.0, 0.3, 1.0, 2.0]), None),
    "discrete_laplace": (lambda e: DiscreteLaplace.for_budget(e, 0.25), np.array([0.0, 0.25, 0.5, 1.0]), None),
    "gaussian": (lambda e: Gaussian.for_budget(e, 1e-8), np.array([0.0, 0.3, 0.6, 1.0]), None),
    "staircase": (lambda e: Staircase(e, 2.0), np.array([0.0, 0.3, 1.0, 2.0]), None),
    "piecewise": (Piecewise, np.array([-1.0, 0.3, 0.6, 1.0]), None),
    "hybrid": (Hybrid, np.array([-1.0, 0.3, 0.6, 1.0]), None),
    "privunit": (lambda e: PrivUnitG(e, 3), UNIT, None),
    "bit": (RandomizedResponse.for_budget, np.array([0, 1, 1, 0]), None),
    "one_hot": (lambda e: RandomizedResponse.for_budget(e, 2), np.eye(4, dtype=int), None),
    "bit_vector": (lambda e: BitVector(e, 4), np.arange(4), np.eye(4)),
    "grr": (lambda e: GRR(e, 4), np.arange(4), None),
    "subset": (lambda e: SubsetSelection.least_variance(e, 4), np.arange(4), np.arange(4)[:, None]),
    "prior": (lambda e: PriorResponse(e, 4, (2, 0, 1, 3)), np.arange(4), None),
    "exponential": (Exponential.for_budget, np.array([[5, 0, 1], [0, 7, 2], [0, 1, 9], [3, 2, 0]]), [0, 1, 2, 0]),
}
#: Those whose law is whole numbers.
WHOLE = ("piecewise", "hybrid")


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), None, "1", True, np.True_, -math.inf])
def test_check_epsilon_refuses(bad):
    with pytest.raises(ValueError, match=r"budget=.* must be a number > 0"):
        check_epsilon(bad, "budget")


@pytest.mark.parametrize("good", [1, 0.5, np.float32(2), np.int64(3), math.inf])
def test_check_epsilon_accepts(good):
    assert check_epsilon(good) == good and isinstance(check_epsilon(good), float)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [0, -1.0, math.nan, 5e-324, 1e-300, 1e-17, 1e17, 1e300])
def test_impossible_budgets_and_those_that_doubles_cannot_tell_from_none_or_from_no_noise_are_refused(name, epsilon):
    said = "is the budget too small|for no privacy" if epsilon > 0 else "must be a number > 0"
    with pytest.raises(ConfigurationError, match=said):
        CASES[name][0](epsilon)


@pytest.mark.parametrize("epsilon", [1e-15, 5e-8, 6e-8])
def test_no_unbiased_channel_and_no_grid_is_one_of_our_errors(epsilon):
    for make in (typical_unbiased, lambda e: DiscreteLaplace.for_budget(e * 1e-5, 2.0**-10).fields()):
        with pytest.raises(ConfigurationError):
            make(epsilon)


#: Mechanisms of a budget and a number of categories or coordinates, with their largest and smallest input.
SIZED = {
    GRR: lambda k: np.array([0, k - 1]),
    HadamardResponse: lambda k: np.array([0, k - 1]),
    BitVector: lambda k: np.array([0, k - 1]),
    SubsetSelection.least_variance: lambda k: np.array([0, k - 1]),
    PrivUnitG: lambda k: np.eye(1, k),
}


@given(
    st.floats(-20, 20).map(lambda power: 10.0**power) | st.floats(min_value=0),
    st.integers(1, 300) | st.integers(1, 2**63 - 1),
)
@example(6e-8, 2)
@example(1e-17, 2)
@example(1e-15, 300)
@settings(max_examples=60, deadline=None)
def test_extreme_budgets_and_sizes_work_or_end_in_one_of_our_errors(epsilon, k):
    made = [(lambda make=make: make(epsilon), values) for make, values, _ in CASES.values()]
    made += [(lambda: typical_unbiased(epsilon), np.array([-1.0, 0.3, 1.0]))] if epsilon in (6e-8, 1e-17) else []
    made += [(lambda: rr_on_bins(epsilon, np.ones(5)), np.array([-1.0, 0.3, 1.0]))]
    made += [(lambda kind=kind: kind(epsilon, k), values(k)) for kind, values in SIZED.items() if k <= 300]
    made += [(lambda kind=kind: kind(epsilon, k), np.array([0, k - 1])) for kind in (GRR, HadamardResponse)]
    for make, values in made:
        try:
            mechanism = make()
            reports = mechanism.randomize(values, np.random.default_rng(0))
        except ConfigurationError as error:
            assert re.search(r"\w=.* (must be|is too small|at most)", str(error)), error
            continue
        assert np.isfinite(reports).all() and mechanism.bits >= 0
        assert mechanism.epsilon <= epsilon * (1 + 1e-12) + (1e-14 if isinstance(mechanism, Gaussian) else 0.0)
        assert not math.isnan(getattr(mechanism, "variance", 0.0))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_stated_budget_is_the_exact_loss_and_nothing_overflows(name, epsilon):
    make, values, _ = CASES[name]
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        mechanism = make(epsilon)
        assert isinstance(mechanism, Mechanism) and mechanism.bits > 0 and 0 <= mechanism.delta < 1
        # the smallest probability is 2^-62, which no budget beyond 43 can use
        stated = min(epsilon, BITS * math.log(2.0)) if name in WHOLE else epsilon
        assert mechanism.epsilon == pytest.approx(stated, rel=1e-3 if stated != epsilon else 1e-9)
        reports = mechanism.randomize(values, np.random.default_rng(0))
        assert len(reports) == len(values) and np.isfinite(reports).all()
        if isinstance(mechanism, FiniteMechanism):
            assert np.allclose(mechanism.channel().sum(axis=1), 1.0)
            loss = getattr(mechanism, "changed_bits", 1) * exact_epsilon(mechanism.log_channel())
            assert min(epsilon, BITS * math.log(2.0)) * (1 - 1e-3) < loss <= epsilon * (1 + 1e-9)
        if type(mechanism) in log_density.registry or isinstance(mechanism, PrivUnitG):
            assert np.isfinite(log_density(mechanism, reports, values)).all()
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


@pytest.mark.parametrize("name", CASES)
def test_infinite_budget_reports_the_truth(name):
    make, values, truth = CASES[name]
    mechanism = make(math.inf)
    assert mechanism.epsilon == math.inf
    reports = mechanism.randomize(values, np.random.default_rng(0))
    assert np.array_equal(reports, values if truth is None else truth)


@pytest.mark.parametrize("name", CASES)
def test_equal_generators_give_equal_reports(name):
    make, values, _ = CASES[name]
    first, second = (make(1.0).randomize(values, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first, second)


def test_exact_epsilon_of_hand_made_channels():
    coin = np.log([[0.75, 0.25], [0.25, 0.75]])
    assert exact_epsilon(coin) == pytest.approx(math.log(3))
    with np.errstate(divide="ignore"):
        assert exact_epsilon(np.log([[1.0, 0.0], [0.5, 0.5]])) == math.inf
        assert exact_epsilon(np.log([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])) == 0.0
    assert exact_epsilon(np.array([[log_expit(-800), log_expit(800)], [log_expit(800), log_expit(-800)]])) == 800


@pytest.mark.parametrize("make", [BitVector, GRR, SubsetSelection.least_variance])
def test_one_category_has_nothing_to_hide(make):
    mechanism = make(0.5, 1)
    assert mechanism.epsilon == exact_epsilon(mechanism.log_channel()) == 0.0
    if make is not BitVector:
        assert (mechanism.randomize(np.zeros(50, dtype=int), np.random.default_rng(0)) == 0).all()


@pytest.mark.parametrize(
    "mechanism",
    [
        *(BitVector(0.5, 3), BitVector(3.0, 3), GRR(0.5, 3), GRR(3.0, 3), HadamardResponse(1.0, 5)),
        *(HadamardResponse(3.0, 11), PriorResponse(1.0, 4, (2,)), PriorResponse(1.0, 4, (1, 3))),
        *(PriorResponse(1.0, 4, (3, 1, 0, 2)), SubsetSelection(1.0, 4, 1), SubsetSelection(1.0, 6, 2)),
        SubsetSelection(1.0, 6, 3),
    ],
    ids=repr,
)
def test_reports_follow_the_channel(mechanism):
    rng = np.random.default_rng(3)
    for category, law in enumerate(mechanism.channel()):
        reports = mechanism.randomize(np.full(40_000, category), rng)
        if reports.ndim > 1:  # subsets are numbered in lexicographic order, bits from the last one on
            ordered = reports[:, ::-1] if isinstance(mechanism, BitVector) else reports
            reports = np.unique(ordered, axis=0, return_inverse=True)[1].ravel()
        assert_frequencies(reports, law)
