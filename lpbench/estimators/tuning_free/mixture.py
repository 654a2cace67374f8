"""Mixture of predictions, weighted by reports that they have not seen."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

#: Steps of a weight on [0, 1].
_STEPS = 20


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
    """
    residuals = reports[:, None] - predictions
    gram = (residuals * weight[:, None]).T @ residuals
    grid = _simplex(predictions.shape[1])
    density = -0.5 * ((grid @ gram) * grid).sum(axis=1) / spread
    density = np.exp(density - density.max())
    return density @ grid / density.sum()
