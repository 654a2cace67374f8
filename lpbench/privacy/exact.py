"""Finite laws in integers: probabilities that are met to the last unit, so that the stated loss is the exact one.

A floating-point sum such as ``uniform + row`` rounds the uniform to the grid of the sum, which moves small
probabilities and loses the smallest. Here a row of a law is whole numbers that add up to 2^62, and a report is found by
comparing a whole number below 2^62 with their sums; nothing is rounded after the row is fixed. Uniforms that budgets
share stay doubles, multiples of 2^-53: their thresholds lie on that grid.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

#: Bits of the whole numbers that decide.
BITS = 62
UNITS = 1 << BITS
#: Steps of a double uniform on [0, 1).
_STEPS = 2.0**53


def whole_rows(log_rows: np.ndarray) -> np.ndarray:
    """Round laws to whole numbers that add up to 2^62.

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
    """Log-probabilities of laws in whole numbers, -inf where impossible."""
    with np.errstate(divide="ignore"):
        return np.log(units / float(UNITS))


def draw_whole(units: np.ndarray, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one report a user by the law of the user's row: int64 ndarray of the shape of ``rows``."""
    where, deciding = np.ravel(rows), rng.integers(UNITS, size=np.size(rows))
    found = np.empty(where.size, dtype=np.int64)
    order = np.argsort(where, kind="stable")
    ends = np.searchsorted(where[order], np.arange(len(units) + 1))
    for row in np.unique(where):
        users = order[ends[row] : ends[row + 1]]
        found[users] = np.searchsorted(np.cumsum(units[row]), deciding[users], side="right")
    return found.reshape(np.shape(rows))


def grid_keep(away: ArrayLike) -> np.ndarray:
    """Threshold below which a double uniform keeps the truth; all else has probability ``away`` at least, or 0 like it.

    Rounded to the nearest multiple of 2^-53, the loss would exceed its budget, and from a budget of 37 nothing but the
    truth would be left.
    """
    steps: np.ndarray = np.ceil(np.asarray(away, dtype=np.float64) * _STEPS)
    return 1.0 - steps / _STEPS


def weight_pair(log_ratio: float, near: int, far: int) -> tuple[int, int]:
    """Two whole weights whose ratio is e^log_ratio from below, and which fill 2^62 with ``near`` and ``far`` entries.

    ``near * large + far * small <= 2^62`` and ``small >= 1``; beyond a log_ratio of about 43 less ``log(near)`` the
    ratio is the largest that fits.
    """
    if log_ratio > BITS * math.log(2.0) - math.log(near):
        return (UNITS - far) // near, 1
    ratio = math.exp(log_ratio)
    small = max(int(UNITS / (near * ratio + far) * (1.0 - 2.0**-40)), 1)
    large = int(small * ratio * (1.0 - 2.0**-51))
    return max(min(large, (UNITS - far * small) // near), small), small
