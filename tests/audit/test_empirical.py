"""The black-box audit: limits are exact, bounds are below the truth and close to it, and wrong as rarely as stated.

False alarms: the bounds of this file have failure probability 1e-7 each, a few dozen in all.
"""

import math

import numpy as np
import pytest
from scipy import stats

from lpbench.audit.black_box.claims import clopper_pearson, epsilon_from_counts
from lpbench.audit.black_box.decide import detectable, lower_bound
from lpbench.audit.known_bad import KNOWN_BAD, KNOWN_GOOD
from lpbench.audit.randomizers import Message, Randomizer, exact_loss
from lpbench.privacy import GRR, Gaussian, Laplace
from lpbench.seeds import Streams

FAILURE = 1e-7


def category(channel, delta=0.0):
    """A randomizer with the given channel matrix, audited by sampling alone."""
    channel = np.asarray(channel)

    def send(value, n, streams):
        return streams.generator("report").choice(channel.shape[1], size=n, p=channel[value])

    return Randomizer("ldp", 1.0, [Message(GRR(1.0, 2), np.zeros(len(channel), int), send)], len(channel), delta)


@pytest.mark.parametrize("hits", [0, 1, 37, 99, 100])
def test_limits_are_those_of_clopper_and_pearson(hits):
    lower, upper = clopper_pearson(hits, 100, 0.01)
    assert lower == pytest.approx(stats.beta.ppf(0.01, hits, 101 - hits) if hits else 0.0)
    assert upper == pytest.approx(stats.beta.ppf(0.99, hits + 1, 100 - hits) if hits < 100 else 1.0)
    if 0 < hits < 100:
        assert stats.binom.sf(hits - 1, 100, lower) == pytest.approx(0.01)
        assert stats.binom.cdf(hits, 100, upper) == pytest.approx(0.01)


def test_bounds_fail_as_rarely_as_stated():
    """True loss log 2; the event is fixed, so each bound fails with probability at most 0.1 (both limits 0.05)."""
    rng = np.random.default_rng(0)
    hits, others = rng.binomial(2000, 0.5, 4000), rng.binomial(2000, 0.25, 4000)
    bounds = epsilon_from_counts(hits, others, 2000, 0.0, 0.1)
    wrong = (bounds > math.log(2)).sum()
    assert stats.binom.sf(wrong - 1, 4000, 0.1) > 1e-6
    assert bounds.mean() > math.log(2) - 0.2


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_tight_mechanism_is_nearly_reached(epsilon):
    p = math.exp(epsilon) / (math.exp(epsilon) + 3)
    channel = np.full((4, 4), (1 - p) / 3) + np.eye(4) * (p - (1 - p) / 3)
    bound = lower_bound(category(channel), 100_000, Streams(0), FAILURE)
    assert 0.8 * epsilon < bound.bound <= epsilon
    assert bound.confidence == 1 - FAILURE and bound.tested == 50_000


def test_either_direction_is_found():
    """Only the second value makes a report that the first hardly ever makes."""
    channel = [[0.01, 0.99], [0.10, 0.90]]
    bound = lower_bound(category(channel), 40_000, Streams(1), FAILURE)
    assert bound.values == (1, 0) and bound.bound > 1.5


def test_joint_events_of_several_messages_are_found():
    """Each entry alone loses 0.8; together 1.6."""

    def send(value, n, streams):
        rng = streams.generator("report")
        return (rng.random((n, 2)) < 1 / (1 + math.exp(-0.8))) ^ bool(value)

    randomizer = Randomizer("ldp", 1.0, [Message(GRR(0.8, 2), np.arange(2), send)], 2)
    assert 1.3 < lower_bound(randomizer, 50_000, Streams(3), FAILURE).bound <= 1.6


def test_nothing_is_found_where_there_is_nothing():
    for seed in range(5):
        bound = lower_bound(category([[0.2, 0.8], [0.2, 0.8]]), 20_000, Streams(seed), FAILURE)
        assert bound.bound == 0
    never = Randomizer("ldp", 1.0, [Message(Laplace(1.0), np.zeros(2), lambda v, n, s: np.zeros(n))], 2)
    assert lower_bound(never, 1000, Streams(0), FAILURE).bound == 0


def test_what_a_sample_can_prove_at_most():
    certain = category([[1.0, 0.0], [0.0, 1.0]])
    for n in (1000, 10_000):
        bound = lower_bound(certain, n, Streams(0), FAILURE)
        assert bound.bound == pytest.approx(detectable(n, FAILURE)) and bound.hits == (n // 2, 0)


def test_gaussian_noise_is_within_its_epsilon_and_delta():
    mechanism = Gaussian.for_budget(1.0, 0.01)
    message = Message(
        mechanism, np.array([0.0, 1.0]), lambda v, n, s: mechanism.randomize(np.full(n, float(v)), s.generator("x"))
    )
    bound = lower_bound(Randomizer("ldp", 1.0, [message], 2, delta=0.01), 100_000, Streams(0), FAILURE)
    assert 0.6 < bound.bound <= 1.0


#: Samples at which each mechanism is caught; all but one at 10^4.
SAMPLES = dict.fromkeys(KNOWN_BAD, 10_000) | {"short_gradients": 100_000}


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", KNOWN_BAD)
def test_known_bad_mechanisms_are_caught_exactly(name, epsilon):
    assert exact_loss(KNOWN_BAD[name][1](epsilon)).epsilon > 1.5 * epsilon


@pytest.mark.parametrize("name", KNOWN_BAD)
def test_known_bad_mechanisms_are_caught_by_sampling(name):
    randomizer = KNOWN_BAD[name][1](1.0)
    bound = lower_bound(randomizer, SAMPLES[name], Streams(2025), FAILURE)
    assert randomizer.claimed < bound.bound <= exact_loss(randomizer).epsilon


@pytest.mark.parametrize("name", KNOWN_GOOD)
def test_mechanisms_that_spend_less_are_not_accused(name):
    randomizer = KNOWN_GOOD[name][1](1.0)
    exact = exact_loss(randomizer).epsilon
    assert exact <= randomizer.claimed + 1e-9
    assert lower_bound(randomizer, 20_000, Streams(2025), FAILURE).bound <= exact
