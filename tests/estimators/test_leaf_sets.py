"""Scores of rows put together from users and public rows: those of a walk down each tree, to the last bit."""

import numpy as np
import pytest

from lpbench.estimators.tuning_free import public_score
from lpbench.estimators.tuning_free.public_score import PublicScore
from lpbench.estimators.tuning_free.residual_score import _NEAREST, _TIE, _nearest_rows


@pytest.mark.parametrize("q", [12, 90, 700])
@pytest.mark.parametrize("levels", [None, 2, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mask", ["columns", "random", "all", "none"])
def test_filled_rows_have_the_score_of_complete_ones(q, levels, n_classes, mask, monkeypatch):
    monkeypatch.setattr(public_score, "_MANY_USERS", 30)
    rng = np.random.default_rng((q, n_classes, levels or 0))
    X, rows = rng.random((400, 4)), rng.random((q, 4))
    if levels:
        X, rows = np.floor(levels * X) / levels, np.floor(levels * rows) / levels
    codes = np.minimum((n_classes * rows[:, 0] + rng.random(q) / 2).astype(int), n_classes - 1)
    hidden = {
        "columns": np.tile([True, False, True, False], (400, 1)),
        "random": rng.random((400, 4)) < 0.3,
        "all": np.ones((400, 4), dtype=bool),
        "none": np.zeros((400, 4), dtype=bool),
    }[mask]
    near = rng.integers(0, q, (3, 400))
    score = PublicScore(rows, codes, n_classes, 0)
    expected = np.array([score._predicted(np.where(hidden, rows[k], X)).T for k in near]).swapaxes(0, 1)
    shown = np.where(hidden, np.nan, X)
    assert np.array_equal(score.filled(shown, rows, near), expected)
    assert np.array_equal(score.filled(shown, rows, near, first=1), expected[1:])


@pytest.mark.parametrize("k", [0, 1, 3, 12])
@pytest.mark.parametrize("q", [4, 5, 300])
@pytest.mark.parametrize("levels", [None, 2])
def test_nearest_rows_are_those_of_all_draws(k, q, levels):
    rng = np.random.default_rng((k, q))
    Z, places = rng.random((9000, k)), rng.random((q, k))
    if levels:
        Z[8192:], places = np.rint(Z[8192:]), np.where(rng.random((q, 1)) < 0.5, np.rint(places), places)
    draws = np.random.default_rng(1).random((9000, q))
    distances = np.sqrt(((Z[:, None] - places) ** 2).sum(axis=2)) + _TIE * draws
    expected = np.sort(np.argsort(distances, axis=1)[:, :_NEAREST], axis=1).T
    assert np.array_equal(_nearest_rows(Z, places, np.random.default_rng(1)), expected)
