"""What sampling Laplace noise with doubles does not protect, and that noise on a grid does (docs/privacy.md).

Mironov (2012): of the doubles near a report, a value can reach only some, and another value others.
"""

import math

import numpy as np
import pytest

from lpbench.audit.empirical import epsilon_from_counts
from lpbench.privacy import DiscreteLaplace, Laplace, Staircase, exponential_choices

N = 1500


def numpy_laplace(u):
    """The unit draw that numpy makes of a uniform u, a multiple of 2^-53."""
    return -math.log(2.0 - u - u) if u >= 0.5 else math.log(u + u)


def can_reach(report, value, scale):
    """Whether some uniform turns the value into exactly this report."""
    noise = (report - value) / scale
    u = 1 - math.exp(-noise) / 2 if noise >= 0 else math.exp(noise) / 2
    near = (k / 2**53 for k in range(round(u * 2**53) - 6, round(u * 2**53) + 7))
    return any(value + scale * numpy_laplace(u) == report for u in near if 0 < u < 1)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 0.1, 1.0, 5.0, 20.0, 50.0, 700.0])
def test_the_low_order_bits_of_a_double_give_the_value_away(epsilon):
    mechanism = Laplace.for_budget(epsilon)
    reports = mechanism.randomize(np.ones(N), np.random.default_rng(0))
    true = sum(can_reach(r, 1.0, mechanism.scale) for r in reports)
    others = sum(can_reach(r, 1.0, mechanism.scale) for r in mechanism.randomize(np.zeros(N), np.random.default_rng(1)))
    assert true == N and others < 0.5 * N
    # The event "0 cannot have made this report" has probability 0 under 0 and about 0.8 under 1.
    impossible = sum(not can_reach(r, 0.0, mechanism.scale) for r in reports)
    assert impossible > 0.75 * N and epsilon_from_counts(impossible, 0, N, 0.0, 1e-6) > 3


def staircase_can_reach(report, value, mechanism):
    """Whether some sign, step, side of the fall and uniform turn the value into exactly this report."""
    share = mechanism.high_share
    for sign in (-1.0, 1.0):
        place = sign * (report - value)
        for step in {math.floor(place + shift) for shift in (-1e-9, 0.0, 1e-9)} - {-1}:
            for start, length in ((0.0, share), (share, 1.0 - share)):
                near = round(min(max((place - step - start) / length, 0.0), 1.0) * 2**53)
                uniforms = np.arange(max(near - 40, 0), min(near + 41, 2**53)) / 2**53
                if step >= 0 and (value + sign * (step + (start + length * uniforms)) == report).any():
                    return True
    return False


@pytest.mark.parametrize(("epsilon", "excluded"), [(0.1, 0.03), (1.0, 0.3), (5.0, 0.8), (20.0, 0.95), (700.0, 0.95)])
def test_staircase_noise_gives_values_away_with_its_budget(epsilon, excluded):
    mechanism = Staircase(epsilon)
    reports = mechanism.randomize(np.zeros(N // 4), np.random.default_rng(1))
    assert all(staircase_can_reach(r, 0.0, mechanism) for r in reports)
    assert sum(not staircase_can_reach(r, 1.0, mechanism) for r in reports) >= excluded * N / 4


def test_the_least_probable_candidates_are_never_released():
    """numpy's Gumbel variables are -log(-log u) of u = k 2^-53 with 0 < k < 2^53: all within 40.4 of one another."""
    ends = [-math.log(-math.log(u)) for u in (2.0**-53, 1.0 - 2.0**-53)]
    assert 40.3 < ends[1] - ends[0] < 40.4
    assert exponential_choices(np.array([0.0, 40.5]), 1.0, np.array(ends[::-1])) == 1, "at a probability of e^-40.5"
    assert exponential_choices(np.array([0.0, 40.2]), 1.0, np.array(ends[::-1])) == 0


def test_noise_on_a_grid_has_no_low_order_bits():
    mechanism = DiscreteLaplace.for_budget(1.0, step=2.0**-10)
    seen = [set(mechanism.randomize(np.full(400_000, v), np.random.default_rng(v))) for v in (0, 1)]
    grid = set(np.arange(-256, 1281) * mechanism.step)
    assert all(grid <= points for points in seen), "every grid point nearby is reached from either value"
    reports = np.concatenate([list(points) for points in seen])
    np.testing.assert_array_equal(reports, np.rint(reports / mechanism.step) * mechanism.step)
