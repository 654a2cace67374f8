"""PHIST and PGLM as the authors of LPCT ran them: facts of their public code, for comparison; no privacy promise."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import expit

from lpbench.estimators.binary import with_constant
from lpbench.seeds import Streams

#: Cells beyond which the code is not followed here; its own limit is 2^30.
MOST_CELLS = 2**24
#: Steps of the search for the scale of PGLM's coefficients.
_SCALE_STEPS = 10


class ReleasedHistogram:
    """PHIST as the authors' released code computes it: exact votes for class 1 and users of each occupied cell.

    The noise is added when predictions are asked for.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, bins: int) -> None:
        self.bins, (self.n, self.n_features) = bins, X.shape
        self.cells, index = np.unique(_numbers(X, bins), return_inverse=True)  # numbers of the cells (k,), ascending
        self.sums = np.stack([np.bincount(index, codes), np.bincount(index)])  # (2, k)

    def shares(self, X: np.ndarray, budgets: list[float]) -> np.ndarray:
        """Share of class 1 for each budget and row of X (m, d), which the code cuts at 1/2: shape (budgets, m).

        The code sets seed 1 inside ``fit``, so that all fits on one grid share their noise, and adds a single Laplace
        draw of scale sqrt(n) 4 / epsilon in place of the sum of n. The i-th row that lies in the unit cube decides
        about the i-th row, where that one lies in it as well; all others are 0.
        """
        inside = np.all((X >= 0) & (X <= 1), axis=1)
        named, index = np.unique(_numbers(X[inside], self.bins), return_inverse=True)
        at = np.minimum(np.searchsorted(self.cells, named), self.cells.size - 1)
        sums = np.where(self.cells[at] == named, self.sums[:, at], 0.0)
        unit, result = _noise(self.bins**self.n_features)[:, named], np.zeros((len(budgets), X.shape[0]))
        rows = np.flatnonzero(inside[: index.size])
        for b, epsilon in enumerate(budgets):
            votes, users = sums + math.sqrt(self.n) * 4.0 / epsilon * unit
            cells = np.divide(votes, users, out=np.zeros_like(votes), where=users >= 2)
            result[b, rows] = cells[index[rows]]
        return result


def _numbers(X: np.ndarray, bins: int) -> np.ndarray:
    """Cell numbers (m,) of rows X (m, d) on a grid of ``bins`` per axis, as the released code counts them.

    A value outside [0, 1] falls into the last bin of its axis, at either end.
    """
    digits = np.digitize(X, np.linspace(0.0, 1.0, bins + 1)) - 1
    digits[(digits < 0) | (digits >= bins)] = bins - 1
    return digits @ bins ** np.arange(X.shape[1] - 1, -1, -1)


@lru_cache(maxsize=8)
def _noise(size: int) -> np.ndarray:
    """Unit Laplace noise (2, size) of both tables of a grid of ``size`` cells, from the released code's fixed seed.

    Every fit draws the same numbers, so that the code is not private.
    """
    return np.random.RandomState(1).laplace(size=(2, size))


class ReleasedMoments:
    """PGLM as the authors' released code computes it: exact sums of x x^T and x y, and unit-scale noise for them.

    The public rows set the scale of the coefficients.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, X_public: np.ndarray, streams: Streams) -> None:
        rng, rows = streams.generator("moments"), with_constant(X)
        self.n, width = rows.shape
        square = rng.standard_normal((width, width))
        # symmetric, of variance 1 off the diagonal and 2 on it
        self.noise_gram, self.noise_cross = (square + square.T) / math.sqrt(2.0), rng.standard_normal((width,))
        self.gram, self.cross, self.public = rows.T @ rows, rows.T @ codes, with_constant(X_public)

    def solve(self, epsilon: float, delta: float) -> np.ndarray:
        """Return coefficients (D,) of a score that is positive for class 1, as the released code computes them."""
        # variance of the noise of a sum, times sqrt(n), not n
        variance = 32.0 * self.gram.shape[0] ** 4 * math.log(2.5 / delta) / epsilon**2 * math.sqrt(self.n)
        scale = math.sqrt(variance)
        gram, cross = self.gram + scale * self.noise_gram, self.cross + scale * self.noise_cross
        coef = np.linalg.solve(gram, cross)
        c = released_scale(self.public @ coef)
        coef = coef if math.isnan(c) else c * coef
        coef[-1] -= 0.5
        return coef


def released_scale(scores: np.ndarray) -> float:
    """Factor of the coefficients after ten steps from 1; NaN where they diverge.

    The steps are Newton's for c mean(s(c z) (1 - s(c z))) = 1 (s: logistic function), but for a factor c that the
    derivative lacks.
    """
    c = 1.0
    with np.errstate(all="ignore"):
        for _ in range(_SCALE_STEPS):
            s = expit(c * scores)
            slope = s * (1.0 - s)
            change = slope.mean() + (c * scores * slope * (1.0 - 2.0 * s)).mean()
            c -= float((c * slope.mean() - 1.0) / change)
    return c
