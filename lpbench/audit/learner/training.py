"""Training code under audit: how it is loaded, what it learns from, and what is asked of the model."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from lpbench.audit.black_box.sources import load_function
from lpbench.errors import ConfigurationError, DataError, LpbenchError, foreign

Protects = Literal["label", "record"]
#: (epsilon, seed) -> unfitted learner.
Maker = Callable[[float, int], Any]
#: Names under which a constructor takes a seed, and those of them that take a generator.
SEEDS, GENERATORS = ("random_state", "seed", "random_seed", "rng"), ("rng",)
#: Features of the samples.
N_FEATURES = 5


class OtherReports(LpbenchError):
    """Error of a replayed fit that asks for other reports than the first fit did."""


class Learner:
    """Class or function of training code; called, it makes an unfitted learner.

    Parameters
    ----------
    kind : callable
        It gets ``epsilon``, a seed and public values under the names that it takes.
    title : str
        Its name in verdicts.
    """

    def __init__(self, kind: Callable[..., Any], title: str = ""):
        self.kind, self.title = kind, title or getattr(kind, "__name__", "model")
        self.taken = list(inspect.signature(kind).parameters)
        self.seed_name = next((key for key in SEEDS if key in self.taken), None)

    def __call__(self, epsilon: float, seed: int, **public: Any) -> Any:
        """Make an unfitted learner of a budget and a seed; ``public`` are further parameters, such as ranges."""
        given = {"epsilon": epsilon, "eps": epsilon, **self.seeded(seed), **public}
        with foreign(f"{self.title} cannot be made"):
            return self.kind(**{key: value for key, value in given.items() if key in self.taken})

    def seeded(self, seed: int) -> dict[str, Any]:
        """Return the seed under the name by which it is taken; empty where none is."""
        value = np.random.default_rng(seed) if self.seed_name in GENERATORS else seed
        return {} if self.seed_name is None else {self.seed_name: value}


def load_learner(name: str) -> Learner:
    """Import ``module:Class`` or ``file.py:Class``, or a function (epsilon, seed) that returns an unfitted model."""
    try:
        kind = load_function(name)
    except ConfigurationError as error:
        raise ConfigurationError(f"learner={name!r} must be module:Class or file.py:Class: {error}") from None
    answers = hasattr(kind, "predict") or hasattr(kind, "transform")
    if not (hasattr(kind, "fit") and answers) and inspect.isclass(kind):
        raise ConfigurationError(f"learner={name!r} has no fit(X, y) and predict(X)")
    return Learner(kind, name)


def pairs(rng: np.random.Generator, m: int, protects: Protects) -> tuple[np.ndarray, np.ndarray]:
    """Return two versions of m records: X of shape (2, m, d), y of shape (2, m).

    Labels (0 or 1) are opposite in the two; the features are equal if ``protects`` is "label", and others if it is
    "record". ConfigurationError for anything else.
    """
    if protects not in ("label", "record"):
        raise ConfigurationError(f"protects={protects!r} must be 'label' or 'record'")
    first = rng.standard_normal((m, N_FEATURES))
    second = rng.standard_normal((m, N_FEATURES)) if protects == "record" else first
    labels = rng.integers(2, size=m)
    return np.stack([first, second]), np.stack([labels, 1 - labels])


def fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit a learner and return the model, which is the learner itself where ``fit`` returns nothing."""
    with foreign(f"fit failed on {len(X)} records"):
        fit = model.fit
        function = getattr(fit, "__func__", fit)
        result = fit(X) if _parameters(function) == 1 + (function is not fit) else fit(X, y)
    return model if result is None else result


@lru_cache
def _parameters(function: Callable[..., Any]) -> int:
    return len(inspect.signature(function).parameters)


def answers(model: Any, X: np.ndarray) -> np.ndarray | None:
    """Return a model's outputs for rows, shape (n, k): probabilities, predictions or features; None if it has none."""
    with foreign(f"predict failed on {len(X)} records"):
        for name in ("predict_proba", "predict", "transform"):
            if hasattr(model, name):
                return np.asarray(getattr(model, name)(X), dtype=np.float64).reshape(len(X), -1)
    return None


def outputs(model: Any, X: np.ndarray) -> np.ndarray:
    """Return what the model says about class 1, or its predictions: finite numbers, one for each row."""
    table = answers(model, X)
    if table is not None and hasattr(model, "predict_proba"):
        table = table[:, np.asarray(model.classes_) == 1] if 1 in model.classes_ else np.zeros((len(X), 1))
    if table is None or table.shape[1] != 1 or not np.isfinite(table).all():
        raise DataError(f"predict must return one finite number for each of {len(X)} records")
    return table[:, 0]


def scores(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return how much better the model fits the second version of each record than the first."""
    loss = [np.abs(outputs(model, X[i]) - y[i]) for i in (0, 1)]
    return loss[0] - loss[1]
