"""PHIST as the authors of LPCT ran it: facts of their public code, for comparison; it keeps no privacy promise."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

#: Cells beyond which the code is not followed here; its own limit is 2^30.
MOST_CELLS = 2**24


class ReleasedHistogram:
    """Votes for class 1 and users of each cell that holds users."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, bins: int) -> None:
        self.bins, (self.n, self.n_features) = bins, X.shape
        self.cells, place = np.unique(_numbers(X, bins), return_inverse=True)  # numbers of the cells (k,), ascending
        self.sums = np.stack([np.bincount(place, codes), np.bincount(place)])  # (2, k)

    def shares(self, X: np.ndarray, budgets: list[float]) -> np.ndarray:
        """Share of class 1 for each budget and row of X (m, d), which the code cuts at 1/2: shape (budgets, m).

        The code sets seed 1 inside ``fit``, so that all fits on one grid share their noise, and adds a single Laplace
        draw of scale sqrt(n) 4 / epsilon in place of the sum of n. The i-th row that lies in the unit cube decides
        about the i-th row, where that one lies in it as well; all others are 0.
        """
        inside = np.all((X >= 0) & (X <= 1), axis=1)
        named, place = np.unique(_numbers(X[inside], self.bins), return_inverse=True)
        at = np.minimum(np.searchsorted(self.cells, named), self.cells.size - 1)
        sums = np.where(self.cells[at] == named, self.sums[:, at], 0.0)
        unit, result = _noise(self.bins**self.n_features)[:, named], np.zeros((len(budgets), X.shape[0]))
        rows = np.flatnonzero(inside[: place.size])
        for b, epsilon in enumerate(budgets):
            votes, users = sums + math.sqrt(self.n) * 4.0 / epsilon * unit
            cells = np.divide(votes, users, out=np.zeros_like(votes), where=users >= 2)
            result[b, rows] = cells[place[rows]]
        return result


def _numbers(X: np.ndarray, bins: int) -> np.ndarray:
    """Numbers of the cells of rows; what lies outside an axis is in its last bin, on either side."""
    digits = np.digitize(X, np.linspace(0.0, 1.0, bins + 1)) - 1
    digits[(digits < 0) | (digits >= bins)] = bins - 1
    return digits @ bins ** np.arange(X.shape[1] - 1, -1, -1)


@lru_cache(maxsize=8)
def _noise(size: int) -> np.ndarray:
    """Unit noise of both tables of a grid, shape (2, size), from the generator that the code uses; every fit draws it
    again."""
    return np.random.RandomState(1).laplace(size=(2, size))
