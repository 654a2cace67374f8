import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.privacy import GRR, BitVector, RandomizedResponse, grr_probabilities, grr_reports, grr_weights, rr_reports
from lpbench.privacy.exact import UNITS, words
from tests.privacy.laws import assert_frequencies

CHANNELS = [BitVector, GRR]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 1000.0, math.inf])
@pytest.mark.parametrize("n_categories", [1, 2, 5])
def test_estimates_are_exactly_unbiased(epsilon, n_categories):
    grr = GRR(epsilon, n_categories)
    assert np.allclose(grr.channel() @ grr.estimate(np.eye(n_categories)), np.eye(n_categories))
    vector = BitVector(epsilon, n_categories)
    reports = (np.arange(2**n_categories)[:, None] >> np.arange(n_categories)) & 1
    assert np.allclose(vector.channel() @ vector.estimate(reports), np.eye(n_categories))
    bit = RandomizedResponse.for_budget(epsilon)
    assert np.allclose(bit.channel() @ bit.estimate(np.array([0, 1])), [0, 1])


def test_formulas_of_the_papers():
    # HistOfTree eq. (5) with e^(eps/4), (16) with e^(eps/2), label-DP eq. (13) with e^(eps/2), at eps = 4 ln 3.
    bit = RandomizedResponse.for_budget(4 * math.log(3) / 4)
    assert (bit.keep, bit.flip) == (pytest.approx(3 / 4), pytest.approx(1 / 4))
    assert bit.estimate(1) == pytest.approx((3 + 1) / (3 - 1) * (1 - 1 / (1 + 3)))
    keep, other = grr_probabilities(5, 4 * math.log(3) / 2)
    assert (keep, other) == (pytest.approx(9 / 13), pytest.approx(1 / 13))
    slope, offset = grr_weights(5, 2 * math.log(3))
    assert (slope, offset) == (pytest.approx(13 / 8), pytest.approx(1 / 8))
    assert BitVector(2 * math.log(3), 4).response.keep == pytest.approx(3 / 4)
    assert (GRR(1.0, 8).bits, BitVector(1.0, 8).bits, RandomizedResponse(1.0).bits) == (3.0, 8.0, 1.0)


@given(st.integers(1, 200), st.floats(1e-3, 700))
def test_weights_invert_the_probabilities(m, epsilon):
    keep, other = grr_probabilities(m, epsilon)
    slope, offset = grr_weights(m, epsilon)
    assert keep + (m - 1) * other == pytest.approx(1.0)
    assert slope * keep - offset == pytest.approx(1.0, abs=1e-9 * slope)
    if m > 1:
        assert slope * other - offset == pytest.approx(0.0, abs=1e-9 * slope)


def test_batch_of_users_with_their_own_numbers_of_categories():
    m = np.repeat([1, 2, 3, 8], 40000)
    truth = (np.arange(m.size) * 7) % m
    rng = np.random.default_rng(0)
    reports = grr_reports(truth, m, 1.2, words(rng, m.size), words(rng, m.size))
    for count in (1, 2, 3, 8):
        channel = GRR(1.2, count).channel()
        for category in range(count):
            chosen = (m == count) & (truth == category)
            assert_frequencies(reports[chosen], channel[category])


@pytest.mark.parametrize("m", [2, 3, 7, 64])
def test_untold_reports_are_even_over_all_categories_exactly(m):
    # A lattice of words that meets every category equally often; the largest word never tells the truth.
    other = (2 * np.arange(5 * m) + 1) * (UNITS // (10 * m))
    for truth, kind in product(range(m), (np.int64, np.uint64)):  # whatever type the words have
        reports = grr_reports(np.full(other.size, truth), m, 1.0, np.full(other.size, UNITS - 1), other.astype(kind))
        assert np.array_equal(np.bincount(reports, minlength=m), np.full(m, 5))


def test_one_count_for_all_users_gives_the_reports_of_a_count_for_each():
    for m, epsilon in product((2, 5, 256, 257, 65537, 2**31, 2**33), (1.0, 8.0, 30.0)):
        truth, rng = np.random.default_rng(0).integers(m, size=(300, 2)), np.random.default_rng(1)
        found = GRR(epsilon, m).randomize(truth, np.random.default_rng(1))
        assert np.array_equal(found, grr_reports(truth, m, epsilon, words(rng, truth.shape), words(rng, truth.shape)))


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 20), st.floats(0.01, 20))
def test_larger_budget_keeps_what_a_smaller_one_kept(seed, first, second):
    small, large = sorted((first, second))
    rng = np.random.default_rng(seed)
    m = rng.integers(1, 9, 60)
    truth = rng.integers(0, m)
    keep, other = words(rng, (2, 60))
    low, high = (grr_reports(truth, m, e, keep, other) for e in (small, large))
    assert ((low != truth) | (high == truth)).all()
    assert ((high == truth) | (high == low)).all()  # and the lies are the same
    bits = rng.random(60) < 0.5
    low, high = (rr_reports(bits, e, keep) for e in (small, large))
    assert ((low != bits) | (high == bits)).all()


@pytest.mark.parametrize("kind", CHANNELS)
def test_sum_law_has_the_exact_joint_distribution(kind):
    """Chi-square of the shortcut against the convolution of the channels of four users with three categories."""
    mechanism, truth = kind(0.8, 3), np.array([0, 0, 1, 2])
    channel = mechanism.channel()
    shown = np.eye(3, dtype=int) if kind is GRR else (np.arange(8)[:, None] >> np.arange(3)) & 1
    law = {(0, 0, 0): 1.0}
    for category in truth:
        longer = defaultdict(float)
        for (counts, mass), report in product(law.items(), range(len(shown))):
            longer[tuple((counts + shown[report]).tolist())] += mass * channel[category, report]
        law = longer
    counts = np.tile(np.bincount(truth, minlength=3), (300000, 1))
    sums = mechanism.sum_of_reports(counts, np.random.default_rng(1))
    index = {key: i for i, key in enumerate(sorted(law))}
    probabilities = np.array([law[key] for key in sorted(law)])
    codes = np.array([index.get(tuple(key), -1) for key in np.ndindex(5, 5, 5)]).reshape(5, 5, 5)
    assert_frequencies(codes[tuple(sums.T)], probabilities)


@pytest.mark.parametrize("kind", CHANNELS)
def test_sums_without_noise_and_values_that_are_refused(kind):
    counts = np.array([3, 0, 2])
    for epsilon in (math.inf, 1000.0):
        assert np.array_equal(kind(epsilon, 3).sum_of_reports(counts, np.random.default_rng(0)), counts)
    for value in (3, -1, 0.5):
        with pytest.raises(ValueError, match=r"values must be integers in 0, \.\.\., 2"):
            kind(1.0, 3).randomize(np.array([value]), np.random.default_rng(0))


def test_other_refusals():
    with pytest.raises(ValueError, match="values must be bits"):
        RandomizedResponse(1.0).randomize(np.array([2]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="truth must lie in"):
        grr_reports(np.array([0, 2]), np.array([1, 2]), 1.0, np.zeros(2, int), np.zeros(2, int))
    for bad in (0, 2.5):
        with pytest.raises(ValueError, match="n_categories="):
            GRR(1.0, bad)
    with pytest.raises(ValueError, match="changed_bits="):
        RandomizedResponse(1.0, 0)
    with pytest.raises(ValueError, match=r"2\^20 reports"):
        BitVector(1.0, 20).log_channel()
