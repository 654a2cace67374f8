"""Gaussian noise of the hidden layer in private SGD: not whole matrices, but their products with the features.

User t adds a standard Gaussian matrix z_t of shape (h, D) to the sum of the hidden weights' noise, and the descent sees
of it, per hidden unit, two numbers: the product of the users' sum before t with the features x_t, and that of z_t. What
is drawn are those numbers and, at the end of a block, the sum, from their joint law.

Shapes as in :mod:`lpbench.estimators.psgd.passes`; h hidden units, b users in a block.
"""

from functools import lru_cache

import numpy as np

from lpbench.estimators.psgd.passes import Visits

#: Up to so many inputs it is cheaper to draw every z than to factor the covariance of its products.
_FEW_INPUTS = 16
#: Share of its variance that is added to each product: dependent ones, such as those of users with the same features,
#: then have a root that is as stable as all others.
_ADDED = 2.0**-33


class HiddenNoise:
    """Running sum of z, the users' Gaussian noise for the hidden weights, drawn block by block of users.

    With few inputs every z is drawn: D numbers for a user and unit. With many, the block's sum is drawn, and the
    products that its users see given the sum (:func:`product_root`): some 2 + D / b numbers for a user and unit.
    """

    def __init__(self, users: Visits, n_hidden: int) -> None:
        replications, _, D = users.X.shape
        self._users, self._few = users, D <= _FEW_INPUTS
        self.block = 16 if self._few else int(np.clip(4.0 * np.sqrt(D), 16, 256))
        #: Sum of the z of the users visited.
        self.total = np.zeros((replications, n_hidden, D))
        self._room = np.empty_like(self.total)

    def visit(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Products, (R, b, h), of the next users' features with the z of all before them, and with their own."""
        before = X @ self.total.swapaxes(1, 2)
        earlier, self_products = self._draw_all(X) if self._few else self._draw_products(X)
        return before + earlier, self_products

    def _draw_all(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = self._users.draw(X.shape[1], *self.total.shape[1:])
        sums = np.cumsum(z, axis=1)
        self_products = (z @ X[..., None])[..., 0]
        self.total += sums[:, -1]
        return (sums @ X[..., None])[..., 0] - self_products, self_products

    def _draw_products(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw the products of a block's features with the noise of earlier users, and with each user's own.

        X (R, b, D) has R replications and b users. Both results, (R, b, h), have the exact law of products with whole
        noise matrices, which are never drawn.
        """
        b, h = X.shape[1], self.total.shape[1]
        total = self._users.fill(self._room)
        total *= np.sqrt(b)
        self.total += total
        # Given the sum, z_t is a b-th of it plus a remainder; the remainders are independent of it and add up to zero.
        products = X @ total.swapaxes(1, 2)
        earlier, self_products = np.arange(b)[:, None] / b * products, products / b
        if b > 1:
            remainders = product_root(X @ X.swapaxes(1, 2)) @ self._users.draw(2 * b - 2, h)
            earlier[:, 1:-1] += remainders[:, : b - 2]
            self_products += remainders[:, b - 2 :]
        earlier[:, -1] = products[:, -1] - self_products[:, -1]
        return earlier, self_products


def product_root(gram: np.ndarray) -> np.ndarray:
    """Return a root of the covariance of the products of b users with one row of their noise, given its sum.

    With r_t the remainders z_t - sum / b, sums of r over the users in A and in A' have products with x and x' whose
    covariance is (|A and A'| - |A| |A'| / b) <x, x'>. The numbers are: sums over the users before t times x_t for
    t = 1, ..., b - 2 (nobody is before the first user, and the last one's follows from r_t), and r_t times x_t for all.
    They equal F g, but for :data:`_ADDED`, with the root F (..., 2 b - 2, 2 b - 2) and independent Gaussians g.
    ``gram`` (..., b, b) are the inner products of the users' features, b >= 2.
    """
    users, shared = _remainders(gram.shape[-1])
    covariance = shared * gram[..., users[:, None], users]
    np.einsum("...ii->...i", covariance)[...] *= 1.0 + _ADDED
    return np.linalg.cholesky(covariance)


@lru_cache(maxsize=16)
def _remainders(b: int) -> tuple[np.ndarray, np.ndarray]:
    """User of each number of :func:`product_root`, and the covariances of any two of these sums of remainders.

    ``b`` is the number of users of a block; the arrays have 2 b - 2 and (2 b - 2) x (2 b - 2) entries.
    """
    users = np.concatenate([np.arange(1, b - 1), np.arange(b)])
    members = np.concatenate([np.tri(b, k=-1)[1:-1], np.eye(b)])
    sizes = members.sum(axis=1)
    return users, members @ members.T - np.outer(sizes, sizes) / b
