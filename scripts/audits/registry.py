"""What an adapter is: how a randomizer of a library is made and called, and what it promises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Categories of the frequency oracles, the two that are compared, and slots of the sketches.
N_CATEGORIES, FIRST, SECOND, N_SLOTS = 4, 0, 1, 8
#: Delta of the mechanisms that have one.
DELTA = 0.01

#: (value, rng) -> one report as a number or a sequence of numbers.
Report = Callable[[int, np.random.Generator], Any]


@dataclass(frozen=True)
class LibraryRandomizer:
    """A randomizer of a library.

    Attributes
    ----------
    library, name : str
        Distribution and the name of the mechanism in it.
    make : callable (epsilon) -> Report
    delta : float
        What the library documents.
    note : str
        What the library documents about its guarantee, where it is not epsilon alone.
    """

    library: str
    name: str
    make: Callable[[float], Report]
    delta: float = 0.0
    note: str = ""


RANDOMIZERS: dict[str, LibraryRandomizer] = {}


def adapts(library: str, name: str, delta: float = 0.0, note: str = "") -> Callable[..., Callable[[float], Report]]:
    """Register the decorated function of epsilon."""

    def register(make: Callable[[float], Report]) -> Callable[[float], Report]:
        RANDOMIZERS[f"{library}/{name}"] = LibraryRandomizer(library, name, make, delta, note)
        return make

    return register
