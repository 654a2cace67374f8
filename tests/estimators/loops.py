"""The loop of `learn_from`, which every sweep must equal, and a problem of LPCT's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from lpbench.datasets import make_problem
from lpbench.estimators.base import Grid, LocalEstimator, expand_grid
from lpbench.problem import Problem
from lpbench.seeds import Streams


def loop_of_fits(
    model: LocalEstimator, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams
) -> np.ndarray:
    """Scores of shape (n_budgets, n_points), each learned by itself on the same streams."""

    def score(epsilon: float, point: dict) -> float:
        budget = {"epsilon": epsilon} if model.uses_epsilon else {}
        learned = clone(model).set_params(**budget, **point).learn_problem(problem, streams)
        return float(problem.score(learned.predict(problem.X_test)))

    return np.array([[score(epsilon, point) for point in expand_grid(grid)] for epsilon in budgets])


def drift(n_public: int = 60, n_private: int = 400, seed: int = 0, **params) -> Problem:
    """Draw the posterior drift of LPCT's paper, replication 0 of a seed."""
    sizes = {"n_private": n_private, "n_public": n_public, "n_test": 300}
    return make_problem("posterior_drift", {**sizes, **params}, None, None, 0, seed)


def learned(model: LocalEstimator, X: Any, y: Any, **given: Any) -> LocalEstimator:
    """Learn as `fit` does, on the streams that the seed alone decides: two that are learned so share their noise."""
    known = {name: value for name, value in model.get_params().items() if name in ("y_range", "classes")}
    return model.learn_problem(Problem(X, y, X, y, **known, **given), Streams.from_random_state(model.random_state))


def fitted(model: LocalEstimator, problem: Problem) -> LocalEstimator:
    """Learn from a problem as `learned` does."""
    return model.learn_problem(problem, Streams.from_random_state(model.random_state))
