"""PHIST as released: one seed for all fits, one draw for all users, and the rows that it mixes up."""

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.estimators import PHIST
from lpbench.estimators.baselines.released import ReleasedHistogram
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import loop_of_fits


def described(X, y, T, bins, epsilon):
    """What the code does, row by row, with one table for all cells."""
    n, d = X.shape
    votes, users = np.zeros((bins,) * d), np.zeros((bins,) * d)
    cell = lambda x: tuple(bins - 1 if v < 0 else min(int(np.floor(v * bins)), bins - 1) for v in x)  # noqa: E731
    for x, label in zip(X, y, strict=True):
        votes[cell(x)] += label
        users[cell(x)] += 1
    rng = np.random.RandomState(1)
    scale = np.sqrt(n) * 4 / epsilon
    votes, users = votes + rng.laplace(size=votes.shape) * scale, users + rng.laplace(size=users.shape) * scale
    inside = [bool(((x >= 0) & (x <= 1)).all()) for x in T]
    within, shares = [x for x, i in zip(T, inside, strict=True) if i], np.zeros(len(T))
    for i, x in enumerate(within):
        if inside[i] and users[cell(x)] >= 2:
            shares[i] = votes[cell(x)] / users[cell(x)]
    return shares


@pytest.mark.parametrize(("d", "bins"), [(2, 1), (3, 2), (4, 3)])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, 1e3])
def test_shares_are_those_of_the_described_code(d, bins, epsilon):
    rng = np.random.default_rng(0)
    X, y, T = rng.uniform(-0.1, 1.1, (300, d)), rng.integers(0, 2, 300), rng.uniform(-0.05, 1.05, (80, d))
    found = ReleasedHistogram(X, y, bins).shares(T, [epsilon])[0]
    np.testing.assert_allclose(found, described(X, y, T, bins, epsilon), rtol=1e-12)


def test_fits_share_their_noise_promise_nothing_and_equal_the_sweep():
    rng = np.random.default_rng(1)
    X = rng.random((450, 2))
    y = (X[:, 0] > 0.5).astype(int)
    fits = [PHIST(epsilon=8.0, version="released", random_state=s).fit(X[:400], y[:400]) for s in (0, 1)]
    np.testing.assert_array_equal(fits[0].predict_proba(X[400:]), fits[1].predict_proba(X[400:]))
    assert fits[0].guarantee_.model == "none" and "one seed" in str(fits[0].guarantee_)
    problem = Problem(
        X_train=X[:400], y_train=y[:400], X_test=X[400:], y_test=y[400:], classes=np.arange(2), metric="accuracy"
    )
    grid, streams = {"bins": [1, 2, 4]}, Streams(3)
    swept = PHIST(version="released").sweep(problem, [0.5, 8.0], grid, streams)
    np.testing.assert_array_equal(
        swept.values, loop_of_fits(PHIST(version="released"), problem, [0.5, 8.0], grid, streams)
    )


def test_too_many_cells_are_refused():
    with pytest.raises(ConfigurationError, match="at most"):
        PHIST(bins=2, version="released").fit(np.random.default_rng(0).random((9, 25)), np.arange(9) % 2)
