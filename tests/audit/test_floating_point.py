"""Why noise is rounded to a grid: what doubles with Laplace noise do not protect (docs/privacy.md).

Mironov (2012): of the doubles near a report, a value can reach only some, and another value others.
"""

import math

import numpy as np
import pytest

from lpbench.audit.black_box.claims import epsilon_from_counts
from lpbench.privacy import Gaussian, Laplace, Staircase

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


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 700.0])
def test_the_low_order_bits_of_a_double_give_the_value_away(epsilon):
    """The event "0 cannot have made this report" has probability 0 under 0 and about 0.8 under 1."""
    scale = 1.0 / epsilon
    reports = 1.0 + scale * np.random.default_rng(0).laplace(size=N)
    assert all(can_reach(r, 1.0, scale) for r in reports)
    impossible = sum(not can_reach(r, 0.0, scale) for r in reports)
    assert impossible > 0.75 * N and epsilon_from_counts(impossible, 0, N, 0.0, 1e-6) > 3


@pytest.mark.parametrize("mechanism", [Laplace(1.0), Gaussian(1.0, 1e-5), Staircase(1.0)], ids=str)
def test_noise_is_a_point_of_a_grid_whatever_the_value(mechanism):
    values = np.random.default_rng(2).random(N)
    reports = mechanism.randomize(values, np.random.default_rng(3))
    assert not (reports % 2.0**-28).any() and (reports % 2.0**-25).any() and (values % 2.0**-28).all()
