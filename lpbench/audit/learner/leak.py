"""Leak test of training code: the reports of one sample are replayed while it learns from another."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import joblib
import numpy as np

from lpbench.audit.black_box.sources import load_holder
from lpbench.audit.learner.training import N_FEATURES, Maker, OtherReports, Protects, fitted, outputs
from lpbench.errors import ConfigurationError, DataError, foreign
from lpbench.seeds import Streams


def leak_test(
    make: Maker, epsilon: float, reports: Sequence[str], protects: Protects = "label", n: int = 200, seed: int = 0
) -> str | None:
    """Fit on a sample, then on another whose private inputs differ while the reports stay those of the first.

    Predictions, ``guarantee_`` and every other attribute of the model must stay the same. Labels are permuted, those of
    another rule, and almost constant, so that a leak that is symmetric in them (a variance, a count, an entropy) shows
    as well.
    """
    if not reports:
        raise ConfigurationError("reports=[]: the leak test needs a function whose results leave the devices")
    rng = Streams(seed).generator("leak")
    X, y = rng.standard_normal((n, N_FEATURES)), rng.integers(2, size=n)
    queries = rng.standard_normal((4 * n, N_FEATURES))
    tape: list[Any] = []
    with _patched(reports, lambda function: _recorded(function, tape)):
        model = fitted(make(epsilon, seed), X, y)
        original = outputs(model, queries), _learned(model)
    if not tape:
        raise DataError(f"reports={list(reports)}: fit called none of them, so that nothing can be replayed")
    again = _different(original, _replayed(make, epsilon, seed, reports, tape, X, y, queries))
    if again:
        raise DataError(
            f"two fits on the same sample and reports differ in {again}: the learner needs a random_state, and no clock"
        )
    others = {
        "permuted labels": rng.permutation(y),
        "labels of another rule": (X[:, 1] * X[:, 2] > 0).astype(y.dtype),
        "almost constant labels": np.where(np.arange(n) == 0, 1 - y[1:].max(), y[1:].max()),
    }
    for name, labels in others.items():
        private = rng.permutation(X) if protects == "record" else X
        try:
            changed = _replayed(make, epsilon, seed, reports, tape, private, labels, queries)
        except OtherReports as error:
            return f"{name}: {error}"
        different = _different(original, changed)
        if different:
            return f"{name}: {different} of the model differ although every report is the same"
    return None


def _learned(model: Any) -> dict[str, str]:
    """Return a digest of every attribute of a fitted model, by name, so that two models can be compared."""
    state = object.__getstate__(model)  # a model's own may leave out what it has learned
    plain, slots = state if isinstance(state, tuple) else (state, None)
    attributes = {**(plain or {}), **(slots or {})}
    if hasattr(model, "guarantee_"):
        attributes["guarantee_"] = model.guarantee_  # may be a property
    digests = {}
    for name, value in attributes.items():
        with foreign(f"{name} of the model cannot be compared, because it cannot be pickled"):
            digests[name] = joblib.hash(value)
    return digests


def _different(first: tuple[np.ndarray, dict], second: tuple[np.ndarray, dict]) -> str:
    """Names of what differs between two models, separated by commas; empty if they are the same.

    A model is given by its predictions and the digests of its attributes.
    """
    names = [] if np.array_equal(first[0], second[0]) else ["predictions"]
    return ", ".join([*names, *(k for k in sorted({*first[1], *second[1]}) if first[1].get(k) != second[1].get(k))])


def _replayed(make, epsilon, seed, reports, tape, X, y, queries) -> tuple[np.ndarray, dict[str, str]]:
    """Fit on other private values (X, y) with the recorded reports ``tape``, to see if only the reports matter.

    Return predictions at ``queries`` and a digest of each attribute. OtherReports if the fit asks for more or fewer.
    """
    position = iter(tape)

    def wrap(function: Callable) -> Callable:
        @wraps(function)
        def replay(*args: Any, **options: Any) -> Any:
            function(*args, **options)  # its draws are taken from the learner's generator as in the first fit
            try:
                return next(position)
            except StopIteration:
                raise OtherReports("fit asks for more reports than on the first sample") from None

        return replay

    with _patched(reports, wrap):
        model = fitted(make(epsilon, seed), X, y)
    if next(position, None) is not None:
        raise OtherReports("fit asks for fewer reports than on the first sample")
    return outputs(model, queries), _learned(model)


def _recorded(function: Callable, tape: list[Any]) -> Callable:
    @wraps(function)
    def record(*args: Any, **options: Any) -> Any:
        tape.append(function(*args, **options))
        return tape[-1]

    return record


@contextmanager
def _patched(paths: Sequence[str], wrap: Callable[[Callable], Callable]) -> Iterator[None]:
    """Context in which the functions of some dotted paths are replaced by ``wrap`` of themselves."""
    with ExitStack() as stack:
        for path in paths:
            try:
                holder, name = load_holder(path)
                function = vars(holder)[name]
            except (ConfigurationError, KeyError) as error:
                raise ConfigurationError(
                    f"reports={path!r} must be file.py:function, module:function or module:Class.method: {error}"
                ) from error
            stack.enter_context(patch.object(holder, name, wrap(function)))
        yield
