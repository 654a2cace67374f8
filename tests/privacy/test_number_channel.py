import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from lpbench.errors import ConfigurationError
from lpbench.estimators.privatized_labels.numbers import levels_channel
from lpbench.privacy import Channel, NumberChannel, Piecewise, exact_epsilon, optimal_unbiased, rr_on_bins
from lpbench.privacy.exact import UNITS
from lpbench.privacy.number_channel import N_INPUTS, typical_prior, typical_unbiased
from tests.privacy.laws import Given, assert_frequencies, assert_mean

BUDGETS = [0.5, 1.0, 2.0, 4.0]
PRIORS = {
    "flat": np.ones(6) / 6,
    "peak": np.array([0.02, 0.5, 0.3, 0.1, 0.05, 0.03]),
    "ends": np.array([0.45, 0.05, 0.0, 0.0, 0.05, 0.45]),
}


def expected_loss(channel: NumberChannel, prior) -> float:
    inputs, outputs = np.array(channel.inputs), np.array(channel.outputs)
    return float((prior[:, None] * channel.channel() * (outputs - inputs[:, None]) ** 2).sum())


def best_of_all_channels(epsilon, prior, outputs, unbiased) -> float:
    """Least expected squared loss of any epsilon-private channel onto the outputs.

    Columns of an extreme private channel take two values, c and c e^epsilon: all patterns are listed, and the weights
    of pattern and output are the variables, with equalities alone.
    """
    k = prior.size
    points = np.linspace(-1, 1, k)
    patterns = np.array(list(itertools.product([math.exp(-epsilon), 1.0], repeat=k)))
    cost = (prior * (outputs[:, None] - points) ** 2) @ patterns.T
    rows = [np.tile(patterns[:, i], outputs.size) for i in range(k)]
    right = [1.0] * k
    if unbiased:
        rows += [np.outer(outputs, patterns[:, i]).ravel() for i in range(k)]
        right += list(points)
    found = linprog(cost.ravel(), A_eq=np.array(rows), b_eq=right, method="highs")
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_rr_on_bins_is_optimal_among_all_private_channels(epsilon, prior):
    channel = rr_on_bins(epsilon, PRIORS[prior])
    outputs = np.unique(np.concatenate([channel.outputs, np.linspace(-1, 1, 81)]))
    best = best_of_all_channels(epsilon, PRIORS[prior], outputs, unbiased=False)
    assert expected_loss(channel, PRIORS[prior]) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("epsilon", [*BUDGETS, 16.0, 1000.0, math.inf])
def test_rr_on_bins_spends_the_budget_or_reports_a_constant(epsilon):
    for prior in PRIORS.values():
        channel = rr_on_bins(epsilon, prior)
        # the smallest probability is 2^-62
        stated = epsilon if epsilon in (*BUDGETS, 16.0, math.inf) else math.log(2.0**62)
        assert channel.epsilon == pytest.approx(stated if len(channel.outputs) > 1 else 0.0)
    one_sided = rr_on_bins(0.01, [0.999, 0.001])
    assert one_sided.epsilon <= 0.01 + 1e-12
    assert len(rr_on_bins(math.inf, np.ones(5)).outputs) == 5


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", BUDGETS)
def test_unbiased_channel_is_optimal_against_all_patterns_of_columns(epsilon, prior):
    p = PRIORS[prior]
    channel = optimal_unbiased(epsilon, p, n_outputs=17)
    outputs = np.linspace(-1, 1, 17) * 1.6 / math.tanh((epsilon - 5e-8) / 2)
    best = best_of_all_channels(epsilon, p, outputs, unbiased=True)
    assert expected_loss(channel, p) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.1, *BUDGETS, 8.0, 16.0, 1000.0])
def test_unbiased_channel_keeps_the_budget_and_the_mean_between_its_inputs_too(epsilon):
    channel, values = typical_unbiased(epsilon), np.linspace(-1, 1, 57)
    assert min(epsilon, 10) - 1e-7 < channel.epsilon <= epsilon
    assert channel.at(values).epsilon <= channel.epsilon + 1e-9
    np.testing.assert_allclose(channel.mean(values), values, atol=2e-7)
    np.testing.assert_allclose(channel.channel().sum(axis=1), 1.0)


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_unbiased_channel_has_less_noise_than_the_piecewise_mechanism_on_its_prior(epsilon):
    points = np.linspace(-1, 1, N_INPUTS)
    prior = typical_prior(points)
    ours = float(prior @ typical_unbiased(epsilon).noise_variance(points))
    assert ours < float(prior @ Piecewise(epsilon).noise_variance(points))


def test_outputs_that_cannot_be_unbiased_are_refused():
    with pytest.raises(ConfigurationError, match=r"reach=0\.9 must be >= 1"):
        optimal_unbiased(1.0, np.ones(3), reach=0.9)


def test_reports_have_the_law_of_the_table_and_their_readings_its_mean():
    rng, n = np.random.default_rng(1), 30_000
    for channel in (rr_on_bins(1.0, PRIORS["peak"]), optimal_unbiased(1.0, PRIORS["peak"], n_outputs=9)):
        for value in (-1.0, -0.37, 0.2, 1.0):
            reports = channel.randomize(np.full(n, value), rng)
            assert_frequencies(reports, channel.at([value]).channel()[0])
            spread = math.sqrt(float(channel.noise_variance([value])[0]))
            assert_mean(channel.estimate(reports), float(channel.mean([value])[0]), spread)


def test_rounding_keeps_the_mean_or_takes_the_nearest():
    with np.errstate(divide="ignore"):
        identity = np.log(np.eye(3))
    random = NumberChannel.of([-1, 0, 1], [-1, 0, 1], identity)
    np.testing.assert_allclose(random.mean([-0.5, 0.25, 1.0]), [-0.5, 0.25, 1.0])
    nearest = NumberChannel.of([-1, 0, 1], [-1, 0, 1], identity, "nearest")
    np.testing.assert_allclose(nearest.mean([-0.6, 0.25, 1.0]), [-1.0, 0.0, 1.0])
    assert exact_epsilon(identity) == math.inf
    with pytest.raises(ConfigurationError, match="rounding='up'"):
        NumberChannel.of([-1, 1], [-1, 1], np.zeros((2, 2)), "up")
    with pytest.raises(ConfigurationError, match="log_table has shape"):
        NumberChannel.of([-1, 1], [-1, 1], np.zeros((2, 3)))


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 34.0, 40.0, 1000.0])
def test_every_number_that_decides_is_counted_and_the_stated_loss_is_theirs(epsilon):
    """The code's own law to the last unit, at budgets where sums of doubles lost reports: infinite loss at 34."""
    for channel in (rr_on_bins(epsilon, PRIORS["flat"]), typical_unbiased(epsilon), levels_channel(epsilon)):
        laws = []
        for number in channel.inputs:
            ends = _ends(channel, number)
            laws.append(np.diff([0, *ends]))
            assert ends[-1] == UNITS
        laws = np.array(laws)
        assert (laws > 0).all(), "a report that one number sends, any number sends"
        exact = max(math.log(max(c) / min(c)) for c in laws.T.tolist())
        assert exact == pytest.approx(channel.epsilon, abs=1e-12) and exact <= epsilon + 1e-12
        np.testing.assert_allclose(np.log(laws / UNITS), channel.log_channel(), rtol=1e-12, atol=1e-15)


def _ends(channel, number):
    """Numbers from which on a report is larger, for each report but the last, and the end: by bisection."""
    m = len(channel.outputs)
    low, high = np.zeros(m, dtype=np.int64), np.full(m, UNITS, dtype=np.int64)
    for _ in range(64):
        middle = low + (high - low) // 2
        asked = np.minimum(middle, UNITS - 1)
        beyond = (channel.randomize(np.full(m, number), Given(asked, UNITS)) > np.arange(m)) | (middle == UNITS)
        low, high = np.where(beyond, low, np.minimum(middle + 1, high)), np.where(beyond, middle, high)
    return high.tolist()


def test_a_table_is_drawn_to_the_last_unit_too():
    channel = Channel(np.array([[0.25, 0.75], [1e-15, 1.0 - 1e-15]]))
    rare = math.ceil(1e-15 * UNITS)
    reports = channel.randomize(np.full(3, 1), Given([0, rare - 1, rare], UNITS))
    assert reports.tolist() == [0, 0, 1]
    assert channel.epsilon == pytest.approx(math.log(0.25 * UNITS / rare), abs=1e-12)
