"""Randomized response on bits, bit vectors and categories, driven by whole numbers that budgets may share.

Sources: Warner (1965); HistOfTree eqs. (5), (8) (bits), (16), (17) (categories); label-DP eq. (13) (bit vectors).
With q < p the probabilities that a report shows a false and the true value, (1{shown} - q) / (p - q) is unbiased for
the indicator of the truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lpbench.checks import check_whole, renamed
from lpbench.errors import ConfigurationError, DataError
from lpbench.privacy.domain import Bits, Categories
from lpbench.privacy.exact import UNITS, below, blocks, check_words, draw_below, kept_units, log_law, truthful_units
from lpbench.privacy.mechanism import CategoryMechanism, FiniteMechanism, check_epsilon, exact_epsilon, registered
from lpbench.privacy.payload import Field, Integers


def rr_reports(bits: np.ndarray, epsilon: Any, keep: np.ndarray) -> np.ndarray:
    """Flip bits by Warner's rule at ``epsilon`` per bit.

    Parameters
    ----------
    bits : bool ndarray
        True bits of the users; 0 and 1 do as well.
    epsilon : float or ndarray
        Budget per bit; broadcasts against ``bits``.
    keep : int ndarray
        Even whole numbers below 2^62, one per bit: a bit is kept iff its number is below 2^62 e^eps / (1 + e^eps),
        rounded towards more privacy. Sharing them across budgets keeps at a larger budget every bit that a smaller one
        kept.

    Returns
    -------
    bool ndarray
        Reported bits, of the broadcast shape.

    References
    ----------
    .. [1] S. L. Warner. Randomized response: a survey technique for eliminating evasive answer bias. JASA, 1965.
    .. [2] HistOfTree (AISTATS 2025), eqs. (5) and (8).
    """
    return np.asarray(bits, dtype=bool) ^ (check_words(keep) >= kept_units(epsilon))


def grr_probabilities(m: ArrayLike, epsilon: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return p, the probability of reporting the truth, and q, that of each of the other m - 1 categories.

    ``m`` and ``epsilon`` broadcast; HistOfTree eq. (16), e^eps / (e^eps + m - 1), written so that it cannot overflow.

    Parameters
    ----------
    m : array_like of int
        Number of categories; broadcasts against ``epsilon``.
    epsilon : array_like of float
        Budget of the report.

    Returns
    -------
    keep : ndarray
        p, of the broadcast shape.
    other : ndarray
        q, of the same shape; p + (m - 1) q = 1.

    References
    ----------
    .. [1] HistOfTree (AISTATS 2025), eq. (16).
    """
    decay = np.exp(-np.asarray(epsilon, dtype=np.float64))
    keep = 1.0 / (1.0 + (np.asarray(m) - 1) * decay)
    return keep, decay * keep


def grr_weights(m: ArrayLike, epsilon: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return (slope, offset) such that slope * 1{report = j} - offset is unbiased for 1{truth = j}.

    slope = (e^eps + m - 1) / (e^eps - 1) and offset = 1 / (e^eps - 1) (below HistOfTree eq. (17)); ``m`` and
    ``epsilon`` broadcast. With m = 1 nothing is randomized and slope - offset = 1.

    Parameters
    ----------
    m : array_like of int
        Number of categories; broadcasts against ``epsilon``.
    epsilon : array_like of float
        Budget of the report.

    Returns
    -------
    slope : ndarray
        Weight of a report of category j.
    offset : ndarray
        Subtracted for every user, whatever the report.

    References
    ----------
    .. [1] HistOfTree (AISTATS 2025), below eq. (17).
    """
    epsilon = np.asarray(epsilon, dtype=np.float64)
    offset = np.exp(-epsilon) / -np.expm1(-epsilon)
    return 1.0 + np.asarray(m) * offset, offset


@renamed(other="blind")
def grr_reports(truth: np.ndarray, m: ArrayLike, epsilon: ArrayLike, keep: np.ndarray, blind: np.ndarray) -> np.ndarray:
    """Generalized randomized response of a batch of users, each with a category count of its own.

    Parameters
    ----------
    truth : int ndarray of shape (n,)
        True category, 0, ..., m_i - 1.
    m : int or int ndarray of shape (n,)
        Number of categories of each user (public), at most 2^62.
    epsilon : float or ndarray
        Budget of the report; broadcasts.
    keep, blind : int ndarray of shape (n,)
        Even whole numbers below 2^62. A share p - q of the former tells the truth, rounded towards more privacy; else
        the latter chooses among *all* categories (HistOfTree eq. (17)). Sharing them across budgets keeps at a larger
        budget every truth that a smaller one kept.

    Returns
    -------
    int64 ndarray of shape (n,)
        Reported category of each user.

    Raises
    ------
    DataError
        If a true category is not one of 0, ..., m - 1.

    References
    ----------
    .. [1] HistOfTree (AISTATS 2025), eqs. (16) and (17).
    """
    truth, m = np.asarray(truth, dtype=np.int64), np.asarray(m, dtype=np.int64)
    if ((truth < 0) | (truth >= m)).any():
        raise DataError("truth must lie in 0, ..., m - 1 for every user")
    return np.where(check_words(keep) < grr_told(m, epsilon), truth, below(check_words(blind), m if m.ndim else int(m)))


def grr_told(m: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
    """Return how many of the 2^62 random words send the true category; the others send one of m uniformly."""
    return truthful_units(epsilon, UNITS // np.asarray(m, dtype=np.int64) / UNITS)


@lru_cache(maxsize=1024)
def _told(m: int, epsilon: float) -> int:
    return int(grr_told(m, epsilon))


@registered(lambda epsilon: RandomizedResponse.for_budget(epsilon, 2))
@dataclass(frozen=True)
class RandomizedResponse(FiniteMechanism):
    """Flip every bit of a user's report independently.

    Parameters
    ----------
    bit_epsilon : float
        Budget of one bit: a bit is kept with probability e^bit_epsilon / (1 + e^bit_epsilon).
    changed_bits : int
        Largest number of bits in which two users differ: 1 for a bit, 2 for a one-hot vector.

    Examples
    --------
    >>> from lpbench.privacy import RandomizedResponse
    >>> mechanism = RandomizedResponse.for_budget(1.0, changed_bits=2)
    >>> mechanism.epsilon, mechanism.bit_epsilon
    (1.0, 0.5)
    >>> round(mechanism.keep, 3)
    0.622
    """

    bit_epsilon: float
    changed_bits: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.bit_epsilon, "bit_epsilon")
        check_whole("changed_bits", self.changed_bits, least=1)

    @classmethod
    def for_budget(cls, epsilon: float, changed_bits: int = 1) -> RandomizedResponse:
        """Return the mechanism that spends exactly ``epsilon`` on a user's whole vector (one-hot: changed_bits=2).

        Parameters
        ----------
        epsilon : float
            Budget, > 0; inf: no privacy.
        changed_bits : int
            Bits in which two users may differ.

        Returns
        -------
        RandomizedResponse
            Each bit has the budget epsilon / changed_bits.
        """
        return cls(check_epsilon(epsilon) / changed_bits, changed_bits)

    def privacy_map(self, changed_bits: int) -> float:
        """Exact epsilon between two vectors that differ in ``changed_bits`` bits.

        Parameters
        ----------
        changed_bits : int
            Bits in which the vectors differ.

        Returns
        -------
        float
            Epsilon; bits are independent, so that their budgets add up.
        """
        return changed_bits * self.bit_epsilon if changed_bits else 0.0

    @property
    def epsilon(self) -> float:
        """Exact epsilon between any two users."""
        return self.privacy_map(self.changed_bits)

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: ``columns`` bits."""
        return (Integers(2, columns),)

    @property
    def domain(self) -> Bits:
        """Bits; the vectors of two users may differ in ``changed_bits`` of them."""
        return Bits(self.changed_bits)

    @property
    def keep(self) -> float:
        """Probability p that a bit is kept."""
        return float(expit(self.bit_epsilon))

    @property
    def flip(self) -> float:
        """Probability q = 1 - p that a bit is flipped."""
        return float(expit(-self.bit_epsilon))

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Boolean reports of the shape of ``values`` (bits, one-hot rows, ...)."""
        users = np.atleast_1d(values)
        reports = np.zeros(users.shape, dtype=bool)
        for block in blocks(users.shape):
            np.equal(users[block], draw_below(self.kept, users[block].shape, rng), out=reports[block])
        return reports.reshape(values.shape)

    def _losses(self, values: np.ndarray) -> np.ndarray:
        """Exact losses of all pairs of k bit rows, (k, k): the loss of one bit times the number of bits that differ."""
        rows = values.reshape(len(values), -1).astype(bool)
        differing = (rows[:, None] != rows).sum(axis=2)
        return np.where(differing, differing * exact_epsilon(self.log_channel()), 0.0)

    def _influence(self) -> float:
        return 1.0 / math.tanh(self.bit_epsilon / 2.0)

    @property
    def kept(self) -> int:
        """Number of the 2^62 words that keep a bit."""
        return int(kept_units(self.bit_epsilon))

    def estimate(self, reports: np.ndarray, n: Any = 1) -> np.ndarray:
        """Unbiased estimate of the bits, or of the number of ones among ``n`` users from the number reported.

        Parameters
        ----------
        reports : array_like
            Reported bits, or for each position how many of ``n`` users reported a one.
        n : int or array_like
            Users behind each count; 1: a single report.

        Returns
        -------
        ndarray
            Unbiased estimate, of the shape of ``reports``.
        """
        return (np.asarray(reports) - np.asarray(n) * self.flip) / math.tanh(self.bit_epsilon / 2.0)

    def sum_of_reports(self, ones: ArrayLike, n: Any, rng: np.random.Generator) -> np.ndarray:
        """Draw the number of ones that ``n`` users report, ``ones`` of whose bits are set: a sum of two binomials.

        ``ones`` and ``n`` broadcast, one entry per bit position; bits of one user are randomized independently, so the
        positions of a bit vector are independent given the true counts.

        Parameters
        ----------
        ones : array_like of int
            Users whose true bit is set, one entry per position.
        n : int or array_like
            All users; broadcasts against ``ones``.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        int ndarray
            Reported ones, of the broadcast shape.
        """
        ones = np.asarray(ones)
        return rng.binomial(ones, self.keep) + rng.binomial(n - ones, self.flip)

    def log_channel(self) -> np.ndarray:
        """Channel of one bit, shape (2, 2), that of :meth:`randomize` to the last unit."""
        return log_law(np.array([[self.kept, UNITS - self.kept], [UNITS - self.kept, self.kept]]))


@registered(lambda epsilon: BitVector(epsilon, 5))
@dataclass(frozen=True)
class BitVector(CategoryMechanism):
    """Report a category as a one-hot vector whose bits are flipped at half the budget each (label-DP eq. (13)).

    A change of category changes two bits. With one category there is nothing to hide: epsilon is 0.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories K.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import BitVector
    >>> mechanism = BitVector(1.0, 3)
    >>> mechanism.randomize([0, 2], np.random.default_rng(0)).shape
    (2, 3)
    >>> mechanism.bits
    3.0
    """

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: one bit for each category."""
        return (Integers(2, self.n_categories * columns),)

    @property
    def response(self) -> RandomizedResponse:
        """The randomized response of one bit."""
        return RandomizedResponse.for_budget(self.budget, changed_bits=2)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Boolean reports of shape (n, n_categories)."""
        reports, keeping = np.zeros((values.size, self.n_categories), dtype=bool), self.response.kept
        for block in blocks(reports.shape):
            np.logical_not(draw_below(keeping, reports[block].shape, rng), out=reports[block])
        reports[np.arange(values.size), values] ^= True
        return reports

    def _losses(self, values: np.ndarray) -> np.ndarray:
        return self.response.losses(np.eye(self.n_categories, dtype=bool)[values])

    def _influence(self) -> float:
        return self.response.influence

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Minus the reported bit of the user's category."""
        return -reports[np.arange(len(inputs)), inputs].astype(float)

    def estimate(self, reports: np.ndarray, n: Any = 1) -> np.ndarray:
        """Unbiased indicators from reports, or unbiased counts of ``n`` users from sums of their reports.

        Parameters
        ----------
        reports : array_like of shape (..., n_categories)
            Bits, or sums of the bits of ``n`` users.
        n : int or array_like
            Users behind each count; 1: a single report.

        Returns
        -------
        ndarray of shape (..., n_categories)
            Indicators or counts of the categories.

        References
        ----------
        .. [1] Label-DP paper, eq. (13).
        """
        return self.response.estimate(reports, n)

    def sum_of_reports(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw sums of the users' reports given their true counts, both of shape (..., n_categories).

        Parameters
        ----------
        counts : int ndarray of shape (..., n_categories)
            Users of each category.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        int ndarray of shape (..., n_categories)
            Ones that are reported for each category.
        """
        counts = np.asarray(counts)
        return self.response.sum_of_reports(counts, counts.sum(axis=-1, keepdims=True), rng)

    def log_channel(self) -> np.ndarray:
        """Channel of shape (K, 2^K); report number r shows category j iff bit j of r is set."""
        if self.n_categories > 16:
            raise ConfigurationError(
                f"the channel of n_categories={self.n_categories} has 2^{self.n_categories} reports"
            )
        bits = (np.arange(2**self.n_categories) >> np.arange(self.n_categories)[:, None]) & 1
        truthful = np.eye(self.n_categories, dtype=int)[:, :, None] == bits
        keep, flipped = self.response.log_channel()[0]
        return np.where(truthful, keep, flipped).sum(axis=1)


@registered(lambda epsilon: GRR(epsilon, 5))
@dataclass(frozen=True)
class GRR(CategoryMechanism):
    """Generalized randomized response: the true category, or one of the others at random (HistOfTree eq. (16)).

    With one category there is nothing to hide: nothing is randomized and epsilon is 0.

    Parameters
    ----------
    budget : float
        Epsilon of the report.
    n_categories : int
        Number of categories m.

    Examples
    --------
    >>> import numpy as np
    >>> from lpbench.privacy import GRR
    >>> mechanism = GRR(1.0, 4)
    >>> mechanism.epsilon
    1.0
    >>> reports = mechanism.randomize([0, 1, 2, 3], np.random.default_rng(0))
    >>> reports.shape
    (4,)
    >>> mechanism.estimate([10, 0, 0, 0], n=10).round(2).tolist()
    [27.46, -5.82, -5.82, -5.82]
    """

    @property
    def domain(self) -> Categories:
        """The categories; an array of any shape is randomized entry by entry."""
        return Categories(self.n_categories, by_entry=True)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Reported categories, shape of ``values``."""
        truthful = _told(self.n_categories, self.budget)
        return self._by_blocks(truthful, self._show_few if truthful < UNITS // 20 else self._show, values, rng)

    def _show(self, bits: np.ndarray, truthful: np.ndarray, truth: np.ndarray, out: np.ndarray) -> None:
        blind = below(bits, self.n_categories, 64)
        blind -= truth
        out[...] = np.logical_not(truthful, out=truthful)
        blind *= out  # arithmetic: no processor could foresee a branch for each user
        np.add(blind, truth, out=out)

    def _show_few(self, bits: np.ndarray, truthful: np.ndarray, truth: np.ndarray, out: np.ndarray) -> None:
        below(bits, self.n_categories, 64, out=out)
        users = truthful.nonzero()  # few
        out[users] = truth[users]

    def _influence(self) -> float:
        return float(grr_weights(self.n_categories, self.budget)[0])

    def estimate(self, counts: np.ndarray, n: Any = 1) -> np.ndarray:
        """Unbiased counts of ``n`` users from how many reported each category (n = 1: indicators from a one-hot).

        Parameters
        ----------
        counts : array_like of shape (..., n_categories)
            Users who reported each category.
        n : int or array_like
            Users behind each count; 1: a single report.

        Returns
        -------
        ndarray of shape (..., n_categories)
            Unbiased counts; they may be negative.

        References
        ----------
        .. [1] HistOfTree (AISTATS 2025), below eq. (17).
        """
        slope, offset = grr_weights(self.n_categories, self.budget)
        return slope * np.asarray(counts) - np.asarray(n) * offset

    def sum_of_reports(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw how many of the users report each category given their true counts, both of shape (..., n_categories).

        A report is the truth with probability p - q and otherwise uniform on *all* categories, so that the counts are
        binomials plus one multinomial.

        Parameters
        ----------
        counts : int ndarray of shape (..., n_categories)
            Users of each category.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        int ndarray of shape (..., n_categories)
            Users who report each category.
        """
        counts = np.asarray(counts)
        keep, stray = grr_probabilities(self.n_categories, self.budget)
        truthful = rng.binomial(counts, keep - stray)
        blind = (counts - truthful).sum(axis=-1)
        return truthful + rng.multinomial(blind, np.full(self.n_categories, 1.0 / self.n_categories))

    def log_channel(self) -> np.ndarray:
        """Channel of shape (m, m), that of :meth:`randomize` to the last unit."""
        truthful = _told(self.n_categories, self.budget)
        stray = (UNITS - truthful) / UNITS / self.n_categories
        with np.errstate(divide="ignore"):
            return np.log(truthful / UNITS * np.eye(self.n_categories) + stray)
