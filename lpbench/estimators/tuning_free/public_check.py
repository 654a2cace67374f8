"""Check of a public sample by reports: the share of users for whom its model is nearer than a constant.

Some users report by randomized response, at the whole budget, whether the public model is nearer to their label than
the public constant. With prior probability .98 users and public rows follow one law, under which the share of such
users is that of public rows left out; otherwise all shares are equally probable. The model is used if it is more
probable than not that it helps. Users are asked in batches, each as large as all before it, until that is clear.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.stats import beta, norm

from lpbench.estimators.tuning_free import level_reports as levels
from lpbench.estimators.tuning_free.public_mean import PublicMean
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.rounds import RESIDUAL, Curator, Question
from lpbench.privacy import GRR, Device, Records, SubsetSelection, Users
from lpbench.privacy.device import proven

#: Level of the intervals.
LEVEL = 0.9
#: Prior probability that public and private records follow one law.
TRUST = 0.98
#: Largest part of the users who check, and of those who are asked where labels lie.
_CHECKING, _LOCATING = 0.25, 0.1
#: Largest standard error of the share at which it is worth asking for, and error of the decision that ends the check.
_MOST_DOUBT, _CLEAR = 0.1, 0.02
#: Fewest users asked where labels lie, and variances of their mean, in those of the label: wanted, and still of use.
_FEWEST_LOCATING, _WANTED, _OF_USE = 20, 0.15, 0.5
#: Prior probability that private labels lie where public ones do.
_IN_PLACE = 0.9
#: Share of users outside the residuals' interval from which on it is widened, and half-width in deviations then.
_OUTSIDE, _WIDENED = 0.25, 3.0
#: Public rows whose labels are set against each other's predictions, the most.
_MOST_ROWS = 300
#: Smallest difference between a score and a class share that is more than an error of rounding.
_TIE = 1e-9
#: Shares of the users on which the posterior is computed.
_SHARES = np.linspace(0.0025, 0.9975, 200)


@dataclass(frozen=True)
class Agreement:
    """Diagnosis of a public sample: the share of users for whom its model is nearer than the constant.

    Of classes, nearer means that the score gives the user's class more than the public class shares do. ``low`` and
    ``high`` enclose the share of the population with probability ``level`` at least, whatever it is.
    """

    share: float  # unbiased estimate, clipped to [0, 1]; NaN where nobody was asked
    low: float
    high: float
    users: int  # how many were asked
    expected: float  # the same share of public rows that the model has not seen
    chance: float  # the same if labels did not depend on features
    used: bool  # whether predictions build on the public model
    shift: float = 0.0  # added to the public model, because private labels lie elsewhere; 0 for classes
    level: float = LEVEL

    def __str__(self) -> str:
        """One line for a reader."""
        verb = "is used" if self.used else "is not used"
        if not self.users:
            return f"the public sample {verb}; too few reports to check it"
        return (
            f"the public sample {verb}: its model is nearer than a constant for {self.share:.0%} of the users "
            f"({self.level:.0%} interval {self.low:.0%} to {self.high:.0%}; of its own rows {self.expected:.0%}, by "
            f"chance {self.chance:.0%}), by {self.users} reports"
        )


@dataclass(frozen=True, eq=False)
class MeanQuestion:
    """Ask whether the public mean is nearer to the label than ``constant``, and if so, within ``half``.

    Categories: nearer and within, nearer and outside, not nearer.
    """

    model: PublicMean
    shift: float  # added to the model and contained in the constant
    constant: float
    half: float
    mechanism: GRR


@proven
class MeanDevice(Device[MeanQuestion]):
    """Compare the own label with the public model at the complete record, and with the constant."""

    def inputs(self, records: Records, question: MeanQuestion) -> np.ndarray:
        """Category of each record, shape (n,)."""
        predicted = records.by_row(question.model, question.model.predict) + question.shift
        off = np.abs(records.y - predicted)
        return np.where(off < np.abs(records.y - question.constant), off > question.half, 2).astype(np.int64)


MEAN = MeanDevice()


@dataclass(eq=False)
class Checkers:
    """Users who check a public model, asked in batches until the answer is clear.

    ``categories`` are those of a report, of which the last says "not nearer".
    """

    order: np.ndarray  # users in the order of asking; those who were asked are taken off
    most: int  # users who may be asked
    mechanism: GRR
    expected: float  # share of public rows left out for which the model is nearer
    chance: float  # the same if labels did not depend on features
    rows: int  # number of public rows
    least: float  # share of the users from which on a model of another law is used
    counts: np.ndarray = field(init=False)  # (categories,), reports so far
    used: bool = True
    _looks: int = 1

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.mechanism.n_categories)

    @property
    def _channel(self) -> tuple[float, float]:
        keep, stray = self.mechanism.channel()[0, :2]
        return float(keep), float(stray)

    @property
    def informative(self) -> bool:
        """Return True if the reports of all checkers together tell enough, and the model more than a constant."""
        keep, stray = self._channel
        doubt = 0.5 / (keep - stray) / math.sqrt(max(self.most, 1))
        return doubt <= _MOST_DOUBT and self.expected > self.chance

    @property
    def asked(self) -> int:
        """Number of users who were asked."""
        return int(self.counts.sum())

    def ask(self, answers: Callable[[np.ndarray], np.ndarray]) -> Self:
        """Ask users for their reports by ``answers(users)`` and decide whether the model is used.

        Nobody is asked where all reports together would tell too little, or where the model does not predict public
        rows better than chance, so that it is close to the constant.
        """
        if not self.informative:
            return self
        slope = self._channel[0] - self._channel[1]
        first = min(-(-self.most // 2), math.ceil(0.5 * math.sqrt(self.order.size) / slope**2))
        self._looks, batch = 1 + math.ceil(math.log2(self.most / first)), first
        while batch:
            group, self.order = np.split(self.order, [batch])
            self.counts += np.bincount(answers(group), minlength=self.counts.size)
            worth = self._probability_of_worth()
            self.used = worth > 0.5
            if min(worth, 1.0 - worth) < _CLEAR:
                break
            batch = min(self.asked, self.most - self.asked)
        return self

    def _likelihood(self, hits: float, size: int) -> np.ndarray:
        """Likelihood of each of ``_SHARES`` of users in ``size`` categories, of which ``hits`` reports tell."""
        keep, stray = self._channel
        reported = size * stray + (keep - stray) * _SHARES
        log = hits * np.log(reported) + (self.asked - hits) * np.log1p(-reported)
        return np.exp(log - log.max())

    def _probability_of_worth(self) -> float:
        """Posterior probability that the model follows one law with the users, or helps nevertheless."""
        likelihood = self._likelihood(float(self.counts[:-1].sum()), self.counts.size - 1)
        one_law = TRUST * (_same_law(self.expected, self.rows) @ likelihood)
        another = (1.0 - TRUST) * likelihood / _SHARES.size
        helps = another[_SHARES > self.least].sum()
        return float((one_law + helps) / (one_law + another.sum()))

    def outside(self) -> float:
        """Share of users outside the interval of residuals if that is much; else 0: nothing is to be widened."""
        if not self.asked:
            return 0.0
        prior = TRUST * _same_law(1.0 / self.rows, self.rows) + (1.0 - TRUST) / _SHARES.size
        posterior = prior * self._likelihood(self.counts[1], 1)
        posterior /= posterior.sum()
        return float(posterior @ _SHARES) if posterior[_SHARES > _OUTSIDE].sum() > 0.5 else 0.0

    def agreement(self, shift: float = 0.0) -> Agreement:
        """Diagnose the public model, with an interval that is valid whenever the check stopped."""
        keep, stray = self._channel
        size = self.counts.size - 1
        share = (self.counts[:-1].sum(), self.asked, size * stray, keep - stray, 1 - (1 - LEVEL) / self._looks)
        return Agreement(*_interval(*share), self.asked, self.expected, self.chance, self.used, shift)


def _same_law(share: float, rows: int) -> np.ndarray:
    """Prior weights of ``_SHARES`` if the share of ``rows`` public rows was found and users follow their law."""
    density = beta.pdf(_SHARES, 1.0 + rows * share, 1.0 + rows * (1.0 - share))
    return density / density.sum()


def _interval(hits: float, n_reports: int, offset: float, slope: float, level: float) -> tuple[float, float, float]:
    """Unbiased share and its Clopper-Pearson interval at ``level``.

    Each of the ``n_reports`` reports, a number, is among the ``hits`` with probability ``offset`` + ``slope`` * share.
    """
    if not n_reports:
        return math.nan, 0.0, 1.0
    tail = (1.0 - level) / 2.0
    low = beta.ppf(tail, hits, n_reports - hits + 1.0) if hits > 0 else 0.0
    high = beta.ppf(1.0 - tail, hits + 1.0, n_reports - hits) if hits < n_reports else 1.0
    share, low, high = np.clip((np.array([hits / n_reports, low, high]) - offset) / slope, 0.0, 1.0)
    return float(share), float(low), float(high)


@dataclass(frozen=True, eq=False)
class CheckedMean:
    """A public mean after the check: what is to be asked of whom next.

    ``order`` are the users who were not asked; ``located`` are the question and reports of those who were asked for
    their label (None: nobody), from which a model without the sample can go on.
    """

    agreement: Agreement
    half: float  # half-width to which residuals of the model are clipped
    order: np.ndarray
    located: tuple[Question, np.ndarray] | None

    @classmethod
    def of(cls, users: Users, public: PublicMean, curator: Curator) -> Self:
        """Ask some users where labels lie, and others whether the public mean, moved there, is nearer than a constant.

        ``curator`` is that of a model without the sample; it learns nothing here.
        """
        epsilon, (lo, hi), order, n = float(curator.epsilon), curator.y_range, curator.order, users.n
        y, left_out = public.labels, public.left_out
        half, located, shift = public.half_width((lo, hi)), None, 0.0
        nearer = np.abs(y - y.mean())
        some = slice(None, None, -(-y.size // _MOST_ROWS))
        expected = float((np.abs(y - left_out) < nearer).mean())
        chance = float((np.abs(y[some, None] - left_out[some]) < nearer[some, None]).mean())
        mechanism = GRR(epsilon, 3)
        # A model that is not moved, or not far enough, is nearer to fewer labels than it would be in their place.
        checkers = Checkers(order, int(_CHECKING * n), mechanism, expected, chance, y.size, least=chance)
        if not checkers.informative:
            return cls(checkers.agreement(), half, order, None)
        locating = _locating(epsilon, n)
        if locating:
            question = curator.question(order[:locating])
            located = question, users.ask(RESIDUAL, question, question.users)
            shift = _shift(question, located[1], y)
            checkers.order, checkers.most = order[locating:], checkers.most - locating
        asked = MeanQuestion(public, shift, float(y.mean()) + shift, half, mechanism)
        checkers.ask(lambda group: users.ask(MEAN, asked, group))
        outside = checkers.outside()
        if outside:
            deviations = norm.isf(min(outside, 0.95) / 2.0)
            half = max(half, min((hi - lo) / 2.0, _WIDENED * half / deviations))
        return cls(checkers.agreement(shift), half, checkers.order, located)


def _locating(epsilon: float, n: int) -> int:
    """Number of users who report their label over its whole range, so that the public model can be moved there."""
    variance = levels.total_variance(epsilon, levels.RANGE_WIDTH)
    users = min(int(_LOCATING * n), max(_FEWEST_LOCATING, math.ceil(variance / _WANTED)))
    return users if users and variance / users <= _OF_USE else 0


def _shift(question: Question, reports: np.ndarray, y: np.ndarray) -> float:
    """Posterior mean of the difference in location of private and public labels ``y``; see ``_IN_PLACE``."""
    half = float(question.half_width[0])
    labels = question.center + half * question.report.residuals(reports)
    difference, variance = float(labels.mean() - y.mean()), float(labels.var() / labels.size)
    same, moved = variance + float(y.var()) / y.size, variance + (half / 2.0) ** 2
    spreads = np.array([same, moved])
    log = np.log([_IN_PLACE, 1.0 - _IN_PLACE]) - 0.5 * (difference**2 / spreads + np.log(spreads))
    weights = np.exp(log - log.max())
    return float(difference * (weights @ (1.0 - variance / spreads)) / weights.sum())


def is_nearer(probabilities: np.ndarray, score: PublicScore, rows: np.ndarray | float = 1.0) -> np.ndarray:
    """Return True where ``probabilities`` (m, n_classes), sums over ``rows``, exceed the public class shares.

    A tie is no excess.
    """
    return probabilities > (score.shares + _TIE) * rows


def nearer_in_cells(score: PublicScore, cells: np.ndarray, n_cells: int) -> np.ndarray:
    """Return True where the mean score of a cell gives a class more than its public share: shape (n_cells, n_classes).

    The mean is that of the public rows left out, whose cells are ``cells`` (q,).
    """
    sums = np.zeros((n_cells, score.n_classes))
    np.add.at(sums, cells, score.out_of_bag)
    return is_nearer(sums, score, np.bincount(cells, minlength=n_cells)[:, None])


def agreement_of_pairs(
    reports: np.ndarray, mechanism: SubsetSelection, score: PublicScore, cells: np.ndarray, n_cells: int
) -> Agreement | None:
    """Diagnose a public score by all users' reports of (cell, class): subsets of pairs, shape (n, size).

    A cell's mean score, see :func:`nearer_in_cells`, stands for that of every user in it. None where no cell tells a
    class from another.
    """
    nearer = nearer_in_cells(score, cells, n_cells)
    at_rows, size = nearer[cells], int(nearer.sum())
    if not size:
        return None
    expected = float(at_rows[np.arange(cells.size), score.codes].mean())
    chance = float(at_rows.mean(axis=0) @ np.bincount(score.codes, minlength=score.n_classes) / cells.size)
    # As a share of the most that a subset can name, a count varies no more than one answer of yes or no.
    (keep, stray), most = mechanism.probabilities, min(mechanism.size, size)
    hits = float(nearer.ravel()[reports].sum()) / most
    estimate = _interval(hits, len(reports), size * stray / most, (keep - stray) / most, LEVEL)
    return Agreement(*estimate, len(reports), expected, chance, True)
