"""Finite laws in integers: probabilities that are met to the last unit, so that the stated loss is the exact one.

A floating-point sum such as ``uniform + row`` rounds the uniform to the grid of the sum, which moves small
probabilities and loses the smallest. Here every decision compares a *word*, a whole number drawn evenly below 2^62,
with a whole number; nothing is rounded after that number is fixed, and it is rounded towards more privacy. Budgets may
share words.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from lpbench.errors import DataError

#: Bits of the whole numbers that decide.
BITS = 62
UNITS = 1 << BITS
#: Factor that brings a probability computed in doubles below the exact one.
_DOWN = 1.0 - 2.0**-44
#: Bits of a word that are drawn first; the others are drawn where these do not decide.
_FIRST_BITS = 16
#: Entries drawn at once.
BLOCK = 1 << 16


def whole_rows(log_rows: np.ndarray) -> np.ndarray:
    """Round probability rows (given as logs) to whole numbers that add up to 2^62.

    Entries are rounded up, so that what is possible stays possible, and the largest of a row takes the difference: no
    other ratio of two entries changes by more than one unit each.
    """
    table = np.asarray(log_rows, dtype=np.float64)
    # What is possible is so in doubles, too, however improbable.
    table = np.where(np.isneginf(table), 0.0, np.exp(np.maximum(table, -700.0)))
    units = np.ceil(table * float(UNITS)).astype(np.int64)
    largest = np.argmax(units, axis=1)[:, None]
    excess = units.sum(axis=1, keepdims=True) - UNITS
    np.put_along_axis(units, largest, np.take_along_axis(units, largest, axis=1) - excess, axis=1)
    return units


def log_law(units: np.ndarray) -> np.ndarray:
    """Log-probabilities of rows of whole numbers out of 2^62; -inf where impossible."""
    with np.errstate(divide="ignore"):
        return np.log(units / float(UNITS))


def whole_epsilon(units: np.ndarray) -> float:
    """Exact loss of a channel whose rows (inputs) are whole numbers out of 2^62, rounded up to a double."""
    least, most = units.min(axis=0), units.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.log1p((most - least) / least)
    return float(losses[most > 0].max(initial=0.0) * (1.0 + 2.0**-50))


def rounded_up(top: int, bottom: int) -> float:
    """Return the least double >= top / bottom (whole numbers)."""
    nearest = top / bottom
    a, b = nearest.as_integer_ratio()
    return nearest if a * bottom >= top * b else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=1024)
def quotient_up(first: float, second: float) -> float:
    """Return first / second > 0, rounded up."""
    nearest = first / second
    if not (0 < first < math.inf and 0 < second < math.inf):
        return nearest
    if nearest in (0.0, math.inf):
        return math.nextafter(nearest, math.inf)
    (a, b), (c, d) = first.as_integer_ratio(), second.as_integer_ratio()
    return rounded_up(a * d, b * c)


def draw_whole(units: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one report per user by the probabilities ``units[row] / 2^62``: int64 ndarray of the shape of ``rows``."""
    where, deciding = np.ravel(rows), rng.integers(UNITS, size=np.size(rows))
    reports = np.zeros(where.size, dtype=np.int64)
    for row in np.unique(where):
        users = where == row
        reports[users] = np.searchsorted(np.cumsum(units[row]), deciding[users], side="right")
    return reports.reshape(np.shape(rows))


def bits_of_64(rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
    """Draw 64 bits for each number, the fastest draw there is: uint64 ndarray."""
    source = getattr(rng, "bit_generator", None)
    if isinstance(source, np.random.PCG64):  # the same bits without the checks of bounds, which take longer
        return np.asarray(source.random_raw(size))
    return np.asarray(rng.integers(2**64 - 1, size=size, dtype=np.uint64, endpoint=True))


def words(rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
    """Draw whole numbers evenly from 0, ..., 2^62 - 1: int64 ndarray."""
    return below(bits_of_64(rng, size), UNITS, 64)


def blocks(shape: tuple[int, ...], entries: int = BLOCK) -> Iterator[slice]:
    """Yield slices of rows whose entries fit a processor's cache."""
    rows = max(1, entries // max(1, math.prod(shape[1:])))
    return (slice(start, start + rows) for start in range(0, shape[0], rows))


def check_words(drawn: np.ndarray) -> np.ndarray:
    """Return words as int64; uniforms of [0, 1), which would all tell the truth, are refused."""
    drawn = np.asarray(drawn)
    if drawn.dtype.kind not in "iu":
        raise DataError(f"draws are {drawn.dtype}, but must be whole numbers below 2^62: rng.integers(2**62, size=n)")
    return drawn.astype(np.int64, copy=False)


def truthful_units(epsilon: ArrayLike, least: ArrayLike) -> np.ndarray:
    """Return the number of the 2^62 words that keep the true value, rounded towards privacy.

    If the latter gives every report probability ``least`` at least, the loss is log(1 + truthful / (rest least)), which
    stays below ``epsilon`` whatever the budget. One word lies at every finite budget, and none without a limit.
    """
    with np.errstate(over="ignore"):
        odds = np.expm1(epsilon) * np.asarray(least, dtype=np.float64) * _DOWN
    few = odds < 1.0  # then these are counted, else the others, so that neither share loses its last digits
    counted = np.floor(UNITS * (np.where(few, odds, -1.0) / (1.0 + odds))).astype(np.int64)
    truthful = np.where(few, counted, UNITS + np.minimum(counted, -1))
    return np.where(np.isinf(epsilon), UNITS, truthful)


def kept_units(epsilon: ArrayLike) -> np.ndarray:
    """Return the number of the 2^62 words that keep a bit: the truthful ones, and half of the others."""
    keeping: np.ndarray = UNITS // 2 + truthful_units(epsilon, 0.5) // 2
    return keeping


def below(drawn: np.ndarray, m: ArrayLike, bits: int = BITS, out: np.ndarray | None = None) -> np.ndarray:
    """Turn words into numbers 0, ..., m - 1, each of which has 2^62 / m of the words, rounded down or up.

    With ``bits=64`` words are the first bits of :func:`bits_of_64`, overwritten even where numbers go to ``out``.
    """
    out = drawn.view(np.int64) if bits == 64 and out is None else out
    if isinstance(m, int) and (m <= 1 << 31 or m == UNITS) and not m & (m - 1):  # the first bits of a word
        shifted = np.right_shift(drawn, bits + 1 - m.bit_length(), out=None if out is None else out.view(drawn.dtype))
        return shifted if bits == BITS else shifted.view(np.int64)
    drawn, m = drawn if bits == BITS else below(drawn, UNITS, bits), np.asarray(m, dtype=np.int64)
    if m.max(initial=1) > 1 << 31:
        return np.remainder(drawn, m, out=out)
    high, low = drawn >> 31, drawn & (2**31 - 1)
    high *= m
    low *= m
    low >>= 31
    high += low
    return np.right_shift(high, 31, out=out)  # floor(word * m / 2^62)


def draw_below(units: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw whether words lie below ``units``: boolean ndarray. Few words need more than their first 16 bits."""
    first, remainder = divmod(units, 1 << (BITS - _FIRST_BITS))
    drawn = rng.integers(1 << _FIRST_BITS, size=shape, dtype=np.uint16)
    is_below: np.ndarray = drawn < first
    if remainder:
        open_ = np.flatnonzero(drawn == first)
        is_below.reshape(-1)[open_] = rng.integers(1 << (BITS - _FIRST_BITS), size=open_.size) < remainder
    return is_below


def weight_pair(log_ratio: float, near: int, far: int) -> tuple[int, int]:
    """Two whole weights whose ratio is e^log_ratio from below, and which fill 2^62 with ``near`` and ``far`` entries.

    ``near * large + far * small <= 2^62`` and ``small >= 1``; beyond a log_ratio of about 43 less ``log(near)`` the
    ratio is the largest that fits.
    """
    if log_ratio > BITS * math.log(2.0) - math.log(near):
        return (UNITS - far) // near, 1
    small = max(int(UNITS / (near * math.exp(log_ratio) + far) * _DOWN), 1)
    large = small + int(small * math.expm1(log_ratio) * _DOWN)
    return max(min(large, (UNITS - far * small) // near), small), small
