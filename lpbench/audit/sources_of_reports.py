"""Where devices answer one by one: labels, cells, classes, the interview; and the releases of trusted curators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lpbench.audit import drawn_laws as laws
from lpbench.audit.drawn_laws import Law
from lpbench.audit.drawn_sums import cube_law
from lpbench.audit.fresh_draws import fresh_draws, fresh_keep, fresh_seed, fresh_streams, fresh_subset
from lpbench.audit.sources import Asked, ReportSource, Sources, source
from lpbench.estimators.any_learner.classes import CODE
from lpbench.estimators.any_learner.numbers import NUMBER
from lpbench.estimators.private_labels import LabelQuestion

# Labels with Laplace noise.


def _label(result: Any, self: Any, records: Any, question: LabelQuestion, draws: Any) -> Asked:
    n = len(records)
    parts = np.broadcast_to(question.split, n)
    cost = question.epsilon / parts if question.y_range[1] > question.y_range[0] else 0.0
    return Asked((n, question, records.mask), cost)


_LABEL = source("private_labels.LabelDevice.report", _label, law=laws.label_law, fresh=fresh_draws)


def _feature(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((question,), question.epsilon / np.broadcast_to(question.split, len(records)), question.users)


_FEATURE = source("baselines.krr.FeatureDevice.report", _feature, times=None, law=laws.feature_law, fresh=fresh_draws)


# HistOfTree's second round.


def _category(result: Any, self: Any, places: Any, budget: float, draws: Any) -> Asked:
    return _round_2(result, places.grid, places.leaves, budget)


def _round_2(result: Any, grid: Any, leaves: Any, budget: float, **others: Any) -> Asked:
    choices = grid.choices * leaves.choices
    cost = np.where(choices > 1, budget, 0.0)
    return Asked((grid.bins, grid.choices, grid.shown, leaves.choices, leaves.n_leaves, budget), cost)


def _bits(result: Any, truth: Any, budget: float, seed: int, users: np.ndarray, cells: np.ndarray) -> Asked:
    return Asked((budget, users, cells))


def cells(model: BaseEstimator) -> list[ReportSource]:
    """Sources of HistOfTree and AdHistOfTree."""
    if model.mechanism == "grr":
        cell = "histoftree.cell_device.CellDevice.categories"
        return [_LABEL, source(cell, _category, law=laws.category_law, fresh=fresh_keep)]
    sums = source("histoftree.cell_reports.BitSums.__init__", _round_2, replayed=False)
    bits = "histoftree.cell_reports.bit_reports"
    return [_LABEL, sums, source(bits, _bits, times=None, law=laws.bit_law, fresh=fresh_seed)]


def _number(result: Any, y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question,), NUMBER.budget(question), users)


# Private selection: a candidate is what its method makes of the reports of the users who train it, at a budget that the
# method's own checks hold it to.


def _trained_on(result: Any, models: Any, sample: Any, users: np.ndarray) -> Asked:
    settings = [sorted(model.get_params(deep=False).items()) for model in models]
    return Asked((settings, sample.mask[users], sample.X_public, sample.y_public), result[0].guarantee_.epsilon, users)


_TRAIN = source("private_selection.selection.train", _trained_on, times=None)
_VALIDATE = "private_selection.selection.ask_numbers"
_VALIDATED = source(_VALIDATE, _number, times=None, law=laws.number_law, fresh=fresh_streams)


# Classes.


def _class(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((len(records), question), self.budget(question))


def _classes_of_cubes(result: Any, self: Any, counts: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question, counts.sum(axis=1)), self.budget(question), summed=int(counts.sum()))


def _code(result: Any, codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question,), CODE.budget(question), users)


def _subset(result: Any, self: Any, categories: np.ndarray, question: Any, draws: Any) -> Asked:
    return Asked((question.mechanism, question.n_classes, categories.size), self.budget(question))


def _located(result: Any, self: Any, codes: np.ndarray, probabilities: np.ndarray, X: np.ndarray) -> Asked:
    """Devices must find their cells by the score that is broadcast; by another one nothing is promised."""
    broadcast = np.array_equal(probabilities, self.score.predict_proba(X))
    return Asked((self.n_classes, len(X)), 0.0 if broadcast else math.inf)


_CELLS_OF_SCORE = source("tuning_free.subset_device.SubsetQuestion.categories", _located, replayed=False, times=None)
_SUBSET = source("tuning_free.subset_device.SubsetDevice.hidden", _subset, law=laws.subset_law, fresh=fresh_subset)


# The interview of ResidualGP.


def _residual(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((question,), self.budget(question), question.users)


# Trusted curators: what is released stands for the reports.


def _choice(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((len(records), question), self.budget(question))


def _mean(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    public = records.X[:, 1] if question.least is None else len(records)
    return Asked((public, question), self.budget(question))


def _only(path: str, ask: Callable[..., Asked], law: Callable[..., Law], fresh: Callable = fresh_draws) -> Sources:
    return lambda model: [source(path, ask, law=law, fresh=fresh)]


#: Sources that are the same whatever the parameters of the estimator.
LABELS: Sources = lambda model: [_LABEL]  # noqa: E731
FEATURES: Sources = lambda model: [_LABEL, _FEATURE]  # noqa: E731
SELECTION: Sources = lambda model: [_TRAIN, _VALIDATED]  # noqa: E731
NUMBERS = _only("any_learner.regressor.ask_numbers", _number, laws.number_law, fresh_streams)
CODES = _only("any_learner.classifier.ask_classes", _code, laws.code_law, fresh_streams)
CLASSES = _only("private_classes.ClassDevice.report", _class, laws.class_law)
CUBES = _only("private_classes.ClassDevice.sum_of_reports", _classes_of_cubes, cube_law, fresh_streams)
SUBSETS: Sources = lambda model: [_CELLS_OF_SCORE, _SUBSET]  # noqa: E731
RESIDUALS = _only("tuning_free.interview.ResidualDevice.report", _residual, laws.residual_law)
_INDICATORS = _only("public_sample.class_process.ask_classes", _code, laws.code_law, fresh_streams)
SCORES: Sources = lambda model: (_INDICATORS if model.reports == "labels" else RESIDUALS)(model)  # noqa: E731
CHOICES = _only("label_dp.releases.ClassRelease.report", _choice, laws.choice_law)
MEANS = _only("label_dp.releases.MeanRelease.report", _mean, laws.mean_law)
