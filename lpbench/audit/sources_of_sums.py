"""Where sums of reports are drawn, or reports enter a recursion: votes, histograms, moments, private gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lpbench import estimators as models
from lpbench.audit.drawn_sums import added_up_law, grid_law, moments_law, swept_law, votes_law
from lpbench.audit.fresh_draws import fresh_grid, fresh_streams
from lpbench.audit.sources import Asked, ReportSource, source
from lpbench.estimators.lpct.votes import VoteMechanism
from lpbench.privacy import Laplace, PrivUnitG

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


def lpct(model: BaseEstimator) -> list[ReportSource]:
    """Sources of LPCT."""
    return [
        source("lpct.lpct.noisy_votes", _votes, law=votes_law, fresh=fresh_streams),
        ReportSource("lpbench.privacy.device.Device.added_up", _votes_of_users, law=added_up_law),
        source("lpct.sweep.forest_votes", _swept_votes, law=swept_law, fresh=fresh_streams),
    ]


def prune(model: BaseEstimator) -> list[ReportSource]:
    """Sources of LPCT-prune."""
    rounds = lambda fitted: fitted.guarantee_.rounds  # noqa: E731
    votes = "lpct.algorithm2.noisy_votes"
    return [source(votes, _votes, times=rounds, law=votes_law, fresh=fresh_streams)]


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


def histogram(model: BaseEstimator) -> list[ReportSource]:
    """Sources of Hist, PHIST and their like."""

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

    table = source("baselines.hist.GridSums.__init__", asked, replayed=False)
    if getattr(model, "noise", "laplace") == "discrete":
        return [table, source("baselines.hist.GridSums.lookup_on_grid", looked_up, times=None)]
    shifted = {"reconcile": reconcile, "law": grid_law, "fresh": fresh_grid}
    return [table, source("baselines.hist.GridSums.lookup", looked_up, times=None, **shifted)]


def moments(model: BaseEstimator) -> list[ReportSource]:
    """Sources of PGLM."""

    def asked(result: Any, X: np.ndarray, signs: Any, streams: Any) -> Asked:
        return Asked((X.shape,), lambda fitted: fitted._mechanism(X.shape[0]).epsilon, summed=len(X))

    def reconcile(fitted: Any, recorded: Any, fresh: Any) -> Any:
        scale = np.sqrt(recorded.n) * fitted._mechanism(recorded.n).sigma
        fresh.noise_gram = recorded.noise_gram + (recorded.gram - fresh.gram) / scale
        fresh.noise_cross = recorded.noise_cross + (recorded.cross - fresh.cross) / scale
        return fresh

    shifted = {"reconcile": reconcile, "law": moments_law, "fresh": fresh_streams}
    return [source("baselines.pglm.Moments.collect", asked, **shifted)]


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


def gradients(model: BaseEstimator) -> list[ReportSource]:
    """Sources of private SGD."""
    order = source("psgd.psgd.PSGD._users", _order, replayed=False)
    if model.hidden_ratio == 0:
        start = source("psgd.passes.LinearPass.__init__", _start, replayed=False)
        return [order, start, source("psgd.passes.LinearPass._visit", _visit, step="weights")]
    own = "psgd.neural.NeuralPass."
    return [
        order,
        source(f"{own}__init__", _start, replayed=False),
        source(f"{own}_visit", _visit, replayed=False),
        source(f"{own}final", _trained, times=None),
        source(f"{own}scores", _trained, times=None),
    ]
