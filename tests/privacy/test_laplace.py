import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from lpbench.privacy import DiscreteLaplace, Laplace, cell_noise
from tests.privacy.densities import log_density
from tests.privacy.laws import assert_frequencies, assert_law, assert_same_law

finite = st.floats(-100, 100)


@given(st.floats(1e-3, 50), st.floats(0.1, 20), finite, finite)
def test_stated_epsilon_holds_and_is_attained(epsilon, sensitivity, report, value):
    mechanism = Laplace.for_budget(epsilon, sensitivity)
    worst = (value, value + sensitivity)
    ratio = log_density(mechanism, report, worst[0]) - log_density(mechanism, report, worst[1])
    assert abs(ratio) <= epsilon * (1 + 1e-9) + 1e-9
    outside = value - 1.0
    attained = log_density(mechanism, outside, worst[0]) - log_density(mechanism, outside, worst[1])
    assert attained > epsilon * (1 - 1e-3)
    assert mechanism.exact_loss(*worst) == pytest.approx(attained, rel=1e-6)


def test_density_is_normalized_unbiased_and_has_the_stated_variance():
    mechanism = Laplace.for_budget(0.7, 3.0)

    def moment(f):
        return sum(quad(lambda y: f(y) * math.exp(log_density(mechanism, y, 1.5)), *side)[0]
                   for side in ((-np.inf, 1.5), (1.5, np.inf)))  # fmt: skip

    assert moment(lambda y: 1.0) == pytest.approx(1.0, abs=1e-9)
    assert moment(lambda y: y) == pytest.approx(1.5, abs=1e-8)
    assert moment(lambda y: (y - 1.5) ** 2) == pytest.approx(mechanism.variance, rel=1e-8)


def test_reports_follow_the_law():
    values = np.linspace(-1, 1, 20000)
    reports = Laplace.for_budget(0.5, 2.0).randomize(values, np.random.default_rng(0))
    assert_law(reports - values, stats.laplace(scale=4.0).cdf)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_sum_law_equals_the_per_user_protocol(n):
    per_user = np.random.default_rng(0).laplace(scale=1.5, size=(20000, n)).sum(axis=1)
    assert_same_law(per_user, cell_noise(2, np.arange(20000), n, 1.5))


def test_large_sums_are_normal():
    noise = cell_noise(6, np.arange(20000), 1e8, 1.0)
    assert_law(noise / math.sqrt(2e8), "norm")


def test_sums_of_unequal_length_in_one_call():
    n = np.repeat([0, 1, 5], 4000)
    noise = cell_noise(8, np.arange(n.size), n, 1.0)
    empty, single, five = noise.reshape(3, -1)
    assert (empty == 0).all()
    assert_law(single, stats.laplace.cdf)
    assert_same_law(five, np.random.default_rng(9).laplace(size=(4000, 5)).sum(axis=1))


def test_cell_noise_is_a_function_of_the_cell():
    keys = np.random.default_rng(0).integers(0, 4, (500, 12))
    noise = cell_noise(11, keys, 30, 2.0)
    order = np.random.default_rng(1).permutation(500)
    assert np.array_equal(cell_noise(11, keys[order[:50]], 30, 2.0), noise[order[:50]])
    assert np.allclose(cell_noise(11, keys, 30, 5.0), 2.5 * noise, rtol=1e-12)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(noise, noise[first][inverse.ravel()])
    assert (cell_noise(12, keys, 30, 2.0) != noise).all()


def test_impossible_scales_and_numbers_of_users():
    for scale in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="must be a finite number >= 0"):
            Laplace(scale)
    for step in (0.1, 3.0, 0.0, -1.0):  # a power of two
        with pytest.raises(ValueError, match="step="):
            DiscreteLaplace(1.0, step)
    with pytest.raises(ValueError, match="n must be >= 0"):
        cell_noise(0, np.arange(2), [1, -1], 1.0)


def test_discrete_sum_to_one_and_unbiased_for_the_rounded_value():
    mechanism = DiscreteLaplace.for_budget(0.9, step=0.25, sensitivity=2.0)
    grid = np.arange(-4000, 4001) * 0.25
    probability = np.exp(log_density(mechanism, grid, 1.3))
    assert probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert probability @ grid == pytest.approx(1.25, abs=1e-10)


@pytest.mark.parametrize("sensitivity", [0.1, 0.25, 1.0, 1.1])
def test_discrete_epsilon_is_exact_with_rounding_included(sensitivity):
    mechanism = DiscreteLaplace.for_budget(1.3, step=0.25, sensitivity=sensitivity)
    grid = np.arange(-40, 60) * 0.25
    values = np.linspace(-0.5, 0.5, 401)
    pairs = log_density(mechanism, grid, values[:, None]) - log_density(mechanism, grid, values[:, None] + sensitivity)
    assert 1.3 * (1 - 1e-3) < np.abs(pairs).max() <= 1.3 * (1 + 1e-12)


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.integers(-20, 3))
def test_rounding_never_moves_two_values_further_apart_than_stated(value, sensitivity, log_step):
    mechanism = DiscreteLaplace(scale=1.0, step=2.0**log_step)
    other = value + sensitivity
    distance = Fraction(other) - Fraction(value)  # of the two floating-point numbers, exactly
    assert mechanism.round(other) - mechanism.round(value) <= math.ceil(distance / Fraction(mechanism.step))


def test_rounding_of_the_number_just_below_one_half():
    mechanism = DiscreteLaplace(scale=1.0, step=1.0)
    assert list(mechanism.round([0.49999999999999994, 0.5, 1.5, -0.5, -0.5000000000000001])) == [0, 1, 2, 0, -1]


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
def test_discrete_reports_follow_the_law(scale):
    mechanism = DiscreteLaplace(scale, step=0.5)
    steps = (mechanism.randomize(np.full(100000, 3.0), np.random.default_rng(0)) - 3.0) / 0.5
    assert np.array_equal(steps, np.round(steps))
    reach = int(5 * scale / 0.5)  # both tails beyond are pooled
    inside = np.exp(log_density(mechanism, 3.0 + 0.5 * np.arange(1 - reach, reach), 3.0))
    tail = (1 - inside.sum()) / 2
    assert_frequencies(np.clip(steps, -reach, reach).astype(int) + reach, [tail, *inside, tail])
