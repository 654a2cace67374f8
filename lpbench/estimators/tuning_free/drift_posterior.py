"""Posterior of the drift of private class probabilities from a public score, on a grid, from randomized counts.

Model for one class, within cell c: logit P(Y = 1 | x) = a + b l(x) + delta_c, where l is the logit of the public score,
(a, b) a drift of level and sharpness common to all cells and delta_c ~ N(0, tau^2) the deviation of a cell. a covers a
different share of the class; b plays on the logit scale the part of gamma in LPCT's posterior drift: b = 1 trusts the
score, b = 0 ignores it. No drift at all (a = 0, b = 1, tau = 0) has a prior probability of its own, so that a few
noisy reports do not spoil a good score. Given the shares of the users in the cells, the probability that a report names
a category is linear in the cell's share and class probability. For randomized response that is the exact likelihood;
the members of a subset are taken for independent draws, which understates the information a little.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, logsumexp

from lpbench.privacy import SubsetSelection

_LEVELS = np.array([-4.0, -3.0, -2.2, -1.6, -1.1, -0.7, -0.35, 0.0, 0.35, 0.7, 1.1, 1.6, 2.2, 3.0, 4.0])
_LEVEL_PRIOR = np.exp(-0.5 * _LEVELS**2)
_SHARPNESS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5])
_SHARPNESS_PRIOR = np.array([0.1, 0.1, 0.2, 0.2, 0.3, 0.1])
#: Standard deviations tau of the cells' deviations; the first stands for none.
_PARTICULAR = np.array([0.02, 0.3, 0.6, 1.2])
_PARTICULAR_PRIOR = np.array([0.4, 0.25, 0.2, 0.15])
_NO_DRIFT = (0, int(np.argmin(np.abs(_LEVELS))), int(np.argmin(np.abs(_SHARPNESS - 1.0))))
#: Grid of a cell's logit.
_LOGITS = np.linspace(-5.0, 5.0, 81)
_NEGLIGIBLE = 1e-4


def bounded_logit(probability: np.ndarray) -> np.ndarray:
    """Logit of a score, which is kept away from 0 and 1 by 0.01."""
    return logit(np.clip(probability, 0.01, 0.99))


def cell_shares(totals: np.ndarray, n_classes: int, mechanism: SubsetSelection, public: np.ndarray) -> np.ndarray:
    """Private users' share in each cell: the unbiased estimate, shrunk to the public one by empirical Bayes."""
    n, cells = totals.sum() / mechanism.size, totals.size
    keep, stray = mechanism.probabilities
    share = totals / n
    estimate = (share - n_classes * stray) / (keep - stray)
    variance = share * (1.0 - share / mechanism.size) / n / (keep - stray) ** 2
    excess = max(float(((estimate - public) ** 2 - variance).mean()), 0.0)
    result = public + excess / (excess + variance + 1e-300) * (estimate - public)
    result = np.maximum(result, 0.05 / cells)
    return result / result.sum()


@dataclass(frozen=True)
class DriftPosterior:
    """Posterior of the drift of class probabilities between public and private records: a weighted list of k drifts."""

    weights: np.ndarray  # (k,), of the combinations of (tau, a, b) that matter; they sum to one
    level: np.ndarray  # (k,), a
    sharpness: np.ndarray  # (k,), b
    particular: np.ndarray  # (k, n_cells), posterior mean of delta_c
    no_drift: float  # posterior probability that there is none

    def predict(self, logits: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Posterior mean probability of rows with public logits and cells of shape (m,)."""
        result = np.zeros(logits.size)
        for weight, a, b, particular in zip(self.weights, self.level, self.sharpness, self.particular, strict=True):
            result += weight * expit(a + b * logits + particular[cells])
        return result


def fit_drift(
    inside: np.ndarray,  # (n_cells,), reports that name the cell with this class
    outside: np.ndarray,  # and with any other
    shares: np.ndarray,  # of the private users in the cells
    channel: tuple[float, float],  # probabilities p and q of the report
    n_classes: int,
    means: np.ndarray,  # of drifted_means
    trust: float,  # prior probability of no drift
) -> DriftPosterior:
    """Return the posterior of one class's drift, given randomized counts of the reports in each cell.

    The prior is a point mass ``trust`` on no drift beside a grid of scales, levels and sharpnesses; weights below a
    negligible mass are dropped.
    """
    keep, stray = channel
    probability, mass = expit(_LOGITS), (keep - stray) * shares[:, None]
    likelihood = inside[:, None] * np.log(stray + mass * probability)
    likelihood += outside[:, None] * np.log((n_classes - 1) * stray + mass * (1.0 - probability))
    evidence, particular = _integrate(likelihood, logit(np.clip(means, 0.007, 0.993)))
    prior = _prior(trust)
    log_weights = evidence + np.log(prior)
    weights = np.exp(log_weights - logsumexp(log_weights))
    # The grid has the same point among the drifts, at the weight that the other prior gives it.
    no_drift = float(weights[_NO_DRIFT] * trust / prior[_NO_DRIFT])
    matters = weights > _NEGLIGIBLE
    t, a, b = np.nonzero(matters)
    return DriftPosterior(
        weights[matters] / weights[matters].sum(), _LEVELS[a], _SHARPNESS[b], particular[t, a, b], no_drift
    )


def _integrate(likelihood: np.ndarray, mode: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integrate the cell drifts delta_c out, for every scale tau, level a and sharpness b of the drift.

    ``likelihood`` (n_cells, n_logits) is the log-likelihood of each cell's logit on a grid, ``mode`` (n_levels,
    n_sharpness, n_cells) the logit without delta_c. Returned are the log-evidence of (tau, a, b), shape (..., n_levels,
    n_sharpness), and the mean of delta_c, (..., n_cells).
    """
    top = likelihood.max(axis=-1)
    weight, flat = np.exp(likelihood - top[:, None]), np.ones_like(likelihood)
    sums = np.stack([weight, weight * _LOGITS, flat, flat * _LOGITS], axis=-1)
    squared = (_LOGITS - mode.reshape(-1, mode.shape[-1]).T[..., None]) ** 2  # (n_cells, drifts, logits)
    evidence, particular = [], []
    # A prior narrower than the grid is widened to it.
    for width in np.maximum(_PARTICULAR, 0.4 * (_LOGITS[1] - _LOGITS[0])):
        total, first, mass, middle = np.moveaxis(np.exp(-0.5 / width**2 * squared) @ sums, -1, 0)
        total = total + 1e-300  # of a drift that the reports rule out it is zero
        evidence.append((np.log(total / mass) + top[:, None]).sum(axis=0).reshape(mode.shape[:-1]))
        particular.append((first / total - middle / mass).T.reshape(mode.shape))
    return np.array(evidence), np.array(particular)


def _prior(trust: float) -> np.ndarray:
    """Prior weights (n_scales, n_levels, n_sharpness) of the drift's scale tau, level a and sharpness b; they sum to 1.

    ``trust`` is the probability of no drift.
    """
    parts = [_PARTICULAR_PRIOR, _LEVEL_PRIOR / _LEVEL_PRIOR.sum(), _SHARPNESS_PRIOR]
    prior = (1.0 - trust) * np.einsum("t,a,b->tab", *parts)
    prior[_NO_DRIFT] += trust
    return prior


def drifted_means(logits: np.ndarray, cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Mean of expit(a + b l) over the logits l of each cell's public rows (else at the mean logit), for all a and b."""
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=n_cells)
    filled = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[filled])[:-1]])
    drifted = _LEVELS[:, None, None] + _SHARPNESS[:, None] * logits[order]
    result = np.tile(expit(_LEVELS[:, None] + _SHARPNESS * logits.mean())[..., None], n_cells)
    result[..., filled] = np.add.reduceat(expit(drifted), starts, axis=-1) / counts[filled]
    return result
