"""Counter-based uniforms: pure functions of a seed and integer keys, whatever the order or number of queries."""

from collections.abc import Iterator

import numpy as np

from lpbench.errors import DataError

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

#: Keys below this number are few enough to look their mixtures up.
_TABLE = 1 << 10


def _mix(x: np.ndarray) -> np.ndarray:
    """Finaliser of SplitMix64 (Steele, Lea & Flood 2014): a bijection of the 64-bit integers that avalanches."""
    x = x ^ (x >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def hashed_uniforms(seed: int, keys: np.ndarray, n_draws: int = 1) -> np.ndarray:
    """Uniforms on (0, 1) that depend on (seed, key, index of the draw) alone.

    Keys are hashed to 64 bits; among N distinct keys two share their draws with probability about N^2 / 2^65.

    Parameters
    ----------
    seed : int
        Non-negative, of any size.
    keys : int ndarray of shape (n,) or (n, k)
        One row per key; (n,) is the same as (n, 1). Keys of different width k are different keys.
    n_draws : int
        Independent uniforms per key.

    Returns
    -------
    ndarray of shape (n_draws, n)
        Uniforms, none of them 0 or 1.
    """
    # 52 bits and a half: 53 bits and a half would round up to 1.0.
    return ((_hashed(seed, keys, n_draws) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def hashed_words(seed: int, keys: np.ndarray) -> np.ndarray:
    """Whole numbers below 2^62 that depend on (seed, key) alone: int64 ndarray of shape (n,)."""
    return (_hashed(seed, keys, 1)[0] >> np.uint64(2)).astype(np.int64)


def _hashed(seed: int, keys: np.ndarray, n_draws: int) -> np.ndarray:
    """Return ``n_draws`` pseudo-random numbers of 64 bits for each key, shape (n_draws, n), from (seed, key) alone."""
    keys = np.asarray(keys)
    if not np.issubdtype(keys.dtype, np.integer):
        raise DataError(f"keys must be integers, got dtype {keys.dtype}")
    keys = keys[:, None] if keys.ndim == 1 else keys
    # The width enters the seed so that (1,) and (1, 0) are unrelated.
    state = np.random.SeedSequence([int(seed), keys.shape[1]]).generate_state(1, np.uint64)
    hashed = np.broadcast_to(state, (len(keys),))
    for mixed in _mixed_columns(keys):
        hashed = hashed ^ mixed
        hashed += _GOLDEN
        hashed = _mix(hashed)
    steps = np.arange(1, n_draws + 1, dtype=np.uint64)[:, None] * _GOLDEN
    return _mix(hashed + steps)


def _mixed_columns(keys: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the mixed columns of integer keys (n, k), one after the other: uint64 arrays of shape (n,).

    The bins of a feature are few numbers, whose mixtures are looked up where there are many of them.
    """
    columns = np.ascontiguousarray(keys.T)
    few = np.zeros(len(columns), dtype=bool)
    if columns.size >= 4 * _TABLE:
        few = (columns.min(axis=1) >= 0) & (columns.max(axis=1) < _TABLE)
    table = _mix(np.arange(_TABLE, dtype=np.uint64) + _GOLDEN) if few.any() else few
    for column, is_few in zip(columns, few, strict=True):
        yield table[column] if is_few else _mix(column.astype(np.uint64) + _GOLDEN)
