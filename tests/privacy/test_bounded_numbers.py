import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from lpbench.errors import DataError
from lpbench.privacy import Hybrid, Laplace, Piecewise, PrivUnitG, Staircase
from lpbench.privacy.exact import UNITS
from lpbench.privacy.piecewise import CELLS
from lpbench.privacy.staircase import noise_variance
from tests.privacy.densities import index, log_density
from tests.privacy.laws import Given, assert_frequencies, assert_law, assert_mean

N = 40_000
BUDGETS = [0.3, 0.61, 1.0, 2.0, 6.0]
VALUES = [-1.0, -0.2, 0.0, 0.7, 1.0]


def moments(mechanism, value, edges):
    """Mass, mean and variance of the continuous part, between the points where the density jumps."""
    pieces = list(pairwise(edges))
    power = [
        sum(quad(lambda x, k=k: x**k * math.exp(log_density(mechanism, x, value)), a, b)[0] for a, b in pieces)
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
    density = np.exp(log_density(mechanism, grid, 0.0))
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert_law(noise, lambda x: np.interp(x, grid, cumulative))
    assert_mean(noise, 0.0, math.sqrt(mechanism.variance))


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_staircase_loses_the_budget_for_every_step_begun(epsilon):
    mechanism = Staircase(epsilon, 2.0)
    # Off the points where the density jumps.
    reports = np.linspace(-30, 30, 4001) + 1e-7
    for distance, steps in [(0.0, 0), (0.3, 1), (2.0, 1), (2.5, 2), (4.0, 2)]:
        loss = log_density(mechanism, reports, 0.1) - log_density(mechanism, reports, 0.1 + distance)
        assert mechanism.privacy_map(distance) == steps * epsilon
        assert loss.max() <= steps * epsilon + 1e-9
        if distance in (0.3, 2.5):
            assert loss.max() == pytest.approx(steps * epsilon)
    assert mechanism.epsilon == epsilon


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("value", VALUES)
def test_piecewise_is_a_law_with_the_value_as_its_mean_and_nearly_the_published_variance(epsilon, value):
    mechanism = Piecewise(epsilon)
    [law], points = mechanism.chances([value]), mechanism.points
    assert law.sum() == pytest.approx(1) and law @ points == pytest.approx(value, abs=1e-9)
    assert law @ points**2 - value**2 == pytest.approx(float(mechanism.noise_variance(value)))
    np.testing.assert_allclose(log_density(mechanism, points, value), np.log(law))
    # of the mechanism whose reports fill an interval: its bound C and its variance (Wang et al., lemma 1)
    half = math.exp(epsilon / 2)
    published = value**2 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    assert mechanism.bound == pytest.approx((half + 1) / (half - 1), rel=1e-2)
    assert float(mechanism.noise_variance(value)) == pytest.approx(published, rel=2e-2)


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
def test_piecewise_reports_have_the_law_of_the_chances(epsilon):
    mechanism, value = Piecewise(epsilon), 0.3
    law = mechanism.chances([value])[0].reshape(32, -1).sum(axis=1)
    reports = mechanism.randomize(np.full(N, value), np.random.default_rng(5))
    assert np.isin(reports, mechanism.points).all()
    assert_frequencies(index(mechanism, reports) // (CELLS // 32), law)


@pytest.mark.parametrize("epsilon", [*BUDGETS, 20.0, 40.0, 1000.0])
@pytest.mark.parametrize("make", [Piecewise, Hybrid])
def test_the_stated_loss_is_attained_and_never_exceeded(make, epsilon):
    """Exhaustive over the reports: all points, for pairs of numbers on and between the positions of the window."""
    mechanism = make(epsilon)
    reports = Piecewise(epsilon).points
    if make is Hybrid:
        reports = np.unique(np.concatenate([reports, [mechanism.point, -mechanism.point]]))
    for value, other in [(-1.0, 1.0), (0.0, 0.5), (1.0, -1.0), (0.2, 0.2), (0.2, 0.2001), (-0.9999, 0.7)]:
        one, two = log_density(mechanism, reports, value), log_density(mechanism, reports, other)
        possible = np.isfinite(one)
        assert (possible == np.isfinite(two)).all()
        stated = mechanism.exact_loss(value, other)
        assert (one[possible] - two[possible]).max() == pytest.approx(stated, abs=1e-9)
        assert stated <= mechanism.epsilon + 1e-9
    assert mechanism.exact_loss(-1.0, 1.0) == pytest.approx(mechanism.epsilon)
    assert mechanism.epsilon <= epsilon and mechanism.epsilon == pytest.approx(
        min(epsilon, math.log(2.0**62)), rel=1e-2
    )


@pytest.mark.parametrize("epsilon", [0.001, *BUDGETS, 20.0, 34.0, 40.0, 1000.0])
def test_every_number_that_decides_a_piecewise_report_is_counted(epsilon):
    """The code's own law, to the last unit: where the deciding number passes from one point to the next.

    Points take consecutive numbers, ``weights`` of them each, so that first and last number of each tell all.
    """
    mechanism = Piecewise(epsilon)
    near, far = mechanism.weights
    assert mechanism.total <= UNITS and math.log(near / far) <= epsilon
    positions = CELLS - mechanism.width
    for first in (0, 1, positions // 2, positions):
        inside = [(first + k, k * near, (k + 1) * near) for k in range(mechanism.width)]
        outside = [j for j in range(CELLS) if not first <= j < first + mechanism.width]
        start = mechanism.width * near
        beyond = [(j, start + k * far, start + (k + 1) * far) for k, j in enumerate(outside)]
        point, begin, end = np.array([*inside, *beyond]).T
        assert end.max() == mechanism.total
        for deciding in (begin, end - 1):
            # half a uniform decides the rounding, away from its ends
            value = np.full(point.size, 2.0 * first / positions - 1.0)
            reports = mechanism.randomize(np.clip(value, -1, 1), Given(deciding, mechanism.total))
            assert np.array_equal(index(mechanism, reports), point)


def test_nothing_but_listed_points_leaves_so_that_no_report_excludes_a_label():
    """Of doubles that fill an interval, half excluded one of two labels by their low-order bits."""
    for make, epsilon in ((Piecewise, 1.0), (Piecewise, 4.0), (Hybrid, 1.0), (Hybrid, 4.0)):
        mechanism, rng = make(epsilon), np.random.default_rng(0)
        listed = {*Piecewise(epsilon).points.tolist()}
        if make is Hybrid:
            listed |= {mechanism.point, -mechanism.point}
        sent = {label: {*mechanism.randomize(np.full(N, label), rng).tolist()} for label in (0.1, 0.7)}
        assert sent[0.1] <= listed and sent[0.7] <= listed
        assert np.isfinite(log_density(mechanism, np.array(sorted(listed)), 0.1)).all()
        assert mechanism.discrete and not PrivUnitG.discrete


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
