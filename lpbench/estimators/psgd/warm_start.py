"""Warm start of private SGD: full-batch gradient descent of the logistic loss on the public sample (LPCT sec. 7.2).

The paper starts from "a minimizer on the public data" and does not say how it is found; its code takes 100 steps.
"""

import numpy as np
from scipy.special import expit

from lpbench.estimators.psgd.neural import Layers

STEPS = 100

#: Public rows whose hidden units are computed at once.
_ROWS = 2048


def curvature_rate(X: np.ndarray) -> float:
    """Longest step that never increases the logistic loss: 4 / lambda_max(X^T X / q); X has the constant."""
    gram = X.T @ X if X.shape[0] > X.shape[1] else X @ X.T
    return 4.0 * X.shape[0] / float(np.linalg.eigvalsh(gram)[-1])


def linear_start(X: np.ndarray, y: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Train a linear model from zero, once for each of S rates: weights of shape (S, D)."""
    weights = np.zeros((rates.size, X.shape[1]))
    for _ in range(STEPS):
        weights = weights - rates[:, None] * ((expit(weights @ X.T) - y) @ X) / y.size
    return weights


def initial_layers(n_inputs: int, n_hidden: int, rng: np.random.Generator) -> Layers:
    """Draw weights uniform on +-1 / sqrt(fan-in), the constants included (the usual default; the paper is silent)."""
    hidden = rng.uniform(-1.0, 1.0, (n_hidden, n_inputs)) / np.sqrt(n_inputs - 1)  # the fan-in leaves out the constant
    return Layers(hidden, rng.uniform(-1.0, 1.0, n_hidden + 1) / np.sqrt(n_hidden))


def neural_start(X: np.ndarray, y: np.ndarray, rate: float, layers: Layers) -> Layers:
    """Train a network from initial layers on distinct rows, by their numbers, in their span if they are few."""
    rows = np.ascontiguousarray(X).view(f"V{X.shape[1] * X.itemsize}")[:, 0]
    _, first, member = np.unique(rows, return_index=True, return_inverse=True)
    X, counts, positive = X[first], np.bincount(member), np.bincount(member, weights=y)
    if X.shape[0] >= X.shape[1]:
        return _descend(X, counts, positive, rate, layers)
    basis, coordinates = np.linalg.qr(X.T)
    inside = Layers(layers.hidden @ basis, layers.output)
    last = _descend(np.ascontiguousarray(coordinates.T), counts, positive, rate, inside)
    return Layers(layers.hidden + (last.hidden - inside.hidden) @ basis.T, last.output)


def _descend(X: np.ndarray, counts: np.ndarray, positive: np.ndarray, rate: float, layers: Layers) -> Layers:
    """Run ``STEPS`` full-batch steps of gradient descent on the mean logistic loss from ``layers``; return the last.

    X (m, D) are distinct rows; one stands for ``counts`` (m,) public ones, of which ``positive`` (m,) have label 1.
    """
    hidden, output, constant = layers.hidden.T.copy(), layers.output[:-1].copy(), layers.output[-1]
    rate, counts = rate / counts.sum(), counts.astype(float)
    blocks = [slice(first, first + _ROWS) for first in range(0, len(X), _ROWS)]
    columns = [X[block].T.copy() for block in blocks]  # rows of this are scaled in a third of the time
    for _ in range(STEPS):
        hidden_step, output_step, constant_step = np.zeros_like(hidden), np.zeros_like(output), np.zeros_like(constant)
        for block, of_block in zip(blocks, columns, strict=True):
            units = X[block] @ hidden
            np.maximum(units, 0.0, out=units)
            slope = counts[block] * expit(units @ output + constant) - positive[block]
            output_step += slope @ units
            constant_step += slope.sum()
            hidden_step += (of_block * slope) @ np.greater(units, 0.0, out=units)
        hidden -= rate * (output * hidden_step)
        output -= rate * output_step
        constant -= rate * constant_step
    return Layers(np.ascontiguousarray(hidden.T), np.append(output, constant))
