"""Locally private SGD of a linear model, many runs in one pass over the users (Lowy et al. 2023; LPCT sec. 7.2).

Each user sends its whole clipped gradient through PrivUnitG. Written with the vector v that the gradient is a multiple
of, the report is c v + spread z with a standard Gaussian z (:func:`lpbench.privacy.report_coefficients`). A run is a
budget with a learning rate; the runs of a replication share z, and replications are stacked in front, so that a step is
a few array operations for all of them.

Shapes: R replications, B runs, n users, D inputs (the last one constant).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from lpbench.privacy import report_coefficients

#: Users of a linear model's block.
_BLOCK_USERS = 32


@dataclass(frozen=True)
class Visits:
    """Private users of R replications in the order of the pass, with the random numbers of their reports.

    ``X`` (R, n, D) and ``y`` (R, n), 0 or 1, are the records, ``u_sign`` (R, n) uniform numbers for the sign of a
    gradient, ``along`` (R, B, n) PrivUnitG's component along it in each of B runs, and ``normals`` the generators of
    the noise across it.
    """

    X: np.ndarray  # (R, n, D)
    y: np.ndarray  # labels 0 and 1, (R, n)
    u_sign: np.ndarray  # (R, n)
    along: np.ndarray  # components of the reports along the gradients, from PrivUnitG, (R, B, n)
    normals: Sequence[np.random.Generator]  # streams of z, R of them

    def draw(self, *shape: int) -> np.ndarray:
        """Standard Gaussians of shape (R, *shape)."""
        return self.fill(np.empty((len(self.X), *shape)))

    def fill(self, room: np.ndarray) -> np.ndarray:
        """Fill ``room`` (R, ...) in place with standard Gaussians, a generator for each replication; return it."""
        for rng, array in zip(self.normals, room, strict=True):
            rng.standard_normal(out=array)
        return room


@dataclass(frozen=True)
class Runs:
    """The B runs of one pass: learning rate, spread of PrivUnitG's noise, and initial weights of each."""

    rates: np.ndarray  # step lengths (B,)
    spread: np.ndarray  # of PrivUnitG at the run's budget, (B,)
    start: np.ndarray  # which of the initial weights the run starts from, (B,)


@dataclass(frozen=True)
class Linear:
    """Linear model: weights of shape (D,), the constant's last."""

    weights: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of X (m, D): ndarray of shape (m,)."""
        return X @ self.weights


class LinearPass:
    """Recursion of logistic regression, over blocks of users.

    A step needs of the weights only their products with the next user's features. Within a block these are found from
    products among its users, so that the weights are read and written once a block.
    """

    def __init__(self, users: Visits, runs: Runs, weights: np.ndarray) -> None:
        self.users, self.runs = users, runs
        self.weights = weights[:, runs.start]  # from (R, starts, D)

    def run(self) -> Self:
        """Visit all users block by block and return the pass, whose weights are then final."""
        for first in range(0, self.users.X.shape[1], _BLOCK_USERS):
            self._visit(slice(first, first + _BLOCK_USERS))
        return self

    def final(self, replication: int, run: int) -> Linear:
        """Return the linear model of one run in one replication after the last user."""
        return Linear(self.weights[replication, run])

    def scores(self, replication: int, X: np.ndarray) -> np.ndarray:
        """Logits of X (m, D) under the final weights of all runs: ndarray of shape (B, m)."""
        return self.weights[replication] @ X.T

    def _visit(self, members: slice) -> None:
        """Move the weights of all runs by the reports of one block of users (``members``), in order.

        Each user's gradient depends on the reports before it. Inner products of the block's rows, computed once,
        replace the update of whole weight vectors user by user.
        """
        X, y = self.users.X[:, members], self.users.y[:, members, None]
        u_sign, along = self.users.u_sign[:, members, None], self.users.along[:, :, members]
        rates, spread = self.runs.rates, self.runs.spread
        z = self.users.draw(*X.shape[1:])
        gram, noise = X @ X.swapaxes(1, 2), X @ z.swapaxes(1, 2)  # products of user t with s: [:, t, s]
        earlier, self_noise = np.tril(noise, -1).sum(axis=2)[..., None], np.diagonal(noise, axis1=1, axis2=2)[..., None]
        norm = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))[..., None]
        before = X @ self.weights.swapaxes(1, 2) - rates * spread * earlier
        coefficients = np.empty_like(before)  # (R, b, B)
        for t in range(X.shape[1]):
            signal = (gram[:, t, None, :t] @ coefficients[:, :t])[:, 0]
            slope = expit(before[:, t] - rates * signal) - y[:, t]
            coefficients[:, t] = report_coefficients(
                slope, norm[:, t], self_noise[:, t], along[:, :, t], spread, u_sign[:, t]
            )
        reports = coefficients.swapaxes(1, 2) @ X + spread[:, None] * z.sum(axis=1, keepdims=True)
        self.weights = self.weights - rates[:, None] * reports
