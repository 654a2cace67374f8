"""A class that few users have: probabilities by a logistic function of scores, fitted to reports they have not seen.

Estimates of a rare class's indicator lie about zero for most rows: clipped there they tie, and a mean that is shrunk to
the class's share is never above a half. The log loss is linear in the label, so that unbiased indicators in its place
give it without bias, and it stays convex.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from lpbench.estimators.tuning_free.gaussian_average import Spreads
from lpbench.estimators.tuning_free.mixture import Fitted, compared_rows

#: Share of the users below which a class is rare, and standard errors by which its estimate has to lie below it.
RARE, _ERRORS = 0.1, 3.0
#: Number of the linear kernel.
_LINEAR = 0
#: Prior mean of a slope per standard deviation of its score, and its least value, which keeps rows in order; the
#: prior's standard deviation is one.
_SLOPE, _LEAST = 0.5, 0.2


def rare_share(target: np.ndarray, noise: float) -> float | None:
    """Share of the second class where either class is rare, by unbiased indicators ``target`` (n,); None elsewhere.

    ``noise`` is their noise variance. The share is at least one standard error from 0 and 1.
    """
    share = float(target.mean())
    error = float(np.sqrt((noise + RARE) / target.size))
    if min(share, 1.0 - share) + _ERRORS * error >= RARE:
        return None
    return float(np.clip(share, error, 1.0 - error))


@dataclass(eq=False)
class RareClass:
    """Probability of the second class, a logistic function of standardized scores.

    ``scores`` are the mixture and the linear process alone, which ranks rows where there are hardly any of the class;
    ``center`` and ``scale`` (2,) are those of their left-out predictions, ``weights`` (3,) intercept and slopes > 0.
    """

    scores: Sequence[Fitted]
    center: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    @classmethod
    def fit(cls, regress: Callable[..., Fitted], target: np.ndarray, noise: float, share: float) -> Self:
        """Fit the logistic function to unbiased indicators ``target`` (n,) of noise variance ``noise``.

        ``regress`` fits a mixture by a range and a prior of the spread, or by the one ``kernel`` that is given, and
        ``share`` is that of the class.
        """
        prior = (0.0, 1.0), Spreads(np.array([1.0 / np.sqrt(share * (1.0 - share))]), np.ones(1))
        scores = [regress(prior), regress(prior, kernel=_LINEAR)]
        left_out = np.column_stack([score.left_out for score in scores])
        center, scale = left_out.mean(axis=0), np.maximum(left_out.std(axis=0), 1e-12)
        rows = compared_rows(target.size)
        weights = _logistic((left_out - center) / scale, target[rows], noise, share)
        return cls(scores, center, scale, weights)

    def at(self, X: np.ndarray, public: np.ndarray | float | None = None) -> np.ndarray:
        """Probability of the second class at rows X (m, d), shape (m,)."""
        scores = np.column_stack([score.at(X) for score in self.scores])
        return expit(self.weights[0] + (scores - self.center) / self.scale @ self.weights[1:])


def _logistic(scores: np.ndarray, target: np.ndarray, noise: float, share: float) -> np.ndarray:
    """Intercept and slopes > 0 of greatest posterior density, of standardized ``scores`` (k, 2).

    The log loss of noisy targets counts for as much less as they vary more than labels.
    """
    inputs = np.column_stack([np.ones(len(scores)), scores])
    variance = share * (1.0 - share)
    prior, doubt = np.array([logit(share), *[_SLOPE] * scores.shape[1]]), (noise + variance) / variance

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        logits, apart = inputs @ weights, weights - prior
        value = np.sum(np.logaddexp(0.0, logits) - target * logits) + 0.5 * doubt * apart @ apart
        return float(value), inputs.T @ (expit(logits) - target) + doubt * apart

    bounds = [(None, None)] + [(_LEAST, None)] * scores.shape[1]
    return np.asarray(minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x)
