"""Nearest-neighbor means of privatized labels: label-LDP regression and its reference (label-DP Theorems 6 and 10)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from lpbench.checks import check_whole
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp.cubes import BoundedRegressor
from lpbench.estimators.label_dp.neighbors import NearestRows
from lpbench.estimators.label_dp.rules import knn_noise, knn_size, truncation
from lpbench.estimators.private_labels import LABEL, LabelQuestion
from lpbench.estimators.result_cache import Shared
from lpbench.privacy import Users

#: Features from which no tree of the rows saves time.
_MANY = 16
#: Order of the last rows on the line, which the budgets of a sweep have in common.
_ORDER = Shared(1)


@dataclass(eq=False, repr=False)
class KNNMean(BoundedRegressor):
    """Nearest-neighbor mean without any protection: the reference N^(-2 beta / (2 beta + d)).

    Parameters
    ----------
    k : int, optional
        Number of neighbors; None: the theorem's, see :func:`lpbench.estimators.label_dp.rules.knn_size`.

    Attributes
    ----------
    k_ : int
    truncation_ : float
        T: labels are clipped to [-T, T] about the center of the range.
    reports_ : ndarray of shape (n,)
        Labels as the curator sees them, in the order of the training rows (of the sorted feature if d = 1).

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import KNNMean
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = KNNMean(y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    inf
    >>> model.predict(X).shape
    (300,)
    """

    k: int | None = field(default=None, kw_only=True)

    uses_epsilon = False
    epsilon = math.inf

    def learn(self, users: Users) -> Self:
        """Ask users for noisy labels and keep them beside their public features."""
        epsilon, (center, bound) = check_epsilon(self.epsilon), self._center_and_bound()
        self.k_ = self._neighbors(users.n, users.n_features, epsilon, bound)
        self.truncation_ = T = truncation(knn_noise(self.k_, epsilon), bound, self.moment)
        X, labels = self._labeled(users, LabelQuestion((-T, T), epsilon, center=center))
        self._index(X, center + labels)
        return self

    def _labeled(self, users: Users, question: LabelQuestion) -> tuple[np.ndarray, np.ndarray]:
        """Features (n, d) and labels about the center (n,), as the curator sees them: here the true ones, clipped.

        Subclasses ask the users for noisy labels.
        """
        records = users.reveal()
        return records.X, LABEL.inputs(records, question)

    def _neighbors(self, n: int, d: int, epsilon: float, bound: float) -> int:
        if self.k is None:
            return knn_size(n, d, epsilon, bound=bound, moment=self.moment, **self._rule)
        return min(check_whole("k", self.k, least=1, none="the theorem's"), n)

    def _index(self, X: np.ndarray, reports: np.ndarray) -> None:
        """Keep reports (n,) with a search structure on X (n, d): the sorted feature if d = 1, else a tree or rows."""
        if X.shape[1] == 1:
            order = _ORDER((X,), lambda: np.argsort(X[:, 0]))
            self._places, self.reports_ = X[order, 0], reports[order]
        else:
            self.reports_ = reports
            if X.shape[1] < _MANY:
                tree = NearestNeighbors(n_neighbors=self.k_, algorithm="kd_tree").fit(X)
                self._nearest: Callable[[np.ndarray], np.ndarray] = partial(tree.kneighbors, return_distance=False)
            else:
                self._nearest = NearestRows(X, self.k_).kneighbors

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean of the k nearest reports, shape (m,)."""
        X = self._check_predict(X)
        if X.shape[1] == 1:
            return self._finish(window_means(self._places, self.reports_, X[:, 0], self.k_))
        return self._finish(self.reports_[self._nearest(X)].mean(axis=1))


@dataclass(eq=False, repr=False)
class LabelLDPKNN(KNNMean):
    """Each user sends the label plus Laplace(2T / eps); the curator averages the k nearest reports (22).

    Features are public, labels leave their owner once, at the whole ``epsilon``. With ``moment`` p the labels are
    clipped to [-T, T] on the device first.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    k : int, optional
        Number of neighbors; None: the theorem's, see :func:`lpbench.estimators.label_dp.rules.knn_size`. (The printed
        k of Theorem 10 lacks a factor eps^-2; k for eps = 1 is the same.)

    Examples
    --------
    Users protect feature 0 and the label.

    >>> import numpy as np
    >>> from lpbench.estimators import LabelLDPKNN
    >>> X = np.random.default_rng(0).random((300, 2))
    >>> model = LabelLDPKNN(epsilon=2.0, y_range=(0, 1), random_state=0)
    >>> model = model.fit(X, X[:, 0], mask=[0])
    >>> model.guarantee_.epsilon
    2.0
    >>> model.predict(X).shape
    (300,)
    """

    epsilon: float = 1.0

    uses_epsilon = True
    protects = "label"

    def _labeled(self, users: Users, question: LabelQuestion) -> tuple[np.ndarray, np.ndarray]:
        return users.public_features, users.ask(LABEL, question)


def window_means(places: np.ndarray, values: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Mean value (m,) of the k <= n nearest places (n,) on the line, which are sorted.

    The k nearest neighbors are k places in a row, from the first i for which place i is no farther from the query
    than place i + k: place_i + place_{i+k} >= 2 query, which is monotone in i.
    """
    n = places.size
    start = np.searchsorted(places[: n - k] + places[k:], 2 * queries)
    total = np.concatenate([[0.0], np.cumsum(values)])
    return (total[start + k] - total[start]) / k
