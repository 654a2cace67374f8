"""Base classes of the mechanisms: domain, exact privacy map, randomizer, influence and, if one exists, estimate.

A mechanism is a frozen dataclass in one file, and everything that is known about it is a member of its class. Its
fields fix the randomizer; ``epsilon`` is *computed* from them by the privacy map and is exact (attained, or the
supremum where nothing attains it), so that the tests can hold it from both sides.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lpbench.checks import check_number, check_whole, renamed
from lpbench.errors import ConfigurationError
from lpbench.privacy.domain import Categories, Domain, Numbers
from lpbench.privacy.exact import BITS, bits_of_64, blocks, draw_whole, log_law, whole_epsilon, whole_rows
from lpbench.privacy.payload import Field, Integers, Reals, payload_bits
from lpbench.privacy.rounded import NoiseLaw, rounded_sum

#: Budgets beyond which doubles cannot tell a report's law from that of no budget, or of no noise.
LEAST_EPSILON, MOST_EPSILON = 1e-15, 1e15


def check_epsilon(epsilon: Any, name: str = "epsilon", most: float = MOST_EPSILON) -> float:
    """Return epsilon as a float; it must be a number > 0 that doubles can tell from 0 and from inf (inf allowed).

    Parameters
    ----------
    epsilon : float
        The budget, as the caller gave it.
    name : str
        Name of the argument, for the message.
    most : float
        Largest finite budget.

    Returns
    -------
    float
        The budget.

    Raises
    ------
    ConfigurationError
        If it is no number, not positive, or beyond what doubles can tell apart.
    """
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


def channel_losses(log_channel: np.ndarray) -> np.ndarray:
    """Exact losses of all pairs of rows: entry (v, w) is the largest log-ratio of a report's probabilities given v, w.

    It is inf where w excludes a report of v.
    """
    log_channel = np.asarray(log_channel, dtype=np.float64)
    losses = np.zeros((len(log_channel),) * 2)
    for v, row in enumerate(log_channel):
        possible = np.isfinite(row)
        losses[v] = (row[possible] - log_channel[:, possible]).max(axis=1)
    return losses


#: Name -> mechanism that spends a budget, the example of its class that the contract is held to.
REGISTERED: dict[str, Callable[[float], Any]] = {}


def registered(example: Callable[[float], Any]) -> Callable[[type], Any]:
    """Register a class of mechanisms by an example that spends a budget; one outside this room has its dotted path."""

    def enter(kind: type) -> type:
        elsewhere = not kind.__module__.startswith("lpbench.privacy.")
        REGISTERED[f"{kind.__module__}.{kind.__name__}" if elsewhere else kind.__name__] = example
        return kind

    return enter


class Mechanism(ABC):
    """Base of all mechanisms; one writes :attr:`domain`, :attr:`epsilon`, ``_draw`` and the hooks that it needs.

    Attributes
    ----------
    epsilon : float
        Exact privacy loss between two neighboring inputs; inf where nothing is randomized.
    delta : float
        Failure probability; 0 for pure mechanisms.
    bits : float
        Bits of the payload of one report, or of one entry where entries are randomized independently.
    discrete : bool
        Whether reports lie on a public list or grid whatever the value. The low-order bits of any other report, a
        floating-point number with noise, can give its value away (Mironov 2012): its stated loss is that of real
        arithmetic, for simulations, and no device may send it.
    by_entry : bool
        Whether the entries of a vector are randomized one by one, in the same way.
    never_repeats : bool
        Whether noise is so fine that no two reports have the same.
    """

    delta: float = 0.0
    discrete: bool = False
    by_entry: bool = False
    never_repeats: bool = False

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Exact epsilon of one report."""

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """Inputs that one user may have; every draw and every loss is held to it."""

    @property
    def bits(self) -> float:
        """Bits of the payload of one report."""
        return float(payload_bits(self.fields()))

    def randomize(self, values: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Return the users' reports; one row (or entry) per user, users independent of one another.

        Parameters
        ----------
        values : array_like of shape (n, ...)
            Inputs, one row (or entry) a user.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        ndarray
            Reports in the order of the users; their shape is the mechanism's.

        Raises
        ------
        DataError
            An input lies outside the :attr:`domain`.
        """
        return self._draw(self.domain.check(values), rng)

    @abstractmethod
    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the reports of users whose ``values`` (n, ...) lie in the domain; one a user, or one an entry."""

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Return the payload of a report with a number of entries; by default one real number for each.

        Parameters
        ----------
        columns : int
            Entries of a report.

        Returns
        -------
        tuple of Field
            Payload, part by part; its bits do not depend on the value.
        """
        return (Reals(columns),)

    def check_inputs(self, inputs: np.ndarray) -> None:
        """Raise a DataError if the inputs of all users lie outside the domain, or two differ by more than is hidden.

        Parameters
        ----------
        inputs : ndarray of shape (n, ...)
            Inputs of all users.

        Raises
        ------
        DataError
            If an input lies outside the domain, or two are no neighbors.
        """
        self.domain.check_users(inputs)

    @renamed(other="second")
    def exact_loss(self, value: ArrayLike, second: ArrayLike) -> float:
        """Return the exact loss between two inputs: the largest log of P(report | value) over P(report | second).

        With a delta it is the least epsilon at that delta. Inputs farther apart than neighbors lose more than epsilon.

        Parameters
        ----------
        value, second : array_like
            Inputs of one user each.

        Returns
        -------
        float
            Epsilon between the two, >= 0; inf if a report of ``value`` is impossible under ``second``.
        """
        return float(self.losses(np.array([value, second]))[0, 1])

    def losses(self, inputs: ArrayLike) -> np.ndarray:
        """Return the exact losses of all pairs of inputs, see :meth:`exact_loss`.

        Parameters
        ----------
        inputs : array_like of shape (n, ...)
            Inputs, one row per user.

        Returns
        -------
        ndarray of shape (n, n)
            Entry (v, w) is the loss of input v against w.
        """
        values = self.domain.check_rows(inputs)
        if not len(values):
            return np.zeros((0, 0))
        distinct, index = np.unique(values, axis=0, return_inverse=True)
        return self._losses(distinct)[np.ix_(np.ravel(index), np.ravel(index))]

    def _losses(self, values: np.ndarray) -> np.ndarray:
        """Exact privacy losses between all pairs of k inputs ``values``, shape (k, k), 0 on the diagonal.

        By default one pair after the other is computed.
        """
        rows = list(values)
        return np.array([[0.0 if v is w else self._loss(v, w) for w in rows] for v in rows])

    def _loss(self, value: Any, second: Any) -> float:
        """Exact loss between two users' different inputs ``value`` and ``second``.

        It is the largest log-ratio of a report's chances under the two. ConfigurationError for a mechanism that does
        not write it.
        """
        raise ConfigurationError(f"{type(self).__name__} has no exact loss: write its _loss(value, second)")

    @property
    def influence(self) -> float:
        """Largest move of the curator's estimate by one report, as a multiple of what one record can; exact.

        inf where reports have no end; NaN where no estimate is stated. On a grid, ends are those of the payload.
        """
        return 1.0 if math.isinf(self.epsilon) else self._influence()

    def _influence(self) -> float:
        """Largest move of the estimate by one report, as a multiple of what one record can, at a finite budget.

        NaN unless a subclass states it; :meth:`influence` handles the other cases.
        """
        return math.nan

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Distance of each report from each user's input, shape (n,): the nearer of two is the likelier one.

        By default the squared distance in L2.

        Parameters
        ----------
        reports : ndarray of shape (n, ...)
            Reports, one row per user.
        inputs : ndarray of shape (n, ...)
            Inputs, one row per user.

        Returns
        -------
        ndarray of shape (n,)
            Distances, smaller where the report is more probable.

        Raises
        ------
        ConfigurationError
            If reports are shaped differently, and the class states no distance of its own.
        """
        if np.shape(reports) != np.shape(inputs):
            raise ConfigurationError(
                f"{type(self).__name__} has reports of shape {np.shape(reports)} of inputs of shape "
                f"{np.shape(inputs)}: write its distance(reports, inputs)"
            )
        difference = np.asarray(reports, dtype=float) - inputs
        return np.square(difference).reshape(len(difference), -1).sum(axis=1)

    def tail(self, probability: float) -> float:
        """Noise that an entry of a report exceeds with a probability; inf where a report is no noisy number.

        Parameters
        ----------
        probability : float
            Probability of larger noise, in (0, 1/2).

        Returns
        -------
        float
            Size of the noise, in the units of the values.
        """
        return math.inf


class FiniteMechanism(Mechanism):
    """A mechanism with finitely many inputs and reports, which can be enumerated."""

    discrete = True

    @abstractmethod
    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (n_inputs, n_reports), -inf where impossible."""

    def channel(self) -> np.ndarray:
        """Probabilities of all reports given each input.

        Returns
        -------
        ndarray of shape (n_inputs, n_reports)
            Rows sum to 1.
        """
        return np.exp(self.log_channel())

    def _losses(self, values: np.ndarray) -> np.ndarray:
        """Exact losses between all pairs of k categories ``values``, (k, k), from the channel's table.

        ConfigurationError for inputs that are no numbers of rows.
        """
        if values.ndim > 1 or values.dtype.kind != "i":
            raise ConfigurationError(
                f"{type(self).__name__} has a row of log_channel() for each of the inputs 0, 1, ..., and its domain is "
                f"{type(self.domain).__name__}: number the inputs by Categories(size), or subclass Mechanism and write "
                "_loss(value, second)"
            )
        return channel_losses(self.log_channel()[values])


@registered(lambda epsilon: Channel(0.5 + np.tanh(epsilon / 2.0) * (np.eye(2) - 0.5)))
@dataclass(frozen=True, eq=False)
class Channel(FiniteMechanism):
    """Any randomizer with finitely many reports, written out as a table.

    For reports that no other mechanism describes alone, such as stochastic rounding followed by
    randomized response, ``Channel(rounding @ response.channel())``, or a report whose law depends on the public part.

    Parameters
    ----------
    probabilities : ndarray of shape (n_values, n_reports)
        Of reports 0, ..., n_reports - 1 given every protected value; rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import Channel
    >>> mechanism = Channel(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(mechanism.epsilon, 4)
    1.0986
    >>> mechanism.randomize([0, 1], np.random.default_rng(0)).shape
    (2,)
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

    @property
    def domain(self) -> Categories:
        """Domain of the inputs: the numbers of the table's rows."""
        return Categories(len(self.probabilities), by_entry=True)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return draw_whole(self._units, values, rng)

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Minus the log-probability of each report given the input."""
        return -self.log_channel()[inputs, reports]

    @cached_property
    def _units(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return whole_rows(np.log(self.probabilities))

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: its number."""
        return (Integers(self.probabilities.shape[1], columns),)

    def log_channel(self) -> np.ndarray:
        """Log-probabilities of shape (n_values, n_reports), -inf where impossible."""
        return log_law(self._units)


@dataclass(frozen=True)
class CategoryMechanism(FiniteMechanism):
    """A mechanism on categories 0, ..., n_categories - 1, any two of which are neighbors.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories, at least 1.
    """

    budget: float
    n_categories: int

    def __post_init__(self) -> None:
        check_epsilon(self.budget, "budget")
        check_whole("n_categories", self.n_categories, least=1)

    @property
    def domain(self) -> Categories:
        """The categories."""
        return Categories(self.n_categories)

    def _by_blocks(
        self, truthful_words: int, show: Callable[..., Any], values: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """Draw reports, int64 of the shape of ``values``, block by block.

        ``show(bits, truthful, values, out)`` writes those of one block. A user is truthful if her random word, below
        2^62, lies below ``truthful_words``.
        """
        reports = np.zeros(values.shape, dtype=np.int64)
        for block in blocks(values.shape):
            true, out = values[block], reports[block]
            truthful = bits_of_64(rng, out.shape) < truthful_words << (64 - BITS)
            show(bits_of_64(rng, out.shape), truthful, true, out)
        return reports

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """-1 for a report that is, or contains, the category, else 0."""
        return -(np.reshape(reports, (len(reports), -1)) == inputs[:, None]).any(axis=1).astype(float)

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: the number of a category."""
        return (Integers(self.n_categories, columns),)

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return float(self.budget) if self.n_categories > 1 else 0.0


class AdditiveMechanism(Mechanism):
    """Mechanism that adds noise to numbers and rounds to a fine grid; two users' differ by at most ``sensitivity``."""

    discrete = True
    by_entry = True
    never_repeats = True

    sensitivity: float

    @property
    def domain(self) -> Numbers:
        """Numbers; the vectors of two users are at most ``sensitivity`` apart, in L1."""
        return Numbers(self.sensitivity)

    @property
    @abstractmethod
    def noise(self) -> tuple[float, NoiseLaw]:
        """Scale of the noise, 0 if there is none, and its law at scale 1."""

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        scale, law = self.noise
        return rounded_sum(values, scale, self.sensitivity, law, rng)

    @abstractmethod
    def privacy_map(self, distance: float) -> float:
        """Exact epsilon between two inputs at a distance."""

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return self.privacy_map(self.sensitivity)

    def _loss(self, value: np.ndarray, second: np.ndarray) -> float:
        return self.privacy_map(float(np.abs(value - second).sum()))

    def _influence(self) -> float:
        return 2.0 * self.fields()[0].largest / self.sensitivity

    def estimate(self, reports: np.ndarray) -> np.ndarray:
        """Unbiased estimate of the values: the reports themselves."""
        return np.asarray(reports)

    def tail(self, probability: float) -> float:
        """Return the size that an entry's noise exceeds with a probability."""
        scale, law = self.noise
        return float(scale * law.exceeded(np.array(2.0 * probability)))
