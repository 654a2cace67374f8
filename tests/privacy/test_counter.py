import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.privacy import hashed_uniforms
from tests.privacy.laws import assert_frequencies, assert_law

KEYS = np.stack(np.meshgrid(np.arange(200), np.arange(-100, 100), indexing="ij"), axis=-1).reshape(-1, 2)


def test_law_over_a_lattice_of_keys():
    u = hashed_uniforms(3, KEYS, n_draws=2)
    assert u.shape == (2, len(KEYS)) and (u > 0).all() and (u < 1).all()
    assert_law(u[0], "uniform")
    assert_law(u[1], "uniform")


@pytest.mark.parametrize(
    "pair",
    [
        lambda: hashed_uniforms(3, KEYS, n_draws=2),
        lambda: (hashed_uniforms(3, KEYS)[0], hashed_uniforms(4, KEYS)[0]),
        lambda: (hashed_uniforms(3, KEYS)[0], hashed_uniforms(3, KEYS + np.array([0, 1]))[0]),
        lambda: (hashed_uniforms(3, KEYS)[0], hashed_uniforms(3, KEYS[:, ::-1])[0]),
        lambda: (hashed_uniforms(3, KEYS[:, 0] * 1000 + KEYS[:, 1])[0], hashed_uniforms(3, KEYS)[0]),
    ],
    ids=["draws", "seeds", "neighboring keys", "swapped columns", "widths"],
)
def test_pairs_are_independent(pair):
    first, second = pair()
    keep = KEYS[:, 0] != KEYS[:, 1]  # a swapped key equal to itself is rightly the same draw
    cells = np.floor(first * 10).astype(int) * 10 + np.floor(second * 10).astype(int)
    assert_frequencies(cells[keep], np.full(100, 0.01))


@given(st.integers(0, 2**130), st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 3), min_size=1, max_size=8))
def test_value_depends_on_seed_and_key_alone(seed, keys):
    keys = np.array(keys, dtype=np.int64)
    together = hashed_uniforms(seed, keys, 3)
    alone = np.concatenate([hashed_uniforms(seed, keys[i : i + 1], 3) for i in range(len(keys))], axis=1)
    assert np.array_equal(together, alone)
    assert np.array_equal(together[:1], hashed_uniforms(seed, keys, 1))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_many_small_keys_are_no_exception(dtype):
    """Their mixtures are looked up, also beside those of a column of large ones."""
    keys = np.random.default_rng(0).integers(0, 200, (50, 100), dtype=dtype) * np.append(dtype(37), np.ones(99, dtype))
    alone = np.concatenate([hashed_uniforms(5, keys[i : i + 1]) for i in range(50)], axis=1)
    assert np.array_equal(hashed_uniforms(5, keys), alone)


def test_no_keys_and_wrong_keys():
    assert hashed_uniforms(0, np.empty(0, dtype=int)).shape == (1, 0)
    with pytest.raises(ValueError, match="keys must be integers"):
        hashed_uniforms(0, np.array([0.5]))
