"""Working range of the label: a few users report in which bin of the declared range their label lies.

A declared range that is many times too wide puts the noise of every report on the scale of the range. A few users
therefore send the bin of their label by subset selection, at their whole budget. Their reports are weighed under laws
of several locations, scales and shapes. Where a narrow law is clearly the more probable, later questions are about the
part of the range that it covers, whose bins are asked about in turn; elsewhere the range stays as declared. Users are
asked in batches, and no more are once the reports speak for the declared range (Wald 1945).
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from scipy.special import ndtr, stdtr

from lpbench.privacy import Device, Records, SubsetSelection, Users

#: Bins of a range that is checked, and most times that it is narrowed.
BINS, _MOST_STEPS = 24, 3
#: Information that a batch is to hold (users times :func:`_information`), its fewest users, and most batches of a step.
_ENOUGH, _FEWEST, _BATCHES = 22.0, 25, 10
#: Largest share of the users in the first batch, beyond which nothing is checked, and in all batches.
_MOST_FIRST, _MOST_ASKED = 0.05, 0.2
#: Budget from which on a report is taken for exact.
_EXACT = 30.0
#: Largest and smallest standard deviation of a law, in ranges (the smallest in bins), and their number.
_WIDEST, _NARROWEST, _SCALES = 0.4, 1.0 / 12.0, 20
#: Standard deviation from which on a law suits its range, in ranges, and share of labels that may lie anywhere.
_USUAL, _ANYWHERE = 1.0 / 14.0, 0.02
#: Prior probability that many labels lie elsewhere, and their share.
_ELSEWHERE, _MANY = 0.03, 0.3
#: Quantile of the posterior at which the working range ends, and part of its width that it gains for each unit of the
#: budget above one: noise is cheap there, and tails count.
_END, _MARGIN = 0.15, 0.025
#: A part this large is not worth a narrower range.
_MOST_KEPT = 0.8


@dataclass(frozen=True)
class _Step:
    """Rule by which a range is narrowed: for the declared range, and for one that was narrowed before.

    ``usual`` is the prior probability of laws that suit the range, ``too_wide`` the standard deviation, in ranges,
    below which it is too wide, ``doubt`` the largest posterior probability of the contrary at which it is narrowed,
    and ``hope`` the least probability at which another batch is asked.
    """

    usual: float
    too_wide: float
    doubt: float
    hope: float


_FIRST, _LATER = _Step(0.5, 1.0 / 18.0, 0.03, 0.25), _Step(0.3, 0.1, 0.1, 0.1)
#: Part of a narrowed range, at either end of it, in which labels that lie outside appear to be.
_EDGE = 1.5 / BINS


@dataclass(frozen=True)
class BinQuestion:
    """Ask in which of equally wide bins of a range the label lies; labels outside are in the first or last bin."""

    y_range: tuple[float, float]
    mechanism: SubsetSelection  # on the bins


class BinDevice(Device[BinQuestion]):
    """Locate the own label among the bins; features are not read."""

    def inputs(self, records: Records, question: BinQuestion) -> np.ndarray:
        """Bin of each label, shape (n,)."""
        (lo, hi), bins = question.y_range, question.mechanism.n_categories
        return np.floor(np.clip((records.y - lo) / (hi - lo), 0.0, 1.0 - 0.5 / bins) * bins).astype(np.int64)


BIN = BinDevice()


def _lognormal(z: np.ndarray) -> np.ndarray:
    """Distribution function of a lognormal with standard deviation .8 of the logarithm, standardized."""
    shape = 0.8
    mean = math.exp(shape**2 / 2.0)
    deviation = mean * math.sqrt(math.expm1(shape**2))
    return np.asarray(ndtr(np.log(np.maximum(z * deviation + mean, 1e-12)) / shape))


#: Distribution functions of standardized laws (flat, normal, heavy-tailed, skewed to either side), and how many
#: standard deviations below and above its center each is taken to reach.
_SHAPES = (
    (lambda z: np.clip(0.5 + z / math.sqrt(12.0), 0.0, 1.0), 2.2, 2.2),
    (ndtr, 3.5, 3.5),
    (lambda z: stdtr(2.5, 1.4 * z), 6.0, 6.0),
    (_lognormal, 2.2, 6.0),
    (lambda z: 1.0 - _lognormal(-z), 6.0, 2.2),
)


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of the label on a range of width one: what each gives to the bins, where it ends, its scale and weight."""

    shares: np.ndarray  # (laws, bins)
    low: np.ndarray  # (laws,), in ranges, as all that follow
    high: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    prior: np.ndarray

    @classmethod
    def of(cls, usual: float) -> Self:
        """Return all laws; those that suit the range have prior probability ``usual`` together."""
        scales = np.geomspace(_WIDEST, _NARROWEST / BINS, _SCALES)
        center, scale = (grid.ravel() for grid in np.meshgrid(np.arange(2 * BINS + 1) / (2 * BINS), scales))
        z = (np.arange(BINS + 1) / BINS - center[:, None]) / scale[:, None]
        shares = [np.diff(law(z), axis=1) for law, _, _ in _SHAPES]
        shares = [inside / inside.sum(axis=1, keepdims=True) for inside in shares]  # no label is outside the range
        suits = scale > _USUAL
        prior = np.where(suits, usual / suits.sum(), (1.0 - usual) / (~suits).sum())
        # Many labels far from a narrow law forbid to narrow: such laws fill the range.
        apart, narrow = np.ones((~suits).sum()), shares[1][~suits]
        return cls(
            np.vstack(
                [*((1.0 - _ANYWHERE) * s + _ANYWHERE / BINS for s in shares), (1 - _MANY) * narrow + _MANY / BINS]
            ),
            np.concatenate([*(np.maximum(center - below * scale, 0.0) for _, below, _ in _SHAPES), 0.0 * apart]),
            np.concatenate([*(np.minimum(center + above * scale, 1.0) for _, _, above in _SHAPES), apart]),
            np.concatenate([np.tile(center, len(_SHAPES)), 0.5 * apart]),
            np.concatenate([np.tile(scale, len(_SHAPES)), apart]),
            np.concatenate(
                [np.tile((1.0 - _ELSEWHERE) * prior / len(_SHAPES), len(_SHAPES)), _ELSEWHERE * apart / apart.size]
            ),
        )

    def posterior(self, reports: np.ndarray, budget: float) -> np.ndarray:
        """Posterior probabilities of the laws, shape (laws,), given subsets of bins ``reports`` (m, size)."""
        member = np.zeros((len(reports), BINS))
        np.put_along_axis(member, reports.reshape(len(reports), -1), 1.0, axis=1)
        inside = member @ self.shares.T
        log_posterior = np.log1p(math.expm1(min(budget, _EXACT)) * inside).sum(axis=0) + np.log(self.prior)
        weights: np.ndarray = np.exp(log_posterior - log_posterior.max())
        return weights / weights.sum()


_laws = lru_cache(maxsize=2)(Laws.of)


def _information(budget: float) -> float:
    """Information of one report about a bin's share: one over its variance under subset selection among many bins."""
    return (math.expm1(min(budget, _EXACT)) / 2.0) ** 2 / math.exp(min(budget, _EXACT))


def _quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    order = np.argsort(values, kind="stable")
    place = int(np.searchsorted(np.cumsum(weights[order]), share))
    return float(values[order[min(place, values.size - 1)]])


@dataclass(eq=False)
class RangeCheck:
    """Narrowing of a declared range by the reports of some users.

    ``order`` are the users (numbers) in the order of asking; :meth:`run` leaves the working range in ``y_range`` and
    those who were not asked in ``rest``.
    """

    users: Users
    y_range: tuple[float, float]
    budget: float
    rest: np.ndarray

    def __post_init__(self) -> None:
        self._left = int(_MOST_ASKED * self.rest.size)

    @cached_property
    def batch(self) -> int:
        """Number of users who are asked at a time; 0 where these would be too many."""
        size = math.ceil(max(_ENOUGH / _information(self.budget), _FEWEST))
        return size if size <= _MOST_FIRST * self.rest.size else 0

    def run(self) -> Self:
        """Ask, and narrow the range while reports say that it is too wide."""
        if not self.batch or not self.y_range[1] > self.y_range[0]:
            return self
        declared = self.y_range
        for number in range(_MOST_STEPS):
            before, weights = self.y_range, self._ask(_FIRST if number == 0 else _LATER)
            if weights is None:
                break
            if number and self._is_outside(weights, declared):
                self.y_range = declared
                break
            if not self._narrow(_FIRST if number == 0 else _LATER, weights) or self.y_range == before:
                break
        return self

    def _is_outside(self, weights: np.ndarray, declared: tuple[float, float]) -> bool:
        """Return True if labels seem to lie beyond an end of the narrowed range: it was narrowed in a wrong place."""
        laws, (lo, hi) = _laws(_LATER.usual), self.y_range
        at_edge = (laws.center <= _EDGE) * (lo > declared[0]) + (laws.center >= 1.0 - _EDGE) * (hi < declared[1])
        return bool(weights @ (at_edge * (laws.scale < _LATER.too_wide)) > 0.5)

    def _narrow(self, step: _Step, weights: np.ndarray) -> bool:
        """Narrow the range to laws of the posterior ``weights`` if these tell, and return whether they do."""
        laws = _laws(step.usual)
        low, high = _quantile(laws.low, weights, _END), _quantile(laws.high, weights, 1.0 - _END)
        if weights[laws.scale < step.too_wide].sum() <= 1.0 - step.doubt or high - low > _MOST_KEPT:
            return False
        margin = _MARGIN * max(0.0, min(self.budget, 8.0) - 1.0) * (high - low) / 2.0
        start, width = self.y_range[0], self.y_range[1] - self.y_range[0]
        self.y_range = start + max(low - margin, 0.0) * width, start + min(high + margin, 1.0) * width
        return True

    def _ask(self, step: _Step) -> np.ndarray | None:
        """Ask batches of users until reports decide, and return the posterior of the laws; None: nobody was asked."""
        laws, mechanism = _laws(step.usual), SubsetSelection.least_variance(self.budget, BINS)
        question, reports, weights = BinQuestion(self.y_range, mechanism), list[np.ndarray](), None
        while self._left >= self.batch and len(reports) < _BATCHES:
            asked, self.rest = self.rest[: self.batch], self.rest[self.batch :]
            self._left -= self.batch
            reports.append(self.users.ask(BIN, question, asked))
            weights = laws.posterior(np.concatenate(reports), self.budget)
            too_wide = float(weights[laws.scale < step.too_wide].sum())
            if not step.hope <= too_wide <= 1.0 - step.doubt:
                break
        return weights
