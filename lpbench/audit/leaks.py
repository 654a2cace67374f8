"""Leak checks on estimators: replay the reports of one sample while fitting on another, and compare the models.

A model may depend on protected values through reports alone. So if the functions that make the reports return what they
returned for sample A, a fit on sample B, which differs from A in protected values only, must give A's model to the last
bit. Where the code keeps true sums and noise apart (histograms too large to store), B's true sums are kept and the
noise is shifted so that the *noisy* sums are A's; models then agree up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator, clone

from lpbench import estimators as models
from lpbench.estimators.lpct.votes import VoteMechanism


@dataclass(frozen=True)
class ReportSource:
    """A function whose results are what devices send.

    Attributes
    ----------
    path : str
        Where the estimator looks it up: ``module.function`` or ``module.Class.method``.
    reconcile : callable (model, recorded, fresh) -> result, optional
        How to turn true values and noise into the recorded noisy values; None: the recorded result itself.
    step : str, optional
        Attribute that a method changes by the report, for recursions: what is recorded is the change.
    """

    path: str
    reconcile: Callable | None = None
    step: str | None = None


@dataclass
class Tape:
    """Results of the report sources, in the order of the calls."""

    results: list = field(default_factory=list)


def _label_vote(model: BaseEstimator) -> list[ReportSource]:
    kind = "BitVector" if model.mechanism == "bit_vector" else "GRR"
    return [ReportSource(f"lpbench.privacy.{kind}.sum_of_reports")]


def _histogram(model: BaseEstimator) -> list[ReportSource]:
    def reconcile(fitted, recorded, fresh):
        inner = getattr(fitted, "histogram_", fitted)
        inner = inner if isinstance(inner, (models.Hist, models.PHIST)) else fitted
        votes = isinstance(inner, models.PHIST)
        scale = VoteMechanism(inner.epsilon).half.scale if votes else inner._scales()[:, None]
        (sums, noise), (other, _) = recorded, fresh
        return other, noise + (sums - other) / scale

    if getattr(model, "noise", "laplace") == "discrete":
        return [ReportSource("lpbench.estimators.baselines.hist.GridSums.lookup_on_grid")]
    return [ReportSource("lpbench.estimators.baselines.hist.GridSums.lookup", reconcile)]


def _moments(model: BaseEstimator) -> list[ReportSource]:
    def reconcile(fitted, recorded, fresh):
        scale = np.sqrt(recorded.n) * fitted._mechanism(recorded.n).sigma
        fresh.noise_gram = recorded.noise_gram + (recorded.gram - fresh.gram) / scale
        fresh.noise_cross = recorded.noise_cross + (recorded.cross - fresh.cross) / scale
        return fresh

    return [ReportSource("lpbench.estimators.baselines.pglm.Moments.collect", reconcile)]


def _cells(model: BaseEstimator) -> list[ReportSource]:
    reports = "rounds.category_reports" if model.mechanism == "grr" else "cell_reports.bit_reports"
    return [
        ReportSource("lpbench.estimators.histoftree.rounds.Rounds.labels"),
        ReportSource(f"lpbench.estimators.histoftree.{reports}"),
    ]


def _paths(*paths: str) -> Callable[[object], list[ReportSource]]:
    return lambda model: [ReportSource(f"lpbench.estimators.{path}") for path in paths]


#: Estimator class -> function of an instance that lists where its reports are made.
REPORT_SOURCES: dict[type, Callable[[object], list[ReportSource]]] = {
    models.HistOfTree: _cells,
    models.AdHistOfTree: _cells,
    models.LabelDT: _paths("baselines.trees.noisy_labels"),
    models.ParDT: _paths("baselines.trees.noisy_labels"),
    models.KRR: _paths("baselines.krr.noisy_labels", "baselines.krr.KRR._obfuscate"),
    models.PrivateMean: _paths("baselines.private_mean.noisy_labels"),
    models.PrivateMajority: _paths("private_classes.ClassDevice.report"),
    models.LabelLDPKNN: _paths("label_dp.knn.noisy_labels"),
    models.LabelLDPVote: _label_vote,
    models.LPCT: _paths("lpct.lpct.noisy_votes"),
    models.LPCTPrune: _paths("lpct.algorithm2.noisy_votes"),
    models.Hist: _histogram,
    models.PHIST: _histogram,
    models.LDPMean: _histogram,
    models.LDPVote: _histogram,
    models.PGLM: _moments,
    models.ResidualGP: _paths("tuning_free.residual_gp.answers"),
    models.CalibratedScore: _paths("tuning_free.calibrated_score.vote_reports"),
    models.PSGD: lambda model: [ReportSource("lpbench.estimators.psgd.passes.LinearPass._visit", step="weights")],
    # Trusted curators: what is released stands for the reports.
    models.LabelCDPVote: _paths("label_dp.vote.exponential_choices"),
    models.CDPVote: _paths("label_dp.vote.exponential_choices"),
    models.LabelCDPMean: _paths("label_dp.mean.LabelCDPMean._release"),
    models.CDPMean: _paths("label_dp.mean.CDPMean._release"),
}

#: Estimators that protect nothing, so that there is nothing to check.
UNPROTECTED = (models.DT, models.CT, models.PublicForest, models.KNNMean, models.CubeMean, models.CubeVote)


def replay(
    model: BaseEstimator, first: Mapping, second: Mapping, queries: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Fit on a sample, fit on another with the reports of the first, and fit on that other alone.

    Parameters
    ----------
    model : estimator
        Its ``random_state`` must be fixed.
    first, second : mappings
        Keyword arguments of ``fit`` (X, y, mask, ...), which differ in protected values only.
    queries : ndarray of shape (m, d)

    Returns
    -------
    original, replayed, other : ndarrays of shape (m,) or (m, n_classes)
        Predictions or class probabilities; the first two must be equal, the third tells whether that has any power.
    calls : int
        How many results were replayed.
    """
    sources, tape = REPORT_SOURCES[type(model)](model), Tape()
    original, replayed, other = clone(model), clone(model), clone(model)
    with _recording(sources, tape):
        expected = outputs(original.fit(**first), queries)
    with _replaying(sources, tape, replayed):
        found = outputs(replayed.fit(**second), queries)
    return expected, found, outputs(other.fit(**second), queries), len(tape.results)


def outputs(model: BaseEstimator, queries: np.ndarray) -> np.ndarray:
    """Return what a fitted model says about the queries, as finely as it says it."""
    return model.predict_proba(queries) if hasattr(model, "predict_proba") else model.predict(queries)


@contextmanager
def _recording(sources: Sequence[ReportSource], tape: Tape) -> Iterator[None]:
    def wrap(source: ReportSource, function: Callable) -> Callable:
        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if source.step is None:
                tape.results.append(function(*args, **kwargs))
                return tape.results[-1]
            before = getattr(args[0], source.step)
            result = function(*args, **kwargs)
            tape.results.append(getattr(args[0], source.step) - before)
            return result

        return recorded

    with _patched(sources, wrap):
        yield


@contextmanager
def _replaying(sources: Sequence[ReportSource], tape: Tape, model: BaseEstimator) -> Iterator[None]:
    position = iter(list(tape.results))

    def wrap(source: ReportSource, function: Callable) -> Callable:
        @wraps(function)
        def replayed(*args: Any, **kwargs: Any) -> Any:
            recorded = next(position)
            if source.step is not None:
                setattr(args[0], source.step, getattr(args[0], source.step) + recorded)
                return None
            if source.reconcile is None:
                return recorded
            return source.reconcile(model, recorded, function(*args, **kwargs))

        return replayed

    with _patched(sources, wrap):
        yield
    if next(position, None) is not None:
        raise AssertionError("the second fit asked for fewer reports than the first")


@contextmanager
def _patched(sources: Sequence[ReportSource], wrap: Callable) -> Iterator[None]:
    with ExitStack() as stack:
        for source in sources:
            owner_path, _, name = source.path.rpartition(".")
            owner = resolve_name(owner_path)
            attribute = vars(owner)[name]
            if isinstance(attribute, (classmethod, staticmethod)):
                # A bound class method keeps its class; a replacement must not be bound again.
                stack.enter_context(patch.object(owner, name, staticmethod(wrap(source, getattr(owner, name)))))
            else:
                stack.enter_context(patch.object(owner, name, wrap(source, attribute)))
        yield
