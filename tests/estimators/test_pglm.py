import math

import numpy as np
import pytest
from scipy.stats import chi2

from lpbench.errors import ConfigurationError
from lpbench.estimators import PGLM
from lpbench.estimators.baselines.pglm import (
    MOMENTS,
    SENSITIVITY,
    MomentQuestion,
    moment_scale,
    smallest_eigenvalue,
    solve,
    unit_noise,
    unit_rows,
)
from lpbench.estimators.baselines.released import released_scale
from lpbench.privacy import Gaussian, Records
from lpbench.privacy.users import answer_streams
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.estimators.loops import learned

RNG = np.random.default_rng(3)
X = RNG.standard_normal((500, 4))
Y = (X @ [2.0, -1.0, 0.0, 1.0] + 0.5 + RNG.logistic(size=500) > 0).astype(int)


def vector(x, sign):
    return np.append(np.outer(x, x), x * sign)


def test_sensitivity_is_attained_and_never_exceeded():
    rows = RNG.standard_normal((20000, 2, 3))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    signs = RNG.choice([-1, 1], (20000, 2))
    outer = np.einsum("nki,nkj->nkij", rows, rows).reshape(20000, 2, 9)
    vectors = np.concatenate([outer, rows * signs[..., None]], axis=2)
    largest = np.linalg.norm(vectors[:, 0] - vectors[:, 1], axis=1).max()
    assert 0.99 * SENSITIVITY < largest <= SENSITIVITY
    worst = vector(np.array([1.0, 0.0]), 1) - vector(np.array([0.5, math.sqrt(0.75)]), -1)
    assert np.linalg.norm(worst) == pytest.approx(SENSITIVITY)


def test_summed_noise_is_that_of_n_users_made_symmetric():
    """Per user N(0, 1) in every entry, then (G + G^T) / 2: variance 1 on the diagonal, 1/2 off it; chi-square, 1e-6."""
    noise = unit_noise(150, Streams(4).generator("moments"))[:-1]
    np.testing.assert_array_equal(noise, noise.T)
    upper = noise[np.triu_indices(150, 1)]
    for draws, variance in ((np.diag(noise), 1.0), (upper, 0.5)):
        total = (draws**2).sum() / variance
        assert 1e-6 < chi2.cdf(total, draws.size) < 1 - 1e-6
    n, sigma = 400, Gaussian.for_budget(1.0, 1e-4, SENSITIVITY).sigma
    records = Records(np.zeros((n, 2)), np.arange(n) % 2)
    question = MomentQuestion(Gaussian(sigma, 1e-4, SENSITIVITY), 2)
    drawn = MOMENTS.draw_sums(records, question, Streams(1)).reshape(4, 3)
    true = np.zeros((4, 3))
    true[2, 2] = n
    unit = unit_noise(3, Streams(1).generator("report"))
    np.testing.assert_allclose(drawn - true, math.sqrt(n) * sigma * unit, rtol=1e-9, atol=1e-9)


def test_reports_add_up_to_the_law_of_the_shortcut():
    """Mean and variance of 4000 estimates from the users' own reports and by the shortcut, at 6 standard errors."""
    records, question = Records(X[:7], Y[:7]), MomentQuestion(Gaussian(0.7, 1e-4, SENSITIVITY), 4)
    rng = np.random.default_rng(8)
    by_user = np.array([MOMENTS.estimate(MOMENTS.added_up(records, question, rng), question, 7) for _ in range(4000)])
    by_law = np.array([MOMENTS.draw_sums(records, question, Streams(k)) for k in range(4000)])
    rows = unit_rows(X[:7])
    true = np.vstack([rows.T @ rows, rows.T @ (2.0 * Y[:7] - 1)]).ravel()
    variance = 7 * 0.7**2 * np.vstack([np.where(np.eye(5) == 1, 1.0, 0.5), np.ones(5)]).ravel()
    for drawn in (by_user, by_law):
        assert (np.abs(drawn.mean(axis=0) - true) < 6 * np.sqrt(variance / 4000)).all()
        assert (np.abs(drawn.var(axis=0) / variance - 1) < 6 * math.sqrt(2 / 4000)).all()
    sent = MOMENTS.inputs(records, question)
    between = np.linalg.norm(sent[:, None] - sent, axis=2)
    outer = np.array([vector(row, sign) for row, sign in zip(rows, 2 * Y[:7] - 1, strict=True)])
    np.testing.assert_allclose(between, np.linalg.norm(outer[:, None] - outer, axis=2), atol=1e-12)


def test_without_noise_it_is_least_squares():
    model = PGLM(epsilon=math.inf).fit(X, Y)
    expected = np.linalg.lstsq(unit_rows(X), 2.0 * Y - 1, rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6)
    assert model.ridge_ == 0.0
    assert model.score(X, Y) > 0.75


def test_the_ridge_is_just_large_enough():
    mechanism = PGLM(epsilon=0.5)._mechanism(500)
    deviation = math.sqrt(500) * mechanism.sigma
    streams = answer_streams(Streams(2).party("users"), "sums", 0)
    noisy = MOMENTS.draw_sums(Records(X, Y), MomentQuestion(mechanism, 4), streams).reshape(6, 5)
    coef, ridge = solve(noisy[:-1].copy(), noisy[-1], deviation, 500)
    noisy[:-1] += ridge * np.eye(5)
    assert ridge > 0
    assert np.linalg.eigvalsh(noisy[:-1])[0] == pytest.approx(deviation)
    np.testing.assert_allclose(noisy[:-1] @ coef, noisy[-1])
    fitted = learned(PGLM(epsilon=0.5, random_state=Streams(2)), X, Y)
    np.testing.assert_array_equal(fitted.coef_, coef)
    assert fitted.ridge_ == ridge


@pytest.mark.parametrize("noise", [1.0, 1e-2, 0.0])
def test_the_smallest_eigenvalue_of_a_wide_matrix(noise):
    """With noise by Lanczos' method; without it 200 eigenvalues are 0, and it gives up."""
    rows = RNG.standard_normal((400, 600)) / 20
    square = RNG.standard_normal((600, 600))
    matrix = rows.T @ rows + noise * (square + square.T)
    assert smallest_eigenvalue(matrix) == pytest.approx(np.linalg.eigvalsh(matrix)[0], rel=1e-9, abs=1e-9)


def test_rows_of_length_one_keep_the_side_of_every_hyperplane():
    w = RNG.standard_normal(5)
    rows = unit_rows(X)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)
    np.testing.assert_array_equal(rows @ w > 0, X @ w[:4] + w[4] > 0)


def test_scale_solves_the_moment_equation_where_it_has_a_root():
    scores = 0.2 * RNG.standard_normal(1000)
    c, found = moment_scale(scores)
    s = 1 / (1 + np.exp(-c * scores))
    assert found and c >= 2
    assert 2 * c * np.mean(s * (1 - s)) == pytest.approx(1.0)
    assert moment_scale(np.zeros(3)) == (2.0, True)


def test_scale_is_capped_and_flagged_where_it_has_none():
    scores = np.array([-3.0, 3.0])
    c, found = moment_scale(scores)
    grid = np.geomspace(0.1, 100, 2000)
    s = 1 / (1 + np.exp(-grid * 3.0))
    assert (2 * grid * s * (1 - s)).max() < 1
    assert not found and math.isfinite(c)


def test_public_features_change_no_class():
    plain = learned(PGLM(epsilon=50.0, random_state=1), X[100:], Y[100:])
    scaled = learned(PGLM(epsilon=50.0, random_state=1), X[100:], Y[100:], X_public=X[:100], y_public=Y[:100])
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))
    assert plain.scale_ == 2.0 and not plain.scale_found_ and scaled.scale_ > 2.0


def test_guarantee_counts_the_symmetric_matrix_once():
    guarantee = PGLM(epsilon=2.0).fit(X, Y).guarantee_
    assert (guarantee.epsilon, guarantee.delta) == (pytest.approx(2.0, rel=1e-9), 1 / 500**2)
    assert guarantee.bits_up == 64 * (15 + 5)


def test_the_released_version_follows_the_public_code():
    """Rows as they are, classes 0 and 1, the cut at 1/2, noise of the sums by the formula of the code."""
    draws = Streams(5)
    model = learned(PGLM(epsilon=2.0, version="released", random_state=draws), X, Y, X_public=X[:50], y_public=Y[:50])
    rows, rng = np.column_stack([X, np.ones(500)]), draws.party("curator").generator("moments")
    square, deviation = rng.standard_normal((5, 5)), math.sqrt(32 * 5**4 * math.log(2.5 * 500**2) / 4 * math.sqrt(500))
    gram = rows.T @ rows + deviation * (square + square.T) / math.sqrt(2)
    beta = np.linalg.solve(gram, rows.T @ Y + deviation * rng.standard_normal(5))
    c = released_scale(rows[:50] @ beta)
    score = rows @ (beta if math.isnan(c) else c * beta)
    assert (model.predict(X) == (score > 0.5)).all()
    swept = model.sweep(Problem(X, Y, X, Y, X_public=X[:50], y_public=Y[:50], metric="accuracy"), [2.0], {}, draws)
    assert swept.values[0, 0] == np.mean(model.predict(X) == Y)


def test_the_released_scale_takes_ten_steps_without_a_factor_of_the_derivative():
    scores, c = np.linspace(-0.2, 0.3, 30), 1.0
    for _ in range(10):
        s = 1 / (1 + np.exp(-c * scores))
        c -= (c * np.mean(s * (1 - s)) - 1) / np.mean(s * (1 - s) * (1 + c * scores * (1 - 2 * s)))
    assert released_scale(scores) == pytest.approx(c, rel=1e-9)
    assert math.isnan(released_scale(np.full(3, 1e5)))


def test_the_released_version_promises_nothing():
    model = PGLM(epsilon=1.0, version="released", random_state=0).fit(X, Y, X_public=X[:50], y_public=Y[:50])
    assert (model.guarantee_.model, model.guarantee_.epsilon) == ("none", math.inf)
    assert "no budget holds" in model.guarantee_.note
    with pytest.raises(ConfigurationError, match="version='released' needs public features"):
        PGLM(version="released").fit(X, Y)
    with pytest.raises(ConfigurationError, match="version='first' must be one of"):
        PGLM(version="first").fit(X, Y)
