"""PGLM as the authors of LPCT ran it: facts of their public code, for comparison; it keeps no privacy promise."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from lpbench.estimators.binary import with_constant
from lpbench.seeds import Streams

#: Steps of the search for the scale of the coefficients.
_STEPS = 10


class ReleasedMoments:
    """Sums of rows (x, 1) and classes 0 and 1 as they are, unit noise of the sums, and the public rows."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, X_public: np.ndarray, streams: Streams) -> None:
        rng, rows = streams.generator("moments"), with_constant(X)
        self.n, width = rows.shape
        square = rng.standard_normal((width, width))
        # symmetric, of variance 1 off the diagonal and 2 on it
        self.noise_gram, self.noise_cross = (square + square.T) / math.sqrt(2.0), rng.standard_normal((width,))
        self.gram, self.cross, self.public = rows.T @ rows, rows.T @ codes, with_constant(X_public)

    def solve(self, epsilon: float, delta: float) -> np.ndarray:
        """Return coefficients (D,) of a score that is positive for class 1, which the code cuts at 1/2."""
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
        for _ in range(_STEPS):
            s = expit(c * scores)
            slope = s * (1.0 - s)
            change = slope.mean() + (c * scores * slope * (1.0 - 2.0 * s)).mean()
            c -= float((c * slope.mean() - 1.0) / change)
    return c
