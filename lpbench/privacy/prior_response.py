"""Randomized response among the classes that a prior makes probable; each user may have a prior of their own.

Source: Ghazi et al. (2021), Deep learning with label differential privacy (RRWithPrior).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lpbench.errors import ConfigurationError
from lpbench.privacy.exact import UNITS, below, words
from lpbench.privacy.mechanism import CategoryMechanism, registered
from lpbench.privacy.randomized_response import grr_probabilities, grr_told


def ranked_classes(prior: ArrayLike, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Order classes by prior probability and choose how many are reported.

    Parameters
    ----------
    prior : ndarray of shape (n, K)
        Public; one row per user.
    epsilon : float
        Budget of the report, > 0.

    Returns
    -------
    order : int ndarray of shape (n, K)
        Classes, the most probable first; ties by index.
    size : int ndarray of shape (n,)
        k that maximizes (sum of the k largest) e^epsilon / (e^epsilon + k - 1), the probability of a true report.
    """
    prior = np.asarray(prior, dtype=np.float64)
    order = np.argsort(-prior, axis=1, kind="stable")
    mass = np.cumsum(np.take_along_axis(prior, order, axis=1), axis=1)
    keep, _ = grr_probabilities(np.arange(1, prior.shape[1] + 1), epsilon)
    return order, 1 + np.argmax(mass * keep, axis=1)


def prior_reports(
    truth: np.ndarray, order: np.ndarray, size: np.ndarray, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Client: a class among the user's ``size`` most probable ones, by randomized response if the own is one of them.

    Parameters
    ----------
    truth : int ndarray of shape (n,)
        Class of each user.
    order, size
        See :func:`ranked_classes`.
    epsilon : float
        Budget of the report, > 0.
    rng : numpy.random.Generator
        Randomness of the users.

    Returns
    -------
    int64 ndarray of shape (n,)
        Reported class of each user.
    """
    truth = np.asarray(truth, dtype=np.int64)
    rank = np.argmax(order == truth[:, None], axis=1)
    is_truthful = (words(rng, truth.size) < grr_told(size, epsilon)) & (rank < size)
    reported = np.where(is_truthful, rank, below(words(rng, truth.size), size))
    return np.take_along_axis(order, reported[:, None], axis=1)[:, 0].astype(np.int64)


@registered(lambda epsilon: PriorResponse(epsilon, 5, (0, 1)))
@dataclass(frozen=True)
class PriorResponse(CategoryMechanism):
    """Randomized response among listed categories; all other categories report one of them at random.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories K.
    listed : tuple of int
        The categories that are reported, different ones; with one alone nothing is told and epsilon is 0.

    Examples
    --------
    >>> from lpbench.privacy import PriorResponse
    >>> mechanism = PriorResponse.for_prior(1.0, [0.6, 0.3, 0.05, 0.05])
    >>> mechanism.listed, mechanism.epsilon
    ((0, 1), 1.0)
    """

    listed: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        different = sorted(set(self.listed)) == sorted(self.listed)
        if not self.listed or not different or min(self.listed) < 0 or max(self.listed) >= self.n_categories:
            raise ConfigurationError(
                f"listed={self.listed!r} must be different numbers in 0, ..., {self.n_categories - 1}"
            )

    @classmethod
    def for_prior(cls, epsilon: float, prior: ArrayLike) -> PriorResponse:
        """Return the mechanism that most often tells the truth to those who believe the prior, shape (K,).

        Parameters
        ----------
        epsilon : float
            Budget of the report, > 0.
        prior : array_like of shape (K,)
            Public probabilities of the classes.

        Returns
        -------
        PriorResponse
            It lists the most probable classes, as many as :func:`ranked_classes` says.
        """
        order, size = ranked_classes(np.asarray(prior)[None], epsilon)
        return cls(epsilon, order.shape[1], tuple(int(c) for c in order[0, : size[0]]))

    @property
    def shown(self) -> tuple[int, ...]:
        """Former name of :attr:`listed`."""
        warnings.warn("shown is now listed", DeprecationWarning, stacklevel=2)
        return self.listed

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return float(self.budget) if len(self.listed) > 1 else 0.0

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        unlisted = [c for c in range(self.n_categories) if c not in self.listed]
        order = np.broadcast_to([*self.listed, *unlisted], (values.size, self.n_categories))
        return prior_reports(values, order, np.full(values.size, len(self.listed)), self.budget, rng)

    def log_channel(self) -> np.ndarray:
        """Channel of shape (K, K), -inf for categories that are not reported."""
        k, listed = len(self.listed), list(self.listed)
        truthful = int(grr_told(k, self.budget))
        table = np.zeros((self.n_categories,) * 2)
        table[:, listed] = 1.0 / k
        table[listed] *= (UNITS - truthful) / UNITS
        table[listed, listed] += truthful / UNITS
        with np.errstate(divide="ignore"):
            return np.log(table)
