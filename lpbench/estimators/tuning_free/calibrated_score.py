"""Tuning-free classification with private and public samples: a public score, calibrated by randomised votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import clone

from lpbench.checks import check_choice, check_number
from lpbench.estimators.base import Grid, LocalClassifier, SweepResult, Task, check_epsilon, expand_grid, grouped
from lpbench.estimators.tuning_free.drift_posterior import (
    DriftPosterior,
    bounded_logit,
    cell_shares,
    drifted_means,
    fit_drift,
)
from lpbench.estimators.tuning_free.public_score import LEAF_SIZES, NOTE, PublicScore
from lpbench.estimators.tuning_free.score_cells import SPREAD, affordable_cells
from lpbench.estimators.tuning_free.subset_device import SUBSET, ScoreRecipe, SubsetQuestion
from lpbench.privacy import PublicSample, SubsetSelection, Users
from lpbench.seeds import Streams

CELLS, REPORTS = ("auto", "labels", "score", "none"), ("subset", "grr")
#: Leaf sizes of the public learner.
LEARNERS = {"mixture": LEAF_SIZES, "forest": LEAF_SIZES[:1], "shares": ()}
#: Parameters that points of a sweep may vary at the cost of one more look at the same reports.
_CHEAP = ("cells", "report", "trust")


@dataclass(frozen=True, eq=False)
class _Public:
    """What is public before anybody is asked, whatever the budget: the score, its rows, and how many users there are.

    ``X`` of shape (q, d) and ``codes`` of shape (q,) are the public sample; ``given``: there is one.
    """

    score: PublicScore
    X: np.ndarray
    codes: np.ndarray
    given: bool
    seed: int
    n_users: int


@dataclass(eq=False, repr=False)
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
    domain, classes, random_state
        See :class:`~lpbench.estimators.base.LocalClassifier`.

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

    costs = (160000, 0.08, 7000)
    uses_public = True

    epsilon: float = 1.0
    learner: str = "mixture"
    cells: str = "auto"
    report: str = "subset"
    trust: float = 0.9

    def learn(self, users: Users) -> Self:
        """Fit the score on the public sample and calibrate it on the private one."""
        return self._calibrated(users, self._read(users, self._streams()))

    def _read(self, users: Users, streams: Streams) -> _Public:
        """Grow the score from the public sample; every feature of the users is protected."""
        check_choice("learner", self.learner, LEARNERS)
        nothing = PublicSample(np.empty((0, users.n_features)), np.empty(0, dtype=np.int64))
        X, codes = nothing if users.public is None else users.public
        seed = streams.integer("tree")
        score = PublicScore(X, codes, self.classes_.size, seed, LEARNERS[self.learner])
        return _Public(score, X, codes, users.public is not None, seed, users.n)

    def _calibrated(self, users: Users, public: _Public) -> Self:
        """Ask the users and fit the drift to how often each category was reported."""
        question = self._question(public)
        mechanism = question.mechanism
        self._score, self._cells = public.score, question.cells
        self.n_cells_ = mechanism.n_categories // self.classes_.size
        _, reports = users.ask_present(SUBSET, question)
        counts = np.bincount(reports.ravel(), minlength=mechanism.n_categories)
        counts = counts.reshape(self.n_cells_, self.classes_.size).astype(np.float64)
        self._drifts = self._posteriors(public, counts, mechanism)
        self.no_drift_ = np.array([posterior.no_drift for posterior in self._drifts])
        if public.given:
            users.note(NOTE)
        return self

    def _question(self, public: _Public) -> SubsetQuestion:
        """What every user is asked: the cells and the randomizer, settled before anybody reports."""
        check_epsilon(self.epsilon)
        check_choice("cells", self.cells, CELLS)
        check_choice("report", self.report, REPORTS)
        check_number("trust", self.trust, least=0, below=1, hint="a probability")
        recipe, n_classes = self._recipe(public), self.classes_.size
        cells = None if recipe is None else recipe.cells(public.score)
        n_categories = (1 if cells is None else cells.n_cells) * n_classes
        chosen = SubsetSelection if self.report == "grr" else SubsetSelection.least_variance
        mechanism = chosen(self.epsilon, n_categories)
        return SubsetQuestion(None if cells is None else public.score, cells, n_classes, mechanism, recipe)

    def _recipe(self, public: _Public) -> ScoreRecipe | None:
        """What the cells are made from: the public sample, public sizes and the budget; None: a single cell."""
        if not public.given or self.cells == "none":
            return None
        bins, leaves = affordable_cells(public.n_users, self.classes_.size, self.epsilon)
        leaves, spread = 1 if self.cells == "score" else leaves, 0.0 if self.cells == "labels" else SPREAD
        return ScoreRecipe(public.X, public.codes, public.seed, LEARNERS[self.learner], bins, leaves, spread)

    def _locate(self, probabilities: np.ndarray, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X), dtype=np.int64) if self._cells is None else self._cells.locate(probabilities, X)

    def _posteriors(self, public: _Public, counts: np.ndarray, mechanism: SubsetSelection) -> list[DriftPosterior]:
        """Posterior of the drift of each class; of two classes the second decides."""
        n_classes, cells = self.classes_.size, self.n_cells_
        if public.given:
            scores = public.score.out_of_bag
            at = self._locate(scores, public.X)
        else:
            scores, at = public.score.predict_proba(np.zeros((1, public.X.shape[1]))), np.zeros(1, dtype=np.int64)
        known = np.bincount(at, minlength=cells) + 0.5
        shares = cell_shares(counts.sum(axis=1), n_classes, mechanism, known / known.sum())
        posteriors = []
        for k in range(n_classes) if n_classes > 2 else [n_classes - 1]:
            means = drifted_means(bounded_logit(scores[:, k]), at, cells)
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

    def learn_grid(self, tasks: Sequence[Task], budgets: Sequence[float], grid: Grid) -> list[SweepResult]:
        """Score all budgets and points; the public score and the users' randomness are shared."""
        return [self._scored(task, budgets, expand_grid(grid)) for task in tasks]

    def _scored(self, task: Task, budgets: Sequence[float], points: Sequence[dict]) -> SweepResult:
        values = np.empty((len(budgets), len(points)))
        for common, members in grouped(points, _CHEAP):
            model = clone(self).set_params(random_state=task.streams, **common)
            model._meet(task.users)
            public, X = model._read(task.users, task.streams), model._prepare(task.X_test)
            scores = public.score.predict_proba(X)
            for b, epsilon in enumerate(budgets):
                for g in members:
                    asked = clone(model).set_params(**points[g], epsilon=epsilon)
                    asked._meet(task.users)
                    asked._calibrated(task.users.fresh(), public)
                    values[b, g] = task.score(asked.classes_[asked._decide(asked._calibrate(scores, X))])
        return SweepResult(values)
