"""Whole numbers of any size, in any order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpbench.deployment.streams import ExactSums

WEIGHTS = st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**62), 2**62)), max_size=40)


@given(WEIGHTS, st.integers(1, 7), st.randoms(use_true_random=False))
def test_sums_are_those_of_whole_numbers_in_any_order_and_chunks(entries, chunk, random):
    expected = [float(sum(w for c, w in entries if c == cell)) for cell in range(4)]
    random.shuffle(entries)
    one, two = ExactSums(4), ExactSums(4)
    for start in range(0, len(entries), chunk):
        part = entries[start : start + chunk]
        target = one if start % 2 else two
        target.add(np.array([c for c, _ in part]), np.array([w for _, w in part]))
    one.merge(two)
    # rounded once (twice beyond 2^84)
    np.testing.assert_array_equal(one.floats(), expected)


def test_ones_and_rows():
    sums = ExactSums(3)
    sums.add(np.array([0, 2, 2]))
    sums.add_rows(np.array([[2.0**82, -1.0, 0.0], [-(2.0**82), 0.0, 3.0]]))
    np.testing.assert_array_equal(sums.floats(), [1.0, -1.0, 5.0])
