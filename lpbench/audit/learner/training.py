"""Training code under audit: how it is loaded, what it learns from, and what is asked of the model."""

import inspect
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lpbench.audit.black_box.sources import load_function
from lpbench.errors import ConfigurationError, DataError, LpbenchError, foreign

Protects = Literal["label", "record"]
#: (epsilon, seed) -> unfitted learner.
Maker = Callable[[float, int], Any]
#: Features of the samples.
N_FEATURES = 5


class OtherReports(LpbenchError):
    """A replayed fit asked for other reports than the first."""


def load_learner(name: str) -> Maker:
    """Import ``module:Class`` or ``file.py:Class``; a function (epsilon, seed) -> learner that passes what it takes."""
    try:
        kind = load_function(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"learner={name!r} must be module:Class or file.py:Class: {error}") from None
    if not (hasattr(kind, "fit") and hasattr(kind, "predict")) and inspect.isclass(kind):
        raise ConfigurationError(f"learner={name!r} has no fit(X, y) and predict(X)")
    taken = inspect.signature(kind).parameters

    def make(epsilon: float, seed: int) -> Any:
        given = {"epsilon": epsilon, "random_state": seed}
        with foreign(f"{name} cannot be made"):
            return kind(**{key: value for key, value in given.items() if key in taken})

    return make


def pairs(rng: np.random.Generator, m: int, protects: Protects) -> tuple[np.ndarray, np.ndarray]:
    """Return two versions of m records: X of shape (2, m, d), y of shape (2, m)."""
    if protects not in ("label", "record"):
        raise ConfigurationError(f"protects={protects!r} must be 'label' or 'record'")
    first = rng.standard_normal((m, N_FEATURES))
    second = rng.standard_normal((m, N_FEATURES)) if protects == "record" else first
    labels = rng.integers(2, size=m)
    return np.stack([first, second]), np.stack([labels, 1 - labels])


def fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit a learner and return the model, which is the learner itself where ``fit`` returns nothing."""
    with foreign(f"fit failed on {len(X)} records"):
        result = model.fit(X, y)
    return model if result is None else result


def outputs(model: Any, X: np.ndarray) -> np.ndarray:
    """Return what the model says about class 1, or its predictions: finite numbers, one for each row."""
    with foreign(f"predict failed on {len(X)} records"):
        if hasattr(model, "predict_proba"):
            table, classes = np.asarray(model.predict_proba(X)), list(model.classes_)
            result = table[:, classes.index(1)] if 1 in classes else np.zeros(len(X))
        else:
            result = np.asarray(model.predict(X), dtype=np.float64)
    if result.shape != (len(X),) or not np.isfinite(result).all():
        raise DataError(f"predict returned shape {result.shape} for {len(X)} records, or numbers that are not finite")
    return result


def scores(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much better the model fits the second version of each record than the first."""
    loss = [np.abs(outputs(model, X[i]) - y[i]) for i in (0, 1)]
    return loss[0] - loss[1]
