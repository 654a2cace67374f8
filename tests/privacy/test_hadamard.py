import math
from fractions import Fraction

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.privacy import GRR, BitVector, HadamardResponse, exact_epsilon, payload
from lpbench.privacy.exact import UNITS
from tests.privacy.laws import assert_mean, assert_same_law
from tests.privacy.test_exact_maps import EPSILONS, assert_loss, count


@pytest.mark.parametrize("m", [2, 3, 16, 1000, 2**31 + 1, 2**50, 2**60])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exact_loss_by_counting_words(epsilon, m):
    """The row of a category is 1 at half of its block, each place of which two of the words' last bits show."""
    mechanism, last = HadamardResponse(epsilon, m), m - 1
    block, row = divmod(last, mechanism.length - 1)
    place = np.arange(min(mechanism.length, 64))
    shown = mechanism.reports(np.full(place.size, last), np.zeros(place.size, int), place)
    assert (shown // mechanism.length == block).all()
    assert (np.bitwise_count(shown & (row + 1)) % 2 == 0).all()
    if mechanism.length <= 64:
        assert (np.unique(shown, return_counts=True)[1] == 2).all() and shown.size == mechanism.length
    hidden = np.array([-1 & (mechanism.n_reports - 1)])  # a word that shows the last report of all
    elsewhere = 0 if mechanism.reports(np.array([0]), np.array([0]), hidden)[0] != hidden[0] else last
    told = count(lambda word: mechanism.reports(np.array([elsewhere]), word, hidden)[0] != hidden[0])
    assert told == mechanism.told
    if told:
        ratio = 1 + Fraction(told * 2 * mechanism.blocks, UNITS - told)
        assert_loss(ratio, epsilon, sharp=epsilon <= 20)
    assert m <= mechanism.blocks * (mechanism.length - 1) and mechanism.n_reports <= 2**62


@pytest.mark.parametrize("m", [1, 2, 3, 5, 16, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0, math.inf])
def test_law_loss_and_unbiased_counts(epsilon, m):
    mechanism = HadamardResponse(epsilon, m)
    channel = mechanism.channel()
    np.testing.assert_allclose(channel.sum(axis=1), 1.0)
    assert exact_epsilon(mechanism.log_channel()) == pytest.approx(mechanism.epsilon)
    estimates = mechanism.estimate(np.eye(mechanism.n_reports))
    np.testing.assert_allclose(channel @ estimates, np.eye(m), atol=1e-9)
    if m > 1:
        variances = channel @ estimates**2 - np.eye(m)
        assert variances[~np.eye(m, dtype=bool)].mean() == pytest.approx(mechanism.noise_variance, abs=1e-9)


def test_sums_are_those_of_reports():
    mechanism, truth, repeats = HadamardResponse(1.5, 6), np.array([0, 0, 1, 4, 5, 5, 5]), 4000
    per_user = mechanism.randomize(np.tile(truth, (repeats, 1)), np.random.default_rng(1))
    counts = (per_user[:, :, None] == np.arange(mechanism.n_reports)).sum(axis=1)
    drawn = mechanism.sum_of_reports(np.tile(np.bincount(truth), (repeats, 1)), np.random.default_rng(2))
    weights = np.sqrt(np.arange(2.0, 2.0 + mechanism.n_reports))
    assert_same_law(counts @ weights, drawn @ weights)
    estimates = mechanism.estimate(drawn)
    assert_mean(estimates, np.bincount(truth), estimates.std(axis=0))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_variance_does_not_grow_with_the_number_of_categories(epsilon):
    few, many = (HadamardResponse(epsilon, m).noise_variance for m in (16, 2**40))
    assert many < 1.2 * few
    bit = BitVector(epsilon, 16).response
    assert many < 1.3 * bit.keep * bit.flip / (bit.keep - bit.flip) ** 2


def test_payload_and_budgets_shared():
    mechanism, rng = HadamardResponse(1.0, 1000), np.random.default_rng(0)
    assert mechanism.bits == 10.0 and payload.payload_bits(mechanism.fields()) == 10
    values, keep, other = rng.integers(1000, size=500), rng.integers(UNITS, size=500), rng.integers(UNITS, size=500)
    low, high = (HadamardResponse(e, 1000).reports(values, keep, other) for e in (0.5, 1.0))
    assert ((low == high) | (keep >= HadamardResponse(0.5, 1000).told)).all()
    assert mechanism.reports(values[0], keep[0], other[0]) == high[0], "of one user"


def test_refusals():
    for kind in (HadamardResponse, GRR):
        with pytest.raises(ConfigurationError, match=r"n_categories=.* at most 2\^60; merge"):
            kind(1.0, 2**61).randomize(np.array([4]), np.random.default_rng(0))
    with pytest.raises(ConfigurationError, match="sample it instead"):
        HadamardResponse(1.0, 4096).log_channel()
    with pytest.raises(ValueError, match="values must be integers"):
        HadamardResponse(1.0, 4).randomize(np.array([4]), np.random.default_rng(0))
