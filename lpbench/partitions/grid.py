"""Equal grids whose cells are never enumerated: integer digits, sortable keys and sparse look-ups.

A grid of t bins in s dimensions has t^s cells, far more than any memory holds once s is a few dozen. Only cells that
hold a report or are asked for are ever represented.
"""

import math

import numpy as np
from numpy.typing import DTypeLike

#: Key ranges up to this size are indexed directly, larger ones through a sorted list of the keys that occur.
_DENSE = 1 << 16

#: Entries of an array that are scaled at once.
_ENTRIES = 1 << 15


def grid_digits(X: np.ndarray, bins: int, dtype: DTypeLike = np.int64) -> np.ndarray:
    """Find the bin of every coordinate among equal bins of [0, 1].

    Bins are closed on the left; 1 belongs to the last bin, and points outside to the outermost ones.

    Parameters
    ----------
    X : ndarray
        Coordinates.
    bins : int
        Bins of each axis.
    dtype : data type
        Integer type of the result, which must hold ``bins - 1``.

    Returns
    -------
    int ndarray of the shape of X
        Bins 0, ..., bins - 1.
    """
    X = np.asarray(X, dtype=np.float64)
    digits = np.empty(X.shape, dtype=dtype)
    step = max(1, _ENTRIES // max(1, math.prod(X.shape[1:])))
    # Rows by rows that stay in the cache; between the bounds, the cast rounds down.
    for first in range(0, len(X), step):
        chunk = X[first : first + step] * bins
        digits[first : first + step] = chunk.clip(0, bins - 1, out=chunk)
    return digits


def cell_keys(digits: np.ndarray, base: int) -> np.ndarray:
    """Map rows of digits to keys that are equal iff the rows are.

    Parameters
    ----------
    digits : int ndarray of shape (n, s)
        Values 0, ..., base - 1.
    base : int
        Number of values that a digit can have.

    Returns
    -------
    ndarray of shape (n,)
        Integers 0, ..., base^s - 1 if they fit into 62 bits, else byte strings; both can be sorted and searched.
    """
    digits = np.asarray(digits)
    s = digits.shape[1]
    if base**s <= 2**62:
        if base == 1 or s == 1:  # products of whole numbers are slow
            return digits[:, :1].sum(axis=1, dtype=np.int64)
        return digits @ np.array([base**digit for digit in reversed(range(s))], dtype=np.int64)
    width = next(size for size in (1, 2, 4, 8) if base <= 256**size)
    return np.ascontiguousarray(digits.astype(f">u{width}")).view(f"S{width * s}").ravel()


class KeyIndex:
    """Number the keys that occur, so that sums over cells are arrays.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Keys that occur, repetitions allowed.
    n_keys : int
        Size of the range of integer keys; small ranges are their own index. Ignored for byte strings.

    Attributes
    ----------
    size : int
        Codes are 0, ..., size - 1; ``size`` itself is the code of every key that did not occur.
    """

    def __init__(self, keys: np.ndarray, n_keys: int):
        # asked for an index, numpy sorts keys: to hash long ones takes longer
        self._sorted = None if n_keys <= _DENSE and keys.dtype.kind == "i" else np.unique(keys, return_index=True)[0]
        self.size = int(n_keys) if self._sorted is None else self._sorted.size

    def keys(self, codes: np.ndarray) -> np.ndarray:
        """Return the keys of codes 0, ..., size - 1; the inverse of :meth:`find`.

        Parameters
        ----------
        codes : int ndarray
            Codes 0, ..., size - 1.

        Returns
        -------
        ndarray of the shape of codes
            Keys, the inverse of :meth:`find`.
        """
        return codes if self._sorted is None else self._sorted[codes]

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Return the codes of keys.

        Parameters
        ----------
        keys : ndarray
            Keys of the same kind as those that were indexed.

        Returns
        -------
        int ndarray of the shape of keys
            Codes; ``size`` where a key did not occur.
        """
        if self._sorted is None:
            return keys
        if self.size == 0:
            return np.zeros(keys.shape, dtype=np.intp)
        code = np.minimum(np.searchsorted(self._sorted, keys), self.size - 1)
        return np.where(self._sorted[code] == keys, code, self.size)


class CellSums:
    """Sums of users' numbers over the cells of a product (grid code, leaf).

    Parameters
    ----------
    codes, leaves : int ndarrays of shape (n,)
        Cell of each entry; codes in 0, ..., n_codes - 1, leaves in 0, ..., n_leaves - 1.
    *weights : ndarrays of shape (n,), or None for ones
        Numbers to add up, one sum a cell for each.
    n_codes, n_leaves : int
        Sizes of the two ranges.
    """

    def __init__(self, codes: np.ndarray, leaves: np.ndarray, n_codes: int, n_leaves: int, *weights: np.ndarray | None):
        self._n_leaves = n_leaves
        keys = codes * np.int64(n_leaves) + leaves
        self._index = KeyIndex(keys, n_codes * n_leaves)
        entry, size = self._index.find(keys), self._index.size + 1
        self._sums = [np.bincount(entry, weights=w, minlength=size) for w in weights]

    def at(self, codes: np.ndarray, leaves: np.ndarray) -> list[np.ndarray]:
        """Return the sums in some cells.

        Parameters
        ----------
        codes, leaves : int ndarrays that broadcast
            Cells; ``n_codes`` is a code that never occurred.

        Returns
        -------
        list of ndarray
            One array of sums for each of the weights, 0 in cells without an entry.
        """
        entry = self._index.find(codes * np.int64(self._n_leaves) + leaves)
        # Keys of the unknown code lie beyond a dense table; the last of the sums is that of nobody, 0.
        return [sums.take(entry, mode="clip") for sums in self._sums]
