"""Leak test: replay one sample's reports while fitting on another that differs in protected values only.

Questions and the model may depend on protected values through reports alone. So if the functions that make the reports
return what they returned for sample A, a fit (or sweep) on sample B must ask the same users the same questions in the
same order, and give A's model to the last bit. Where the code keeps true sums and noise apart (histograms too large to
store), B's true sums are kept and the noise is shifted so that the *noisy* sums are A's; models then agree up to
rounding.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.base import BaseEstimator, clone

from lpbench.audit.drawn_laws import Law
from lpbench.audit.repeats import CALLS, repetitions
from lpbench.audit.report_sources import REPORT_SOURCES
from lpbench.audit.sources import Asked, ReportSource
from lpbench.problem import Problem
from lpbench.seeds import Streams

#: Rounding error of models whose noise is shifted.
_ROUNDING = 1e-7
#: Seed of the streams of repeated calls.
_REPEATS_SEED = 20260301


class LeakFound(Exception):
    """A question depends on protected values."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """One call of a report source: what was asked of whom, and what came back.

    ``laws`` holds the result beside its law, and then the results of the same call under fresh streams.
    """

    source: ReportSource
    asked: Asked
    result: Any
    laws: tuple[Law, ...] = ()


Tape = list[Exchange]
#: Fits (or sweeps) on a sample and returns everything that can be seen of the result.
Run = Callable[[Mapping[str, Any]], np.ndarray]


@dataclass(frozen=True, eq=False)
class Fitting:
    """Fit a model and predict, as a :data:`Run`."""

    model: BaseEstimator
    queries: np.ndarray

    def __call__(self, sample: Mapping[str, Any]) -> np.ndarray:
        return outputs(clone(self.model).fit(**sample), self.queries)

    def seeded(self, seed: int) -> Fitting:
        """The same run with another seed."""
        return Fitting(clone(self.model).set_params(random_state=seed), self.queries)


@dataclass(frozen=True, eq=False)
class Sweeping:
    """Sweep points and budgets, as a :data:`Run`: the predictions that are scored, and the scores."""

    model: BaseEstimator
    queries: np.ndarray
    budgets: Sequence[float]
    points: Sequence[Mapping[str, Any]]
    seed: int = 7

    def __call__(self, sample: Mapping[str, Any]) -> np.ndarray:
        classifies = hasattr(self.model, "predict_proba")
        test = (self.queries[:, 0] + self.queries[:, -1] > 1).astype(int) if classifies else self.queries[:, 0]
        problem = Problem(
            sample["X"], sample["y"], self.queries, test,
            mask=sample.get("mask"), X_public=sample.get("X_public"), y_public=sample.get("y_public"),
            metric="accuracy" if classifies else "mse",
        )  # fmt: skip
        seen: list[np.ndarray] = []
        score = Problem.score

        def scored(self: Problem, predictions: np.ndarray) -> np.ndarray:
            seen.append(np.ravel(predictions).astype(float))
            return score(self, predictions)

        with patch.object(Problem, "score", scored):
            values = clone(self.model).sweep(problem, self.budgets, list(self.points), Streams(self.seed)).values
        return np.concatenate([*seen, np.ravel(values)])

    def seeded(self, seed: int) -> Sweeping:
        """The same run with another seed."""
        return replace(self, seed=seed)


def outputs(model: BaseEstimator, queries: np.ndarray) -> np.ndarray:
    """Return what a fitted model says about the queries, as finely as it says it."""
    return model.predict_proba(queries) if hasattr(model, "predict_proba") else model.predict(queries)


def record(
    sources: Sequence[ReportSource], run: Run, sample: Mapping[str, Any], again: bool = True
) -> tuple[np.ndarray, Tape]:
    """Run on a sample and keep every question and its answers; ``again``: execute the first calls at a place again."""
    tape: Tape = []
    repeating = False

    def wrap(source: ReportSource, function: Callable) -> Callable:
        signature = inspect.signature(function)
        calls = 0

        @wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            nonlocal repeating, calls
            if repeating:
                return function(*args, **kwargs)
            before = None if source.step is None else getattr(args[0], source.step)
            result = function(*args, **kwargs)
            kept = result if source.step is None else getattr(args[0], source.step) - before
            repeating, calls = True, calls + 1
            try:
                number = calls if again else CALLS + 1
                laws = tuple(_laws(source, signature.bind(*args, **kwargs), function, result, number))
            finally:
                repeating = False
            tape.append(Exchange(source, _asked(source, signature, args, kwargs, result), kept, laws))
            return result

        return recorded

    with patched_sources(sources, wrap):
        return run(sample), tape


def find_leak(
    sources: Sequence[ReportSource], run: Run, tape: Tape, expected: np.ndarray, sample: Mapping[str, Any], fitted: Any
) -> str:
    """Replay a tape while running on another sample.

    Parameters
    ----------
    sources : sequence of ReportSource
    run : Run
    tape : Tape
        Of the first sample, with ``expected`` what the run returned on it.
    sample : mapping
        Keyword arguments of ``fit`` that differ from the first sample's in protected values only.
    fitted : estimator
        Fitted to the first sample at the same setting: gives the public scales of noise.

    Returns
    -------
    str
        What depends on protected values; empty if nothing does.
    """
    try:
        with _replaying(sources, tape, fitted):
            found = run(sample)
    except LeakFound as leak:
        return str(leak)
    shifted = any(source.reconcile for source in sources)
    same = found.shape == expected.shape and (
        np.allclose(found, expected, rtol=0, atol=_ROUNDING, equal_nan=True)
        if shifted
        else np.array_equal(found, expected, equal_nan=True)
    )
    return "" if same else "the model depends on protected values beyond the reports"


def replay(
    model: BaseEstimator, first: Mapping[str, Any], second: Mapping[str, Any], queries: np.ndarray
) -> tuple[str, np.ndarray, Tape]:
    """Fit on a sample and replay its reports on another.

    Parameters
    ----------
    model : estimator
        Its ``random_state`` must be fixed.
    first, second : mappings
        Keyword arguments of ``fit`` (X, y, mask, ...), which differ in protected values only.
    queries : ndarray of shape (m, d)

    Returns
    -------
    leak : str
        See :func:`find_leak`.
    original : ndarray
        Predictions or class probabilities of the fit on the first sample.
    tape : Tape
    """
    run, sources = Fitting(model, queries), REPORT_SOURCES[type(model)](model)
    original, tape = record(sources, run, first)
    fitted = clone(model).fit(**first)
    return find_leak(sources, run, tape, original, second, fitted), original, tape


def same(one: Any, other: Any) -> bool:
    """Whether two questions are equal: arrays, mechanisms, and dataclasses of them."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return one.shape == other.shape and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one):
        return type(one) is type(other) and all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return bool(one == other)


def _asked(source: ReportSource, signature: inspect.Signature, args: Any, kwargs: Any, result: Any) -> Asked:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return source.ask(result, **bound.arguments)


def _laws(
    source: ReportSource, bound: inspect.BoundArguments, function: Callable, result: Any, number: int
) -> Iterator[Law]:
    """The result of a call beside its law, and those of the same call under fresh streams."""
    if source.law is None:
        return
    bound.apply_defaults()
    first = source.law(result, **bound.arguments)
    yield first
    if source.fresh is None:
        return
    streams = Streams(_REPEATS_SEED).child("again", call=number)
    for k in range(repetitions(first) if number <= CALLS else 0):
        bound.arguments.update(source.fresh(bound.arguments, streams.child("again", number=k)))
        yield source.law(function(*bound.args, **bound.kwargs), **bound.arguments)


@contextmanager
def _replaying(sources: Sequence[ReportSource], tape: Tape, fitted: Any) -> Iterator[None]:
    position = iter(list(tape))

    def wrap(source: ReportSource, function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def replayed(*args: Any, **kwargs: Any) -> Any:
            exchange = next(position, None)
            if exchange is None or exchange.source != source:
                raise LeakFound(f"other or more questions than of the first sample, at {source.path}")
            fresh = None if source.step is not None else function(*args, **kwargs)
            asked = _asked(source, signature, args, kwargs, fresh)
            if not same(exchange.asked.users, asked.users):
                raise LeakFound(f"who is asked, or in which order, depends on protected values at {source.path}")
            if not same(exchange.asked.question, asked.question):
                raise LeakFound(f"the question depends on protected values at {source.path}")
            if source.step is not None:
                setattr(args[0], source.step, getattr(args[0], source.step) + exchange.result)
                return None
            if not source.replayed:
                return fresh
            return exchange.result if source.reconcile is None else source.reconcile(fitted, exchange.result, fresh)

        return replayed

    with patched_sources(sources, wrap):
        yield
    if next(position, None) is not None:
        raise LeakFound("fewer questions than of the first sample")


@contextmanager
def patched_sources(sources: Sequence[ReportSource], wrap: Callable[[ReportSource, Callable], Callable]) -> Iterator:
    """Replace every report source by ``wrap(source, function)`` while the block runs."""
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
