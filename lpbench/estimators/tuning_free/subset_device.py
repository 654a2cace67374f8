"""Device of a calibrated score: it finds its cell of the public score and hides (cell, class) in a subset of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.score_cells import ScoreCells
from lpbench.privacy import Device, Records, SubsetSelection, check_epsilon, subset_reports
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class SubsetQuestion:
    """What the curator broadcasts."""

    score: PublicScore | None
    cells: ScoreCells | None  # None for both: a single cell
    n_classes: int  # length of the public list
    mechanism: SubsetSelection  # on the pairs (cell, class)


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

    def check(self, question: SubsetQuestion) -> None:
        """The budget must be a number > 0, also where there is nothing to hide."""
        check_epsilon(question.mechanism.budget)


SUBSET = SubsetDevice()
