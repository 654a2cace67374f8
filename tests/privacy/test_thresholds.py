"""Thresholds of uniforms that budgets share: exact loss of bits, categories and subsets in the code's arithmetic."""

import math
from itertools import pairwise

import numpy as np
import pytest

from lpbench.privacy import GRR, RandomizedResponse, prior_reports, rr_reports, subset_reports
from lpbench.privacy.exact import grid_keep
from lpbench.privacy.randomized_response import grr_reports
from lpbench.privacy.subset_selection import subset_probabilities

STEPS = 2**53
BUDGETS = [0.01, 0.5, 1.0, 4.0, 16.0, 20.0, 30.0, 34.0, 36.0, 37.0, 40.0, 100.0, 1000.0]


def steps_that_keep(keeps) -> int:
    """Of the 2^53 uniforms k / 2^53, how many are below the threshold of the code: by bisection."""
    low, high = 0, STEPS
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if keeps(np.array([middle / STEPS])) else (low, middle)
    return low


def evenly(m: int) -> int:
    """Least number of uniforms that choose one of m others: floor(u m) is exact at the ends of its intervals."""
    ends = [-(-j * STEPS // m) for j in range(m + 1)]
    for j, end in enumerate(ends[1:-1], start=1):
        assert math.floor((end - 1) / STEPS * m) <= j - 1 or math.floor((end - 2) / STEPS * m) == j - 1
        assert math.floor((end + 1) / STEPS * m) == j
    return min(b - a for a, b in pairwise(ends)) - 1


def assert_loss(loss: float, epsilon: float) -> None:
    """Never above the budget, finite whatever the budget, and near it while doubles are fine enough."""
    assert loss <= epsilon + 1e-12
    if epsilon <= 20:
        assert loss == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_a_bit(epsilon):
    kept = steps_that_keep(lambda u: rr_reports(np.array([True]), epsilon, u)[0])
    assert_loss(math.log(kept) - math.log(STEPS - kept), epsilon)


@pytest.mark.parametrize("m", [2, 3, 5, 64, 1000])
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_categories(epsilon, m):
    zero = np.array([0])
    kept = steps_that_keep(lambda u: grr_reports(zero, m, epsilon, u, np.array([0.5]))[0] == 0)
    other = (STEPS - kept) * (evenly(m - 1) if m > 2 else STEPS)
    assert_loss(math.log(kept) + math.log(STEPS) - math.log(other), epsilon + 1e-9)


@pytest.mark.parametrize(("m", "size"), [(3, 1), (6, 2), (40, 13)])
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_subsets(epsilon, m, size):
    """Members are chosen evenly, which ``test_subset_selection`` holds; here is whether the truth is one of them."""
    zero = np.array([0])

    def holds(u):
        return 0 in subset_reports(zero, m, size, epsilon, u, np.random.default_rng(0))[0]

    kept = steps_that_keep(holds)
    with_truth, without = math.comb(m - 1, size - 1), math.comb(m - 1, size)
    loss = math.log(kept) - math.log(with_truth) - math.log(STEPS - kept) + math.log(without)
    assert_loss(loss, epsilon)
    assert kept / STEPS == pytest.approx(float(subset_probabilities(m, size, epsilon)[0]))


class OneUniform:
    """A Generator all of whose uniforms are one number."""

    def __init__(self, u):
        self._u = u

    def random(self, size=None):
        return np.full(size, self._u)


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_prior_response_reaches_every_listed_class_from_every_class(epsilon):
    order, size = np.array([[2, 0, 1]]), np.array([2])
    last = OneUniform(1 - 1 / STEPS)
    assert prior_reports(np.array([2]), order, size, epsilon, last)[0] == 0
    assert prior_reports(np.array([0]), order, size, epsilon, last)[0] == 2
    assert {prior_reports(np.array([1]), order, size, epsilon, OneUniform(u))[0] for u in (0.0, 0.9)} == {0, 2}


def test_without_a_budget_or_without_others_the_truth_is_told():
    last = np.array([1 - 1 / STEPS])
    assert rr_reports(np.array([True]), math.inf, last)[0]
    assert grr_reports(np.array([2]), 4, math.inf, last, last)[0] == 2
    assert grr_reports(np.array([0]), 1, 1.0, last, last)[0] == 0
    assert subset_reports(np.array([3]), 6, 2, math.inf, last, np.random.default_rng(0))[0].tolist().count(3) == 1


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
def test_thresholds_differ_from_the_probabilities_by_less_than_two_uniforms_in_2_53(epsilon):
    """Draws of committed results stay: only a uniform on one of two numbers in 2^53 is decided otherwise."""
    bit = RandomizedResponse(epsilon)
    assert abs(bit.keep - float(grid_keep(bit.flip))) <= 2 / STEPS
    for m in (2, 3, 64, 1000):
        keep = math.exp(GRR(epsilon, m).log_channel()[0, 0])
        kept = steps_that_keep(lambda u, m=m: grr_reports(np.array([0]), m, epsilon, u, np.array([0.5]))[0] == 0)
        assert abs(kept - keep * STEPS) <= 2
