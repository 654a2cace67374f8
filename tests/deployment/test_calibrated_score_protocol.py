"""CalibratedScore's protocol equals its simulation bit for bit."""

import numpy as np
import pytest

from lpbench.deployment.calibrated_score import CalibratedScoreClient, CalibratedScoreCurator
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError
from lpbench.estimators import CalibratedScore
from lpbench.seeds import Streams
from tests.deployment.test_lpct_protocol import SomeUsers

SECRET = b"0123456789abcdef"


def sample(n, classes, seed=0):
    """Features and classes of n users and of 80 public rows, all classes among both."""
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 3)), rng.random((80, 3))
    labels = [np.asarray(classes)[(len(classes) * Z[:, 0] ** 1.5).astype(int)] for Z in (X, X_public)]
    for label in labels:
        label[: len(classes)] = classes
    return X, labels[0], X_public, labels[1]


CASES = {
    "two classes": (CalibratedScore(1.0), [0, 1]),
    "subsets": (CalibratedScore(0.5), ["a", "b", "c", "d", "e"]),
    "many cells": (CalibratedScore(6.0, learner="forest"), [0, 1]),
    "three classes, grr": (CalibratedScore(3.0, report="grr"), [1, 2, 5]),
    "labels alone": (CalibratedScore(1.0, cells="none", learner="shares"), [False, True]),
    "domain": (CalibratedScore(4.0, domain=(0.0, 2.0)), [0, 1]),
}


def received(model, data, classes, streams, seed=0, shards=2):
    X, y, X_public, y_public = data
    n = len(X)
    curator = CalibratedScoreCurator(model, X_public, y_public, classes, n, SECRET)
    m = curator._mechanism.n_categories
    keep = streams.generator("report").random(n)
    others = streams.generator("report", categories=m).random(n if curator._mechanism.size == 1 else (n, m))
    located = model._prepare(X)
    reports = [
        CalibratedScoreClient(
            i, user_token(SECRET, i), model.epsilon, located[i], y[i], classes, (keep[[i]], SomeUsers([others], [i]))
        ).answer(curator.first)
        for i in range(n)
    ]
    places = [curator.collector(shard, shards) for shard in range(shards)]
    for i in np.random.default_rng(seed).permutation(n):
        assert places[i % shards].add([reports[i]]) == [""]
    for other in places[1:]:
        places[0].merge(other)
    return curator.fit(places[0]), curator


@pytest.mark.parametrize("name", CASES)
def test_same_draws_give_the_same_model_to_the_last_bit(name):
    (model, classes), streams = CASES[name], Streams(5)
    data = sample(240, classes)
    model = model.set_params(random_state=streams, classes=classes)
    simulated = model.fit(data[0], data[1], X_public=data[2], y_public=data[3])
    real, curator = received(model, data, classes, streams)
    queries = np.random.default_rng(1).random((200, 3))
    np.testing.assert_array_equal(real.predict_proba(queries), simulated.predict_proba(queries))
    np.testing.assert_array_equal(real.classes_, simulated.classes_)
    assert real.guarantee_ == simulated.guarantee_
    assert (name == "subsets") <= (curator._mechanism.size > 1)
    assert (name == "many cells") <= (real.n_cells_ > 4)


def test_refusals():
    X, _, X_public, y_public = sample(20, [0, 1])
    for options, named in (({"n_users": 1}, "n_users=1"), ({"classes": [0, 2]}, "no other classes")):
        arguments = {"classes": [0, 1], "n_users": 20, **options}
        with pytest.raises(ConfigurationError, match=named):
            CalibratedScoreCurator(CalibratedScore(), X_public, y_public, secret=SECRET, **arguments)
    with pytest.raises(ConfigurationError, match="epsilon=inf"):
        CalibratedScoreCurator(CalibratedScore(np.inf), X_public, y_public, [0, 1], 20, SECRET)
    curator = CalibratedScoreCurator(CalibratedScore(1.0), X_public, y_public, [0, 1], 20, SECRET)
    with pytest.raises(ProtocolError, match="not the classes"):
        CalibratedScoreClient(0, b"x" * 16, 1.0, X[0], 0, [0, 1, 2]).answer(curator.first)
    with pytest.raises(ProtocolError, match="does not fit"):
        CalibratedScoreClient(0, b"x" * 16, 1.0, X[0, :2], 0, [0, 1]).answer(curator.first)
