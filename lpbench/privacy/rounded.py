"""Laplace, Gaussian and staircase noise, distributed exactly as real noise that is rounded to a public grid.

A report is the point of the grid that is nearest to value + noise. Rounding is post-processing, so that it loses what
real noise loses: no low-order bits of doubles give the value away (Mironov 2012), and no tail ends. Noise is found by
inversion. 64 random bits leave it an interval, which nearly always rounds to one point; where it does not, more bits
are drawn, as many as it takes. Doubles decide where bounds on their errors say that they can, mpmath elsewhere.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from lpbench.privacy.exact import bits_of_64, blocks

#: log2 of the step of the grid, against the scale of the noise and the sensitivity: the coarser one counts.
_FINE, _FINEST = -28, -40
#: A scale that is the result of several roundings is made longer by this: then it loses no more than is stated.
LONGER = 1.0 + 2.0**-50
#: Numbers that are placed at once, which fit the cache of a processor.
_BLOCK = 1 << 12
_HALF = 1 << 63
#: Probability of noise that is left to mpmath.
_RARE = 2.0**-18


@dataclass(frozen=True)
class NoiseLaw:
    """Symmetric noise of scale 1: the size exceeded with a probability p, in doubles, and its inverse.

    Errors of doubles and of probabilities: a relative change r of p moves ``exceeded(p)`` by ``steepness`` r at most,
    and doubles compute it within ``error`` (steepness + exceeded).
    """

    exceeded: Callable[[np.ndarray], np.ndarray]
    survival: Callable[[Any], Any]  # of a number >= 0 of mpmath
    steepness: float = 1.0
    error: float = 2.0**-50

    @cached_property
    def far(self) -> float:
        """Size, in scales of the noise, beyond which doubles are not precise enough and mpmath computes the noise."""
        return float(self.exceeded(np.array(_RARE)))


# mpmath, which takes long to import, is the context of its numbers
LAPLACE = NoiseLaw(lambda p: -np.log(p), lambda size: size.context.exp(-size))
GAUSSIAN = NoiseLaw(lambda p: -ndtri(p / 2.0), lambda size: size.context.erfc(size / size.context.sqrt(2)), 2.5)


def grid_step(scale: Any, sensitivity: float, law: NoiseLaw) -> Any:
    """Spacing of the grid to which noisy values are rounded: a power of two, so that arithmetic on it is exact."""
    least = max(math.frexp(sensitivity)[1] + _FINEST, -1000)
    if isinstance(scale, np.ndarray):
        return np.ldexp(2.0**_FINE, np.maximum(np.frexp(scale * law.steepness)[1], least - _FINE))
    return math.ldexp(1.0, max(math.frexp(scale * law.steepness)[1] + _FINE, least))


def rounded_sum(
    values: Any, scale: Any, sensitivity: float, law: NoiseLaw, rng: np.random.Generator, step: Any = None
) -> np.ndarray:
    """Return values + scale * noise, rounded to a grid: shape of ``values``; ``scale`` 0 leaves values unchanged.

    ``step`` is the spacing of the grid; None: :func:`grid_step`.
    """
    values, each = np.asarray(values, dtype=np.float64), isinstance(scale, np.ndarray)
    if not each and scale == 0:
        return values.copy()
    step = grid_step(scale, sensitivity, law) if step is None else step
    rows = values if values.ndim else values[None]
    if each and scale.shape != rows.shape:
        scale, step = (np.broadcast_to(size, rows.shape) for size in (scale, step))
    reports, unsure = np.zeros(rows.shape), list[tuple[int, int]]()
    for block in blocks(rows.shape, _BLOCK):
        sizes = (scale[block], step[block]) if each else (scale, step)
        drawn = bits_of_64(rng, rows[block].shape)
        reports[block], sure = _nearest(rows[block], *sizes, law, drawn)
        if np.count_nonzero(sure) < sure.size:
            places = block.start * math.prod(rows.shape[1:]) + np.flatnonzero(~sure)
            unsure.extend(zip(places.tolist(), drawn[~sure].tolist(), strict=True))
    for position, number in unsure:  # more bits are drawn after those of all numbers
        value, length, unit = (float(array.flat[position]) for array in np.broadcast_arrays(rows, scale, step))
        if length > 0:
            offset = math.remainder(value, unit)  # exact, and the value less it is a point of the grid
            reports.flat[position] = value - offset + _point(offset, length, unit, law, number, rng)
    if each and np.count_nonzero(scale) < scale.size:
        np.copyto(reports, rows, where=scale == 0)
    return reports.reshape(values.shape)


def _nearest(values: np.ndarray, scale: Any, step: Any, law: NoiseLaw, drawn: np.ndarray) -> tuple[Any, np.ndarray]:
    """Grid points nearest to values plus noise, and True where the first 64 random bits decide them.

    ``drawn`` are these bits, uint64 of the shape of ``values``; ``scale`` is that of the noise and ``step`` the grid's.
    """
    signed = drawn.view(np.int64) + 0.5  # noise grows with drawn: of the negative half it is positive, and falls to 0
    p = np.abs(signed)
    p *= 2.0**-63
    steps = scale / step
    with np.errstate(over="ignore", invalid="ignore"):  # of a value that is too large for doubles nothing is sure
        places = values / step
        # of the point next to the value and the rest, the noise concerns the rest; a sum of two points is the double
        # next to it, however it is divided
        base = np.rint(places)
        places -= base
        places -= steps * np.copysign(size := law.exceeded(p), signed)
        points = np.rint(places)
        places -= points
    points += base
    points *= step
    distance, most = np.abs(places), 0.5 - law.error
    sure = distance < most - steps * (law.steepness * (2.0**-63 / _RARE + law.error) + law.error * law.far)
    if np.count_nonzero(sure) < sure.size:  # most others are sure by what the doubles of their own noise are blurred
        sure = distance < most - steps * (law.steepness * (2.0**-63 / p + law.error) + law.error * size)
    return points, sure & (p >= _RARE)


def _point(value: float, scale: float, step: float, law: NoiseLaw, number: int, rng: np.random.Generator) -> float:
    """Decide one grid point exactly by further random bits; ``number`` is the first 64. Returned is the report."""
    sign, bits = (-1, 63) if number < _HALF else (1, 63)
    if sign > 0:  # the law is symmetric: the noise is negative from here on
        value, number = -value, 2 * _HALF - 1 - number
    while True:
        p = (2 * number + 1) / (2 << bits)
        middle = np.floor((value - scale * float(law.exceeded(np.array(p)))) / step + 0.5)
        for index in (middle, middle - 1.0, middle + 1.0):
            if _holds(index, value, scale, step, law, number, bits):
                return float(-sign * index * step)
        word = int(bits_of_64(rng, 1)[0])
        number, bits = (number << 64) + (word if sign < 0 else 2 * _HALF - 1 - word), bits + 64


def _holds(index: float, value: float, scale: float, step: float, law: NoiseLaw, number: int, bits: int) -> bool:
    """Return True if the rounded noisy value is the same for all uniforms from number to number + 1 over 2^bits."""
    from mpmath import ldexp, mpf, workprec

    with workprec(bits + 300):
        lower = ((mpf(index) - 0.5) * step - value) / scale
        upper = lower + mpf(step) / scale
        slack = ldexp(1, -bits - 100)
        least = law.survival(-lower) if lower < 0 else 2 - law.survival(lower)
        most = law.survival(-upper) if upper < 0 else 2 - law.survival(upper)
        return bool(least * (1 + slack) <= ldexp(number, -bits) and ldexp(number + 1, -bits) <= most * (1 - slack))
