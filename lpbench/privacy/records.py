"""Records: what n users know about themselves, protected values included; only a device's code may hold them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Records:
    """Records of n users, protected values included.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Features as the partition or model takes them.
    y : ndarray of shape (n,)
        Labels, or class codes 0, ..., K - 1.
    mask : boolean ndarray of shape (n, d), optional
        True where the user protects the feature; None: all are protected.
    """

    X: np.ndarray
    y: np.ndarray
    mask: np.ndarray | None = None
    _known: dict[Hashable, Any] = field(default_factory=dict, repr=False)
    _taken_from: tuple[Records, Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.y)

    def take(self, users: Any) -> Records:
        """Return the records of some users, by an index, slice or mask.

        Parameters
        ----------
        users : int ndarray, slice or bool ndarray
            Index of the users in these records.

        Returns
        -------
        Records
            Their records, in the order of the index.
        """
        mask = None if self.mask is None else self.mask[users]
        return Records(self.X[users], self.y[users], mask, _taken_from=(self, users))

    def repeated(self, user: int, n: int) -> Records:
        """Return ``n`` users who all hold the record of one.

        Parameters
        ----------
        user : int
            Place of the record.
        n : int
            Number of users.

        Returns
        -------
        Records
            n equal records.
        """
        return self.take(np.full(n, user))

    @property
    def public_features(self) -> np.ndarray:
        """Features of shape (n, d), NaN where protected."""
        if self.mask is None:
            return np.full(self.X.shape, np.nan)
        return np.where(self.mask, np.nan, self.X) if np.count_nonzero(self.mask) else self.X.astype(float)

    @property
    def shown(self) -> np.ndarray:
        """Former name of :attr:`public_features`."""
        warnings.warn("records.shown is now records.public_features", DeprecationWarning, stacklevel=2)
        return self.public_features

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, which is called once for every ``key``: what the questions of a sweep share.

        Parameters
        ----------
        key : hashable
            Name of the result among those of these records.
        compute : callable
            Called without arguments, at most once a key.

        Returns
        -------
        object
            The result of the only call.
        """
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def by_row(self, key: Hashable, compute: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return ``compute(X)``, one row per record by itself; called once for the sample that the records are from.

        Parameters
        ----------
        key : hashable
            Name of the result among those of the whole sample.
        compute : callable
            Maps features of shape (n, d) to an array with n rows, each from its own row alone.

        Returns
        -------
        ndarray of shape (n, ...)
            Rows of these records.
        """
        if self._taken_from is None:
            return self.remembered(key, lambda: compute(self.X))
        sample, users = self._taken_from
        return sample.by_row(key, compute)[users]
