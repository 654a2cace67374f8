"""Warm start of private SGD: full-batch gradient descent of the logistic loss on the public sample (L sec. 7.2).

The paper starts from "a minimizer on the public data" and does not say how it is found; its code takes 100 steps.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from lpbench.estimators.psgd_neural import Layers

STEPS = 100


def curvature_rate(X: np.ndarray) -> float:
    """Return the longest step that never increases the logistic loss of a linear model: 4 / lambda_max(X^T X / q).

    Parameters
    ----------
    X : ndarray of shape (q, D)
        Features with the constant.
    """
    gram = X.T @ X if X.shape[0] > X.shape[1] else X @ X.T
    return 4.0 * X.shape[0] / float(np.linalg.eigvalsh(gram)[-1])


def linear_start(X: np.ndarray, y: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Train a linear model from zero, once for each rate.

    Parameters
    ----------
    X : ndarray of shape (q, D)
    y : ndarray of shape (q,)
        Labels 0 and 1.
    rates : ndarray of shape (S,)

    Returns
    -------
    ndarray of shape (S, D)
    """
    weights = np.zeros((rates.size, X.shape[1]))
    for _ in range(STEPS):
        weights = weights - rates[:, None] * ((expit(weights @ X.T) - y) @ X) / y.size
    return weights


def initial_layers(n_inputs: int, n_hidden: int, rng: np.random.Generator) -> Layers:
    """Draw weights uniform on +-1 / sqrt(fan-in), the constants included (the usual default; the paper is silent).

    Parameters
    ----------
    n_inputs : int
        D, the constant included; the fan-in is D - 1.
    """
    hidden = rng.uniform(-1.0, 1.0, (n_hidden, n_inputs)) / np.sqrt(n_inputs - 1)
    return Layers(hidden, rng.uniform(-1.0, 1.0, n_hidden + 1) / np.sqrt(n_hidden))


def neural_start(X: np.ndarray, y: np.ndarray, rate: float, layers: Layers) -> Layers:
    """Train a network.

    Gradients of the hidden weights lie in the span of the public features; with fewer rows than inputs the descent runs
    in an orthonormal basis of it, which is the same descent.

    Parameters
    ----------
    X : ndarray of shape (q, D)
    y : ndarray of shape (q,)
        Labels 0 and 1.
    rate : float
    layers : Layers
        Initial weights.
    """
    basis, inputs, first = None, X, layers.hidden
    if X.shape[0] < X.shape[1]:
        basis, coordinates = np.linalg.qr(X.T)
        inputs, first = coordinates.T, layers.hidden @ basis
    hidden, output, constant = first.copy(), layers.output[:-1].copy(), layers.output[-1]
    for _ in range(STEPS):
        active = np.maximum(inputs @ hidden.T, 0.0)
        slope = (expit(active @ output + constant) - y) / y.size
        back = np.where(active > 0, slope[:, None] * output, 0.0)
        hidden -= rate * (back.T @ inputs)
        output -= rate * (slope @ active)
        constant -= rate * slope.sum()
    moved = hidden if basis is None else layers.hidden + (hidden - first) @ basis.T
    return Layers(moved, np.append(output, constant))
