"""PGLM as the authors of LPCT ran it: facts of their public code, for comparison; it keeps no privacy promise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from lpbench.estimators.binary import with_constant
from lpbench.seeds import Streams

#: Steps of the search for the scale of the coefficients.
_STEPS = 10


@dataclass
class ReleasedMoments:
    """Sums of rows (x, 1) and classes 0 and 1 as they are, unit noise of the sums, and the public rows."""

    gram: np.ndarray  # (D, D)
    cross: np.ndarray  # (D,)
    noise_gram: np.ndarray  # symmetric, of variance 1 off the diagonal and 2 on it
    noise_cross: np.ndarray
    public: np.ndarray  # (q, D)
    n: int  # users

    @classmethod
    def collect(cls, X: np.ndarray, codes: np.ndarray, X_public: np.ndarray, streams: Streams) -> ReleasedMoments:
        """Add up the rows and draw the unit noise."""
        rng, rows = streams.generator("moments"), with_constant(X)
        width = rows.shape[1]
        square = rng.standard_normal((width, width))
        noise_gram, noise_cross = (square + square.T) / math.sqrt(2.0), rng.standard_normal((width,))
        sums = rows.T @ rows, rows.T @ codes
        return cls(*sums, noise_gram, noise_cross, with_constant(X_public), rows.shape[0])

    def variance(self, epsilon: float, delta: float) -> float:
        """Variance of the noise of a sum: 32 D^4 log(2.5 / delta) / epsilon^2 times sqrt(n), not n."""
        return 32.0 * self.gram.shape[0] ** 4 * math.log(2.5 / delta) / epsilon**2 * math.sqrt(self.n)

    def solve(self, epsilon: float, delta: float) -> np.ndarray:
        """Return coefficients (D,) of a score that is positive for class 1, which the code cuts at 1/2."""
        scale = math.sqrt(self.variance(epsilon, delta))
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
