"""The loop of single fits, which every sweep must equal."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

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
