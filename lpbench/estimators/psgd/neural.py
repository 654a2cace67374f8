"""Locally private SGD of a network with one hidden layer, for many runs at once (LPCT sec. 7.2).

The gradient of a hidden layer is an outer product a x^T, known by its two factors, and the Gaussian z of a report
reaches the recursion only through products with users' features, whose joint law is known
(:mod:`lpbench.estimators.psgd.noise`). The pass therefore goes block by block and forms no matrix for a user.

Shapes as in :mod:`lpbench.estimators.psgd.passes`; h hidden units, b users in a block.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit

from lpbench.estimators.psgd.noise import HiddenNoise
from lpbench.estimators.psgd.passes import Runs, Visits
from lpbench.privacy import report_coefficients

#: Users of a block whose reports enter the hidden inputs one by one; earlier ones do so in products of matrices.
_BLOCK_USERS = 32


@dataclass
class Layers:
    """Weights of a network with one hidden ReLU layer and one logit.

    ``hidden`` (..., h, D) multiplies the inputs, the constant last; ``output`` (..., h + 1) the hidden units, the
    constant's weight last.
    """

    hidden: np.ndarray  # (..., h, D)
    output: np.ndarray  # (..., h + 1); the last entry is the constant

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Return the logits of X (m, D): ndarray of shape (..., m)."""
        active = np.maximum(self.hidden @ X.T, 0.0)
        return (self.output[..., None, :-1] @ active)[..., 0, :] + self.output[..., -1:]


class OuterSums:
    """Sums of outer products a x^T over users so far; factors of more than twice the inputs become matrices."""

    def __init__(self, X: np.ndarray, n_runs: int, n_hidden: int, block: int) -> None:
        # X (R, n, D): features of the users, in order; ``block`` users are added at once
        self._X, self._first, self._last = X, 0, 0
        room = min(X.shape[1], max(2 * X.shape[2], block))
        self._factors = np.empty((X.shape[0], room, n_runs, n_hidden))
        self._matrix: np.ndarray | None = None

    def append(self, count: int) -> np.ndarray:
        """Return the place for the factors of the next ``count`` users, to be filled in: shape (R, count, B, h)."""
        if self._last - self._first + count > self._factors.shape[1]:
            self._add_up()
        count_before = self._last - self._first
        self._last += count
        return self._factors[:, count_before : count_before + count]

    def _add_up(self) -> None:
        X = self._X[:, self._first : self._last]
        recent = _flat(self._factors[:, : X.shape[1]]).swapaxes(1, 2) @ X
        recent = recent.reshape(len(X), *self._factors.shape[2:], X.shape[2])
        self._matrix = recent if self._matrix is None else self._matrix + recent
        self._first = self._last

    def times(self, X: np.ndarray, block: tuple[slice, slice] = np.s_[:, :]) -> np.ndarray:
        """x^T times the transposed sums for X (R, b, D), (R, b, B, h); ``block`` selects replications and runs."""
        users = self._X[block[0], self._first : self._last]
        factors = self._factors[block[0], : users.shape[1], block[1]]
        result = (X @ users.swapaxes(1, 2)) @ _flat(factors)
        if self._matrix is not None:
            matrix = self._matrix[block]
            result += X @ matrix.reshape(len(matrix), -1, X.shape[2]).swapaxes(1, 2)
        return result.reshape(*X.shape[:2], *factors.shape[2:])

    def matrix(self, replication: int, run: int) -> np.ndarray:
        """Return the sum of one run, shape (h, D)."""
        users = self._X[replication, self._first : self._last]
        recent = self._factors[replication, : len(users), run].T @ users
        return recent if self._matrix is None else self._matrix[replication, run] + recent


def _flat(array: np.ndarray) -> np.ndarray:
    """View runs and hidden units as one axis, the last."""
    return array.reshape(*array.shape[:2], array.shape[2] * array.shape[3])


class NeuralPass:
    """Recursion of the network over blocks of users.

    R are replications, b runs, B users of a block, h hidden units, D inputs as the shapes are written: (R, B, b, h) is
    replication, user, run, unit. The hidden weights of run j are W0 - rate_j (S_j + spread_j N): S_j sums c a x^T, N
    sums z over the users so far.
    """

    def __init__(self, users: Visits, runs: Runs, layers: Layers) -> None:
        self.users, self.runs, self.layers = users, runs, layers
        self.h = layers.hidden.shape[2]
        self.noise = HiddenNoise(users, self.h)
        self.signal = OuterSums(users.X, runs.rates.size, self.h, self.noise.block)
        self.output = self.layers.output[:, runs.start]

    def run(self) -> Self:
        """Visit all users block by block and return the pass, whose weights are then final."""
        n = self.users.X.shape[1]
        for first in range(0, n, self.noise.block):
            self._visit(slice(first, first + self.noise.block))
        return self

    def final(self, replication: int, run: int) -> Layers:
        """Return the network of one run in one replication after the last user."""
        reports = self.signal.matrix(replication, run) + self.runs.spread[run] * self.noise.total[replication]
        hidden = self.layers.hidden[replication, self.runs.start[run]] - self.runs.rates[run] * reports
        return Layers(hidden, self.output[replication, run])

    def scores(self, replication: int, X: np.ndarray) -> np.ndarray:
        """Logits of X (m, D) under the final weights of all runs, which are not formed: ndarray of shape (B, m)."""
        at_start = X @ self.layers.hidden[replication].swapaxes(1, 2)
        noise = X @ self.noise.total[replication].T
        scores = np.empty((self.runs.rates.size, X.shape[0]))
        for run, output in enumerate(self.output[replication]):
            signal = self.signal.times(X[None], np.s_[replication : replication + 1, run : run + 1])[0, :, 0]
            reports = signal + self.runs.spread[run] * noise
            hidden = at_start[self.runs.start[run]] - self.runs.rates[run] * reports
            scores[run] = np.maximum(hidden, 0.0) @ output[:-1] + output[-1]
        return scores

    def _visit(self, members: slice) -> None:
        X = self.users.X[:, members]
        earlier, self_products = self.noise.visit(X)
        self._steps(members, self._hidden_inputs(X, earlier), self_products, self.signal.append(X.shape[1]))

    def _hidden_inputs(self, X: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Inputs of the hidden units for users X before a block is visited, by the noise inside of earlier users."""
        replications, starts, h, D = self.layers.hidden.shape
        at_start = X @ self.layers.hidden.reshape(replications, starts * h, D).swapaxes(1, 2)
        at_start = at_start.reshape(*X.shape[:2], starts, h)[:, :, self.runs.start]
        reports = self.signal.times(X) + self.runs.spread[:, None] * noise[:, :, None]
        return at_start - self.runs.rates[:, None] * reports

    def _steps(self, members: slice, before: np.ndarray, self_products: np.ndarray, factors: np.ndarray) -> None:
        """Visit the users of a block one by one."""
        X, h = self.users.X[:, members], self.h
        gram = X @ X.swapaxes(1, 2)
        outer = self.users.draw(X.shape[1], h + 1)
        rates, spread = self.runs.rates[:, None], self.runs.spread[:, None]
        shape, flat = before.shape, _flat(factors)
        for t in range(X.shape[1]):
            recent = t - t % _BLOCK_USERS
            if t == recent > 0:
                new = np.s_[:, recent - _BLOCK_USERS : recent]
                before[:, t:] -= rates * (gram[new].swapaxes(1, 2)[:, t:] @ flat[new]).reshape(shape[0], -1, *shape[2:])
            signal = (gram[:, t, None, recent:t] @ flat[:, recent:t]).reshape(shape[0], *shape[2:])
            hidden = np.maximum(before[:, t] - rates * signal, 0.0)
            a = np.where(hidden > 0, self.output[..., :h], 0.0)
            # v = (a x^T, hidden, 1): the gradient divided by its slope.
            user = members.start + t
            score = np.einsum("rbh,rbh->rb", hidden, self.output[..., :h]) + self.output[..., h]
            slope = expit(score) - self.users.y[:, user, None]
            squares = [np.einsum("rbh,rbh->rb", units, units) for units in (hidden, a)]
            norm = np.sqrt(1.0 + squares[0] + squares[1] * gram[:, t, t, None])
            inner = np.einsum("rbh,rh->rb", a, self_products[:, t]) + outer[:, t, h, None]
            inner += np.einsum("rbh,rh->rb", hidden, outer[:, t, :h])
            along, u_sign = self.users.along[:, :, user], self.users.u_sign[:, user, None]
            c = report_coefficients(slope, norm, inner, along, self.runs.spread, u_sign)[..., None]
            factors[:, t] = c * a
            self.output[..., :h] -= rates * (c * hidden + spread * outer[:, None, t, :h])
            self.output[..., h:] -= rates * (c + spread * outer[:, None, t, h:])
