"""Device of CalibratedScore: it finds its cell of the public score and hides (cell, class) in a subset of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_cells import ScoreCells
from lpbench.privacy import Device, Records, SubsetSelection, check_epsilon, subset_reports
from lpbench.privacy.payload import Field, Integers
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class SubsetQuestion:
    """What the curator broadcasts.

    Attributes
    ----------
    score : PublicScore
        A function of the public sample.
    cells : ScoreCells, optional
        Partition by the score; None: a single cell.
    n_classes : int
        Length of the public list of classes.
    mechanism : SubsetSelection
        On the pairs (cell, class).
    """

    score: PublicScore
    cells: ScoreCells | None
    n_classes: int
    mechanism: SubsetSelection

    def categories(self, codes: np.ndarray, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        """``cell * n_classes + class`` of rows with the given class codes and public probabilities, shape (n,)."""
        cells = np.zeros(len(X), dtype=np.int64) if self.cells is None else self.cells.locate(probabilities, X)
        return cells * self.n_classes + codes


class SubsetDevice(Device[SubsetQuestion]):
    """Locate the own record in the cells of the score, and hide it at the whole budget.

    A sweep computes the users' scores once for all budgets and asks for :meth:`hidden`.
    """

    def draws(self, streams: Streams, n: int, question: SubsetQuestion) -> tuple[np.ndarray, np.random.Generator]:
        """Uniforms that decide whether the truth is sent, shared by budgets, and the generator of the other members."""
        others = streams.generator("report", categories=question.mechanism.n_categories)
        return streams.generator("report").random(n), others

    def report(
        self, records: Records, question: SubsetQuestion, draws: tuple[np.ndarray, np.random.Generator]
    ) -> np.ndarray:
        """Members of each user's subset in increasing order, shape (n, size)."""
        return self.hidden(self._categories(records, question), question, draws)

    def hidden(
        self, categories: np.ndarray, question: SubsetQuestion, draws: tuple[np.ndarray, np.random.Generator]
    ) -> np.ndarray:
        """Reports of users whose categories are known, see :meth:`report`."""
        mechanism, (u_keep, rng) = question.mechanism, draws
        return subset_reports(categories, mechanism.n_categories, mechanism.size, mechanism.budget, u_keep, rng)

    def law(self, question: SubsetQuestion, records: Records) -> tuple[SubsetSelection, np.ndarray]:
        """Subset selection on the categories."""
        return question.mechanism, self._categories(records, question)

    def fields(self, question: SubsetQuestion) -> tuple[Field, ...]:
        """The members."""
        return (Integers(question.mechanism.n_categories, question.mechanism.size),)

    def budget(self, question: SubsetQuestion) -> float:
        """Exact epsilon of the report; of a single category nothing is spent."""
        return question.mechanism.epsilon

    def check(self, question: SubsetQuestion) -> None:
        """The budget must be a number > 0, also where there is nothing to hide."""
        check_epsilon(question.mechanism.budget)

    @staticmethod
    def _categories(records: Records, question: SubsetQuestion) -> np.ndarray:
        return question.categories(records.y, question.score.predict_proba(records.X), records.X)


SUBSET = SubsetDevice()
