"""Fields of a report and their bits, which are public: the length of a payload tells nothing about protected values."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbench.errors import ConfigurationError

#: Steps beyond which doubles blur.
_MOST_STEPS = 2**52


class Field(ABC):
    """One entry of a payload, or several of one kind, of fixed width."""

    count: int  # columns of a report that it takes
    largest: float = math.inf  # number that fits

    @property
    def bits(self) -> int:
        """Width of the field in bits: that of one column times their number."""
        return self.width * self.count

    @property
    @abstractmethod
    def width(self) -> int:
        """Bits of one column."""

    def holds(self, reports: Any) -> bool:
        """Return True if all reported numbers fit into the field."""
        return bool(np.isfinite(reports).all())


@dataclass(frozen=True)
class Reals(Field):
    """Real numbers, 64 bits each."""

    count: int = 1
    width = 64


@dataclass(frozen=True)
class Integers(Field):
    """Whole numbers from 0 to size - 1, in ceil(log2 size) bits each: categories, or bits if size = 2."""

    size: int
    count: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.size <= 2**62:
            raise ValueError(f"size={self.size!r} must be a whole number from 1 to 2^62")

    @property
    def width(self) -> int:
        """Bits of one whole number below ``size``."""
        return (int(self.size) - 1).bit_length()

    def holds(self, reports: Any) -> bool:
        """Return True if all reports are whole numbers from 0 to size - 1."""
        numbers = np.asarray(reports)
        return bool(((numbers >= 0) & (numbers < self.size) & (numbers % 1 == 0)).all())


@dataclass(frozen=True)
class GridPoints(Field):
    """Multiples of ``step`` (a power of two) of at most ``reach`` steps either way, for discrete noise."""

    step: float
    reach: int  # see :func:`grid_reach`
    count: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.reach <= _MOST_STEPS:
            raise ConfigurationError(
                f"reach={self.reach!r} must be a whole number of steps up to 2^52, beyond which they blur: take a "
                "larger budget or a longer step"
            )

    @property
    def width(self) -> int:
        """Bits of the number of one grid point."""
        return (2 * self.reach).bit_length()

    @property
    def largest(self) -> float:  # type: ignore[override]
        """Largest number that the payload holds: ``reach`` steps."""
        return self.reach * self.step

    def holds(self, reports: Any) -> bool:
        """Return True if all reports are multiples of ``step``."""
        return not np.mod(np.asarray(reports, dtype=float), self.step).any()


def grid_reach(largest: float, scale: float, step: float) -> int:
    """Steps that a value of size at most ``largest`` plus discrete Laplace noise exceeds with probability < 1e-18.

    A report beyond is sent as the last point: post-processing, which costs no privacy.
    """
    return math.ceil((largest + 42.0 * scale) / step)


def payload_bits(fields: Sequence[Field]) -> int:
    """Bits of a payload, without the padding."""
    return sum(f.bits for f in fields)
