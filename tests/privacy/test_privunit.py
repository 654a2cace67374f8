import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from lpbench.privacy import PrivUnitG, privunit_reports, unit_vectors
from lpbench.privacy.privunit import _second_moment
from tests.privacy.laws import assert_law, assert_same_law

budgets = st.one_of(st.floats(1e-3, 30), st.sampled_from([100.0, 1000.0, 1024.0]))


def random_units(rng, *shape):
    vectors = rng.standard_normal(shape)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@given(budgets, st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_stated_epsilon_holds_and_is_attained(epsilon, dimension, seed):
    mechanism = PrivUnitG(epsilon, dimension)
    rng = np.random.default_rng(seed)
    first, second = random_units(rng, 2, dimension)
    reports = 3 * mechanism.threshold * mechanism.spread * rng.standard_normal((50, dimension))
    ratios = mechanism.log_density(reports, first) - mechanism.log_density(reports, second)
    assert np.abs(ratios).max() <= epsilon * (1 + 1e-9)
    far = (1 + 2 * mechanism.threshold * mechanism.spread) * 1e6 * (first - second) / np.sum((first - second) ** 2)
    attained = mechanism.log_density(far, first) - mechanism.log_density(far, second)
    assert attained > epsilon * (1 - 1e-3)
    assert mechanism.exact_loss(first, second) == mechanism.epsilon == epsilon


def line_integral(mechanism, f):
    """Integral of f over the component along v, under the density that ``log_density`` states."""
    along = np.eye(mechanism.dimension)[0]

    def weight(a):
        report = a * mechanism.spread * along
        return f(a * mechanism.spread) * math.exp(stats.norm.logpdf(a) + float(mechanism.log_density(report, along)))

    gamma = mechanism.threshold
    low, high = quad(weight, -12, gamma, epsabs=1e-13)[0], quad(weight, gamma, gamma + 12, epsabs=1e-13)[0]
    return low + high


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 2.0, 8.0, 100.0, 1000.0])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_density_is_normalized_unbiased_and_has_the_stated_second_moment(epsilon, dimension):
    mechanism = PrivUnitG(epsilon, dimension)
    assert line_integral(mechanism, lambda a: 1.0) == pytest.approx(1.0, abs=1e-8)
    scale = mechanism.spread
    assert line_integral(mechanism, lambda a: a) == pytest.approx(1.0, abs=1e-8 * max(scale, 1.0))
    squared = line_integral(mechanism, lambda a: a * a) + (dimension - 1) * scale**2
    assert squared == pytest.approx(
        _second_moment(mechanism.keep_logit, mechanism.budget, mechanism.dimension), rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 100.0, 1000.0])
@pytest.mark.parametrize("dimension", [1, 2, 25, 1000])
def test_split_of_the_budget_is_optimal(epsilon, dimension):
    grid = np.linspace(0, epsilon, 4001)[:-1]
    best = min(_second_moment(t, epsilon, dimension) for t in grid)
    chosen = PrivUnitG(epsilon, dimension).keep_logit
    assert _second_moment(chosen, epsilon, dimension) <= best * (1 + 1e-7)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_reports_equal_the_protocol_by_rejection(epsilon):
    """The definition: keep drawing standard Gaussian vectors until one lies on the chosen side of the threshold."""
    d, n = 4, 20000
    mechanism = PrivUnitG(epsilon, d)
    rng = np.random.default_rng(0)
    vector = random_units(rng, d)
    above = rng.random(n) < mechanism.keep
    pool = rng.standard_normal((60 * n, d))
    beyond = pool @ vector >= mechanism.threshold
    reference = np.concatenate([pool[beyond][: above.sum()], pool[~beyond][: (~above).sum()]]) * mechanism.spread
    assert len(reference) == n
    reports = mechanism.randomize(np.tile(vector, (n, 1)), np.random.default_rng(1))
    for direction in (vector, *random_units(rng, 3, d)):
        assert_same_law(reference @ direction, reports @ direction)
    assert_same_law(np.linalg.norm(reference, axis=1), np.linalg.norm(reports, axis=1))


@pytest.mark.parametrize("epsilon", [0.5, 8.0, 1000.0])
def test_component_along_the_vector_follows_its_law(epsilon):
    mechanism = PrivUnitG(epsilon, 10)
    along = mechanism.along(*np.random.default_rng(4).random((2, 20000))) / mechanism.spread
    gamma, p = mechanism.threshold, mechanism.keep
    below, above = along[along < gamma], along[along >= gamma]
    assert_law(stats.norm.logsf(gamma) - stats.norm.logsf(above), "expon")
    assert stats.binomtest(len(above), len(along), p).pvalue > 1e-6
    if len(below) > 10:
        assert_law(stats.norm.cdf(below) / stats.norm.cdf(gamma), "uniform")


def test_uniforms_at_their_ends_stay_finite():
    for epsilon in (1e-3, 1.0, 1000.0):
        ends = np.array([0.0, 1 - 2**-53])
        assert np.isfinite(PrivUnitG(epsilon, 3).along(ends[:, None], ends)).all()


def test_batch_over_budgets_and_runs_equals_one_by_one():
    rng = np.random.default_rng(5)
    vectors, normals = random_units(rng, 3, 2, 6), rng.standard_normal((2, 6))
    u_side, u_tail = rng.random((2, 2))
    mechanisms = [PrivUnitG(e, 6) for e in (0.5, 8.0, math.inf)]
    along = np.stack([m.along(u_side, u_tail) for m in mechanisms])
    spread = np.array([m.spread for m in mechanisms])[:, None]
    batch = privunit_reports(vectors, along, spread, normals)
    for b, mechanism in enumerate(mechanisms):
        for run in range(2):
            single = privunit_reports(vectors[b, run], along[b, run], mechanism.spread, normals[run])
            assert np.allclose(batch[b, run], single, rtol=1e-12)
    assert np.allclose(batch[2], vectors[2])


@given(st.integers(1, 8), st.just(0.0) | st.floats(1e-100, 3), st.integers(0, 2**32 - 1))
def test_unit_vectors_have_length_one_and_the_clipped_mean(dimension, length, seed):
    rng = np.random.default_rng(seed)
    gradient = length * random_units(rng, dimension)
    u = (np.arange(2000) + 0.5) / 2000
    units = unit_vectors(np.tile(gradient, (2000, 1)), u, rng.standard_normal((2000, dimension)))
    assert np.allclose(np.linalg.norm(units, axis=1), 1.0)
    if length > 0:
        clipped = gradient / max(np.linalg.norm(gradient), 1.0)
        assert np.allclose(units.mean(axis=0), clipped, atol=1.01 / 2000)


def test_zero_vectors_become_uniform_directions():
    rng = np.random.default_rng(6)
    gradients = np.zeros((20000, 2))
    gradients[::2, 0] = 0.5
    units = unit_vectors(gradients, rng.random(20000), rng.standard_normal((20000, 2)))
    angles = np.arctan2(units[1::2, 1], units[1::2, 0])
    assert_law(angles, stats.uniform(-math.pi, 2 * math.pi).cdf)
    assert set(np.unique(units[::2, 0])) == {-1.0, 1.0}


def test_short_gradients_are_as_private_as_unit_ones():
    mechanism = PrivUnitG(1.5, 2)
    rng = np.random.default_rng(7)
    reports = 5 * mechanism.spread * rng.standard_normal((2000, 2))

    def log_density(gradient):
        length = np.linalg.norm(gradient)
        unit = gradient / length
        plus = mechanism.log_density(reports, unit) + math.log((1 + length) / 2)
        return np.logaddexp(plus, mechanism.log_density(reports, -unit) + math.log((1 - length) / 2))

    for first, second in 0.9 * random_units(rng, 20, 2, 2) * rng.random((20, 2, 1)):
        assert np.abs(log_density(first) - log_density(second)).max() <= 1.5 * (1 + 1e-12)


def test_refusals():
    mechanism = PrivUnitG(1.0, 3)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="values must have length 1"):
        mechanism.randomize(np.full((2, 3), 0.1), rng)
    with pytest.raises(ValueError, match=r"expected \(n, 3\)"):
        mechanism.randomize(np.eye(2), rng)
    with pytest.raises(ValueError, match="dimension=0"):
        PrivUnitG(1.0, 0)
    with pytest.raises(ValueError, match="vectors must be finite"):
        unit_vectors(np.array([[np.inf, 0.0]]), np.array([0.5]), np.ones((1, 2)))
