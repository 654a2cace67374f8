import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.privacy import DiscreteLaplace
from lpbench.privacy.payload import GridPoints, Integers, Reals, grid_reach, payload_bits


def test_bits_are_the_fewest_of_fixed_width():
    assert [Integers(m).bits for m in (1, 2, 3, 4, 5, 256, 257)] == [0, 1, 2, 2, 3, 8, 9]
    assert Reals(3).bits == 192 and Integers(2, 10).bits == 10
    assert GridPoints(0.5, 127).bits == 8 and GridPoints(0.5, 128).bits == 9
    assert payload_bits([Reals(), Integers(5, 2), GridPoints(0.5, 127, 3)]) == 64 + 6 + 24


def test_grid_points_hold_discrete_noise():
    mechanism = DiscreteLaplace.for_budget(0.5, 2.0**-10, 2.0)
    field = GridPoints(mechanism.step, grid_reach(1.0, mechanism.scale, mechanism.step), 1)
    reports = mechanism.randomize(np.ones((20_000, 1)), np.random.default_rng(0))
    assert np.abs(reports).max() <= field.reach * field.step and field.bits < 64
    with pytest.raises(ConfigurationError, match="beyond which they blur"):
        GridPoints(0.5, 2**52 + 1)
