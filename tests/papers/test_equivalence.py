"""Sample-size equivalence on curves whose answer is known."""

import numpy as np
import pytest

from lpbench.papers.extensions.equivalence import equivalent_sizes

SIZES = np.array([100.0, 200, 400, 800, 1600])


def test_a_method_that_needs_twice_the_sample():
    risk = SIZES**-0.5
    found = equivalent_sizes(SIZES, risk, np.sqrt(2) * risk)
    # a power law is not linear in log n between the sizes, but the doubled sizes are themselves on the grid
    assert found[:-1] == pytest.approx(2 * SIZES[:-1]) and np.isinf(found[-1])


def test_a_better_method_needs_fewer_and_below_the_range_nothing_is_claimed():
    accuracy = np.log2(SIZES)
    found = equivalent_sizes(SIZES, -accuracy, -accuracy - 1)
    assert np.isnan(found[0]) and found[1:] == pytest.approx(SIZES[1:] / 2)


def test_a_method_against_itself():
    noisy = np.array([0.50, 0.62, 0.60, 0.70, 0.71])
    found = equivalent_sizes(SIZES, -noisy, -noisy)
    # the dip is averaged with its neighbour; on a level stretch the smallest size counts
    assert found == pytest.approx([100, 200, 200, 800, 1600])
