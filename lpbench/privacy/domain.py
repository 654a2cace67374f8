"""Domains: what one user's input may be, and by how much two users' inputs may differ. Both are public.

A mechanism has one domain. :class:`~lpbench.privacy.mechanism.Mechanism` holds inputs to it before every draw and every
loss, so that no randomizer meets an input that its privacy map does not cover.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.errors import ConfigurationError, DataError

#: Categories beyond which a whole number below 2^62 draws one of them too unevenly.
MOST_CATEGORIES = 1 << 60
#: Rows, as far from one another as there are, with which all others are compared.
_CENTERS = 32


class Domain(ABC):
    """Set of inputs that one user may give a mechanism, and how far the inputs of two users (neighbors) may differ."""

    @abstractmethod
    def check(self, values: ArrayLike) -> np.ndarray:
        """Return inputs as an array with a row, or an entry, for each user; each is held to the domain by itself.

        Raises
        ------
        DataError
            An input lies outside. Users never learn whose: the message names the domain alone.
        """

    def check_rows(self, inputs: ArrayLike) -> np.ndarray:
        """Return inputs as :meth:`check` does; each user must have one, as several are several reports."""
        values = self.check(inputs)
        if not values.ndim:
            raise DataError("inputs have no axis; pass one row, or entry, for each user")
        return values

    def check_users(self, inputs: ArrayLike) -> None:
        """Raise a DataError if a user has no input or several, or two users differ by more than is hidden."""
        self.check_rows(inputs)

    @property
    @abstractmethod
    def examples(self) -> np.ndarray:
        """Inputs of a few users; the first and the last differ as much as any two may."""


def check_single(inputs: np.ndarray, columns: int | None = None) -> np.ndarray:
    """Return inputs; each user has one, a number or a row of so many columns."""
    if np.shape(inputs)[1:] != (() if columns is None else (columns,)) or not np.ndim(inputs):
        expected = "one, not a vector" if columns is None else f"{columns} in a row"
        raise DataError(f"inputs have shape {np.shape(inputs)}, and a user has {expected}")
    return inputs


@dataclass(frozen=True)
class Categories(Domain):
    """Domain of categories 0, ..., size - 1, any two of which are neighbors.

    With ``columns`` a user has a row of that many. With ``by_entry`` a mechanism draws a report for each entry of an
    array of any shape.
    """

    size: int
    columns: int | None = None
    by_entry: bool = False

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return categories as int64; DataError if one is no whole number in 0, ..., size - 1."""
        values = np.asarray(values)
        if self.size > MOST_CATEGORIES:
            raise ConfigurationError(f"n_categories={self.size!r} must be at most 2^60; merge categories")
        # negative numbers are the largest without a sign
        if values.size and (
            values.dtype.kind not in "iu" or values.astype(np.int64, copy=False).view(np.uint64).max() >= self.size
        ):
            raise DataError(f"values must be integers in 0, ..., {self.size - 1}; got dtype {values.dtype}")
        values = values.astype(np.int64, copy=False)
        return values if self.by_entry and values.ndim else check_single(values, self.columns)

    def check_rows(self, inputs: ArrayLike) -> np.ndarray:
        """Return categories, one row per user; DataError if one lies outside or the rows have another width."""
        return check_single(self.check(inputs), self.columns)

    @property
    def examples(self) -> np.ndarray:
        """Return up to six categories, on which tests and audits try a mechanism."""
        listed = np.arange(min(self.size, 6))
        return listed if self.columns is None else np.tile(listed[:, None], self.columns)


def _l1(rows: np.ndarray) -> np.ndarray:
    return np.abs(rows).sum(axis=1)


def _range(rows: np.ndarray) -> np.ndarray:
    return np.ptp(rows, axis=1)


@dataclass(frozen=True)
class Numbers(Domain):
    """Domain of numbers, or vectors of them; those of two users are at most ``most`` apart, by default in L1.

    With ``alone`` a user has one number: each of several that differ would cost as much.
    """

    most: float
    size: Callable[[np.ndarray], np.ndarray] = _l1  # of rows (n, k): shape (n,)
    alone: bool = False

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return numbers as float64; DataError if one is not finite."""
        return finite(values)

    def check_rows(self, inputs: ArrayLike) -> np.ndarray:
        """Return finite numbers, one row per user; a single number each if the domain is of single numbers."""
        return check_single(self.check(inputs)) if self.alone else super().check_rows(inputs)

    def check_users(self, inputs: ArrayLike) -> None:
        """Raise DataError if two users' numbers are farther apart than the sensitivity."""
        values = self.check_rows(inputs).astype(float)
        if values.ndim < 2 or values.shape[1:] == (1,):
            apart = np.ptp(values) if values.size else 0.0
        else:
            apart = farthest(values.reshape(len(values), -1), self.size, self.most)
        if not apart <= self.most * (1.0 + 1e-9):
            raise DataError(f"inputs spread over more than the sensitivity {self.most:g}; clip them first")

    @property
    def examples(self) -> np.ndarray:
        """Return three numbers that span the sensitivity, on which tests and audits try a mechanism."""
        return np.array([0.0, 0.3, 1.0]) * self.most


@dataclass(frozen=True)
class Bits(Numbers):
    """Domain of bits, or vectors of them; two users' vectors differ in at most ``most`` entries."""

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return the values; DataError if one is neither 0 nor 1."""
        values = np.asarray(values)
        if values.dtype != bool and not np.isin(super().check(values), (0.0, 1.0)).all():
            raise DataError("values must be bits (0/1 or False/True)")
        return values

    @property
    def examples(self) -> np.ndarray:
        """Return vectors with 0, 1, ..., ``most`` bits set, on which tests and audits try a mechanism."""
        return np.tri(int(self.most) + 1, int(self.most), -1, dtype=bool)


@dataclass(frozen=True)
class Scores(Numbers):
    """A score for each candidate, the last axis; the change between two users has a range of at most ``most``."""

    size: Callable[[np.ndarray], np.ndarray] = _range

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return finite scores whose last axis is the candidates; DataError if there is no candidate."""
        values = super().check(values)
        if not values.ndim or not values.shape[-1]:
            raise DataError(f"values have shape {values.shape}, and a user has a score for each candidate")
        return values

    def check_rows(self, inputs: ArrayLike) -> np.ndarray:
        """Return one row of scores a user, or the rows of a curator's cells."""
        values = self.check(inputs)
        return check_single(values, values.shape[-1]) if values.ndim < 3 else values  # a curator's choices in cells

    def check_users(self, inputs: ArrayLike) -> None:
        """Raise DataError if two users' scores differ by more than the domain allows."""
        check_single(self.check(inputs), np.shape(inputs)[-1])
        super().check_users(inputs)

    @property
    def examples(self) -> np.ndarray:
        """Return three rows of two scores that differ by half the range and the whole, for tests and audits."""
        return self.most * np.array([[1e3, 0.0], [999.5, 0.0], [999.0, 0.0]])


@dataclass(frozen=True)
class Interval(Domain):
    """Domain of numbers between two ends, any two of which are neighbors.

    With ``by_entry`` an input is an array of any shape, and a mechanism draws a report for each of its entries.
    """

    low: float = -1.0
    high: float = 1.0
    by_entry: bool = False

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return numbers as float64."""
        values = finite(values)
        if values.size and (values.min() < self.low or values.max() > self.high):
            raise DataError(f"values lie outside [{self.low:g}, {self.high:g}]; clip or rescale them")
        return values if self.by_entry else check_single(values)

    def check_rows(self, inputs: ArrayLike) -> np.ndarray:
        """Return one number per user; DataError outside the interval."""
        return check_single(self.check(inputs))

    @property
    def examples(self) -> np.ndarray:
        """Return four numbers from end to end, on which tests and audits try a mechanism."""
        return np.linspace(self.low, self.high, 4)


@dataclass(frozen=True)
class Directions(Domain):
    """Domain of unit vectors, or of vectors of any length; any two are neighbors."""

    dimension: int
    unit: bool = True

    def check(self, values: ArrayLike) -> np.ndarray:
        """Return vectors of shape (n, dimension) as float64; DataError if one is zero or of the wrong length."""
        values = finite(values)
        if values.ndim != 2 or values.shape[1] != self.dimension:
            raise DataError(f"values have shape {values.shape}, expected (n, {self.dimension})")
        if not values.any(axis=1).all():
            raise DataError("values must not be vectors of zeros, which have no direction")
        if self.unit and not np.allclose(np.linalg.norm(values, axis=1), 1.0, atol=1e-6):
            raise DataError("values must have length 1; turn shorter vectors into unit ones with unit_vectors first")
        return values

    @property
    def examples(self) -> np.ndarray:
        """Return two opposite unit vectors, on which tests and audits try a mechanism."""
        return np.eye(1, self.dimension) * np.array([[1.0], [-1.0]])


def finite(values: Any) -> np.ndarray:
    """Return finite numbers as float64; texts and objects are refused."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise DataError("values must be finite numbers; clip them first")
    return values.astype(np.float64, copy=False)


def farthest(rows: np.ndarray, size: Callable[[np.ndarray], np.ndarray], most: float) -> float:
    """Largest ``size`` of the difference of two rows of (n, k), or an upper bound on it that is less than ``most``.

    It is exact up to the distance of a row from the nearest of 32 rows that are far from one another; rows within
    ``most`` are never refused.
    """
    if not rows.size:
        return 0.0
    for middle in (0, (rows.max(axis=0) + rows.min(axis=0)) / 2.0):  # most lie within a ball about one of them
        if (ball := 2.0 * float(size(rows - middle).max())) <= most:
            return ball
    nearest, far, largest = np.full(len(rows), np.inf), 0, 0.0
    for _ in range(_CENTERS):
        distances = size(rows - rows[far])
        largest, nearest = float(np.maximum(largest, distances.max())), np.minimum(nearest, distances)
        far = int(nearest.argmax())
        if not nearest[far] > 0:
            break
    return largest
