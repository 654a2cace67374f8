"""LPCT's noisy one-hot votes for (cell, class): reports of the users and sums at the curator (LPCT eqs. (5)-(7)).

A user's report is a table with one column per cell. Row 0 is U, one-hot in the user's cell. Rows 1, ..., K - 1 are V,
one-hot in (class, cell), and empty for class 0, whose count is U minus the others. For two classes this is the pair
(U, V = Y U); for more ("an extension is straightforward", LPCT section 3.1) the budget does not change, because another
(cell, class) still moves at most two entries of U and two of V. Each half gets epsilon / 2: Laplace noise of scale
4 / epsilon at sensitivity 2, or randomized response with epsilon / 4 per bit (LPCT section 3.3).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from lpbench.checks import check_choice, check_whole
from lpbench.partitions import Cells
from lpbench.privacy import Device, DiscreteLaplace, Laplace, Mechanism, RandomizedResponse, Records, check_epsilon
from lpbench.privacy.device import Answers, proven
from lpbench.privacy.spending import numeric_bits
from lpbench.seeds import Streams

VOTE_MECHANISMS = ("laplace", "rr")

#: Grid of discrete Laplace noise (public): fine against noise of scale 4 / epsilon, and exact in sums of any order.
DISCRETE_STEP = 2.0**-10


def count_votes(cells: np.ndarray, codes: np.ndarray, n_cells: int, n_classes: int) -> np.ndarray:
    """Add up the users' votes (n,) without noise: row 0 users in the cell (U); row k >= 1 those of class k (V)."""
    counts = np.bincount(codes * n_cells + cells, minlength=n_classes * n_cells).reshape(n_classes, n_cells)
    votes = counts.astype(np.float64)
    votes[0] = counts.sum(axis=0)
    return votes


def one_hot_votes(cells: np.ndarray, codes: np.ndarray, n_cells: int, n_classes: int) -> np.ndarray:
    """Return each user's table before randomization: boolean ndarray of shape (n, n_classes, n_cells)."""
    table = np.zeros((cells.size, n_classes, n_cells), dtype=bool)
    users = np.arange(cells.size)
    table[users, codes, cells] = True
    table[users, 0, cells] = True
    return table


def differing_entries(n_cells: int, n_classes: int) -> int:
    """Most entries in which two users' tables differ: four, less with one cell (U is constant) or one class."""
    moved_v = 0 if n_classes == 1 else 2 if n_cells > 1 or n_classes > 2 else 1
    return moved_v + (2 if n_cells > 1 else 0)


@dataclass(frozen=True)
class VoteMechanism:
    """The randomizer of a user's table and the curator's view of many of them.

    ``budget`` is a user's epsilon for the whole table, and ``kind`` the noise: "laplace", "discrete" or "rr".
    """

    budget: float  # epsilon of the whole report; inf adds nothing
    #: "laplace", "rr", or "discrete": Laplace noise on the grid of ``DISCRETE_STEP``, on which votes lie.
    kind: str = "laplace"

    def __post_init__(self) -> None:
        check_choice("mechanism", self.kind, (*VOTE_MECHANISMS, "discrete"))

    @cached_property
    def half(self) -> Laplace | DiscreteLaplace | RandomizedResponse:
        """Randomizer of one half of a report, cell or class; a changed one-hot row moves two of its entries."""
        if self.kind == "laplace":
            return Laplace.for_budget(self.budget / 2, sensitivity=2.0)
        if self.kind == "discrete":
            return DiscreteLaplace.for_budget(self.budget / 2, DISCRETE_STEP, sensitivity=2.0)
        return RandomizedResponse.for_budget(self.budget / 2, changed_bits=2)

    def spent(self, n_cells: int, n_classes: int) -> float:
        """Exact epsilon of one report: the budget, except where there is little to tell (:func:`differing_entries`)."""
        return self.half.privacy_map(differing_entries(n_cells, n_classes))

    def of_table(self, n_cells: int, n_classes: int) -> Laplace | DiscreteLaplace | RandomizedResponse:
        """The mechanism of the whole report, whose entries are randomized independently."""
        differing = max(differing_entries(n_cells, n_classes), 1)
        if isinstance(self.half, RandomizedResponse):
            return replace(self.half, changed_bits=differing)
        return replace(self.half, sensitivity=float(differing))

    @property
    def noise_variance(self) -> float:
        """Variance that one user's noise adds to one entry of the estimated votes."""
        half = self.half
        if isinstance(half, (Laplace, DiscreteLaplace)):
            return half.variance
        return half.keep * half.flip / (half.keep - half.flip) ** 2

    def estimate(self, sums: np.ndarray, n: Any) -> np.ndarray:
        """Curator: unbiased votes from the sums of ``n`` users' reports."""
        return self.half.estimate(sums, n) if isinstance(self.half, RandomizedResponse) else np.asarray(sums)


@dataclass(frozen=True, eq=False)
class VoteQuestion:
    """Ask each user for one noisy one-hot table over (class, cell) of the public partition."""

    cells: Cells  # the public partition
    n_classes: int  # length of the public list of classes
    mechanism: VoteMechanism
    axes: Mapping[str, int] = field(default_factory=dict)  # public, part of the name "counts" of the draws

    @property
    def broadcast_bits(self) -> float:
        """Bits of the partition; classes and budget are known before."""
        return numeric_bits(self.cells)


@proven
class VoteDevice(Device[VoteQuestion]):
    """Locate the own record in the public partition, and hide the one-hot table of (class, cell)."""

    def mechanism(self, question: VoteQuestion) -> Mechanism:
        """Return the randomizer of a whole table with this many cells and classes."""
        return question.mechanism.of_table(question.cells.size, question.n_classes)

    def inputs(self, records: Records, question: VoteQuestion) -> np.ndarray:
        """Flattened tables with a 1 in the user's cell and class: shape (n, n_classes * n_cells)."""
        cells = question.cells.locate(records.X)
        return one_hot_votes(cells, records.y, question.cells.size, question.n_classes).reshape(len(records), -1)

    def draws(self, streams: Streams, n: int, question: VoteQuestion) -> np.random.Generator:
        """The generator of the users' noise, which is one draw for each entry of each table."""
        return streams.generator("counts", **question.axes)

    def columns(self, question: VoteQuestion) -> int:
        """Return the length of a report: classes times cells."""
        return question.n_classes * question.cells.size

    def budget(self, question: VoteQuestion) -> float:
        """Return the epsilon of a table.

        Less than the mechanism's where one cell or one class leaves nothing to hide.
        """
        return question.mechanism.spent(question.cells.size, question.n_classes)

    def check(self, question: VoteQuestion) -> None:
        """The list of classes must not be empty, and the budget a number > 0."""
        check_whole("n_classes", question.n_classes, least=1)
        check_epsilon(question.mechanism.budget)

    def estimate(self, sums: np.ndarray, question: VoteQuestion, n: Any) -> np.ndarray:
        """Return the curator's votes of cells and classes from the summed tables of n users."""
        return question.mechanism.estimate(sums, n)

    def draw_sums(
        self, records: Records, question: VoteQuestion, streams: Streams, by: np.ndarray | None = None
    ) -> np.ndarray:
        """Draw the estimated votes by the law of the sums: shape (n_classes * n_cells,)."""
        if by is not None:
            return super().draw_sums(records, question, streams, by)
        votes = count_votes(question.cells.locate(records.X), records.y, question.cells.size, question.n_classes)
        return noisy_votes(votes, len(records), question.mechanism, streams, **question.axes).ravel()

    def draw_many(self, records: Records, family: Any, answers: Answers) -> np.ndarray:
        """Estimated votes in all partitions of a family: (n_mechanisms, n_classes, n_leaves)."""
        k, votes = family.n_classes, []
        for tree, nodes in family.leaves:  # a tree's votes are counted once for all questions about it
            votes.append(records.remembered(("votes", tree, k), partial(tree.votes, records.X, records.y, k))[:, nodes])
        return family.noisy(np.concatenate(votes, axis=1), len(records), answers("sums"))


@proven
class SlowVoteDevice(VoteDevice):
    """VoteDevice whose reports are drawn for each user and added up, instead of drawing the sum by its law."""

    draw_sums = Device.draw_sums


VOTE, SLOW_VOTE = VoteDevice(), SlowVoteDevice()


def unit_noise(n: int, n_cells: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Noise of ``n`` users' sums at unit scale, by Gamma(n); a smaller partition sees a larger one's first draws."""
    gamma = rng.standard_gamma(n, size=(n_cells, n_classes, 2))
    return (gamma[..., 0] - gamma[..., 1]).T


def noisy_votes(votes: np.ndarray, n: int, mechanism: VoteMechanism, streams: Streams, **axes: Any) -> np.ndarray:
    """Estimate true votes (n_classes, n_cells) by the law of the sums; ``axes`` name the draw by its depth."""
    rng = streams.generator("counts", **axes)
    n_classes, n_cells = votes.shape
    half = mechanism.half
    if isinstance(half, Laplace):
        return votes + half.scale * unit_noise(n, n_cells, n_classes, rng)
    return mechanism.estimate(half.sum_of_reports(votes.astype(np.int64), n, rng), n)


def regression_function(private: np.ndarray, public: np.ndarray, weight: float | np.ndarray) -> np.ndarray:
    """P(Y = k | cell), k >= 1, by eq. (8): the raw ratio of votes (..., n_classes, n_cells), 0 where none."""
    total = private + weight * public
    users = total[..., :1, :]
    return np.divide(total[..., 1:, :], users, out=np.zeros_like(total[..., 1:, :]), where=users != 0)


def decide(eta: np.ndarray) -> np.ndarray:
    """Class of each cell from eta (..., n_classes - 1, n_cells), ties to the smaller: of two, 1 iff eta > 1/2."""
    if eta.shape[-2] == 0:
        return np.zeros((*eta.shape[:-2], eta.shape[-1]), dtype=np.intp)
    if eta.shape[-2] == 1:
        return (eta[..., 0, :] > 0.5).astype(np.intp)
    best = eta.argmax(axis=-2)
    return np.where(eta.max(axis=-2) > 1.0 - eta.sum(axis=-2), best + 1, 0)


def probabilities(eta: np.ndarray) -> np.ndarray:
    """Turn eta of shape (n_classes - 1, n_cells) into probabilities (n_cells, n_classes): clip at 0, normalize."""
    raw = np.maximum(np.vstack([1.0 - eta.sum(axis=0, keepdims=True), eta]), 0.0)
    return (raw / raw.sum(axis=0)).T
