"""Device of a calibrated score: it finds its cell of the public score and hides (cell, class) in a subset of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lpbench.checks import check_number, check_whole
from lpbench.errors import ConfigurationError
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_cells import ScoreCells
from lpbench.privacy import Device, Records, SubsetSelection, check_epsilon, subset_reports
from lpbench.seeds import Streams

#: Bins of the score and leaves of the tree beyond which a device does not answer.
MOST_BINS, MOST_LEAVES = 1 << 10, 1 << 12


@dataclass(frozen=True, eq=False)
class ScoreRecipe:
    """What a score and its cells are made from; sent in their place, since devices grow the same forests from it."""

    X: np.ndarray
    codes: np.ndarray
    seed: int
    leaf_sizes: tuple[int, ...]
    bins: int
    leaves: int
    spread: float

    #: What it makes is what is counted.
    broadcast_bits = 0.0

    def cells(self, score: PublicScore) -> ScoreCells:
        """Return the cells of a score that was grown from the same sample."""
        return ScoreCells(score.out_of_bag, self.X, self.codes, self.bins, self.leaves, self.seed, self.spread)

    def check(self, n_classes: int) -> None:
        """Refuse what is no recipe for a score of so many classes; a broadcast may hold anything."""
        check_whole("seed", self.seed, most=2**32 - 1)
        check_whole("bins", self.bins, least=1, most=MOST_BINS)
        check_whole("leaves", self.leaves, least=1, most=MOST_LEAVES)
        check_number("spread", self.spread, least=0)
        for size in self.leaf_sizes:
            check_whole("leaf_sizes", size, least=1)
        if self.X.ndim != 2 or self.codes.shape != (len(self.X),) or self.codes.dtype.kind != "i" or not len(self.X):
            raise ConfigurationError("the public sample has other shapes than (q, d) and (q,)")
        if self.codes.min() < 0 or self.codes.max() >= n_classes or len(self.leaf_sizes) > MOST_BINS:
            raise ConfigurationError(f"the public sample has other classes than the {n_classes} that there are")
        if n_classes > 2 and self.bins not in (1, n_classes, 2 * n_classes):
            raise ConfigurationError(f"bins={self.bins} must be 1, {n_classes} or {2 * n_classes} for so many classes")


@lru_cache(maxsize=4)
def _made(
    X: bytes, shape: tuple[int, int], codes: bytes, n_classes: int, *others: Any
) -> tuple[PublicScore, ScoreCells]:
    """The score and its cells, remembered: the devices of a simulation share one score."""
    rows, labels = np.frombuffer(X).reshape(shape), np.frombuffer(codes, dtype=np.int64)
    recipe = ScoreRecipe(rows, labels, *others)
    score = PublicScore(rows, labels, n_classes, recipe.seed, recipe.leaf_sizes)
    return score, recipe.cells(score)


@dataclass(frozen=True, eq=False)
class SubsetQuestion:
    """What the curator broadcasts."""

    score: PublicScore | None
    cells: ScoreCells | None  # None for both: a single cell
    n_classes: int  # length of the public list
    mechanism: SubsetSelection  # on the pairs (cell, class)
    recipe: ScoreRecipe | None = None

    def as_broadcast(self) -> dict[str, Any]:
        """What is sent: the recipe instead of the score."""
        return {"recipe": self.recipe, "n_classes": self.n_classes, "mechanism": self.mechanism}

    @classmethod
    def from_broadcast(cls, recipe: ScoreRecipe | None, n_classes: int, mechanism: SubsetSelection) -> SubsetQuestion:
        """Inverse of :meth:`as_broadcast`; errors if nothing can be made of it."""
        if not isinstance(mechanism, SubsetSelection) or not isinstance(recipe, (ScoreRecipe, type(None))):
            raise ConfigurationError("the question about a cell and a class has other parts than it knows")
        check_whole("n_classes", n_classes, least=1, most=mechanism.n_categories)
        if recipe is None:
            return cls(None, None, n_classes, mechanism).checked()
        recipe.check(n_classes)
        X, codes = np.ascontiguousarray(recipe.X, dtype=np.float64), recipe.codes.astype(np.int64)
        others = recipe.seed, recipe.leaf_sizes, recipe.bins, recipe.leaves, recipe.spread
        score, cells = _made(X.tobytes(), X.shape, codes.tobytes(), n_classes, *others)
        return cls(score, cells, n_classes, mechanism, recipe).checked()

    def checked(self) -> SubsetQuestion:
        """Return the question; ConfigurationError unless its mechanism hides the pairs of its cells and classes."""
        n_pairs = (1 if self.cells is None else self.cells.n_cells) * self.n_classes
        if n_pairs != self.mechanism.n_categories:
            raise ConfigurationError(f"{self.mechanism} does not hide the {n_pairs} pairs of a cell and a class")
        return self


class SubsetDevice(Device[SubsetQuestion]):
    """Locate the own record in the cells of the score, and hide it at the whole budget."""

    def mechanism(self, question: SubsetQuestion) -> SubsetSelection:
        return question.mechanism

    def inputs(self, records: Records, question: SubsetQuestion) -> np.ndarray:
        """``cell * n_classes + class`` of each record, shape (n,)."""
        if question.score is None or question.cells is None:
            return np.asarray(records.y)
        if records.X.shape[1] != question.score.n_features:
            raise ConfigurationError(f"the public score does not fit records of {records.X.shape[1]} features")
        probabilities = records.by_row(question.score, question.score.predict_proba)
        return question.cells.locate(probabilities, records.X) * question.n_classes + records.y

    def draws(self, streams: Streams, n: int, question: SubsetQuestion) -> tuple[np.ndarray, np.random.Generator]:
        """Uniforms that decide whether the truth is sent, shared by budgets, and the generator of the other members."""
        others = streams.generator("report", categories=question.mechanism.n_categories)
        return streams.generator("report").random(n), others

    def report(
        self, records: Records, question: SubsetQuestion, draws: tuple[np.ndarray, np.random.Generator]
    ) -> np.ndarray:
        """Members of each user's subset in increasing order, shape (n, size)."""
        mechanism, (u_keep, rng) = question.mechanism, draws
        truth = self.inputs(records, question)
        return subset_reports(truth, mechanism.n_categories, mechanism.size, mechanism.budget, u_keep, rng)

    def possible(self, reports: np.ndarray, records: Records, question: SubsetQuestion) -> np.ndarray:
        """Members are distinct and in increasing order."""
        return np.asarray((np.diff(reports, axis=1) > 0).all(axis=1))

    def check(self, question: SubsetQuestion) -> None:
        """The budget must be a number > 0, also where there is nothing to hide."""
        check_epsilon(question.mechanism.budget)


SUBSET = SubsetDevice()
