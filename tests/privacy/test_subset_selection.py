import math

import numpy as np
import pytest

from lpbench.privacy import GRR, BitVector, SubsetSelection

BUDGETS = [0.1, 0.5, 1.0, 2.0, 8.0]


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize(("m", "size"), [(7, 1), (7, 3), (12, 2)])
def test_the_estimate_is_unbiased_exactly(epsilon, m, size):
    mechanism = SubsetSelection(epsilon, m, size)
    keep, other = mechanism.probabilities
    expected = np.where(np.eye(m, dtype=bool), keep, other)
    np.testing.assert_allclose(mechanism.estimate(expected), np.eye(m), atol=1e-12)
    assert keep + (m - 1) * other == pytest.approx(size)


def test_blocks_of_users_do_not_change_the_reports(monkeypatch):
    mechanism, values = SubsetSelection(1.0, 10, 3), np.arange(1000) % 10
    whole = mechanism.randomize(values, np.random.default_rng(1))
    monkeypatch.setattr("lpbench.privacy.exact.BLOCK", 77)
    np.testing.assert_array_equal(whole, mechanism.randomize(values, np.random.default_rng(1)))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("m", [2, 8, 40, 500])
def test_the_chosen_size_is_no_worse_than_randomized_response_or_bit_vectors(epsilon, m):
    chosen = SubsetSelection.least_variance(epsilon, m)
    flip = BitVector(epsilon, m).response.flip
    bits = flip * (1 - flip) / (1 - 2 * flip) ** 2
    assert chosen.noise_variance <= min(SubsetSelection(epsilon, m).noise_variance, bits) * (1 + 1e-12)
    assert chosen.size == 1 or chosen.size == pytest.approx(m / (1 + math.exp(epsilon)), rel=0.6, abs=1)


def test_one_member_is_randomized_response():
    for epsilon, m in ((0.5, 3), (2.0, 9)):
        np.testing.assert_allclose(SubsetSelection(epsilon, m).channel(), GRR(epsilon, m).channel())


@pytest.mark.parametrize("size", [0, 5, 6])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ValueError, match="size"):
        SubsetSelection(1.0, 5, size)
