"""Payloads: reports survive packing, take exactly the bits they promise, and fields refuse what does not fit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.privacy import DiscreteLaplace
from lpbench.privacy.payload import (
    LARGEST_REAL,
    GridPoints,
    Integers,
    Reals,
    grid_reach,
    pack,
    payload_bits,
    payload_bytes,
    unpack,
)

FIELDS = st.lists(
    st.one_of(
        st.builds(Reals, st.integers(0, 3)),
        st.builds(Integers, st.integers(1, 2**40), st.integers(0, 4)),
        st.builds(GridPoints, st.sampled_from([1.0, 0.25, 2.0**-10]), st.integers(1, 10**6), st.integers(0, 3)),
    ),
    max_size=5,
)


def legal_values(field, n, rng):
    if isinstance(field, Reals):
        return rng.normal(scale=10.0 ** rng.integers(-3, 12), size=(n, field.count))
    if isinstance(field, Integers):
        return rng.integers(0, field.size, size=(n, field.count)).astype(float)
    return rng.integers(-field.reach, field.reach + 1, size=(n, field.count)) * field.step


@given(FIELDS, st.integers(0, 2**32), st.integers(1, 5))
def test_round_trip(fields, seed, n):
    rng = np.random.default_rng(seed)
    values = np.hstack([np.zeros((n, 0)), *(legal_values(f, n, rng) for f in fields)])
    packed = pack(fields, values)
    assert packed.shape == (n, payload_bytes(fields)) and packed.shape[1] == -(-payload_bits(fields) // 8)
    back, legal = unpack(fields, packed)
    assert legal.all()
    np.testing.assert_array_equal(back, values)


def test_bits_are_the_fewest_of_fixed_width():
    assert [Integers(m).bits for m in (1, 2, 3, 4, 5, 256, 257)] == [0, 1, 2, 2, 3, 8, 9]
    assert Reals(3).bits == 192 and Integers(2, 10).bits == 10
    assert GridPoints(0.5, 127).bits == 8 and GridPoints(0.5, 128).bits == 9


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Reals(1), math.nan),
        (Reals(1), math.inf),
        (Reals(1), 2 * LARGEST_REAL),
        (Integers(3), 3),
        (Integers(3), -1),
        (Integers(3), 0.5),
        (GridPoints(0.5, 4), 0.3),
    ],
)
def test_values_that_do_not_fit_are_refused(field, value):
    with pytest.raises(ValueError, match="does not fit"):
        pack([field], np.array([[value]]))


def test_impossible_payloads_are_not_legal():
    assert not unpack([Reals(1)], np.frombuffer(np.array([np.nan], ">f8").tobytes(), np.uint8)[None])[1][0]
    assert not unpack([Integers(3)], np.array([[0b11000000]], dtype=np.uint8))[1][0], "category 3 of 3"
    assert not unpack([Integers(4)], np.array([[0b01000001]], dtype=np.uint8))[1][0], "padding"
    assert unpack([Integers(4)], np.array([[0b01000000]], dtype=np.uint8))[0][0, 0] == 1


def test_grid_points_hold_discrete_noise():
    mechanism = DiscreteLaplace.for_budget(0.5, 2.0**-10, 2.0)
    field = GridPoints(mechanism.step, grid_reach(1.0, mechanism.scale, mechanism.step), 1)
    reports = mechanism.randomize(np.ones((20_000, 1)), np.random.default_rng(0))
    np.testing.assert_array_equal(unpack([field], pack([field], reports))[0], reports)
    assert field.bits < 64
    # Beyond the reach (probability below 1e-18) a report is clipped, which is post-processing.
    assert unpack([field], pack([field], np.array([[1e6]])))[0][0, 0] == field.reach * field.step
