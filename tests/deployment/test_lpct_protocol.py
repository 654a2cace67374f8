"""LPCT's protocol equals its per-user simulation, whatever the order, the chunks and the collectors."""

import numpy as np
import pytest

from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.lpct import LPCTClient, LPCTCurator
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError
from lpbench.estimators import LPCT
from lpbench.estimators.lpct.votes import VoteMechanism, one_hot_votes
from tests.privacy.laws import assert_same_law

SECRET = b"fedcba9876543210"


class SomeUsers:
    """A generator that hands out some users' part of draws made for all users."""

    def __init__(self, draws, users):
        self._draws, self._user = iter(draws), users

    def random(self, *args, size=None):
        return next(self._draws)[self._user]

    laplace = geometric = random


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 2)), rng.random((30, 2))
    return X, (X[:, 0] > 0.4).astype(int), X_public, (X_public[:, 0] > 0.4).astype(int)


def simulated_draws(model, n, depth):
    """The draws that the per-user simulation makes, one array per call of the generator."""
    rng = model._streams().generator("counts", depth=depth)
    shape = (n, 2, 2**depth)
    if model.mechanism == "rr":
        return [rng.random(shape)]
    half = model._mechanism(model.epsilon).half
    success = -np.expm1(-half.step / half.scale)
    return [rng.geometric(success, shape), rng.geometric(success, shape)]


def received(model, data, generators, order, chunks=2, shards=2):
    X, y, X_public, y_public = data
    curator = LPCTCurator(model, X_public, y_public, [0, 1], SECRET)
    reports = [
        LPCTClient(i, user_token(SECRET, i), model.epsilon, X[i], y[i], [0, 1], rng).answer(curator.first)
        for i, rng in enumerate(generators)
    ]
    collectors = [curator.collector(shard, shards) for shard in range(shards)]
    for part in np.array_split(order, chunks):
        for shard, collector in enumerate(collectors):
            collector.add(reports[i] for i in part if i % shards == shard)
    for other in collectors[1:]:
        collectors[0].merge(other)
    assert collectors[0].accepted == len(X) and not collectors[0].rejected
    return curator.fit(collectors[0])


@pytest.mark.parametrize("options", [{"mechanism": "rr"}, {"noise": "discrete"}], ids=["rr", "discrete"])
def test_same_draws_give_the_simulated_model(options):
    depth, data = 2, sample(120)
    X, y, X_public, y_public = data
    model = LPCT(2.0, depth=depth, public_weight=1.0, min_samples_leaf=0, random_state=3, **options)
    draws = simulated_draws(model, len(X), depth)
    rng = np.random.default_rng(0)
    one = received(model, data, [SomeUsers(draws, [i]) for i in range(len(X))], rng.permutation(len(X)))
    two = received(model, data, [SomeUsers(draws, [i]) for i in range(len(X))], rng.permutation(len(X)), 5, 3)
    np.testing.assert_array_equal(one.leaf_probability_, two.leaf_probability_)

    mechanism = model._mechanism(2.0)
    cells = one.tree_.leaf_index()[one.tree_.apply(X)]
    everybody = mechanism.half.randomize(one_hot_votes(cells, y, 4, 2), SomeUsers(draws, slice(None)))
    expected = mechanism.estimate(everybody.sum(axis=0), len(X))
    curator = LPCTCurator(model, X_public, y_public, [0, 1], SECRET)
    public = curator._public
    eta = (expected[1] + public[1]) / (expected[0] + public[0])
    np.testing.assert_array_equal(one.leaf_class_, (eta > 0.5).astype(int))
    np.testing.assert_array_equal(one.leaf_probability_[:, 1], np.clip(eta, 0, 1))


def test_the_simulation_per_user_is_what_the_protocol_sums():
    """``fit`` with noise="per_user" and the protocol fed the same randomised responses: the same bits."""
    depth, data = 2, sample(80)
    X, y, X_public, y_public = data
    model = LPCT(
        1.0, depth=depth, public_weight=2.0, mechanism="rr", noise="per_user", min_samples_leaf=0, random_state=9
    )
    simulated = model.fit(X, y, X_public=X_public, y_public=y_public)
    draws = simulated_draws(model, len(X), depth)
    real = received(model, data, [SomeUsers(draws, [i]) for i in range(len(X))], np.arange(len(X)))
    np.testing.assert_array_equal(real.leaf_probability_, simulated.leaf_probability_)
    queries = np.random.default_rng(4).random((300, 2))
    np.testing.assert_array_equal(real.predict(queries), simulated.predict(queries))


@pytest.mark.parametrize("kind", ["rr", "discrete"])
def test_fresh_reports_have_the_law_of_the_mechanism(kind):
    options = {"mechanism": "rr"} if kind == "rr" else {"noise": kind}
    X, y, X_public, y_public = sample(1)
    model = LPCT(1.0, depth=1, min_samples_leaf=0, random_state=0, **options)
    curator = LPCTCurator(model, X_public, y_public, [0, 1], SECRET)
    sums = []
    for user in range(1500):
        collector = curator.collector()
        collector.add([LPCTClient(user, user_token(SECRET, user), 1.0, X[0], y[0], [0, 1]).answer(curator.first)])
        sums.append(collector.sums())
    cell = curator._tree.leaf_index()[curator._tree.apply(X)]
    table = np.repeat(one_hot_votes(cell, y, 2, 2), 1500, axis=0)
    expected = VoteMechanism(1.0, kind).randomize(table, np.random.default_rng(1)).reshape(1500, -1)
    for column in range(4):
        assert_same_law(np.array(sums)[:, column], expected[:, column])


def test_refusals():
    X, y, X_public, y_public = sample(3)
    with pytest.raises(ConfigurationError, match="depth"):
        LPCTCurator(LPCT(1.0), X_public, y_public, [0, 1], SECRET)
    with pytest.raises(ConfigurationError, match="no continuous noise"):
        LPCTCurator(LPCT(1.0, depth=1), X_public, y_public, [0, 1], SECRET)
    curator = LPCTCurator(LPCT(2.0, depth=1, noise="discrete"), X_public, y_public, [0, 1], SECRET)
    with pytest.raises(ProtocolError, match="only 1 is left"):
        LPCTClient(0, b"x" * 16, 1.0, X[0], y[0], [0, 1]).answer(curator.first)
    with pytest.raises(ProtocolError, match="are not the classes"):
        LPCTClient(0, b"x" * 16, 2.0, X[0], 5, [0, 5]).answer(curator.first)
    with pytest.raises(ConfigurationError, match="y=7 must be one of 0, 5"):
        LPCTClient(0, b"x" * 16, 2.0, X[0], 7, [0, 5])
