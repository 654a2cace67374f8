"""Grid cells: bins, keys that are equal iff the cells are, and sums that forget nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.partitions import CellSums, KeyIndex, cell_keys, grid_digits


def test_bins_are_closed_on_the_left_and_one_belongs_to_the_last():
    X = np.array([[0.0, 0.25, 0.4999, 0.5, 0.75, 1.0]])
    assert grid_digits(X, 4).tolist() == [[0, 1, 1, 2, 3, 3]]
    assert grid_digits(X, 1).tolist() == [[0] * 6]


@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_digits_round_down_whatever_the_number_of_rows(dtype):
    X = np.random.default_rng(0).uniform(-0.5, 1.5, (50_000, 3))
    digits = grid_digits(X, 7, dtype)
    assert digits.dtype == dtype
    np.testing.assert_array_equal(digits, np.clip(np.floor(X * 7), 0, 6))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.sampled_from([0, 1, 3, 12, 80]), st.integers(0, 2**32))
def test_keys_are_equal_iff_the_digits_are(base, s, seed):
    rng = np.random.default_rng(seed)
    digits = rng.integers(0, base, (40, s))
    digits[20:] = digits[rng.integers(0, 20, 20)]
    if s:
        digits[::7, -1] = 0  # trailing zeros must not be lost in byte strings
    keys = cell_keys(digits, base)
    assert keys.shape == (40,)
    assert ((keys[:, None] == keys) == (digits[:, None] == digits).all(axis=2)).all()
    if keys.dtype.kind == "i":
        assert (keys >= 0).all() and (keys < base**s).all()


@pytest.mark.parametrize(("base", "s"), [(3, 2), (3, 20), (3, 100), (300, 30)])
def test_an_index_numbers_known_keys_and_marks_unknown_ones(base, s):
    rng = np.random.default_rng(0)
    digits = rng.integers(0, base, (200, s))
    keys = cell_keys(digits, base)
    index = KeyIndex(keys[:100], base**s)
    codes = index.find(keys)
    known = np.isin(keys, keys[:100])
    if base**s > 2**16:
        assert (codes[~known] == index.size).all()
        assert (codes[known] < index.size).all()
    assert ((codes[:100, None] == codes[:100]) == (keys[:100, None] == keys[:100])).all()


@pytest.mark.parametrize("n_codes", [5, 10**6])
def test_sums_over_cells_are_those_of_a_loop(n_codes):
    rng = np.random.default_rng(0)
    codes, leaves, weight = rng.integers(0, 5, 300), rng.integers(0, 7, 300), rng.normal(size=300)
    sums = CellSums(codes, leaves, n_codes, 7, None, weight)
    query_codes, query_leaves = np.array([0, 4, 3, n_codes, n_codes]), np.array([0, 6, 2, 0, 6])
    count, total = sums.at(query_codes, query_leaves)
    for k, (c, l) in enumerate(zip(query_codes, query_leaves, strict=True)):
        inside = (codes == c) & (leaves == l)
        assert count[k] == inside.sum()
        assert total[k] == pytest.approx(weight[inside].sum())


def test_no_entries_sum_to_zero():
    none = np.zeros(0, dtype=int)
    assert CellSums(none, none, 10**9, 4, None).at(np.array([3]), np.array([1]))[0].tolist() == [0]
