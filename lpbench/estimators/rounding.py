"""Tie-breaking despite rounding error, which differs between processors.

A BLAS adds up in an order of its own on every kind of processor. What follows continuously from such sums differs in
the last digits; a choice (a cut of a tree, a bin, an argmax) turns the last digit into another result wherever two of
the choices tie, as they do among equal labels or duplicated columns.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Decimal places to which scores are rounded before they are compared: far more than their errors of rounding.
PLACES = 10
#: Bits of a float64.
_BITS = 53


def settled(values: ArrayLike) -> Any:
    """Round scores of size one (probabilities, costs in units of a variance) before an argmax or a comparison."""
    return np.round(values, PLACES)  # type: ignore[arg-type]  # texts are array-like, too


def grid_step(values: np.ndarray, bits: int) -> float:
    """Power of two that cuts the largest absolute value into at most 2 ** bits steps (1.0 if all values are zero)."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1] - bits) if largest > 0.0 else 1.0


def on_grid(values: np.ndarray, step: float) -> np.ndarray:
    """Round to multiples of ``step``, a power of two, whose sums of up to 53 bits are the same in any order."""
    return np.round(values / step) * step


def bits_of_exact_sums(count: int, factors: int = 1) -> int:
    """Bits that each factor may have where ``count`` products of so many factors are to be added up without error."""
    return (_BITS - math.ceil(math.log2(max(count, 1)))) // factors
