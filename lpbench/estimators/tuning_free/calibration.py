"""A public score, calibrated by randomized votes of users who show nothing."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from lpbench.errors import ConfigurationError
from lpbench.estimators.tuning_free.drift_posterior import (
    DriftPosterior,
    bounded_logit,
    cell_shares,
    drifted_means,
    fit_drift,
)
from lpbench.estimators.tuning_free.public_check import Agreement, agreement_of_pairs
from lpbench.estimators.tuning_free.public_score import LEAF_SIZES, PublicScore
from lpbench.estimators.tuning_free.score_cells import SPREAD, ScoreCells, affordable_cells
from lpbench.privacy import Device, PublicSample, Records, SubsetSelection, Users, check_epsilon, subset_reports
from lpbench.privacy.device import proven
from lpbench.privacy.exact import words
from lpbench.seeds import Streams


@dataclass(frozen=True, eq=False)
class SubsetQuestion:
    """Ask for the pair (cell of the public score, class) of a record, hidden in a random subset of pairs."""

    score: PublicScore | None
    cells: ScoreCells | None  # None for both: a single cell
    n_classes: int  # length of the public list
    mechanism: SubsetSelection  # on the pairs (cell, class)


@proven
class SubsetDevice(Device[SubsetQuestion]):
    """Locate the own record in the cells of the score, and hide it at the whole budget."""

    def inputs(self, records: Records, question: SubsetQuestion) -> np.ndarray:
        """``cell * n_classes + class`` of each record, shape (n,)."""
        if question.score is None or question.cells is None:
            return np.asarray(records.y)
        if records.X.shape[1] != question.score.n_features:
            raise ConfigurationError(f"the public score does not fit records of {records.X.shape[1]} features")
        probabilities = records.by_row(question.score, question.score.predict_proba)
        return question.cells.locate(probabilities, records.X) * question.n_classes + records.y

    def draws(self, streams: Streams, n: int, question: SubsetQuestion) -> tuple[np.ndarray, np.random.Generator]:
        """Words that decide whether the truth is sent, shared by budgets, and the generator of the other members."""
        others = streams.generator("report", categories=question.mechanism.n_categories)
        return words(streams.generator("report"), n), others

    def report(
        self, records: Records, question: SubsetQuestion, draws: tuple[np.ndarray, np.random.Generator]
    ) -> np.ndarray:
        """Members of each user's subset in increasing order, shape (n, size)."""
        mechanism, (keep, rng) = question.mechanism, draws
        truth = self.inputs(records, question)
        return subset_reports(truth, mechanism.n_categories, mechanism.size, mechanism.budget, keep, rng)

    def check(self, question: SubsetQuestion) -> None:
        """The budget must be a number > 0, also where there is nothing to hide."""
        check_epsilon(question.mechanism.budget)


SUBSET = SubsetDevice()


@dataclass(frozen=True)
class Design:
    """Choices in the calibration of a public score; ablations change them one by one.

    ``leaf_sizes`` of the score's forests, cells or bins alone (``in_cells``), a tree among the cells (``leaves``), the
    weight of the features in its cuts (``spread``), subset selection or randomized response (``subsets``), and the
    prior probability that nothing drifts (``trust``).
    """

    leaf_sizes: tuple[int, ...] = LEAF_SIZES  # of the forests of the score
    in_cells: bool = True  # False: labels alone are reported
    leaves: bool = True  # False: bins of the score are not cut further by a tree
    spread: float = SPREAD  # weight of the features' spread in that tree
    subsets: bool = True  # False: generalized randomized response whatever the number of categories
    trust: float = 0.9  # prior probability that the private class probabilities are those of the public score


@dataclass(eq=False)
class Calibration:
    """Posterior of the drift from a public score (the difference of public and private class probabilities).

    It is learned from the pairs (cell, class) of every user; ``drifts`` has one per class, or one for two classes.
    """

    score: PublicScore
    cells: ScoreCells | None  # None: a single cell
    drifts: list[DriftPosterior] = field(default_factory=list)  # of the second of two classes, else of each
    agreement: Agreement | None = None  # diagnosis of the score; None where labels alone are reported

    @classmethod
    def of(
        cls, users: Users, score: PublicScore | None, epsilon: float, n_classes: int, seed: int, design: Design
    ) -> Self:
        """Fit the drift to how often cells and classes are reported; without a score, class shares alone."""
        given = score is not None
        nobody = PublicSample(np.empty((0, users.n_features)), np.empty(0, dtype=np.int64))
        X, codes = users.public if given and users.public is not None else nobody
        score = PublicScore(X, codes, n_classes, seed, ()) if score is None else score
        cells = None
        if given and design.in_cells:
            bins, leaves = affordable_cells(users.n, n_classes, check_epsilon(epsilon))
            leaves = leaves if design.leaves else 1
            cells = ScoreCells(score.out_of_bag, X, codes, bins, leaves, seed, design.spread)
        calibration = cls(score, cells)
        n_categories = calibration.n_cells * n_classes
        kind = SubsetSelection.least_variance if design.subsets else SubsetSelection
        mechanism = kind(check_epsilon(epsilon), n_categories)
        question = SubsetQuestion(None if cells is None else score, cells, n_classes, mechanism)
        reports = users.ask(SUBSET, question)
        counts = np.bincount(reports.ravel(), minlength=n_categories).reshape(-1, n_classes).astype(np.float64)
        scores = score.out_of_bag if given else score.predict_proba(np.zeros((1, X.shape[1])))
        if cells is not None and n_classes > 1:
            at = calibration._locate(score.out_of_bag, X)
            calibration.agreement = agreement_of_pairs(reports, mechanism, score, at, cells.n_cells)
        calibration._fit(counts, mechanism, scores, calibration._locate(scores, X), design.trust)
        return calibration

    @property
    def n_cells(self) -> int:
        """Return the number of cells of the score; 1 if labels alone are reported."""
        return 1 if self.cells is None else self.cells.n_cells

    def _locate(self, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        if self.cells is None:
            return np.zeros(len(probabilities), dtype=np.int64)
        return self.cells.locate(probabilities, X)

    def _fit(
        self, counts: np.ndarray, mechanism: SubsetSelection, scores: np.ndarray, at: np.ndarray, trust: float
    ) -> None:
        """Compute the posterior of the drift of each class (of two classes: of the second) and keep it in ``drifts``.

        ``counts`` (cells, n_classes) are how many reports hold each pair; ``scores`` (q, n_classes) and ``at`` (q,) are
        the score and cell of each public row, and ``trust`` is the prior probability of no drift.
        """
        cells, n_classes = counts.shape
        public_counts = np.bincount(at, minlength=cells) + 0.5
        shares = cell_shares(counts.sum(axis=1), n_classes, mechanism, public_counts / public_counts.sum())
        for k in range(n_classes) if n_classes > 2 else [n_classes - 1]:
            means = drifted_means(bounded_logit(scores[:, k]), at, cells)
            outside = counts.sum(axis=1) - counts[:, k]
            self.drifts.append(
                fit_drift(counts[:, k], outside, shares, mechanism.probabilities, n_classes, means, trust)
            )

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows X (m, d), shape (m, K)."""
        public = self.score.predict_proba(X)
        n_classes, cells = public.shape[1], self._locate(public, X)
        if n_classes == 1:
            return np.ones_like(public)
        if n_classes == 2:
            second = self.drifts[0].predict(bounded_logit(public[:, 1]), cells)
            return np.column_stack([1.0 - second, second])
        scores = [p.predict(bounded_logit(public[:, k]), cells) for k, p in enumerate(self.drifts)]
        return np.column_stack(scores) / np.sum(scores, axis=0)[:, None]
