"""The loop of single fits, which every sweep must equal, and a problem of LPCT's."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from lpbench.datasets import make_problem
from lpbench.estimators.base import Grid, LocalEstimator, expand_grid
from lpbench.problem import Problem
from lpbench.seeds import Streams


def loop_of_fits(
    model: LocalEstimator, problem: Problem, budgets: Sequence[float], grid: Grid, streams: Streams
) -> np.ndarray:
    """Scores of shape (n_budgets, n_points), each by a fit of its own."""

    def score(epsilon: float, point: dict) -> float:
        budget = {"epsilon": epsilon} if model.uses_epsilon else {}
        fitted = clone(model).set_params(random_state=streams, **budget, **point)
        fitted.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
        return float(problem.score(fitted.predict(problem.X_test)))

    return np.array([[score(epsilon, point) for point in expand_grid(grid)] for epsilon in budgets])


def drift(n_public: int = 60, n_private: int = 400, seed: int = 0, **params) -> Problem:
    """Draw the posterior drift of LPCT's paper, replication 0 of a seed."""
    sizes = {"n_private": n_private, "n_public": n_public, "n_test": 300}
    return make_problem("posterior_drift", {**sizes, **params}, None, None, 0, seed)


def fitted(model: LocalEstimator, problem: Problem) -> LocalEstimator:
    return model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
