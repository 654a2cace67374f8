"""Groups of samples that no cut of a max-edge tree tells apart.

A max-edge tree on the unit cube cuts longest edges at midpoints. Above depth p no edge of a cell is halved more than
h = ceil(p / d) times, so samples with equal cells in the grid of 2^h bins per feature go the same way at every cut.
Growth, routing and the list of the leaves a user may lie in can therefore be done once per group, of which complete
data have at most 2^(p + d - 1), instead of once per sample. Nothing is approximated.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from lpbench.partitions.grid import cell_keys, grid_digits

#: Bits of a group's cell beyond which no two samples are expected to share it.
_MAX_BITS = 40


class SampleGroups:
    """Groups of n samples.

    Parameters
    ----------
    member : int ndarray of shape (n,) or None
        Group of each sample. None: every sample is a group by itself.
    first : int ndarray of shape (size,) or None
        A sample of each group.
    size : int
        Number of groups.
    """

    def __init__(self, member: np.ndarray | None, first: np.ndarray | None, size: int):
        self.member, self._first, self.size = member, first, size
        self._repeated: dict[int, SampleGroups] = {}

    @classmethod
    def singletons(cls, n: int) -> SampleGroups:
        """Put every one of n samples into a group of its own.

        Parameters
        ----------
        n : int
            Number of samples.
        """
        return cls(None, None, n)

    @classmethod
    def by_key(cls, keys: np.ndarray, n_keys: int) -> SampleGroups:
        """Group samples by integer keys; groups are in the order of their keys.

        Parameters
        ----------
        keys : int ndarray of shape (n,)
            Key of each sample, 0, ..., n_keys - 1.
        n_keys : int
            Size of the range of keys.
        """
        if n_keys > 4 * keys.size:
            _, first, member = np.unique(keys, return_index=True, return_inverse=True)
            return cls(member, first, first.size)
        used = np.flatnonzero(np.bincount(keys, minlength=n_keys))  # linear time
        number = np.empty(n_keys, dtype=np.intp)
        number[used] = np.arange(used.size)
        first = np.empty(used.size, dtype=np.intp)
        member = number[keys]
        first[member] = np.arange(keys.size)
        return cls(member, first, used.size)

    @classmethod
    def for_depth(cls, depth: int, X: np.ndarray, mask: np.ndarray | None = None) -> SampleGroups:
        """Group samples of the unit cube that no max-edge tree of the given depth tells apart.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features in the unit cube.
        mask : bool ndarray of shape (n, d), optional
            True = protected: the entry is not read, and the samples of a group protect the same features.
        depth : int
            Depth of the trees.
        """
        n, d = X.shape
        halvings = -(-depth // d) if d else 0
        base = 2**halvings + (mask is not None)
        if n == 0 or d * (halvings + 1) > _MAX_BITS:
            return cls.singletons(n)
        if mask is None:
            digits = grid_digits(X, 2**halvings)
        else:
            digits = np.where(mask, 2**halvings, grid_digits(np.where(mask, 0.0, X), 2**halvings))
        groups = cls.by_key(cell_keys(digits, base), base**d)
        return groups if 2 * groups.size <= n else cls.singletons(n)

    def repeated(self, times: int) -> SampleGroups:
        """Return the groups of the samples laid out several times, each time with groups of their own.

        Parameters
        ----------
        times : int
            Number of repetitions.

        Returns
        -------
        SampleGroups
            ``times * size`` groups of ``times * n`` samples.
        """
        if times == 1:
            return self
        if self.member is None or self._first is None:
            return SampleGroups.singletons(times * self.size)
        if times not in self._repeated:
            time = np.arange(times)[:, None]
            member, first = self.member + self.size * time, self._first + self.member.size * time
            self._repeated[times] = SampleGroups(member.ravel(), first.ravel(), times * self.size)
        return self._repeated[times]

    @property
    def number(self) -> np.ndarray:
        """Group of each sample, shape (n,)."""
        return np.arange(self.size) if self.member is None else self.member

    def one_of_each(self, values: np.ndarray) -> np.ndarray:
        """Select the row of one sample for each group.

        Parameters
        ----------
        values : ndarray of shape (n, ...)
            Rows of the samples.

        Returns
        -------
        ndarray of shape (size, ...)
            Rows of the groups.
        """
        return values if self._first is None else values[self._first]

    def to_samples(self, values: np.ndarray) -> np.ndarray:
        """Give every sample the value of its group.

        Parameters
        ----------
        values : ndarray of shape (size,)
            Values of the groups.

        Returns
        -------
        ndarray of shape (n,)
            Values of the samples.
        """
        return values if self.member is None else values[self.member]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Add up the samples' numbers, group by group.

        Parameters
        ----------
        values : ndarray of shape (n,)
            Numbers of the samples.

        Returns
        -------
        ndarray of shape (size,)
            Sums of the groups.
        """
        return values if self.member is None else np.bincount(self.member, weights=values, minlength=self.size)

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of samples of every group, shape (size,)."""
        return np.ones(self.size) if self.member is None else np.bincount(self.member, minlength=self.size) + 0.0
