"""What sampling Laplace noise with doubles does not protect, and that noise on a grid does (docs/privacy.md).

Mironov (2012): of the doubles near a report, a value can reach only some, and another value others.
"""

import math

import numpy as np
import pytest

from lpbench.audit.empirical import epsilon_from_counts
from lpbench.privacy import DiscreteLaplace, Laplace

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


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_the_low_order_bits_of_a_double_give_the_value_away(epsilon):
    mechanism = Laplace.for_budget(epsilon)
    reports = mechanism.randomize(np.ones(N), np.random.default_rng(0))
    true = sum(can_reach(r, 1.0, mechanism.scale) for r in reports)
    others = sum(can_reach(r, 1.0, mechanism.scale) for r in mechanism.randomize(np.zeros(N), np.random.default_rng(1)))
    assert true == N and others < 0.5 * N
    # The event "0 cannot have made this report" has probability 0 under 0 and about 0.8 under 1.
    impossible = sum(not can_reach(r, 0.0, mechanism.scale) for r in reports)
    assert epsilon_from_counts(impossible, 0, N, 0.0, 1e-6) > 3 > epsilon


def test_noise_on_a_grid_has_no_low_order_bits():
    mechanism = DiscreteLaplace.for_budget(1.0, step=2.0**-10)
    seen = [set(mechanism.randomize(np.full(400_000, v), np.random.default_rng(v))) for v in (0, 1)]
    grid = set(np.arange(-256, 1281) * mechanism.step)
    assert all(grid <= points for points in seen), "every grid point nearby is reached from either value"
    reports = np.concatenate([list(points) for points in seen])
    np.testing.assert_array_equal(reports, np.rint(reports / mechanism.step) * mechanism.step)
