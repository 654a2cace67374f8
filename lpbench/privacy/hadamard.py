"""Hadamard response: a category reported as one number of about log2(m) bits, however many there are.

Source: Acharya, Sun and Zhang (2019), Hadamard response: estimating distributions privately, efficiently, and with
little communication. Reports are divided into B blocks of b; a category has a block and a row j >= 1 of the Hadamard
matrix of order b, (-1)^popcount(j & y), and shows rather those b / 2 reports y of its block where the row is 1. It
costs what randomized response costs, and its variance does not grow with the number of categories.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lpbench.checks import renamed
from lpbench.errors import ConfigurationError
from lpbench.privacy.domain import Categories
from lpbench.privacy.exact import BITS, UNITS, below, check_words, truthful_units
from lpbench.privacy.mechanism import CategoryMechanism, registered
from lpbench.privacy.payload import Field, Integers

#: Entries of the largest channel that is written out.
_MOST_ENTRIES = 2**22


@registered(lambda epsilon: HadamardResponse(epsilon, 5))
@dataclass(frozen=True)
class HadamardResponse(CategoryMechanism):
    """Report a number that lies where the category's row of a Hadamard matrix is 1, or any number at random.

    Parameters
    ----------
    budget : float
        Epsilon of the report; inf tells the category.
    n_categories : int
        Number of categories m, at most 2^60.

    Examples
    --------
    >>> from lpbench.privacy import HadamardResponse
    >>> mechanism = HadamardResponse(1.0, 100)
    >>> mechanism.n_reports, mechanism.bits
    (128, 7.0)
    """

    @cached_property
    def blocks(self) -> int:
        """Number B of blocks: the power of two of least variance, near (e^epsilon - 1) / 2."""
        most = (self.n_categories - 1).bit_length()
        return 1 << max(0, min(most, round(math.log2(math.expm1(min(self.budget, 100.0)) / 2.0))))

    @cached_property
    def length(self) -> int:
        """Reports b of a block, the least power of two above the number of its categories."""
        return 1 << (-(-self.n_categories // self.blocks)).bit_length()

    @property
    def n_reports(self) -> int:
        """Number of different reports, B b."""
        return self.blocks * self.length

    @cached_property
    def told(self) -> int:
        """Number of the 2^62 words at which a report shows the category; at the others it is any report."""
        return int(truthful_units(self.budget, 0.5 / self.blocks))

    @property
    def noise_variance(self) -> float:
        """Variance that one user adds to the estimate of the count of another category, on average over categories."""
        share, m = self.told / UNITS, self.n_categories
        full, others = divmod(m, self.length - 1)
        alike = full * (self.length - 1) * (self.length - 2) + others * (others - 1)  # pairs within a block
        return (share * alike / max(m * (m - 1), 1) + (1.0 - share) / self.blocks) / share**2

    def fields(self, columns: int = 1) -> tuple[Field, ...]:
        """Payload of a report: its number."""
        return (Integers(self.n_reports, columns),)

    @property
    def domain(self) -> Categories:
        """The categories; an array of any shape is randomized entry by entry."""
        return Categories(self.n_categories, by_entry=True)

    def _draw(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Reports 0, ..., n_reports - 1, in the shape of ``values``."""
        return self._by_blocks(self.told, self._show, values, rng)

    @renamed(other="blind")
    def reports(self, values: np.ndarray, keep: np.ndarray, blind: np.ndarray) -> np.ndarray:
        """Client: reports of users whose randomness is two even whole numbers below 2^62 each; budgets may share it.

        Parameters
        ----------
        values : int ndarray of shape (n,)
            True categories.
        keep, blind : int ndarray of shape (n,)
            Words that decide whether the category is shown, and which report is sent.

        Returns
        -------
        int64 ndarray of shape (n,)
            Reports 0, ..., n_reports - 1.
        """
        bits = np.asarray(check_words(blind) << (64 - BITS)).view(np.uint64)
        self._show(bits, check_words(keep) < self.told, values, reports := np.zeros(bits.shape, dtype=np.int64))
        return reports

    def _show(self, bits: np.ndarray, truthful: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        """Write the reports of one block of users into ``out``: truthful ones lie where the category's row is 1.

        ``bits`` are random uint64 numbers, ``truthful`` marks users who tell their category in ``values``; others
        report any number.
        """
        row, blind = 1 + values % (self.length - 1), below(bits, UNITS, 64)
        report = np.bitwise_and(blind, self.length - 1, out=out)
        # Where the row is -1, another place differs in the lowest bit of the row: each place is shown by two of them.
        report ^= (row & -row) * (np.bitwise_count(report & row) & 1)
        report += values // (self.length - 1) * self.length
        blind &= self.n_reports - 1
        report -= blind
        report *= truthful  # arithmetic: no processor could foresee a branch for each user
        report += blind

    def estimate(self, counts: np.ndarray, n: Any = 1) -> np.ndarray:
        """Unbiased counts of the categories from how many users sent each report, by the fast Hadamard transform.

        Parameters
        ----------
        counts : array_like of shape (..., n_reports)
            Users who sent each report.
        n : int or array_like
            Number of users, which the estimate does not need.

        Returns
        -------
        ndarray of shape (..., n_categories)
            Unbiased counts; they may be negative.
        """
        shape = np.shape(counts)[:-1]
        sums = np.asarray(counts, dtype=np.float64).reshape(-1, self.blocks, self.length)
        half = 1
        while half < self.length:
            pairs = sums.reshape(len(sums), self.blocks, -1, 2, half)
            sums = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=-2)
            half *= 2
        rows = sums.reshape(*shape, self.blocks, self.length)[..., 1:]
        return rows.reshape(*shape, -1)[..., : self.n_categories] * (UNITS / self.told)

    def sum_of_reports(self, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw how many users send each report, (..., n_reports), given their true counts (..., n_categories).

        Parameters
        ----------
        counts : int ndarray of shape (..., n_categories)
            Users of each category.
        rng : numpy.random.Generator
            Randomness of the users.

        Returns
        -------
        int ndarray of shape (..., n_reports)
            Users who send each report.
        """
        counts = np.asarray(counts)
        flat = counts.reshape(-1, self.n_categories)
        row, category = np.divmod(np.repeat(np.arange(flat.size), flat.ravel()), self.n_categories)
        sent = row * self.n_reports + self.randomize(category, rng)
        counted = np.bincount(sent, minlength=len(flat) * self.n_reports)
        return counted.reshape(*counts.shape[:-1], self.n_reports)

    def log_channel(self) -> np.ndarray:
        """Channel of shape (n_categories, n_reports), that of :meth:`randomize` to the last unit."""
        m, size = self.n_categories, self.n_reports
        if m * size > _MOST_ENTRIES:
            raise ConfigurationError(f"the channel of n_categories={m} has {m} x {size} entries; sample it instead")
        is_in_half = self._shows(np.arange(size), np.arange(m)[:, None])
        truthful = self.told / UNITS * 2.0 / self.length
        with np.errstate(divide="ignore"):
            return np.log(truthful * is_in_half + (UNITS - self.told) / UNITS / size)

    def _shows(self, reports: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return True for reports that lie where the row of the category in ``values`` is 1; shapes broadcast."""
        block, row = np.divmod(values, self.length - 1)
        return (reports // self.length == block) & (np.bitwise_count(reports & (row + 1)) % 2 == 0)

    def distance(self, reports: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """-1 for a report whose Hadamard row contains the category, else 0."""
        return -self._shows(reports, inputs).astype(float)

    def _influence(self) -> float:
        return 2.0 * UNITS / self.told
