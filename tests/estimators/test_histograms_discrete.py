import math

import numpy as np
import pytest

from lpbench.estimators import PHIST, Hist
from lpbench.estimators.baselines.hist import cell_questions
from lpbench.partitions import GridCells
from lpbench.privacy import DiscreteLaplace, discrete_cell_noise
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import loop_of_fits
from tests.privacy.laws import assert_same_law

Y_RANGE = (-1.0, 2.3)
RNG = np.random.default_rng(0)
X, Y = RNG.random((150, 2)), RNG.uniform(*Y_RANGE, 150)
CODES = (X[:, 0] > 0.5).astype(int)


@pytest.mark.parametrize("y_range", [Y_RANGE, (0.0, 1.0), (-3e5, 1e6), (0.0, 1e-7), (0.1, 0.1 + 3e-13)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 8.0])
@pytest.mark.parametrize("noise", ["discrete", "laplace"])
def test_budgets_are_met_exactly_rounding_included(noise, epsilon, y_range):
    marginal, joint = (q.mechanism for q in cell_questions(GridCells(2, 2), epsilon, y_range, noise))
    half = (y_range[1] - y_range[0]) / 2
    labels = np.append(np.linspace(-half, half, 7), [-half, half])
    users = np.concatenate([labels[:, None] * [1, 0], labels[:, None] * [0, 1]])
    assert joint.losses(users).max() == pytest.approx(epsilon / 2, rel=1e-9)
    assert marginal.losses(np.eye(3)).max() == pytest.approx(epsilon / 2, rel=1e-9)
    assert noise == "laplace" or half / 2**11 < joint.step <= half / 2**10


def test_looked_up_noise_has_the_law_of_the_users_sum():
    mechanism, n = DiscreteLaplace.for_budget(0.5, 2.0**-10, 2.0), 40
    looked_up = discrete_cell_noise(3, np.arange(4000), n, mechanism)
    summed = mechanism.sum_of_reports(np.zeros(4000), n, np.random.default_rng(1))
    assert_same_law(looked_up, summed)
    np.testing.assert_array_equal(looked_up[:50], discrete_cell_noise(3, np.arange(50), n, mechanism))
    np.testing.assert_array_equal(looked_up, np.rint(looked_up / mechanism.step) * mechanism.step)
    assert not discrete_cell_noise(3, np.arange(5), n, DiscreteLaplace(0.0, 0.5)).any()


@pytest.mark.parametrize(
    ("model", "y", "metric"),
    [(Hist(y_range=Y_RANGE, noise="discrete"), Y, "mse"), (PHIST(noise="discrete"), CODES, "accuracy")],
)
def test_sweep_is_the_loop_over_fits(model, y, metric):
    problem = Problem(X[:100], y[:100], X[100:], y[100:], y_range=Y_RANGE, metric=metric)
    swept = model.sweep(problem, [0.5, 8.0], {"bins": [1, 2]}, Streams(4)).values
    np.testing.assert_array_equal(swept, loop_of_fits(model, problem, [0.5, 8.0], {"bins": [1, 2]}, Streams(4)))


def test_without_noise_the_estimate_is_that_of_rounded_labels():
    plain, grid = (Hist(math.inf, bins=2, threshold=0.0, y_range=Y_RANGE, noise=n) for n in ("laplace", "discrete"))
    difference = np.abs(plain.fit(X, Y).predict(X) - grid.fit(X, Y).predict(X)).max()
    assert difference <= 2.0**-11 * 2
