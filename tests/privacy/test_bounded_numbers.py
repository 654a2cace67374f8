"""Staircase, piecewise and hybrid reports: exact laws, means, variances, least variance, exact loss on a grid."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from lpbench.errors import DataError
from lpbench.privacy import Hybrid, Laplace, Piecewise, Staircase
from lpbench.privacy.staircase import noise_variance
from tests.privacy.laws import assert_law, assert_mean

N = 40_000
BUDGETS = [0.3, 0.61, 1.0, 2.0, 6.0]
VALUES = [-1.0, -0.2, 0.0, 0.7, 1.0]


def moments(mechanism, value, edges):
    """Mass, mean and variance of the continuous part, between the points where the density jumps."""
    pieces = list(pairwise(edges))
    power = [
        sum(quad(lambda x, k=k: x**k * math.exp(mechanism.log_density(x, value)), a, b)[0] for a, b in pieces)
        for k in range(3)
    ]
    return power[0], power[1], power[2] - power[1] ** 2


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_staircase_density_mass_mean_and_variance(epsilon):
    mechanism = Staircase.for_budget(epsilon, 2.0)
    steps = np.arange(0, math.ceil(40 / epsilon))
    jumps = np.sort(np.concatenate([steps, steps + mechanism.high_share])) * 2.0
    mass, mean, variance = moments(mechanism, 0.0, np.concatenate([-jumps[:0:-1], jumps]))
    assert mass == pytest.approx(1, abs=1e-9) and mean == pytest.approx(0, abs=1e-9)
    assert variance == pytest.approx(mechanism.variance, rel=1e-9)


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_staircase_has_the_least_variance_of_all_staircases_and_less_than_laplace(epsilon):
    mechanism = Staircase(epsilon)
    others = [noise_variance(epsilon, share) for share in np.linspace(0.001, 0.999, 999)]
    assert mechanism.variance <= min(others) and min(others) == pytest.approx(mechanism.variance, rel=1e-4)
    assert mechanism.variance < Laplace.for_budget(epsilon).variance


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_staircase_noise_has_the_law_of_the_density(epsilon):
    mechanism = Staircase(epsilon, 2.0)
    noise = mechanism.randomize(np.zeros(N), np.random.default_rng(3))
    grid = np.linspace(-1, 1, 200_001) * 2.0 * (2 + 40 / epsilon)
    density = np.exp(mechanism.log_density(grid, 0.0))
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert_law(noise, lambda x: np.interp(x, grid, cumulative))
    assert_mean(noise, 0.0, math.sqrt(mechanism.variance))


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_staircase_loses_the_budget_for_every_step_begun(epsilon):
    mechanism = Staircase(epsilon, 2.0)
    # Off the points where the density jumps.
    reports = np.linspace(-30, 30, 4001) + 1e-7
    for distance, steps in [(0.0, 0), (0.3, 1), (2.0, 1), (2.5, 2), (4.0, 2)]:
        loss = mechanism.log_density(reports, 0.1) - mechanism.log_density(reports, 0.1 + distance)
        assert mechanism.privacy_map(distance) == steps * epsilon
        assert loss.max() <= steps * epsilon + 1e-9
        if distance in (0.3, 2.5):
            assert loss.max() == pytest.approx(steps * epsilon)
    assert mechanism.epsilon == epsilon


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("value", VALUES)
def test_piecewise_is_a_density_with_the_value_as_its_mean(epsilon, value):
    mechanism = Piecewise(epsilon)
    left = float(mechanism._left(np.array(value)))
    edges = [-mechanism.bound, left, left + mechanism.excess, mechanism.bound]
    mass, mean, variance = moments(mechanism, value, edges)
    assert mass == pytest.approx(1) and mean == pytest.approx(value, abs=1e-9)
    assert variance == pytest.approx(float(mechanism.noise_variance(value)))
    bound = (math.exp(epsilon / 2) + 1) / (math.exp(epsilon / 2) - 1)
    assert mechanism.bound == pytest.approx(bound)


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("make", [Piecewise, Hybrid])
def test_reports_are_unbiased_with_the_stated_variance_within_the_bound(make, epsilon):
    mechanism, rng = make(epsilon), np.random.default_rng(4)
    for value in VALUES:
        reports = mechanism.randomize(np.full(N, value), rng)
        variance = float(mechanism.noise_variance(value))
        assert_mean(reports, value, math.sqrt(variance))
        spread = (reports - value) ** 2
        assert_mean(spread, variance, spread.std() + 1e-9)
        assert np.abs(reports).max() <= Piecewise(epsilon).bound + 1e-9


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_piecewise_reports_have_the_law_of_the_density(epsilon):
    mechanism, value = Piecewise(epsilon), 0.3
    left, c = float(mechanism._left(np.array(value))), mechanism.bound
    edges = np.array([-c, left, left + mechanism.excess, c])
    density = np.exp(mechanism.log_density((edges[1:] + edges[:-1]) / 2, value))
    cumulative = np.concatenate([[0], np.cumsum(density * np.diff(edges))])
    reports = mechanism.randomize(np.full(N, value), np.random.default_rng(5))
    assert_law(reports, lambda x: np.interp(x, edges, cumulative))


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("make", [Piecewise, Hybrid])
def test_the_stated_loss_is_attained_and_never_exceeded(make, epsilon):
    mechanism = make(epsilon)
    reports = np.linspace(-report_bound(mechanism), report_bound(mechanism), 20_001)[1:-1] + 1e-9
    if make is Hybrid:
        reports = np.concatenate([reports, [mechanism.point, -mechanism.point]])
    for value, other in [(-1.0, 1.0), (0.0, 0.5), (1.0, -1.0), (0.2, 0.2)]:
        one, two = mechanism.log_density(reports, value), mechanism.log_density(reports, other)
        possible = np.isfinite(one)
        assert (possible == np.isfinite(two)).all()
        stated = mechanism.log_density_ratio_sup(value, other)
        assert (one[possible] - two[possible]).max() == pytest.approx(stated, abs=1e-9)
        assert stated <= mechanism.epsilon + 1e-9
    assert mechanism.log_density_ratio_sup(-1.0, 1.0) == pytest.approx(epsilon)


def report_bound(mechanism):
    return Piecewise(mechanism.budget).bound


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_hybrid_is_at_least_as_good_as_its_parts_in_the_worst_case(epsilon):
    hybrid = Hybrid(epsilon)
    worst = max(float(hybrid.noise_variance(v)) for v in np.linspace(-1, 1, 41))
    smooth = max(float(Piecewise(epsilon).noise_variance(v)) for v in np.linspace(-1, 1, 41))
    assert worst <= min(smooth, hybrid.point**2) * (1 + 1e-2)
    assert (hybrid.share == 0) == (epsilon <= 0.61)


@pytest.mark.parametrize("make", [Piecewise, Hybrid])
def test_numbers_outside_the_range_are_refused(make):
    with pytest.raises(DataError, match=r"outside \[-1, 1\]"):
        make(1.0).randomize(np.array([0.0, 1.5]), np.random.default_rng(0))
