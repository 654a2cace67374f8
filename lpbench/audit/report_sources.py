"""Where each estimator's reports are made: the question that is asked there, of whom, at which budget.

A report source is a function that ``fit`` and ``sweep`` look up and whose result is what devices send, or the sum of
what they send where sums are drawn by their law. The leak test records and replays results there, and the accountant
adds up what the questions cost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lpbench import estimators as models
from lpbench.audit import drawn_laws as laws
from lpbench.audit.drawn_laws import Law
from lpbench.estimators.any_learner.classes import CODE
from lpbench.estimators.any_learner.numbers import NUMBER
from lpbench.estimators.lpct.votes import VoteMechanism
from lpbench.estimators.private_labels import LabelQuestion
from lpbench.privacy import Laplace, PrivUnitG
from lpbench.seeds import Streams

#: What a question costs: a number, one for each asked user, or a function of the fitted estimator.
Cost = float | np.ndarray | Callable[[Any], float]


@dataclass(frozen=True, eq=False)
class Asked:
    """One call of a report source, as seen by everybody.

    Attributes
    ----------
    question : tuple
        What the curator broadcast; it may depend on public data and earlier reports alone.
    epsilon : Cost
        What answering costs each of the users.
    users : int ndarray, optional
        Who is asked, in this order; None: every user once.
    summed : int, optional
        Of how many users' reports the result is the sum.
    """

    question: tuple
    epsilon: Cost = 0.0
    users: np.ndarray | None = None
    summed: int | None = None


@dataclass(frozen=True)
class ReportSource:
    """A function whose results are what devices send.

    Attributes
    ----------
    path : str
        Where the estimator looks it up: ``module.function`` or ``module.Class.method``.
    ask : callable (result, **arguments) -> Asked
        The question behind a call.
    reconcile : callable (model, recorded, fresh) -> result, optional
        How to turn true values and noise into the recorded noisy values; None: the recorded result itself.
    step : str, optional
        Attribute that a method changes by the report, for recursions: what is recorded is the change.
    replayed : bool
        False: the call is compared and accounted for, but its own result is used.
    times : callable (fitted model) -> int, optional
        How often each user is asked here in one fit; None: the accountant does not count these calls.
    law : callable (result, **arguments) -> Law, optional
        What the result must be distributed like; see :mod:`lpbench.audit.drawn_laws`.
    fresh : callable (arguments, streams) -> dict, optional
        Arguments that give a repeated call other randomness; None: the call cannot be repeated.
    """

    path: str
    ask: Callable[..., Asked]
    reconcile: Callable | None = None
    step: str | None = None
    replayed: bool = True
    times: Callable[[Any], int] | None = lambda fitted: 1
    law: Callable[..., Law] | None = None
    fresh: Callable[[Mapping[str, Any], Streams], dict[str, Any]] | None = None


def _source(path: str, ask: Callable[..., Asked], **options: Any) -> ReportSource:
    return ReportSource(f"lpbench.estimators.{path}", ask, **options)


# Labels with Laplace noise.


def _label(result: Any, self: Any, records: Any, question: LabelQuestion, draws: Any) -> Asked:
    n = len(records)
    parts = np.broadcast_to(question.split, n)
    cost = question.epsilon / parts if question.y_range[1] > question.y_range[0] else 0.0
    return Asked((n, question, records.mask), cost)


_DEVICE = "private_labels.LabelDevice.report"
_LABEL = _source(_DEVICE, _label, law=laws.label_law, fresh=laws.fresh_draws)


def _labels(model: BaseEstimator) -> list[ReportSource]:
    return [_LABEL]


def _feature(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((question,), question.epsilon / np.broadcast_to(question.split, len(records)), question.users)


# HistOfTree's second round.


def _category(result: Any, self: Any, places: Any, budget: float, draws: Any) -> Asked:
    return _round_2(result, places.grid, places.leaves, budget)


def _round_2(result: Any, grid: Any, leaves: Any, budget: float, **others: Any) -> Asked:
    choices = grid.choices * leaves.choices
    cost = np.where(choices > 1, budget, 0.0)
    return Asked((grid.bins, grid.choices, grid.shown, leaves.choices, leaves.n_leaves, budget), cost)


def _bits(result: Any, truth: Any, budget: float, seed: int, users: np.ndarray, cells: np.ndarray) -> Asked:
    return Asked((budget, users, cells))


def _cells(model: BaseEstimator) -> list[ReportSource]:
    if model.mechanism == "grr":
        cell = "histoftree.cell_device.CellDevice.categories"
        return [_LABEL, _source(cell, _category, law=laws.category_law, fresh=laws.fresh_keep)]
    sums = _source("histoftree.cell_reports.BitSums.__init__", _round_2, replayed=False)
    bits = "histoftree.cell_reports.bit_reports"
    return [_LABEL, sums, _source(bits, _bits, times=None, law=laws.bit_law, fresh=laws.fresh_seed)]


def _number(result: Any, y: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question,), NUMBER.budget(question), users)


# Private selection: a candidate is what its method makes of the reports of the users who train it, at a budget that the
# method's own checks hold it to.


def _trained_on(result: Any, models: Any, sample: Any, users: np.ndarray) -> Asked:
    settings = [sorted(model.get_params(deep=False).items()) for model in models]
    return Asked((settings, sample.mask[users], sample.X_public, sample.y_public), result[0].guarantee_.epsilon, users)


_SELECTION = [
    _source("private_selection.selection.train", _trained_on, times=None),
    _source(
        "private_selection.selection.ask_numbers", _number, times=None, law=laws.number_law, fresh=laws.fresh_streams
    ),
]


# Classes.


def _class(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((len(records), question), self.budget(question))


def _classes_of_cubes(result: Any, self: Any, counts: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question, counts.sum(axis=1)), self.budget(question), summed=int(counts.sum()))


def _code(result: Any, codes: np.ndarray, users: np.ndarray, question: Any, streams: Any) -> Asked:
    return Asked((question,), CODE.budget(question), users)


def _subset(result: Any, self: Any, categories: np.ndarray, question: Any, draws: Any) -> Asked:
    return Asked((question.mechanism, question.n_classes, categories.size), self.budget(question))


# LPCT's tables of votes.


def _votes(result: Any, votes: np.ndarray, n: int, mechanism: VoteMechanism, streams: Any, axes: Any = None) -> Asked:
    n_classes, n_cells = votes.shape
    return Asked((votes.shape, n, mechanism, axes), mechanism.spent(n_cells, n_classes), summed=n)


def _votes_of_users(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    public = question.n_classes, question.cells.size, question.mechanism
    return Asked((len(records), *public), self.budget(question), summed=len(records))


def _swept_votes(result: Any, forest: Any, n: int, mechanisms: Any, streams: Any) -> Asked:
    sizes, n_classes = np.diff(forest.start), forest.private.shape[0]
    cost = sum(m.spent(int(k), n_classes) for m in mechanisms for k in sizes)
    return Asked((forest.depth, forest.start, forest.public, list(mechanisms), n), cost, summed=n)


def _lpct(model: BaseEstimator) -> list[ReportSource]:
    return [
        _source("lpct.lpct.noisy_votes", _votes, law=laws.votes_law, fresh=laws.fresh_streams),
        ReportSource("lpbench.privacy.device.Device.added_up", _votes_of_users, law=laws.added_up_law),
        _source("lpct.sweep.forest_votes", _swept_votes, law=laws.swept_law, fresh=laws.fresh_streams),
    ]


def _prune(model: BaseEstimator) -> list[ReportSource]:
    rounds = lambda fitted: fitted.guarantee_.rounds  # noqa: E731
    votes = "lpct.algorithm2.noisy_votes"
    return [_source(votes, _votes, times=rounds, law=laws.votes_law, fresh=laws.fresh_streams)]


# Histograms: true sums and noise are kept apart, because they are too large to store.


def _inner(fitted: Any) -> Any:
    inner = getattr(fitted, "histogram_", fitted)
    return inner if isinstance(inner, (models.Hist, models.PHIST)) else fitted


def _cost_of_histogram(fitted: Any, bins: int, d: int) -> float:
    inner = _inner(fitted)
    if isinstance(inner, models.PHIST):
        return VoteMechanism(inner.epsilon, inner.noise).spent(bins**d, inner.classes_.size)
    lo, hi = inner.y_range
    if inner.noise == "discrete":
        marginal, joint = inner._on_grid()
        width = 2.0 * float(np.abs(joint.round((hi - lo) / 2.0))) * joint.step
        return joint.privacy_map(width) + (marginal.privacy_map(2.0) if bins > 1 else 0.0)
    marginal, joint = inner._scales()
    return float((hi - lo) / joint + (2.0 / marginal if bins > 1 else 0.0))


def _histogram(model: BaseEstimator) -> list[ReportSource]:
    def asked(result: Any, self: Any, X: np.ndarray, bins: int, weights: np.ndarray, streams: Any) -> Asked:
        n, d = X.shape
        return Asked((n, d, bins, len(weights)), lambda fitted: _cost_of_histogram(fitted, bins, d), summed=n)

    def looked_up(result: Any, self: Any, X: np.ndarray, mechanisms: Any = ()) -> Asked:
        return Asked((self.bins, X, list(mechanisms)))

    def reconcile(fitted: Any, recorded: Any, fresh: Any) -> Any:
        inner = _inner(fitted)
        half = VoteMechanism(inner.epsilon).half
        votes = isinstance(inner, models.PHIST)
        scale: Any = half.scale if votes and isinstance(half, Laplace) else inner._scales()[:, None]
        (sums, noise), (other, _) = recorded, fresh
        return other, noise + (sums - other) / scale

    table = _source("baselines.hist.GridSums.__init__", asked, replayed=False)
    if getattr(model, "noise", "laplace") == "discrete":
        return [table, _source("baselines.hist.GridSums.lookup_on_grid", looked_up, times=None)]
    shifted = {"reconcile": reconcile, "law": laws.grid_law, "fresh": laws.fresh_grid}
    return [table, _source("baselines.hist.GridSums.lookup", looked_up, times=None, **shifted)]


def _moments(model: BaseEstimator) -> list[ReportSource]:
    def asked(result: Any, X: np.ndarray, signs: Any, streams: Any) -> Asked:
        return Asked((X.shape,), lambda fitted: fitted._mechanism(X.shape[0]).epsilon, summed=len(X))

    def reconcile(fitted: Any, recorded: Any, fresh: Any) -> Any:
        scale = np.sqrt(recorded.n) * fitted._mechanism(recorded.n).sigma
        fresh.noise_gram = recorded.noise_gram + (recorded.gram - fresh.gram) / scale
        fresh.noise_cross = recorded.noise_cross + (recorded.cross - fresh.cross) / scale
        return fresh

    shifted = {"reconcile": reconcile, "law": laws.moments_law, "fresh": laws.fresh_streams}
    return [_source("baselines.pglm.Moments.collect", asked, **shifted)]


# The interview of ResidualGP.


def _residual(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((question,), self.budget(question), question.users)


# Private gradients.


def _order(result: Any, self: Any, samples: Any, budget_of_run: Any, mechanisms: Any) -> Asked:
    """Users in the order of the pass, found by their records, which are all different."""
    orders = []
    for X, sample in zip(result.X, samples, strict=True):
        number = {row.tobytes(): i for i, row in enumerate(sample.X.astype(result.X.dtype))}
        orders.append([number[row.tobytes()] for row in X])
    return Asked((orders, list(mechanisms)), mechanisms[0].epsilon, np.array(orders[0]))


def _start(result: Any, self: Any, users: Any, runs: Any, weights: Any = None, layers: Any = None) -> Asked:
    def cost(fitted: Any) -> float:
        honest = PrivUnitG(fitted.epsilon, fitted._n_parameters(users.X.shape[2])).spread
        return 0.0 if np.isclose(runs.spread[0], honest) else math.inf

    return Asked((runs, weights, layers, users.X.shape), cost)


def _visit(result: Any, self: Any, t: int | None = None, members: slice | None = None) -> Asked:
    n = self.users.X.shape[1]
    return Asked((t, members), 0.0, np.arange(n)[members] if members is not None else np.array([t]))


def _trained(result: Any, self: Any, replication: int, run: int | None = None, X: np.ndarray | None = None) -> Asked:
    return Asked((replication, run, X))


def _gradients(model: BaseEstimator) -> list[ReportSource]:
    order = _source("psgd.psgd.PSGD._users", _order, replayed=False)
    if model.hidden_ratio == 0:
        start = _source("psgd.passes.LinearPass.__init__", _start, replayed=False)
        return [order, start, _source("psgd.passes.LinearPass._visit", _visit, step="weights")]
    own = "psgd.neural.NeuralPass."
    return [
        order,
        _source(f"{own}__init__", _start, replayed=False),
        _source(f"{own}_visit", _visit, replayed=False),
        _source(f"{own}final", _trained, times=None),
        _source(f"{own}scores", _trained, times=None),
    ]


# Trusted curators: what is released stands for the reports.


def _choice(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    return Asked((len(records), question), self.budget(question))


def _mean(result: Any, self: Any, records: Any, question: Any, draws: Any) -> Asked:
    public = records.X[:, 1] if question.least is None else len(records)
    return Asked((public, question), self.budget(question))


def _only(
    path: str, ask: Callable[..., Asked], law: Callable[..., Law], fresh: Callable = laws.fresh_draws
) -> Callable[[object], list[ReportSource]]:
    return lambda model: [_source(path, ask, law=law, fresh=fresh)]


_FEATURE = _source(
    "baselines.krr.FeatureDevice.report", _feature, times=None, law=laws.feature_law, fresh=laws.fresh_draws
)


#: Estimator class -> function of an instance that lists where its reports are made.
REPORT_SOURCES: dict[type, Callable[[Any], list[ReportSource]]] = {
    models.HistOfTree: _cells,
    models.AdHistOfTree: _cells,
    models.LabelDT: _labels,
    models.ParDT: _labels,
    models.KRR: lambda model: [_LABEL, _FEATURE],
    models.PrivateMean: _labels,
    models.PrivateMajority: _only("private_classes.ClassDevice.report", _class, laws.class_law),
    models.LabelLDPKNN: _labels,
    models.PrivateLabelsRegressor: _only(
        "any_learner.regressor.ask_numbers", _number, laws.number_law, laws.fresh_streams
    ),
    models.PrivateLabelsClassifier: _only(
        "any_learner.classifier.ask_classes", _code, laws.code_law, laws.fresh_streams
    ),
    models.PrivateSelectionRegressor: lambda model: _SELECTION,
    models.PrivateSelectionClassifier: lambda model: _SELECTION,
    models.LabelLDPVote: _only(
        "private_classes.ClassDevice.sum_of_reports", _classes_of_cubes, laws.cube_law, laws.fresh_streams
    ),
    models.LPCT: _lpct,
    models.LPCTPrune: _prune,
    models.Hist: _histogram,
    models.PHIST: _histogram,
    models.LDPMean: _histogram,
    models.LDPVote: _histogram,
    models.PGLM: _moments,
    models.ResidualGP: _only("tuning_free.interview.ResidualDevice.report", _residual, laws.residual_law),
    models.PublicResidualGP: _only("tuning_free.interview.ResidualDevice.report", _residual, laws.residual_law),
    models.ResidualScore: _only("tuning_free.interview.ResidualDevice.report", _residual, laws.residual_law),
    models.LPDTRegressor: _cells,
    models.PublicTreeClassifier: _cells,
    models.CalibratedScore: _only(
        "tuning_free.subset_device.SubsetDevice.hidden", _subset, laws.subset_law, laws.fresh_subset
    ),
    models.PSGD: _gradients,
    models.LabelCDPVote: _only("label_dp.releases.ClassRelease.report", _choice, laws.choice_law),
    models.CDPVote: _only("label_dp.releases.ClassRelease.report", _choice, laws.choice_law),
    models.LabelCDPMean: _only("label_dp.releases.MeanRelease.report", _mean, laws.mean_law),
    models.CDPMean: _only("label_dp.releases.MeanRelease.report", _mean, laws.mean_law),
}

#: Estimators that protect nothing, so that there is nothing to check.
UNPROTECTED = (
    *(models.DT, models.CT, models.PublicForest, models.PublicForestRegressor),
    *(models.KNNMean, models.CubeMean, models.CubeVote),
)
