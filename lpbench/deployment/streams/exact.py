"""Exact sums of whole numbers: equal in any order, however they are chunked or merged."""

from __future__ import annotations

import numpy as np

#: Weights are added in two parts of this many bits, each of them exactly by floating-point sums.
_BITS = 31


class ExactSums:
    """Sums of whole numbers in cells, of any size."""

    def __init__(self, n_cells: int):
        # total = high * 2^31 + low with 0 <= low < 2^31: exact far beyond 64 bits
        self._high, self._low = np.zeros(n_cells, dtype=np.int64), np.zeros(n_cells, dtype=np.int64)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return self._low.size

    def add_rows(self, rows: np.ndarray) -> None:
        """Add whole numbers, one row per user: floats of shape (m, n_cells), m below 2^11, of size below 2^83."""
        high = np.floor(rows * 2.0**-_BITS)
        self._low += (rows - high * 2.0**_BITS).astype(np.int64).sum(axis=0)
        if high.any():
            self._high += high.astype(np.int64).sum(axis=0)
        self._carry()

    def merge(self, other: ExactSums) -> None:
        """Add the sums of another curator."""
        self._high += other._high
        self._low += other._low
        self._carry()

    def _carry(self) -> None:
        carry = self._low >> _BITS
        self._high += carry
        self._low -= carry << _BITS

    def floats(self) -> np.ndarray:
        """Return the sums, each rounded once: ndarray of shape (n_cells,)."""
        # exact below 2^53; beyond, the two parts are rounded in the same way whatever was added in which order
        return self._high * 2.0**_BITS + self._low

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._high.nbytes + self._low.nbytes
