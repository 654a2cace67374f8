"""Numbered cells of a partition that is broadcast: which cell a record lies in."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from lpbench.checks import check_whole
from lpbench.partitions.grid import cell_keys, grid_digits
from lpbench.partitions.tree import TreePartition


class Cells(Protocol):
    """Interface of public partitions whose cells are numbered from 0."""

    @property
    def size(self) -> int:
        """Number of cells of the partition."""

    def locate(self, X: np.ndarray) -> np.ndarray:
        """Find the cell of each record.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features.

        Returns
        -------
        int ndarray of shape (n,)
            Numbers 0, ..., size - 1.
        """


@dataclass(frozen=True)
class GridCells:
    """Equal cubes of [0, 1]^d, numbered in row-major order.

    Parameters
    ----------
    bins : int
        Bins per axis; the side is h = 1 / bins.
    d : int
        Dimension.
    """

    bins: int
    d: int

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, least=1)

    @property
    def size(self) -> int:
        """Number of cubes."""
        return int(self.bins) ** self.d

    def locate(self, X: np.ndarray) -> np.ndarray:
        """Find the cube of each row; a row outside [0, 1]^d belongs to the nearest cube.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features.

        Returns
        -------
        int ndarray of shape (n,)
            Numbers of the cubes, row-major.
        """
        return np.zeros(len(X), np.int64) if self.bins == 1 else cell_keys(grid_digits(X, self.bins), int(self.bins))

    def digits(self) -> np.ndarray:
        """Return the bins of all cubes.

        Returns
        -------
        int ndarray of shape (size, d)
            Bin along each axis, cubes in the order of their numbers.
        """
        return np.arange(self.size)[:, None] // self.bins ** np.arange(self.d)[::-1] % self.bins

    def centers(self) -> np.ndarray:
        """Return the centers of all cubes.

        Returns
        -------
        ndarray of shape (size, d)
            Points of [0, 1]^d, cubes in the order of their numbers.
        """
        return (self.digits() + 0.5) / self.bins


@dataclass(frozen=True, eq=False)
class TreeCells:
    """Leaves of a tree, cut off at a depth, in increasing order of their nodes.

    Parameters
    ----------
    depth : int or None
        Depth at which the tree is cut off; None: the whole tree.
    tree : TreePartition
        Partition, which is public.
    """

    tree: TreePartition
    depth: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The tree and the depth, so that equal partitions have equal pickles."""
        return {"tree": self.tree, "depth": self.depth}

    @cached_property
    def _index(self) -> np.ndarray:
        return self.tree.leaf_index(self.depth)

    @property
    def broadcast_bits(self) -> float:
        """Bits of the broadcast tree: feature and threshold of each cut."""
        return (self.size - 1) * (64.0 + math.ceil(math.log2(max(self.tree.n_features, 2))))

    @property
    def size(self) -> int:
        """Number of leaves."""
        return int(self._index.max()) + 1

    def locate(self, X: np.ndarray) -> np.ndarray:
        """Find the leaf of each row.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Features.

        Returns
        -------
        int ndarray of shape (n,)
            Positions among the leaves, in increasing order of their nodes.
        """
        return self._index[self.tree.apply(X, self.depth)]
