"""Mixture of predictions, weighted by reports that they have not seen."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

#: Steps of a weight on [0, 1].
_STEPS = 20
#: Bias of clipped reports that is considered, in units of its scale.
_BIASES = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])


@cache
def _simplex(parts: int) -> np.ndarray:
    """Weights of so many parts that sum to one, on a grid."""
    bars = itertools.combinations(range(_STEPS + parts - 1), parts - 1)
    edges = np.array([(-1, *places, _STEPS + parts - 1) for places in bars])
    return (np.diff(edges, axis=1) - 1) / _STEPS


def mixture_weights(predictions: np.ndarray, reports: np.ndarray, weight: np.ndarray, spread: float) -> np.ndarray:
    """Posterior mean of the weights of a mixture, under a uniform prior on the simplex.

    The reports' expected squared error is that of the labels plus the known noise, so that predictions of *reports*
    that a part has not seen compare the parts on the labels without bias.

    Parameters
    ----------
    predictions : ndarray of shape (m, parts)
        Of the reports, each by a part that has not seen it.
    reports, weight : ndarrays of shape (m,)
        Weights have mean one.
    spread : float
        Variance of a report of weight one about the label's mean.
    """
    residuals = reports[:, None] - predictions
    gram = (residuals * weight[:, None]).T @ residuals
    grid = _simplex(predictions.shape[1])
    density = -0.5 * ((grid @ gram) * grid).sum(axis=1) / spread
    density = np.exp(density - density.max())
    return density @ grid / density.sum()


def offset(residuals: np.ndarray, weight: np.ndarray, clipped: np.ndarray, spread: float, scale: float) -> float:
    """Correction of predictions for the bias of clipped reports, from the reports that were not clipped.

    With z and c the mean residuals of the two kinds, v and w their variances, and a bias of variance b^2, the best mean
    takes z at the weight (w + b^2) / (v + w + b^2); the mixture has taken it at w / (v + w). b is averaged over
    multiples of ``scale`` by their likelihood.

    Parameters
    ----------
    residuals, weight : ndarrays of shape (m,)
        Reports minus predictions that have not seen them.
    clipped : boolean ndarray of shape (m,)
    spread : float
        Variance of a residual of weight one.
    scale : float
        Bias that a skewed residual would have.
    """
    if clipped.all() or not clipped.any() or scale == 0.0:
        return 0.0
    free, narrow = (float(weight[kind].sum()) for kind in (~clipped, clipped))
    difference = (
        float(weight[~clipped] @ residuals[~clipped]) / free - float(weight[clipped] @ residuals[clipped]) / narrow
    )
    v, w = spread / free, spread / narrow
    bias = (_BIASES * scale) ** 2
    density = np.exp(-0.5 * difference**2 / (v + w + bias)) / np.sqrt(v + w + bias)
    taken = float(density @ ((w + bias) / (v + w + bias)) / density.sum())
    return (taken - w / (v + w)) * difference
