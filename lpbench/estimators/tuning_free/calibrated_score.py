"""Tuning-free classification with private and public samples: a public score, calibrated by randomised votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import Grid, LocalClassifier, Rows, SweepResult, check_epsilon, expand_grid
from lpbench.estimators.lpct.base import with_parameters
from lpbench.estimators.lpct.sweep import by_shared_parameters
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
from lpbench.privacy import SubsetSelection
from lpbench.privacy.guarantee import Guarantee
from lpbench.problem import Problem
from lpbench.seeds import Seed, Streams

CELLS, REPORTS = ("auto", "labels", "score", "none"), ("subset", "grr")
#: Leaf sizes of the public learner.
LEARNERS = {"mixture": LEAF_SIZES, "forest": LEAF_SIZES[:1], "shares": ()}
#: Parameters that points of a sweep may vary at the cost of one more look at the same reports.
_CHEAP = ("cells", "report", "trust")


@dataclass(frozen=True, eq=False)
class _Sample:
    """Everything that does not depend on the budget: the score of all rows and the users' randomness."""

    X: np.ndarray
    codes: np.ndarray
    X_public: np.ndarray | None
    public_codes: np.ndarray | None
    score: PublicScore
    probabilities: np.ndarray
    streams: Streams
    seed: int


class CalibratedScore(LocalClassifier):
    """LDP classification with a public sample and without a parameter to tune.

    Forests are grown on the public sample, and their cross-fitted class probabilities cut the feature space into bins
    of the score, which large budgets refine by a public tree (:mod:`.score_cells`). Each private
    user sends (cell, class) once at the whole budget, by randomised response or, where there are many cells for the
    budget, hidden in a subset. From the reports follows a posterior of the drift of the private class probabilities
    from the public score (:mod:`.drift_posterior`); its mean is the prediction. For more than two classes each class
    against the rest, normalised.

    Parameters
    ----------
    epsilon : float
        Budget of one private user; inf: no noise.
    learner : {"mixture", "forest", "shares"}
        For comparison: ``forest``, forests of the smallest leaf size alone; ``shares``, no forest, the class shares of
        the public sample are the score.
    cells : {"auto", "labels", "score", "none"}
        For comparison: ``labels``, the tree cuts by the public labels alone, not by the spread of the features;
        ``score``, bins of the score and no tree; ``none``, labels alone are reported.
    report : {"subset", "grr"}
        ``subset``: the mechanism of least variance for the number of categories (:class:`SubsetSelection`); ``grr``:
        generalised randomised response throughout (for comparison).
    trust : float in [0, 1)
        Prior probability that the private class probabilities are those of the public score.
    domain : (float, float) or None
        Public range of the features. None: no clipping.
    classes : array-like, optional
        Public list of all classes; None takes those that occur in ``y`` (which leaks which occur).
    random_state : int, Generator, RandomState, Streams or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public.
    n_cells_ : int
        Cells of the partition; the report has ``n_cells_ * n_classes`` categories.
    no_drift_ : ndarray of shape (n_classes,) or (1,)
        Posterior probability, for each class (two classes: the second), that there is no drift.
    guarantee_ : Guarantee
        ``ldp`` for the private users; public rows are not protected. Of a single category nothing is spent.

    Notes
    -----
    Without a public sample the labels alone are reported, and the estimated class shares are predicted.
    """

    uses_public = True

    def __init__(
        self,
        epsilon: float = 1.0,
        learner: str = "mixture",
        cells: str = "auto",
        report: str = "subset",
        trust: float = 0.9,
        domain: tuple[float, float] | None = None,
        classes: Sequence | None = None,
        random_state: Seed | Streams = None,
    ) -> None:
        self.epsilon = epsilon
        self.learner = learner
        self.cells = cells
        self.report = report
        self.trust = trust
        self.domain = domain
        self.classes = classes
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, y: np.ndarray, *, mask: Rows = None, X_public: Rows = None, y_public: Rows = None
    ) -> Self:
        """Fit the score on the public sample and calibrate it on the private one.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        y : ndarray of shape (n,)
        mask : ignored
            Every feature is protected.
        X_public : ndarray of shape (q, d), optional
        y_public : ndarray of shape (q,), optional

        Returns
        -------
        self
        """
        return self._fit(self._sample(X, y, mask, X_public, y_public))

    def _sample(self, X: np.ndarray, y: np.ndarray, mask: Rows, X_public: Rows, y_public: Rows) -> _Sample:
        check_choice("learner", self.learner, LEARNERS)
        X, codes, X_public, public_codes = self._check_fit(X, y, mask, X_public, y_public)
        streams = self._streams()
        seed = streams.integer("tree")
        rows = (X[:0], codes[:0]) if X_public is None else (X_public, public_codes)
        score = PublicScore(*rows, self.classes_.size, seed, LEARNERS[self.learner])
        return _Sample(X, codes, X_public, public_codes, score, score.predict_proba(X), streams, seed)

    def _fit(self, sample: _Sample) -> Self:
        mechanism = self._design(sample)
        question = self._question(mechanism)
        categories = question.categories(sample.codes, sample.probabilities, sample.X)
        draws = SUBSET.draws(sample.streams, categories.size, question)
        reports = SUBSET.hidden(categories, question, draws)
        return self._learned(sample, mechanism, np.bincount(reports.ravel(), minlength=mechanism.n_categories))

    def _design(self, sample: _Sample) -> SubsetSelection:
        """Settle what is public before anybody reports: the cells and the randomizer."""
        check_epsilon(self.epsilon)
        check_choice("cells", self.cells, CELLS)
        check_choice("report", self.report, REPORTS)
        check_number("trust", self.trust, least=0, below=1, hint="a probability")
        self._score, self._cells = sample.score, self._make_cells(sample)
        self.n_cells_ = 1 if self._cells is None else self._cells.n_cells
        return self._mechanism(self.n_cells_ * self.classes_.size)

    def _learned(self, sample: _Sample, mechanism: SubsetSelection, counts: np.ndarray) -> Self:
        """Fit the drift to how often each category was reported, shape (n_cells * n_classes,)."""
        counts = counts.reshape(self.n_cells_, self.classes_.size).astype(np.float64)
        self._drifts = self._posteriors(sample, counts, mechanism)
        self.no_drift_ = np.array([posterior.no_drift for posterior in self._drifts])
        self.guarantee_ = Guarantee(
            "ldp",
            mechanism.epsilon,
            bits_up=mechanism.bits,
            note=self._noted("rows of the public sample are not protected"),
        )
        return self

    def _question(self, mechanism: SubsetSelection) -> SubsetQuestion:
        """What every user is asked."""
        return SubsetQuestion(self._score, self._cells, self.classes_.size, mechanism)

    def _mechanism(self, n_categories: int) -> SubsetSelection:
        if self.report == "grr":
            return SubsetSelection(self.epsilon, n_categories)
        return SubsetSelection.least_variance(self.epsilon, n_categories)

    def _cut(self, sample: _Sample) -> tuple[int, int, float] | None:
        """Bins, leaves and weight of the spread of the cells, from public sizes and the budget; None: a single cell."""
        if sample.X_public is None or self.cells == "none":
            return None
        bins, leaves = affordable_cells(sample.codes.size, self.classes_.size, self.epsilon)
        return bins, 1 if self.cells == "score" else leaves, 0.0 if self.cells == "labels" else SPREAD

    def _make_cells(self, sample: _Sample) -> ScoreCells | None:
        cut = self._cut(sample)
        if cut is None or sample.X_public is None or sample.public_codes is None:
            return None
        bins, leaves, spread = cut
        score, X, codes = sample.score.out_of_bag, sample.X_public, sample.public_codes
        return ScoreCells(score, X, codes, bins, leaves, sample.seed, spread)

    def _locate(self, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X), dtype=np.int64) if self._cells is None else self._cells.locate(probabilities, X)

    def _posteriors(self, sample: _Sample, counts: np.ndarray, mechanism: SubsetSelection) -> list[DriftPosterior]:
        """Posterior of the drift of each class; of two classes the second decides."""
        n_classes, cells = self.classes_.size, self.n_cells_
        if sample.X_public is None:
            public, at = sample.score.predict_proba(sample.X[:1]), np.zeros(1, dtype=np.int64)
        else:
            public = sample.score.out_of_bag
            at = self._locate(public, sample.X_public)
        known = np.bincount(at, minlength=cells) + 0.5
        shares = cell_shares(counts.sum(axis=1), n_classes, mechanism, known / known.sum())
        posteriors = []
        for k in range(n_classes) if n_classes > 2 else [n_classes - 1]:
            means = drifted_means(bounded_logit(public[:, k]), at, cells)
            inside = counts[:, k]
            rest = counts.sum(axis=1) - inside
            posteriors.append(fit_drift(inside, rest, shares, mechanism.probabilities, n_classes, means, self.trust))
        return posteriors

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Estimate class probabilities for X of shape (m, d): ndarray of shape (m, n_classes)."""
        X = self._check_predict(X)
        return self._calibrate(self._score.predict_proba(X), X)

    def _calibrate(self, public: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Class probabilities of rows with the given public scores."""
        n_classes, cells = self.classes_.size, self._locate(public, X)
        if n_classes == 1:
            return np.ones_like(public)
        if n_classes == 2:
            second = self._drifts[0].predict(bounded_logit(public[:, 1]), cells)
            return np.column_stack([1.0 - second, second])
        scores = [p.predict(bounded_logit(public[:, k]), cells) for k, p in enumerate(self._drifts)]
        return np.column_stack(scores) / np.sum(scores, axis=0)[:, None]

    def sweep(self, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams) -> SweepResult:
        """Score all budgets and points; the public score and the users' randomness are shared."""
        points = expand_grid(grid)
        values = np.empty((len(budgets), len(points)))
        for members, common in by_shared_parameters(points, _CHEAP):
            model = clone(self).set_params(random_state=streams, **common)
            sample = model._sample(problem.X_train, problem.y_train, **problem.fit_arguments)
            X = model._prepare(problem.X_test)
            public = sample.score.predict_proba(X)
            for b, epsilon in enumerate(budgets):
                for g in members:
                    fitted = with_parameters(model, **points[g], epsilon=epsilon)._fit(sample)
                    decided = fitted._decide(fitted._calibrate(public, X))
                    values[b, g] = problem.score(fitted.classes_[decided])
        return SweepResult(values)
