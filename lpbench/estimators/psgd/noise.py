"""Gaussian noise of the hidden layer in private SGD: only the products that the descent reads are drawn.

User t adds a standard Gaussian matrix z_t of shape (h, D) to the sum of the hidden weights' noise, and the descent sees
of it, per hidden unit, two numbers: the product of the users' sum before t with the features x_t, and that of z_t. What
is drawn are those numbers and, at the end of a block, the sum, from their joint law.

Shapes as in :mod:`lpbench.estimators.psgd.passes`; h hidden units, b users in a block.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dpstrf

from lpbench.estimators.psgd.passes import Users

#: Up to so many inputs it is cheaper to draw every z than to factor the covariance of its products.
_FEW_INPUTS = 16


class HiddenNoise:
    """Sum of the z of the users so far, drawn block by block.

    With few inputs every z is drawn: D numbers for a user and unit. With many, the products that a block's users see
    are drawn together with the sum's part in the span of their features (:func:`product_root`); what lies across it is
    independent of them and drawn once a block: some 3 + D / b numbers for a user and unit.

    Parameters
    ----------
    users : Users
    n_hidden : int

    Attributes
    ----------
    block : int
        Users of a visit.
    total : ndarray of shape (R, h, D)
        Sum of the z of the users visited.
    """

    def __init__(self, users: Users, n_hidden: int) -> None:
        replications, _, D = users.X.shape
        self._users, self._few = users, D <= _FEW_INPUTS
        self.block = 16 if self._few else int(np.clip(4.0 * np.sqrt(D), 16, 256))
        self.total = np.zeros((replications, n_hidden, D), dtype=users.X.dtype)
        self._room = np.empty_like(self.total)

    def visit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw for the next users, of features X (R, b, D).

        Returns
        -------
        earlier : ndarray of shape (R, b, h)
            Products of the users' features with the sum of the z of all users before them.
        own : ndarray of shape (R, b, h)
            Products with their own z.
        """
        before = X @ self.total.swapaxes(1, 2)
        earlier, own = self._draw_all(X) if self._few else self._draw_products(X)
        return before + earlier, own

    def _draw_all(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self._users.draw(X.shape[1], *self.total.shape[1:])
        sums = np.cumsum(z, axis=1)
        own = (z @ X[..., None])[..., 0]
        self.total += sums[:, -1]
        return (sums @ X[..., None])[..., 0] - own, own

    def _draw_products(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        b, h = X.shape[1], self.total.shape[1]
        basis, coordinates = np.linalg.qr(X.swapaxes(1, 2))
        root = np.stack([product_root(c) for c in coordinates.swapaxes(1, 2)]).astype(X.dtype)
        earlier, own, within = np.split(root @ self._users.draw(root.shape[2], h), [b, 2 * b], axis=1)
        across = self._users.fill(self._room)
        across *= X.dtype.type(np.sqrt(b))
        self.total += across
        self.total += np.matmul(within.swapaxes(1, 2) - across @ basis, basis.swapaxes(1, 2), out=self._room)
        return earlier, own


def product_root(coordinates: np.ndarray) -> np.ndarray:
    """Return a root of the covariance of the products of a block's users with one row of their noise.

    Sums of z over the users in A and in A' have products with x and x' whose covariance is |A and A'| <x, x'>. The
    numbers are, for b users and k coordinates: sums over the users before t times x_t, z_t times x_t, sums over all
    users times the basis vectors.

    Parameters
    ----------
    coordinates : ndarray of shape (b, k)
        Features x_t of the users in an orthonormal basis of their span.

    Returns
    -------
    ndarray of shape (2 b + k, 2 b + k)
        F; those numbers are F g with independent standard Gaussians g. Where they are dependent, last columns are 0.
    """
    b, k = coordinates.shape
    directions = np.concatenate([coordinates, coordinates, np.eye(k)], dtype=np.float64)
    # Pivots: the matrix is singular (nobody is before the first user), and a remainder of rounding errors is cut off.
    factor, pivots, rank, _ = dpstrf(_users_in_both(b, k) * (directions @ directions.T), lower=1)
    root = np.zeros_like(factor, order="C")
    root[pivots - 1, :rank] = np.tril(factor)[:, :rank]
    return root


@lru_cache(maxsize=16)
def _users_in_both(b: int, k: int) -> np.ndarray:
    """Numbers of users whose z two of the numbers of :func:`product_root` have in common."""
    members = np.concatenate([np.tri(b, k=-1), np.eye(b), np.ones((k, b))])
    return members @ members.T
