"""Whole numbers of any size, in any order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lpbench.deployment.streams import ExactSums

ROWS = st.lists(st.tuples(*[st.integers(-(2**52), 2**52)] * 3), max_size=40)


@given(ROWS, st.integers(1, 7), st.randoms(use_true_random=False))
def test_sums_are_those_of_whole_numbers_in_any_order_and_chunks(rows, chunk, random):
    expected = [float(sum(row[cell] for row in rows)) for cell in range(3)]
    random.shuffle(rows)
    one, two = ExactSums(3), ExactSums(3)
    for start in range(0, len(rows), chunk):
        (one if start % 2 else two).add_rows(np.array(rows[start : start + chunk], dtype=float))
    one.merge(two)
    np.testing.assert_array_equal(one.floats(), expected)


def test_rows_of_great_size():
    sums = ExactSums(3)
    sums.add_rows(np.array([[2.0**82, -1.0, 0.0], [-(2.0**82), 0.0, 3.0]]))
    np.testing.assert_array_equal(sums.floats(), [0.0, -1.0, 3.0])
