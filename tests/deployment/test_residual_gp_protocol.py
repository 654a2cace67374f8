"""ResidualGP's protocol equals its simulation bit for bit, and asks every user once."""

import numpy as np
import pytest

from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.residual_gp import ResidualGPClient, ResidualGPCurator
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError
from lpbench.estimators import ResidualGP
from lpbench.seeds import Streams

SECRET = b"0123456789abcdef"
Y_RANGE = (-1.0, 2.0)


def sample(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(1.5 * X[:, 0] + X[:, 1] - 0.8 + 0.1 * rng.standard_normal(n), *Y_RANGE)
    mask = rng.random((n, d)) < 0.2
    mask[:, 0] = True
    return X, y, mask


def run(model, X, y, mask, draws=None, seed=0, shards=2, silent=()):
    """A campaign in which reports arrive in random order at several places; ``silent`` users answer round 1 alone."""
    n, d = X.shape
    rng = np.random.default_rng(seed)
    curator = ResidualGPCurator(model, d, SECRET)
    clients = [
        ResidualGPClient(
            i, user_token(SECRET, i), model.epsilon, X[i], y[i], mask[i], None if draws is None else draws[:, [i]]
        )
        for i in range(n)
    ]

    def collect(make, reports):
        places = [make(shard, shards) for shard in range(shards)]
        for user in rng.permutation(list(reports)):
            assert places[user % shards].add([reports[user]]) == [""]
        for other in places[1:]:
            places[0].merge(other)
        return places[0]

    curator.close_enrolment(collect(curator.enrolment, {i: c.answer(curator.first) for i, c in enumerate(clients)}))
    for contents, rules in curator.groups():
        reports = {user: clients[user].answer(content) for user, content in contents.items() if user not in silent}
        curator.learn(collect(lambda *shard, rules=rules: curator.collector(rules, *shard), reports))
    return curator.fit(), clients


MODELS = {
    "small budget": ResidualGP(1.0, y_range=Y_RANGE),
    "joint reports": ResidualGP(8.0, y_range=Y_RANGE),
    "asked once": ResidualGP(2.0, adaptive=False, y_range=Y_RANGE),
    "one learner": ResidualGP(4.0, learner="gp", y_range=Y_RANGE),
    "own domain": ResidualGP(4.0, y_range=Y_RANGE, domain=(-1.0, 3.0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_same_draws_give_the_same_model_to_the_last_bit(name):
    streams, (X, y, mask) = Streams(11), sample(260)
    model = MODELS[name].set_params(random_state=streams)
    lo, hi = model.domain
    simulated = model.fit(lo + (hi - lo) * X, y, mask=mask)
    draws = streams.generator("report").random((3, len(X)))
    # Features of the unit cube as the estimator computes them from the domain.
    received, clients = run(model, ((lo + (hi - lo) * X) - lo) / (hi - lo), y, mask, draws)
    queries = lo + (hi - lo) * np.random.default_rng(1).random((300, 3))
    np.testing.assert_array_equal(received.predict(queries), simulated.predict(queries))
    assert received.guarantee_ == simulated.guarantee_ and received.domain == model.domain
    assert all(client.spent == model.epsilon for client in clients), "every user is asked once"
    assert (name == "joint reports") <= bool(received.effects_)


def test_users_who_do_not_answer_are_left_out():
    X, y, mask = sample(60)
    fitted, clients = run(ResidualGP(4.0, y_range=Y_RANGE, random_state=0), X, y, mask, silent=range(20))
    assert np.isfinite(fitted.predict(X)).all()
    assert [client.spent for client in clients] == [0.0] * 20 + [4.0] * 40


def test_a_user_is_asked_the_own_question_once():
    X, y, mask = sample(30)
    curator = ResidualGPCurator(ResidualGP(4.0, y_range=Y_RANGE, random_state=0), 3, SECRET)
    clients = [ResidualGPClient(i, user_token(SECRET, i), 4.0, X[i], y[i], mask[i]) for i in range(30)]
    first = curator.enrolment()
    first.add(client.answer(curator.first) for client in clients)
    curator.close_enrolment(first)
    groups = curator.groups()
    contents, rules = next(groups)
    answers = curator.collector(rules)
    answers.add(clients[user].answer(content) for user, content in contents.items())
    curator.learn(answers)
    contents, rules = next(groups)
    one, other = list(contents)[:2]
    place = curator.collector(rules)
    assert place.add([clients[one].answer(contents[other])]) == ["wrong_campaign"]
    with pytest.raises(ProtocolError, match="answered once"):
        clients[one].answer(contents[one])
    stranger = next(i for i in range(30) if i not in contents and clients[i].spent == 0)
    assert place.add([clients[stranger].answer(contents[other])]) == ["wrong_campaign"]


def test_refusals_of_the_curator():
    for model, named in (
        (ResidualGP(), "y_range"),
        (ResidualGP(report="laplace", y_range=Y_RANGE), "report='laplace'"),
        (ResidualGP(np.inf, y_range=Y_RANGE), "epsilon=inf"),
    ):
        with pytest.raises(ConfigurationError, match=named):
            ResidualGPCurator(model, 3, SECRET)
    curator = ResidualGPCurator(ResidualGP(y_range=Y_RANGE), 3, SECRET)
    with pytest.raises(ProtocolError, match="nobody has enrolled"):
        curator.close_enrolment(curator.enrolment())
    with pytest.raises(ProtocolError, match="nobody has answered"):
        run(ResidualGP(y_range=Y_RANGE), *sample(20), silent=range(20))
