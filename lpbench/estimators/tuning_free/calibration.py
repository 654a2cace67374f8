"""A public score, calibrated by randomised votes of users who show nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lpbench.estimators.tuning_free.drift_posterior import (
    DriftPosterior,
    bounded_logit,
    cell_shares,
    drifted_means,
    fit_drift,
)
from lpbench.estimators.tuning_free.public_score import LEAF_SIZES, PublicScore
from lpbench.estimators.tuning_free.score_cells import SPREAD, ScoreCells, affordable_cells
from lpbench.estimators.tuning_free.subset_device import SUBSET, SubsetQuestion
from lpbench.privacy import PublicSample, SubsetSelection, Users, check_epsilon


@dataclass(frozen=True)
class Design:
    """How a score is calibrated; the fields are what ablations change."""

    leaf_sizes: tuple[int, ...] = LEAF_SIZES  # of the forests of the score
    in_cells: bool = True  # False: labels alone are reported
    leaves: bool = True  # False: bins of the score are not cut further by a tree
    spread: float = SPREAD  # weight of the features' spread in that tree
    subsets: bool = True  # False: generalised randomised response whatever the number of categories
    trust: float = 0.9  # prior probability that the private class probabilities are those of the public score


@dataclass(eq=False)
class Calibration:
    """Posterior of the drift from a public score, learned from (cell, class) of every user."""

    score: PublicScore
    cells: ScoreCells | None  # None: a single cell
    drifts: list[DriftPosterior] = field(default_factory=list)  # of the second of two classes, else of each

    @classmethod
    def of(
        cls, users: Users, score: PublicScore | None, epsilon: float, n_classes: int, seed: int, design: Design
    ) -> Calibration:
        """Ask every user for its cell and class and fit the drift to how often each pair was reported.

        Without a score, labels alone are reported, and the estimated class shares are predicted.
        """
        given = score is not None
        nobody = PublicSample(np.empty((0, users.n_features)), np.empty(0, dtype=np.int64))
        X, codes = users.public if given and users.public is not None else nobody
        score = PublicScore(X, codes, n_classes, seed, ()) if score is None else score
        cells = None
        if given and design.in_cells:
            bins, leaves = affordable_cells(users.n, n_classes, check_epsilon(epsilon))
            leaves = leaves if design.leaves else 1
            cells = ScoreCells(score.out_of_bag, X, codes, bins, leaves, seed, design.spread)
        found = cls(score, cells)
        n_categories = found.n_cells * n_classes
        kind = SubsetSelection.least_variance if design.subsets else SubsetSelection
        mechanism = kind(check_epsilon(epsilon), n_categories)
        question = SubsetQuestion(None if cells is None else score, cells, n_classes, mechanism)
        _, reports = users.ask_present(SUBSET, question)
        counts = np.bincount(reports.ravel(), minlength=n_categories).reshape(-1, n_classes).astype(np.float64)
        scores = score.out_of_bag if given else score.predict_proba(np.zeros((1, X.shape[1])))
        found._fit(counts, mechanism, scores, found._locate(scores, X), design.trust)
        return found

    @property
    def n_cells(self) -> int:
        """Cells of the partition."""
        return 1 if self.cells is None else self.cells.n_cells

    def _locate(self, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        if self.cells is None:
            return np.zeros(len(probabilities), dtype=np.int64)
        return self.cells.locate(probabilities, X)

    def _fit(
        self, counts: np.ndarray, mechanism: SubsetSelection, scores: np.ndarray, at: np.ndarray, trust: float
    ) -> None:
        """Posterior of the drift of each class, from the public rows' scores and cells; of two the second decides."""
        cells, n_classes = counts.shape
        known = np.bincount(at, minlength=cells) + 0.5
        shares = cell_shares(counts.sum(axis=1), n_classes, mechanism, known / known.sum())
        for k in range(n_classes) if n_classes > 2 else [n_classes - 1]:
            means = drifted_means(bounded_logit(scores[:, k]), at, cells)
            rest = counts.sum(axis=1) - counts[:, k]
            self.drifts.append(fit_drift(counts[:, k], rest, shares, mechanism.probabilities, n_classes, means, trust))

    def probabilities(self, public: Any, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows with the given public scores (m, K), shape (m, K)."""
        public = self.score.predict_proba(X) if public is None else public
        n_classes, cells = public.shape[1], self._locate(public, X)
        if n_classes == 1:
            return np.ones_like(public)
        if n_classes == 2:
            second = self.drifts[0].predict(bounded_logit(public[:, 1]), cells)
            return np.column_stack([1.0 - second, second])
        scores = [p.predict(bounded_logit(public[:, k]), cells) for k, p in enumerate(self.drifts)]
        return np.column_stack(scores) / np.sum(scores, axis=0)[:, None]
