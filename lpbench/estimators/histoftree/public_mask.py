"""Summaries of a mask, which is public: protection order, counts, and choices cached over a grid."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def protection_order(mask: np.ndarray) -> np.ndarray:
    """Rank the features by the number of users who protect them, most protected first, ties by index."""
    return np.argsort(-np.ascontiguousarray(mask.T).sum(axis=1), kind="stable")


class PublicMask:
    """A mask, which is public, and its summaries."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.shape = array, array.shape
        self._known: dict = {}

    @classmethod
    def of(cls, mask: np.ndarray | PublicMask) -> PublicMask:
        """Wrap a mask that is not yet wrapped."""
        return mask if isinstance(mask, PublicMask) else cls(mask)

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, which is called once for every ``key``."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    @cached_property
    def order(self) -> np.ndarray:
        """Features, most protected first."""
        return protection_order(self.array)

    @cached_property
    def protected_by_all(self) -> int:
        """Number of features that everybody protects."""
        return int(self.array.all(axis=0).sum())

    @cached_property
    def users_by_hidden(self) -> np.ndarray:
        """Number of users who protect h of the features beyond the s most protected: int ndarray [s, h], (d, d + 1)."""
        d = self.shape[1]
        hidden = np.cumsum(self.array[:, self.order[::-1]], axis=1)[:, ::-1]
        return np.bincount((hidden + (d + 1) * np.arange(d)).ravel(), minlength=d * (d + 1)).reshape(d, d + 1)
