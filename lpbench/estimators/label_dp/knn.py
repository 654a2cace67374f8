"""Nearest-neighbour means of privatised labels: label-LDP regression and its reference (label-DP Theorems 6 and 10)."""

from __future__ import annotations

import math

import numpy as np
from sklearn.neighbors import NearestNeighbors

from lpbench.checks import check_whole
from lpbench.estimators.base import check_epsilon
from lpbench.estimators.label_dp.cubes import BoundedRegressor
from lpbench.estimators.label_dp.rules import knn_noise, knn_size, truncation
from lpbench.estimators.private_labels import LabelQuestion, noisy_labels
from lpbench.privacy.guarantee import Guarantee
from lpbench.seeds import Seed, Streams


class LabelLDPKNN(BoundedRegressor):
    """Each user sends the label plus Laplace(2T / eps); the curator averages the k nearest reports (22).

    Features are public, labels leave their owner once, at the whole ``epsilon``. With ``moment`` p the labels are
    clipped to [-T, T] on the device first.

    Parameters
    ----------
    epsilon : float
        Budget of a label.
    beta : float in (0, 1]
        Hölder exponent of the regression function (public).
    holder : float
        Constant L: the function varies by about L h^beta at distance h (public).
    moment : float >= 2 or None
        p, if labels are unbounded with ``E |Y|^p <= label_bound^p``;
        None: labels lie in ``y_range``, T is half its width.
    label_bound : float
        p-th root of the bound M_p of the moment, in units of the label; read only if ``moment`` is given.
    k : int, optional
        Number of neighbours; None: the theorem's, see :func:`lpbench.estimators.label_dp.rules.knn_size`. (The printed
        k of Theorem 10 lacks a factor eps^-2; k for eps = 1 is the same.)
    y_range : (float, float), optional
        Public range of the label; see :class:`~lpbench.estimators.base.LocalRegressor`.
    clip : bool
        Clip predictions to ``y_range``.
    domain : (float, float)
        Public range of the features.
    random_state : int, Generator, Streams or None

    Attributes
    ----------
    k_ : int
    truncation_ : float
        T, about the centre of the range.
    reports_ : ndarray of shape (n,)
        Reports of the users, in the order of the training rows (of the sorted feature if d = 1).
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        beta: float = 1.0,
        holder: float = 1.0,
        moment: float | None = None,
        label_bound: float = 1.0,
        k: int | None = None,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.beta = beta
        self.holder = holder
        self.moment = moment
        self.label_bound = label_bound
        self.k = k
        self.y_range = y_range
        self.clip = clip
        self.domain = domain
        self.random_state = random_state

    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        epsilon = check_epsilon(self.epsilon)
        centre, bound = self._centre_and_bound()
        self.k_ = self._neighbours(X, epsilon, bound)
        noise = knn_noise(self.k_, epsilon)
        self.truncation_ = truncation(noise, bound, self.moment)
        self._index(X, centre + noisy_labels(y, self._label_question(centre), self._streams()))
        self.guarantee_ = Guarantee("label_ldp", epsilon, bits_up=64.0, note=self._leak_note)

    def _label_question(self, centre: float) -> LabelQuestion:
        """What every user is asked: the label about the centre, clipped to [-T, T]."""
        return LabelQuestion((-self.truncation_, self.truncation_), self.epsilon, centre=centre)

    def _neighbours(self, X: np.ndarray, epsilon: float, bound: float) -> int:
        if self.k is None:
            n, d = X.shape
            return knn_size(n, d, epsilon, bound=bound, moment=self.moment, **self._smoothness)
        return min(check_whole("k", self.k, least=1, none="the theorem's"), X.shape[0])

    def _index(self, X: np.ndarray, reports: np.ndarray) -> None:
        if X.shape[1] == 1:
            order = np.argsort(X[:, 0])
            self._places, self.reports_ = X[order, 0], reports[order]
        else:
            # Distances by a product of matrices would decide by rounding errors among neighbours at one distance.
            self._tree, self.reports_ = NearestNeighbors(n_neighbors=self.k_, algorithm="kd_tree").fit(X), reports

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Mean of the k nearest reports, shape (m,)."""
        X = self._check_predict(X)
        if X.shape[1] == 1:
            return self._finish(window_means(self._places, self.reports_, X[:, 0], self.k_))
        return self._finish(self.reports_[self._tree.kneighbors(X, return_distance=False)].mean(axis=1))


class KNNMean(LabelLDPKNN):
    """Nearest-neighbour mean without any protection: the reference N^(-2 beta / (2 beta + d)).

    Parameters
    ----------
    beta, holder, moment, label_bound, k, y_range, clip, domain, random_state
        See :class:`LabelLDPKNN` at epsilon = inf.
    """

    uses_epsilon = False

    def __init__(
        self,
        beta: float = 1.0,
        holder: float = 1.0,
        moment: float | None = None,
        label_bound: float = 1.0,
        k: int | None = None,
        y_range: tuple[float, float] | None = None,
        clip: bool = True,
        domain: tuple[float, float] = (0.0, 1.0),
        random_state: Seed | Streams = None,
    ) -> None:
        super().__init__(math.inf, beta, holder, moment, label_bound, k, y_range, clip, domain, random_state)

    def _learn(self, X: np.ndarray, y: np.ndarray) -> None:
        super()._learn(X, y)
        self.guarantee_ = Guarantee("none", math.inf)


def window_means(places: np.ndarray, values: np.ndarray, queries: np.ndarray, k: int) -> np.ndarray:
    """Mean value of the k nearest places on the line.

    The k nearest neighbours are k places in a row, from the first i for which place i is no farther from the query
    than place i + k: place_i + place_{i+k} >= 2 query, which is monotone in i.

    Parameters
    ----------
    places : ndarray of shape (n,)
        Sorted.
    values : ndarray of shape (n,)
    queries : ndarray of shape (m,)
    k : int
        1 <= k <= n.

    Returns
    -------
    ndarray of shape (m,)
    """
    n = places.size
    start = np.searchsorted(places[: n - k] + places[k:], 2 * queries)
    total = np.concatenate([[0.0], np.cumsum(values)])
    return (total[start + k] - total[start]) / k
