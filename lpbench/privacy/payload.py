"""Binary payloads of reports: fields of fixed width, packed bit by bit.

What a device sends is a list of fields; their widths are public, so that the length of a payload tells nothing about
protected values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbench.errors import ConfigurationError

#: Bound of real numbers in reports: far beyond any that a device sends; one report cannot drown all others.
LARGEST_REAL = 2.0**52


class Field(ABC):
    """One entry of a payload, of fixed width."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """Columns of a transcript that the field takes."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Width in bits."""

    @abstractmethod
    def to_bits(self, values: np.ndarray) -> np.ndarray:
        """Bits of shape (n, bits), as uint8, of values of shape (n, columns); ValueError if a value does not fit."""

    @abstractmethod
    def from_bits(self, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of shape (n, columns) and a boolean array of shape (n,): which rows are legal."""

    def _check(self, values: np.ndarray, fits: np.ndarray) -> None:
        if not fits.all():
            row, column = np.argwhere(~np.atleast_2d(fits))[0]
            raise ValueError(f"value {values[row, column]!r} does not fit {self}")


@dataclass(frozen=True)
class Reals(Field):
    """Real numbers of size at most ``LARGEST_REAL``, 64 bits each."""

    count: int = 1

    @property
    def columns(self) -> int:
        return self.count

    @property
    def bits(self) -> int:
        return 64 * self.count

    def to_bits(self, values: np.ndarray) -> np.ndarray:
        self._check(values, np.abs(values) <= LARGEST_REAL)
        raw = np.ascontiguousarray(values, dtype=">f8").view(np.uint8).reshape(len(values), 8 * self.count)
        return np.unpackbits(raw, axis=1)

    def from_bits(self, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raw = np.ascontiguousarray(np.packbits(bits, axis=1))
        values = raw.view(">f8").astype(np.float64).reshape(len(bits), self.count)
        return values, np.all(np.abs(values) <= LARGEST_REAL, axis=1)


@dataclass(frozen=True)
class Integers(Field):
    """Whole numbers from 0 to size - 1, in ceil(log2 size) bits each: categories, or bits if size = 2."""

    size: int
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 2**62:
            raise ValueError(f"size={self.size!r} must be a whole number from 1 to 2^62")

    @property
    def columns(self) -> int:
        return self.count

    @property
    def width(self) -> int:
        """Bits of one number."""
        return (int(self.size) - 1).bit_length()

    @property
    def bits(self) -> int:
        return self.width * self.count

    def to_bits(self, values: np.ndarray) -> np.ndarray:
        whole = np.asarray(values).astype(np.int64)
        self._check(values, (whole == values) & (whole >= 0) & (whole < self.size))
        shifts = np.arange(self.width - 1, -1, -1)
        return ((whole[:, :, None] >> shifts) & 1).astype(np.uint8).reshape(len(whole), self.bits)

    def from_bits(self, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shifts = np.arange(self.width - 1, -1, -1)
        digits = bits.reshape(len(bits), self.count, self.width).astype(np.int64)
        values = (digits << shifts).sum(axis=2)
        return values, (values < self.size).all(axis=1)


@dataclass(frozen=True)
class GridPoints(Field):
    """Multiples of ``step`` (a power of two) of at most ``reach`` steps either way, for discrete noise."""

    step: float
    reach: int  # see :func:`grid_reach`
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.reach <= LARGEST_REAL:
            raise ConfigurationError(
                f"reach={self.reach!r} must be a whole number of steps up to 2^52, beyond which they blur: take a "
                "larger budget or a longer step"
            )

    @property
    def columns(self) -> int:
        return self.count

    @property
    def _codes(self) -> Integers:
        return Integers(2 * self.reach + 1, self.count)

    @property
    def bits(self) -> int:
        return self._codes.bits

    def to_bits(self, values: np.ndarray) -> np.ndarray:
        # Clipping is post-processing: it costs no privacy, and happens with the probability stated in grid_reach.
        steps = np.clip(np.asarray(values) / self.step, -self.reach, self.reach)
        return self._codes.to_bits(steps + self.reach)

    def from_bits(self, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes, legal = self._codes.from_bits(bits)
        return (codes - self.reach) * self.step, legal


def grid_reach(largest: float, scale: float, step: float) -> int:
    """Steps that a value of size at most ``largest`` plus discrete Laplace noise exceeds with probability < 1e-18."""
    return math.ceil((largest + 42.0 * scale) / step)


def payload_bits(fields: Sequence[Field]) -> int:
    """Bits of a payload, without the padding."""
    return sum(f.bits for f in fields)


def payload_bytes(fields: Sequence[Field]) -> int:
    """Bytes of a payload."""
    return -(-payload_bits(fields) // 8)


def pack(fields: Sequence[Field], values: np.ndarray) -> np.ndarray:
    """Pack transcripts, one row of columns a user, into bytes, one row a user."""
    values = np.asarray(values, dtype=np.float64)
    edges = np.cumsum([0, *(f.columns for f in fields)])
    if values.ndim != 2 or values.shape[1] != edges[-1]:
        raise ValueError(f"values have shape {values.shape}, expected (n, {edges[-1]})")
    parts = [np.zeros((len(values), 0), dtype=np.uint8)]
    parts += [f.to_bits(values[:, lo:hi]) for f, lo, hi in zip(fields, edges, edges[1:], strict=False)]
    return np.packbits(np.concatenate(parts, axis=1), axis=1)


def unpack(fields: Sequence[Field], payloads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of :func:`pack`: values, and which rows are legal (finite, of a category, padded with zeros)."""
    bits = np.unpackbits(payloads, axis=1)
    edges = np.cumsum([0, *(f.bits for f in fields)])
    legal: np.ndarray = ~np.any(bits[:, edges[-1] :], axis=1)
    columns = [np.zeros((len(bits), 0))]
    for f, lo, hi in zip(fields, edges, edges[1:], strict=False):
        values, fine = f.from_bits(bits[:, lo:hi])
        columns.append(values.astype(np.float64))
        legal = legal & fine
    return np.hstack(columns), legal
