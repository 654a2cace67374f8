"""PSGD: the batched passes against the explicit recursion on whole parameter vectors."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import ks_2samp

from lpbench.estimators import PSGD
from lpbench.estimators.binary import with_constant
from lpbench.estimators.psgd.device import GRADIENT, GradientQuestion
from lpbench.estimators.psgd.neural import Layers, NeuralPass, OuterSums
from lpbench.estimators.psgd.noise import HiddenNoise, product_root
from lpbench.estimators.psgd.passes import Linear, LinearPass, Runs, Visits
from lpbench.estimators.psgd.warm_start import curvature_rate, initial_layers, linear_start, neural_start
from lpbench.privacy import (
    PrivUnitG,
    Records,
    SignedPrivUnitG,
    SimulatedUsers,
    Users,
    privunit_reports,
    report_coefficients,
    unit_vectors,
)
from lpbench.seeds import Streams


def setting(n=40, D=5, replications=2, parameters=5, seed=0):
    """Users of a few replications and 2 budgets x 2 rates."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.random((replications, n, D - 1)), np.ones((replications, n, 1))], axis=2)
    y = rng.integers(0, 2, (replications, n)).astype(float)
    uniforms = rng.random((3, replications, n))
    mechanisms = [PrivUnitG(e, parameters) for e in (1.0, 6.0)]
    along = np.stack([m.along(*uniforms[1:]) for m in mechanisms for _ in range(2)], axis=1)
    users = Visits(X, y, uniforms[0], along, [np.random.default_rng([seed, r]) for r in range(replications)])
    spread = np.repeat([m.spread for m in mechanisms], 2)
    return users, Runs(np.array([0.005, 0.05, 0.005, 0.05]), spread, np.array([0, 1, 0, 1]))


def explicit_step(weights, gradient, users, runs, replication, t, z):
    """One step of all runs on whole parameter vectors (B, p), by the functions of the privacy room."""
    unit = unit_vectors(gradient, users.u_sign[replication, t], np.ones_like(gradient))
    reports = privunit_reports(unit, users.along[replication, :, t], runs.spread, z)
    return weights - runs.rates[:, None] * reports


def test_a_zero_gradient_becomes_a_random_sign():
    c = report_coefficients(np.zeros(2), 2.0, 0.0, 1.0, 0.0, np.array([0.49, 0.51]))
    np.testing.assert_array_equal(c, [0.5, -0.5])


def test_linear_pass_is_the_explicit_recursion():
    users, runs = setting()
    start = np.random.default_rng(9).standard_normal((2, 2, 5))
    got = LinearPass(users, runs, start).run()
    for r in range(2):
        rng, weights = np.random.default_rng([0, r]), start[r, runs.start]
        for t in range(40):
            x = users.X[r, t]
            gradient = (expit(weights @ x) - users.y[r, t])[:, None] * x
            weights = explicit_step(weights, gradient, users, runs, r, t, rng.standard_normal(5))
        np.testing.assert_allclose(got.weights[r], weights, rtol=1e-9)
        np.testing.assert_allclose(got.scores(r, users.X[r]), weights @ users.X[r].T, rtol=1e-9)


def explicit_network(users, runs, layers, replication, z_of_block, block):
    """Recursion on vectors (hidden weights, output weights) with explicit z."""
    h, D = layers.hidden.shape[2:]
    parts = layers.hidden[replication, runs.start].reshape(-1, h * D), layers.output[replication, runs.start]
    weights, z = np.concatenate(parts, axis=1), np.empty((0, h * D + h + 1))
    for t in range(users.X.shape[1]):
        if t % block == 0:
            z = z_of_block(users.X[replication, t : t + block])
        x, W, v = users.X[replication, t], weights[:, : h * D].reshape(-1, h, D), weights[:, h * D :]
        hidden = np.maximum(W @ x, 0.0)
        slope = expit((hidden * v[:, :-1]).sum(axis=1) + v[:, -1]) - users.y[replication, t]
        back = (hidden > 0) * v[:, :-1]
        outer = (back[:, :, None] * x).reshape(-1, h * D)
        gradient = slope[:, None] * np.concatenate([outer, hidden, np.ones((len(v), 1))], axis=1)
        weights = explicit_step(weights, gradient, users, runs, replication, t, z[t % block])
    return weights[:, : h * D].reshape(-1, h, D), weights[:, h * D :]


@pytest.mark.parametrize("steps", [5, 32])
def test_neural_pass_is_the_explicit_recursion(steps, monkeypatch):
    """With few inputs every z is drawn."""
    monkeypatch.setattr("lpbench.estimators.psgd.neural._BLOCK_USERS", steps)
    (users, runs), rng = setting(n=40, D=5, parameters=3 * 5 + 3 + 1), np.random.default_rng(8)
    layers = Layers(rng.standard_normal((2, 2, 3, 5)), rng.standard_normal((2, 2, 4)))
    got = NeuralPass(users, runs, layers).run()
    for r in range(2):
        rng = np.random.default_rng([0, r])

        def z_of_block(X, rng=rng):
            hidden = rng.standard_normal((len(X), 3 * X.shape[1]))
            return np.concatenate([hidden, rng.standard_normal((len(X), 4))], axis=1)

        hidden, output = explicit_network(users, runs, layers, r, z_of_block, got.noise.block)
        scores = got.scores(r, users.X[r])
        for run in range(4):
            final = got.final(r, run)
            np.testing.assert_allclose(final.hidden, hidden[run], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(final.output, output[run], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(scores[run], final.scores(users.X[r]), rtol=1e-8, atol=1e-10)


def sums_of_z(X):
    """Map from the users' z, one row of each end to end, to what :meth:`HiddenNoise.visit` returns and the total."""
    n, D = X.shape
    each = np.eye(n * D).reshape(n, D, n * D)
    before = np.concatenate([np.zeros((1, D, n * D)), np.cumsum(each, axis=0)])
    earlier = np.einsum("td,tdz->tz", X, before[:-1])
    return earlier, np.einsum("td,tdz->tz", X, each), before[-1]


@pytest.mark.parametrize("twins", [False, True])
def test_the_root_of_a_block_gives_the_covariance_of_explicit_sums(twins):
    X = np.random.default_rng(10).random((6, 20))
    X[4] = X[1] if twins else X[4]
    earlier, own, total = sums_of_z(X)
    of_the_sum = X @ total / 6
    remainders = np.concatenate([(earlier - np.arange(6)[:, None] * of_the_sum)[1:-1], own - of_the_sum])
    np.testing.assert_allclose(remainders @ total.T, 0.0, atol=1e-12)
    root = product_root(X @ X.T)
    np.testing.assert_allclose(root @ root.T, remainders @ remainders.T, rtol=1e-9, atol=1e-12)


def test_the_noise_of_users_who_are_alike_does_not_depend_on_the_last_bits():
    """The covariance of their products is singular; a pivot or a basis chosen by rounding errors would rotate it."""
    rng = np.random.default_rng(11)
    X = np.repeat(rng.integers(0, 2, (1, 4, 30)).astype(float), [1, 5, 2, 4], axis=1) + 1.0
    drawn = []
    for shake in (0.0, 1e-15, -2e-15):
        shaken = X * (1.0 + shake * rng.choice([-1.0, 0.0, 1.0], X.shape))
        users = Visits(shaken, np.zeros((1, 12)), np.zeros((1, 12)), np.zeros((1, 1, 12)), [np.random.default_rng(1)])
        noise = HiddenNoise(users, 4)
        drawn.append(np.concatenate([*noise.visit(shaken), noise.total @ shaken.swapaxes(1, 2)], axis=None))
    np.testing.assert_allclose(drawn[1:], [drawn[0]] * 2, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("D", [7, 20])
def test_noise_of_a_hidden_layer_has_the_law_of_explicit_sums(D):
    """Over two blocks, with few inputs and with many.

    30000 rows of variance 1: a sample covariance deviates by 0.05 with probability below 1e-15.
    """
    users, _ = setting(n=8, D=D, replications=1)
    noise = HiddenNoise(users, 30000)
    seen = [noise.visit(users.X[:, :4]), noise.visit(users.X[:, 4:])]
    drawn = [np.concatenate([both[i][0] for both in seen]) for i in (0, 1)]
    drawn = np.concatenate([*drawn, noise.total[0].T])
    numbers = np.concatenate(sums_of_z(users.X[0]))
    expected = numbers @ numbers.T
    scale = np.sqrt(np.diag(expected)) + (np.diag(expected) == 0)
    assert np.abs((drawn @ drawn.T / 30000 - expected) / np.outer(scale, scale)).max() < 0.05


@pytest.mark.parametrize("D", [7, 40])
def test_the_sum_of_a_block_continues_what_its_users_saw(D):
    """Across the span of the block nothing may leak into it."""
    users, _ = setting(n=12, D=D)
    noise = HiddenNoise(users, 3)
    for first in (0, 6):
        X = users.X[:, first : first + 6]
        earlier, own = noise.visit(X)
        np.testing.assert_allclose(noise.total @ X[:, -1, :, None], (earlier + own)[:, -1, :, None], atol=1e-10)


def test_outer_sums_do_not_depend_on_when_they_are_added_up():
    rng = np.random.default_rng(4)
    X, factors = rng.random((2, 30, 3)), rng.standard_normal((2, 30, 5, 4))
    sums = OuterSums(X, 5, 4, block=4)
    for first in range(0, 30, 4):
        count = min(4, 30 - first)
        sums.append(count)[:] = factors[:, first : first + count]
    expected = np.einsum("rtbh,rtd->rbhd", factors, X)
    np.testing.assert_allclose(sums.matrix(1, 3), expected[1, 3])
    query = rng.random((2, 6, 3))
    np.testing.assert_allclose(sums.times(query), np.einsum("rqd,rbhd->rqbh", query, expected))
    part = np.s_[1:2, 2:4]
    np.testing.assert_allclose(sums.times(query[1:], part), np.einsum("rqd,rbhd->rqbh", query[1:], expected[part]))


def loss(scores, y):
    return np.mean(np.logaddexp(0, -(2 * y - 1) * scores))


def test_the_curvature_step_never_increases_the_linear_loss(monkeypatch):
    rng = np.random.default_rng(5)
    X, y = with_constant(rng.random((60, 4))), rng.integers(0, 2, 60)
    losses = []
    for steps in range(30):
        monkeypatch.setattr("lpbench.estimators.psgd.warm_start.STEPS", steps)
        losses.append(loss(X @ linear_start(X, y, np.array([curvature_rate(X)]))[0], y))
    assert (np.diff(losses) <= 1e-15).all() and losses[-1] < losses[0]


@pytest.mark.parametrize("q", [6, 40])
def test_network_start_is_plain_gradient_descent(q):
    """Both in the span of few public rows and in all inputs, some rows twice with any label."""
    rng = np.random.default_rng(6)
    rows, y = rng.random((q, 9)), rng.integers(0, 2, q)
    rows[::3] = rows[1]
    X = with_constant(rows)
    start = initial_layers(10, 4, rng)
    hidden, output = start.hidden.copy(), start.output.copy()
    for _ in range(100):
        active = np.maximum(X @ hidden.T, 0)
        slope = (expit(active @ output[:-1] + output[-1]) - y) / q
        step = ((slope[:, None] * output[:-1]) * (active > 0)).T @ X
        output -= 0.5 * np.append(slope @ active, slope.sum())
        hidden -= 0.5 * step
    got = neural_start(X, y, 0.5, start)
    np.testing.assert_allclose(got.hidden, hidden, atol=1e-10)
    np.testing.assert_allclose(got.output, output, atol=1e-10)


RNG = np.random.default_rng(7)
X = RNG.random((1500, 3))
Y = (X @ [3.0, -2.0, 0.0] + 0.3 * RNG.logistic(size=1500) > 0.5).astype(int)


@pytest.mark.parametrize("hidden_ratio", [0, 2])
def test_it_learns_when_the_budget_allows(hidden_ratio):
    model = PSGD(50.0, hidden_ratio, learning_rate=0.05, random_state=0).fit(
        X[200:], Y[200:], X_public=X[:200], y_public=Y[:200]
    )
    assert model.score(X, Y) > 0.8


def test_an_infinite_budget_takes_steps_of_exact_length():
    model = PSGD(math.inf, learning_rate=0.01, random_state=0).fit(X[:1], Y[:1], X_public=X[:50], y_public=Y[:50])
    start = linear_start(with_constant(X[:50]), Y[:50], np.array([curvature_rate(with_constant(X[:50]))]))[0]
    assert np.linalg.norm(model.model_.weights - start) == pytest.approx(0.01)


@pytest.mark.parametrize(("hidden_ratio", "parameters"), [(0, 4), (1, 3 * 4 + 3 + 1), (0.1, 4 + 1 + 1)])
def test_one_vector_spends_the_whole_budget(hidden_ratio, parameters):
    guarantee = PSGD(1.5, hidden_ratio).fit(X[:30], Y[:30]).guarantee_
    assert (guarantee.model, guarantee.epsilon, guarantee.delta, guarantee.rounds) == ("ldp", 1.5, 0.0, 1)
    assert guarantee.bits_up == guarantee.bits_down == 64 * parameters


@pytest.mark.parametrize(("hidden_ratio", "tensors"), [(0, 2), (1, 4)])
def test_a_budget_for_each_tensor_is_stated_as_their_sum(hidden_ratio, tensors):
    guarantee = PSGD(1.5, hidden_ratio, budget="tensor").fit(X[:30], Y[:30]).guarantee_
    assert guarantee.epsilon == pytest.approx(tensors * 1.5)


def network(d, h, seed=3):
    rng = np.random.default_rng(seed)
    return Layers(rng.standard_normal((h, d + 1)), rng.standard_normal(h + 1))


@pytest.mark.parametrize(("model", "parameters"), [
    (Linear(np.array([0.4, -1.0, 0.3])), 3), pytest.param(network(2, 2), 9, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("budget", [2.0, pytest.param(math.inf, marks=pytest.mark.slow)])
def test_a_pass_has_the_law_of_users_asked_one_after_the_other(model, parameters, budget):
    """Kolmogorov-Smirnov on 1500 last models of either kind, at three rows and on their mean; each at 5e-8."""
    records, rows = Records(X[:4, :2], Y[:4]), np.array([[0.2, 0.9, 1.0], [-1.0, 0.5, 1.0], [0.0, 0.0, 1.0]])
    question = GradientQuestion(model, SignedPrivUnitG(budget, parameters), 0.3, np.array([2, 0, 3, 1]))
    drawn = {"pass": [], "one by one": []}
    for k in range(1500):
        users = [SimulatedUsers(records, Streams(2 * k + i)) for i in (0, 1)]
        drawn["pass"].append(users[0].chain(GRADIENT, question).model.scores(rows))
        drawn["one by one"].append(Users.chain(users[1], GRADIENT, question).model.scores(rows))
    shortcut, slow = (np.column_stack([scores, np.mean(scores, axis=1)]) for scores in drawn.values())
    for got, expected in zip(shortcut.T, slow.T, strict=True):
        assert ks_2samp(np.round(got, 9), np.round(expected, 9)).pvalue > 5e-8


def test_a_pass_and_users_asked_one_by_one_spend_the_same():
    question = GradientQuestion(Linear(np.zeros(3)), SignedPrivUnitG(1.5, 3), 0.1, np.array([3, 1, 0, 2]))
    spent = []
    for chain in (SimulatedUsers.chain, Users.chain):
        users = SimulatedUsers(Records(X[:4, :2], Y[:4]), Streams(0))
        chain(users, GRADIENT, question)
        spent.append(users.spent)
    assert spent[0] == spent[1]
    assert (spent[0].epsilon, spent[0].rounds, spent[0].bits_up) == (1.5, 1, 192.0)


@pytest.mark.parametrize("model", [Linear(np.array([0.4, -1.0, 0.3, 2.0])), network(3, 2)])
def test_the_device_sends_the_gradient_of_the_logistic_loss(model):
    """Against central differences of the loss over every weight."""
    parameters = 4 if isinstance(model, Linear) else 11
    question = GradientQuestion(model, SignedPrivUnitG(1.0, parameters), -1.0, np.arange(5))
    records, rows = Records(X[:5], Y[:5]), with_constant(X[:5])
    found = GRADIENT.inputs(records, question)
    for k, step in enumerate(1e-6 * np.eye(parameters)):
        up, down = (question.after(sign * step).model.scores(rows) for sign in (1, -1))
        losses = [np.logaddexp(0, -(2 * Y[:5] - 1) * scores) for scores in (up, down)]
        np.testing.assert_allclose(found[:, k], (losses[0] - losses[1]) / 2e-6, atol=1e-8)
