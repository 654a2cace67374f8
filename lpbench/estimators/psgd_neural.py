"""Locally private SGD of a network with one hidden layer, for many runs at once (L sec. 7.2).

The gradient of a hidden layer is an outer product a x^T, known by its two factors, and the Gaussian z of a report
reaches the recursion only through products with users' features. The pass therefore goes block by block: within a
block, products of z are drawn in the span of the block's features; what lies across it is independent and is drawn
once, as the sum over the block's users. That is the exact law at a fraction of the draws (tested against the explicit
recursion).

Shapes as in :mod:`lpbench.estimators.psgd_passes`; h hidden units, b users in a block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from lpbench.estimators.psgd_passes import Runs, Users
from lpbench.pace import Pace
from lpbench.privacy import report_coefficients


@dataclass
class Layers:
    """Weights of a network with one hidden ReLU layer and one logit.

    Attributes
    ----------
    hidden : ndarray of shape (..., h, D)
    output : ndarray of shape (..., h + 1)
        The last entry is the constant.
    """

    hidden: np.ndarray
    output: np.ndarray

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of X (m, D): ndarray of shape (..., m)."""
        active = np.maximum(self.hidden @ X.T, 0.0)
        return (self.output[..., None, :-1] @ active)[..., 0, :] + self.output[..., -1:]


class OuterSums:
    """Sums of outer products a x^T over the users so far, for all runs.

    Factors a are kept while they are fewer than twice the inputs and then added up to matrices, so that a product with
    features costs about the cheaper of the two forms, whether the inputs are ten or thousands.

    Parameters
    ----------
    X : ndarray of shape (R, n, D)
        Features of the users, in order.
    n_runs, n_hidden, block : int
        Runs B, length h of a factor, users added at once.
    """

    def __init__(self, X: np.ndarray, n_runs: int, n_hidden: int, block: int):
        self._X, self._first, self._last = X, 0, 0
        room = min(X.shape[1], max(2 * X.shape[2], block))
        self._factors = np.empty((X.shape[0], n_runs, room, n_hidden), dtype=X.dtype)
        self._matrix: np.ndarray | None = None

    def append(self, count: int) -> np.ndarray:
        """Return the place for the factors of the next ``count`` users, to be filled in: shape (R, B, count, h)."""
        if self._last - self._first + count > self._factors.shape[2]:
            self._add_up()
        kept = self._last - self._first
        self._last += count
        return self._factors[:, :, kept : kept + count]

    def _add_up(self) -> None:
        kept, X = self._last - self._first, self._X[:, self._first : self._last]
        if self._matrix is None:
            shape = (*self._factors.shape[:2], self._factors.shape[3], X.shape[2])
            self._matrix = np.zeros(shape, dtype=X.dtype)
        for run in range(self._factors.shape[1]):
            self._matrix[:, run] += self._factors[:, run, :kept].swapaxes(1, 2) @ X
        self._first = self._last

    def times(self, X: np.ndarray, part=np.s_[:, :]) -> np.ndarray:
        """Return x^T times the transposed sums for X (R, b, D): ndarray of shape (R, B, b, h).

        ``part`` selects replications and runs by slices; X then holds those replications.
        """
        kept = self._last - self._first
        gram = X @ self._X[part[0], self._first : self._last].swapaxes(1, 2)
        result = gram[:, None] @ self._factors[part][:, :, :kept]
        if self._matrix is not None:
            result += X[:, None] @ self._matrix[part].swapaxes(2, 3)
        return result

    def matrix(self, replication: int, run: int) -> np.ndarray:
        """Return the sum of one run, shape (h, D)."""
        kept = self._last - self._first
        recent = self._factors[replication, run, :kept].T @ self._X[replication, self._first : self._last]
        return recent if self._matrix is None else self._matrix[replication, run] + recent


class NeuralPass:
    """Recursion of the network over blocks of users.

    The hidden weights of run j are W0 - rate_j (S_j + spread_j N): S_j sums c a x^T, N sums z over the users so far.

    Parameters
    ----------
    users : Users
    runs : Runs
    layers : Layers
        Initial weights with leading axes (R, starts).
    """

    def __init__(self, users: Users, runs: Runs, layers: Layers):
        precision = users.X.dtype
        self.users = users
        self.runs = Runs(runs.rates.astype(precision), runs.spread.astype(precision), runs.start)
        self.layers = Layers(layers.hidden.astype(precision), layers.output.astype(precision))
        replications, _, self.h, self.D = layers.hidden.shape
        # The draws of a block cost b within the span of its features and D / b across it, for each user and unit.
        self.block = int(np.clip(np.sqrt(self.D), 16, 64))
        self.signal = OuterSums(users.X, runs.rates.size, self.h, self.block)
        self.noise = np.zeros((replications, self.h, self.D), dtype=precision)
        self.output = self.layers.output[:, runs.start]

    def run(self) -> NeuralPass:
        """Visit all users."""
        pace = Pace(self.users.X.shape[1])
        for first in range(0, self.users.X.shape[1], self.block):
            self._visit(slice(first, first + self.block))
            pace.after(first + self.block)
        return self

    def final(self, replication: int, run: int) -> Layers:
        """Weights of one run at the end."""
        reports = self.signal.matrix(replication, run) + self.runs.spread[run] * self.noise[replication]
        hidden = self.layers.hidden[replication, self.runs.start[run]] - self.runs.rates[run] * reports
        return Layers(hidden, self.output[replication, run])

    def scores(self, replication: int, X: np.ndarray) -> np.ndarray:
        """Logits of X (m, D) under the final weights of all runs, which are not formed: ndarray of shape (B, m)."""
        at_start = X @ self.layers.hidden[replication].swapaxes(1, 2)
        noise = X @ self.noise[replication].T
        X = X.astype(self.noise.dtype)
        scores = np.empty((self.runs.rates.size, X.shape[0]))
        for run, output in enumerate(self.output[replication]):
            signal = self.signal.times(X[None], np.s_[replication : replication + 1, run : run + 1])[0, 0]
            reports = signal + self.runs.spread[run] * noise
            hidden = at_start[self.runs.start[run]] - self.runs.rates[run] * reports
            scores[run] = np.maximum(hidden, 0.0) @ output[:-1] + output[-1]
        return scores

    def _hidden_inputs(self, X: np.ndarray) -> np.ndarray:
        """Inputs of the hidden units for X (R, b, D) after the users so far: ndarray of shape (R, B, b, h)."""
        at_start = (X[:, None] @ self.layers.hidden.swapaxes(2, 3))[:, self.runs.start]
        noise = (X @ self.noise.swapaxes(1, 2))[:, None]
        reports = self.signal.times(X) + self.runs.spread[:, None, None] * noise
        return at_start - self.runs.rates[:, None, None] * reports

    def _visit(self, members: slice) -> None:
        X = self.users.X[:, members]
        before = self._hidden_inputs(X)
        basis, coordinates = np.linalg.qr(X.swapaxes(1, 2))
        inside = self.users.draw(X.shape[1], self.h, basis.shape[2])
        self._steps(members, before, inside, coordinates, self.signal.append(X.shape[1]))
        within = inside.sum(axis=1)
        if basis.shape[2] < self.D:
            across = self.users.draw(self.h, self.D)
            across *= X.dtype.type(np.sqrt(X.shape[1]))
            within -= across @ basis
            self.noise += across
        self.noise += within @ basis.swapaxes(1, 2)

    def _steps(self, members: slice, before, inside, coordinates, factors) -> None:
        """Visit the users of a block one by one.

        Parameters
        ----------
        before : ndarray of shape (R, B, b, h)
            Inputs of the hidden units before the block.
        inside : ndarray of shape (R, b, h, k)
            The users' z in the basis of the block.
        coordinates : ndarray of shape (R, k, b)
            Features of the users in that basis, in columns.
        factors : ndarray of shape (R, B, b, h)
            Receives the factors c a of the reports.
        """
        X, h = self.users.X[:, members], self.h
        gram = X @ X.swapaxes(1, 2)
        outer = self.users.draw(X.shape[1], h + 1)
        so_far = np.zeros_like(inside[:, 0])
        rates, spread = self.runs.rates[:, None], self.runs.spread[:, None]
        for t in range(X.shape[1]):
            own = coordinates[:, :, t, None]
            signal = (gram[:, None, None, t, :t] @ factors[:, :, :t])[:, :, 0]
            noise = (so_far @ own)[:, None, :, 0]
            hidden = np.maximum(before[:, :, t] - rates * (signal + spread * noise), 0.0)
            a = np.where(hidden > 0, self.output[..., :h], 0.0)
            # v = (a x^T, hidden, 1): the gradient divided by its slope.
            user = members.start + t
            score = np.einsum("rbh,rbh->rb", hidden, self.output[..., :h]) + self.output[..., h]
            slope = expit(score) - self.users.y[:, user, None]
            squares = [np.einsum("rbh,rbh->rb", part, part) for part in (hidden, a)]
            norm = np.sqrt(1.0 + squares[0] + squares[1] * gram[:, t, t, None])
            inner = np.einsum("rbh,rh->rb", a, (inside[:, t] @ own)[:, :, 0]) + outer[:, t, h, None]
            inner += np.einsum("rbh,rh->rb", hidden, outer[:, t, :h])
            along, u_sign = self.users.along[:, :, user], self.users.u_sign[:, user, None]
            c = report_coefficients(slope, norm, inner, along, self.runs.spread, u_sign)[..., None]
            factors[:, :, t] = c * a
            self.output[..., :h] -= rates * (c * hidden + spread * outer[:, None, t, :h])
            self.output[..., h:] -= rates * (c + spread * outer[:, None, t, h:])
            so_far += inside[:, t]
