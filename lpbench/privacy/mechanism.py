"""Base classes of the mechanisms: exact privacy map, vectorised randomizer and, if one exists, unbiased estimate.

A mechanism is a frozen dataclass. Its fields fix the randomizer; ``epsilon`` is *computed* from them by the privacy map
and is exact (attained, or the supremum where nothing attains it), so that the tests can hold it from both sides.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.checks import check_number, check_whole
from lpbench.errors import ConfigurationError, DataError
from lpbench.privacy.exact import BITS, bits_of_64, blocks, draw_whole, log_law, whole_epsilon, whole_rows
from lpbench.privacy.payload import Field, Integers, Reals, payload_bits
from lpbench.privacy.rounded import NoiseLaw, rounded_sum

#: Budgets beyond which doubles cannot tell a report's law from that of no budget, or of no noise.
LEAST_EPSILON, MOST_EPSILON = 1e-15, 1e15
#: Categories beyond which a whole number below 2^62 draws one of them too unevenly.
MOST_CATEGORIES = 1 << 60


def check_epsilon(epsilon: Any, name: str = "epsilon", most: float = MOST_EPSILON) -> float:
    """Return epsilon as a float; it must be a number > 0 that doubles can tell from 0 and from inf (inf allowed)."""
    number = check_number(name, epsilon, above=0, infinite=True, hint="use float('inf') for no privacy")
    if number < LEAST_EPSILON:
        raise ConfigurationError(f"{name}={epsilon!r} must be at least {LEAST_EPSILON:g}: is the budget too small?")
    if most < number < math.inf:
        raise ConfigurationError(f"{name}={epsilon!r} must be at most {most:g}, or float('inf') for no privacy")
    return number


def check_sensitivity(sensitivity: Any, name: str = "sensitivity") -> float:
    """Return a sensitivity as a float; it must be finite and > 0."""
    return check_number(name, sensitivity, above=0)


def check_scale(scale: Any, name: str = "scale") -> float:
    """Return a noise scale as a float; it must be finite and >= 0 (0: no noise)."""
    return check_number(name, scale, least=0, hint="0 means no noise; is the budget too small?")


def exact_epsilon(log_channel: np.ndarray) -> float:
    """Largest log-ratio of the probabilities that two inputs give to one report.

    Parameters
    ----------
    log_channel : ndarray of shape (n_inputs, n_reports)
        Log-probability of every report given every input; -inf where impossible.

    Returns
    -------
    float
        The smallest epsilon for which the channel is epsilon-LDP (inf if some input excludes a report of another).
    """
    log_channel = np.asarray(log_channel, dtype=np.float64)
    reachable = log_channel[:, np.isfinite(log_channel).any(axis=0)]
    return float((reachable.max(axis=0) - reachable.min(axis=0)).max(initial=0.0))


def check_single(inputs: np.ndarray, mechanism: Any) -> None:
    """Raise a DataError unless each user has one input: several would be several reports, and cost as many."""
    if np.ndim(inputs) != 1:
        raise DataError(f"inputs of {mechanism} have shape {np.shape(inputs)}; a user has one, not a vector")


class Mechanism(ABC):
    """Base of all mechanisms.

    Attributes
    ----------
    epsilon : float
        Exact privacy loss between two neighbouring inputs; inf where nothing is randomised.
    delta : float
        Failure probability; 0 for pure mechanisms.
    bits : float
        Bits of the payload of one report, or of one entry where entries are randomised independently.
    discrete : bool
        Whether reports lie on a public list or grid whatever the value. The low-order bits of any other report, a
        floating-point number with noise, can give its value away (Mironov 2012): its stated loss is that of real
        arithmetic, for simulations, and no device may send it.
    """

    delta: float = 0.0
    discrete: bool = False

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Exact epsilon of one report."""

    @property
    def bits(self) -> float:
        """Bits of the payload of one report."""
        return float(payload_bits(self.fields()))

    @abstractmethod
    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the users' reports; one row (or entry) per user, users independent of one another."""

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Return the payload of a report with a number of entries; by default one real number for each."""
        return (Reals(columns),)

    def check_inputs(self, inputs: np.ndarray) -> None:  # noqa: B027 - nothing to refuse, unless a mechanism says so
        """Raise a DataError if inputs lie outside the domain on which the privacy map holds.

        Users never learn whose input it is: the message names the domain alone.
        """


class FiniteMechanism(Mechanism):
    """A mechanism with finitely many inputs and reports, which can be enumerated."""

    discrete = True

    @abstractmethod
    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (n_inputs, n_reports), -inf where impossible."""

    def channel(self) -> np.ndarray:
        """Probabilities of shape (n_inputs, n_reports); rows sum to 1."""
        return np.exp(self.log_channel())

    def check_inputs(self, inputs: np.ndarray) -> None:
        """A user has one input."""
        check_single(inputs, self)


@dataclass(frozen=True, eq=False)
class Channel(FiniteMechanism):
    """Any randomizer with finitely many reports, written out as a table.

    For reports that no other mechanism describes alone, such as stochastic rounding followed by
    randomised response, ``Channel(rounding @ response.channel())``, or a report whose law depends on the public part.

    Parameters
    ----------
    probabilities : ndarray of shape (n_values, n_reports)
        Of reports 0, ..., n_reports - 1 given every protected value; rows sum to 1.
    """

    probabilities: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        table = np.asarray(self.probabilities, dtype=np.float64)
        if table.ndim != 2 or not (table >= 0).all() or not np.allclose(table.sum(axis=1), 1.0, rtol=0, atol=1e-9):
            raise ValueError(f"probabilities={self.probabilities!r} must be a table with rows >= 0 that sum to 1")
        object.__setattr__(self, "probabilities", table)

    @property
    def epsilon(self) -> float:
        """Exact epsilon of one report."""
        return whole_epsilon(self._units)

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the users' reports, int ndarray of the shape of ``values`` (rows of the table)."""
        return draw_whole(self._units, np.asarray(values), rng)

    @cached_property
    def _units(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return whole_rows(np.log(self.probabilities))

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """The number of a report."""
        return (Integers(self.probabilities.shape[1], columns),)

    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (n_values, n_reports), -inf where impossible."""
        return log_law(self._units)


@dataclass(frozen=True)
class CategoryMechanism(FiniteMechanism):
    """A mechanism on categories 0, ..., n_categories - 1, any two of which are neighbours."""

    budget: float
    n_categories: int

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")
        check_whole("n_categories", self.n_categories, least=1)

    def privacy_map(self, distance: int = 1) -> float:
        """Exact epsilon between two categories (distance 1) or a category and itself (0)."""
        return float(self.budget) if distance and self.n_categories > 1 else 0.0

    def check_values(self, values: ArrayLike) -> np.ndarray:
        """Return categories as an int64 array; all must lie in 0, ..., n_categories - 1."""
        values = np.asarray(values)
        if self.n_categories > MOST_CATEGORIES:
            raise ConfigurationError(f"n_categories={self.n_categories!r} must be at most 2^60; merge categories")
        # negative numbers are the largest without a sign
        if values.size and (
            values.dtype.kind not in "iu"
            or values.astype(np.int64, copy=False).view(np.uint64).max() >= self.n_categories
        ):
            raise DataError(f"values must be integers in 0, ..., {self.n_categories - 1}; got dtype {values.dtype}")
        return values.astype(np.int64, copy=False)

    def _reports(self, told: int, show: Callable[..., Any], values: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """What ``show(bits, truthful, values, out)`` writes into ``out``; truthful are words below ``told``."""
        values, reports = np.asarray(values), np.empty(np.shape(values), dtype=np.int64)
        for block in blocks(values.shape):
            true, out = self.check_values(values[block]), reports[block]
            truthful = bits_of_64(rng, out.shape) < told << (64 - BITS)
            show(bits_of_64(rng, out.shape), truthful, true, out)
        return reports

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """A category."""
        return (Integers(self.n_categories, columns),)

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return self.privacy_map()


#: Rows, as far from one another as there are, with which all others are compared.
_CENTRES = 32


def farthest(rows: np.ndarray, size: Callable[[np.ndarray], np.ndarray], most: float) -> float:
    """Largest ``size`` of the difference of two rows, (n, k) -> (n,), or of less than ``most`` a bound.

    Exact up to the distance of a row from the nearest of 32 that are far from one another; no honest row is too far.
    """
    if not rows.size:
        return 0.0
    for middle in (0, (rows.max(axis=0) + rows.min(axis=0)) / 2.0):  # most lie within a ball about one of them
        if (ball := 2.0 * float(size(rows - middle).max())) <= most:
            return ball
    nearest, far, found = np.full(len(rows), np.inf), 0, 0.0
    for _ in range(_CENTRES):
        distances = size(rows - rows[far])
        found, nearest = float(np.maximum(found, distances.max())), np.minimum(nearest, distances)
        far = int(nearest.argmax())
        if not nearest[far] > 0:
            break
    return found


def check_spread(
    inputs: np.ndarray, most: float, mechanism: Mechanism, size: Callable[[np.ndarray], np.ndarray] | None = None
) -> None:
    """Raise a DataError if two users' inputs are farther apart than the noise is made for: by default in L1."""
    values = np.asarray(inputs, dtype=float)
    if values.ndim < 2 or values.shape[1:] == (1,):
        apart = np.ptp(values) if values.size else 0.0
    else:
        apart = farthest(values.reshape(len(values), -1), size or (lambda rows: np.abs(rows).sum(axis=1)), most)
    if not apart <= most * (1.0 + 1e-9):
        raise DataError(f"inputs of {mechanism} spread over more than its sensitivity {most:g}; clip them first")


class ContinuousMechanism(Mechanism):
    """A mechanism whose reports fill a grid, line or space and are unbiased as they are."""

    @abstractmethod
    def log_density(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Log-density of reports given values, with respect to a measure that does not depend on the values."""

    @abstractmethod
    def log_density_ratio_sup(self, value: ArrayLike, other: ArrayLike) -> float:
        """Supremum over the reports of the log-density ratio between two inputs of one user."""

    def estimate(self, reports: np.ndarray) -> np.ndarray:
        """Unbiased estimate of the values: the reports themselves."""
        return np.asarray(reports)


class AdditiveMechanism(ContinuousMechanism):
    """Noise on numbers, rounded to a grid that is far finer; those of two users differ by at most ``sensitivity``."""

    discrete = True

    sensitivity: float

    @property
    @abstractmethod
    def noise(self) -> tuple[float, NoiseLaw]:
        """Scale of the noise, 0 if there is none, and its law at scale 1."""

    def randomize(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return values + noise on the grid, entry by entry; shape of ``values``."""
        scale, law = self.noise
        return rounded_sum(values, scale, self.sensitivity, law, rng)

    @abstractmethod
    def privacy_map(self, distance: float) -> float:
        """Exact epsilon between two inputs at a distance."""

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return self.privacy_map(self.sensitivity)

    def log_density_ratio_sup(self, value: ArrayLike, other: ArrayLike) -> float:
        """Supremum over the reports of the log-density ratio between two inputs: that of their L1 distance."""
        return self.privacy_map(float(np.abs(np.subtract(value, other)).sum()))

    def check_inputs(self, inputs: np.ndarray) -> None:
        """Two users' numbers may differ by the sensitivity."""
        check_spread(inputs, self.sensitivity, self)
