"""The wire equals its simulation, client by client: to the last bit with the same draws, in law with fresh ones."""

import sys
from pathlib import Path

import numpy as np
import pytest
from jinja2 import Environment

import lpbench
from lpbench.deployment.broadcast import Broadcast
from lpbench.deployment.client import Client
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.curator import RemoteUsers, learn_remotely
from lpbench.deployment.wire import user_token
from lpbench.errors import ConfigurationError, PrivacyError
from lpbench.estimators import (
    LPCT,
    AdHistOfTree,
    HistOfTree,
    PrivateLabelsClassifier,
    PrivateLabelsRegressor,
    ResidualGP,
    ResidualScore,
)
from lpbench.estimators.tuning_free.ablations import LabelsAlone, OneLeafSize, RandomisedResponse, RecordScore
from lpbench.ledger import PrivacyLedger
from lpbench.seeds import Streams
from tests.deployment.devices import RUN, SECRET, Wire, simulated
from tests.privacy.laws import assert_same_law

Y_RANGE = (-1.0, 2.0)


def template():
    """The classification method of the template, as a user's own module."""
    source = (Path(lpbench.__file__).parent / "cli" / "templates" / "classification.py.j2").read_text(encoding="utf-8")
    module = type(sys)("template_of_a_method")
    sys.modules[module.__name__] = module
    code = Environment(autoescape=False).from_string(source).render(title="Mine", class_name="Mine")
    exec(compile(code, module.__name__, "exec"), vars(module))
    return module


TEMPLATE = template()


def regression(n, personal=True, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.clip(X @ np.linspace(0.2, 1.0, d) - 0.5 + 0.1 * rng.standard_normal(n), *Y_RANGE)
    mask = np.zeros((n, d), dtype=bool)
    mask[:, 0] = True
    if personal:
        mask[:, 1] = rng.random(n) < 0.3
    return {"X": X, "y": y, "mask": mask}


def classification(n, classes, seed=0, public=80, shows=False):
    """Features and classes of n users and of public rows, all classes among both."""
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 3)), rng.random((public, 3))
    labels = [np.asarray(classes)[(len(classes) * Z[:, 0] ** 1.5).astype(int)] for Z in (X, X_public)]
    for label in labels if public else labels[:1]:
        label[: len(classes)] = classes
    data = {"X": X, "y": labels[0]}
    if public:
        data |= {"X_public": X_public, "y_public": labels[1]}
    return data | ({"mask": np.zeros((n, 3), dtype=bool)} if shows else {})


def tree_model(kind=HistOfTree, epsilon=2.0, **options):
    return kind(epsilon, noise="discrete", y_range=Y_RANGE, **options)


METHODS = {
    "HistOfTree, aligned grr": (tree_model(bins=2, depth=2), lambda: regression(150, personal=False)),
    "HistOfTree, personal grr": (tree_model(bins=3, depth=2), lambda: regression(150)),
    "HistOfTree, personal rr": (tree_model(bins=2, depth=2, mechanism="rr"), lambda: regression(150)),
    "HistOfTree, cart": (tree_model(epsilon=1.0, bins=2, depth=3, rule="cart"), lambda: regression(150)),
    "HistOfTree, aligned cart rr": (
        tree_model(epsilon=1.0, bins=2, depth=2, rule="cart", mechanism="rr"),
        lambda: regression(150, personal=False),
    ),
    "HistOfTree, random": (tree_model(epsilon=1.0, bins=2, depth=2, rule="random"), lambda: regression(150)),
    "HistOfTree, no grid": (tree_model(n_grid_features=0, bins=2, depth=2), lambda: regression(150)),
    "HistOfTree, label only": (
        tree_model(epsilon=1.0, bins=1, depth=2, label_share=1.0),
        lambda: regression(150, personal=False),
    ),
    "HistOfTree, tight": (
        tree_model(epsilon=1.0, bins=1, depth=2, constants="tight"),
        lambda: regression(150, personal=False),
    ),
    "HistOfTree, adaptive": (tree_model(AdHistOfTree), lambda: regression(150)),
    "LPCT, discrete": (
        LPCT(2.0, depth=2, public_weight=1.0, min_samples_leaf=0, noise="discrete", classes=[0, 1]),
        lambda: classification(120, [0, 1], public=30),
    ),
    "LPCT, rr": (
        LPCT(2.0, depth=2, public_weight=1.0, min_samples_leaf=0, mechanism="rr", classes=[0, 1]),
        lambda: classification(120, [0, 1], public=30),
    ),
    "LPCT, per user": (
        LPCT(1.0, 2, 2.0, mechanism="rr", noise="per_user", min_samples_leaf=0, classes=["a", "b", "c"]),
        lambda: classification(80, ["a", "b", "c"], public=30),
    ),
    "LPCT, depth of the sample": (LPCT(2.0, mechanism="rr", classes=[0, 1]), lambda: classification(120, [0, 1])),
    "ResidualGP, small budget": (ResidualGP(1.0, y_range=Y_RANGE), lambda: regression(260)),
    "ResidualGP, joint reports": (ResidualGP(8.0, y_range=Y_RANGE), lambda: regression(260)),
    "ResidualScore, two classes": (RecordScore(1.0, classes=[0, 1]), lambda: classification(240, [0, 1])),
    "ResidualScore, subsets": (
        ResidualScore(0.5, classes=list("abcde")),
        lambda: classification(240, list("abcde")),
    ),
    "ResidualScore, many cells": (OneLeafSize(6.0, classes=[0, 1]), lambda: classification(240, [0, 1])),
    "ResidualScore, three classes, grr": (
        RandomisedResponse(3.0, classes=[1, 2, 5]),
        lambda: classification(240, [1, 2, 5]),
    ),
    "ResidualScore, labels alone": (
        LabelsAlone(1.0, classes=[False, True]),
        lambda: classification(240, [False, True]),
    ),
    "ResidualScore, features": (
        ResidualScore(1.0, classes=[0, 1]),
        lambda: classification(120, [0, 1], public=0, shows=True),
    ),
    "ResidualScore, features and sample, three classes": (
        ResidualScore(2.0, classes=[0, 1, 2]),
        lambda: classification(120, [0, 1, 2], shows=True),
    ),
    "PrivateLabelsRegressor, levels": (
        PrivateLabelsRegressor(2.0, randomizer="levels", y_range=Y_RANGE),
        lambda: regression(120),
    ),
    "PrivateLabelsRegressor, piecewise": (
        PrivateLabelsRegressor(2.0, randomizer="piecewise", y_range=Y_RANGE),
        lambda: regression(120),
    ),
    "PrivateLabelsClassifier, rr": (
        PrivateLabelsClassifier(2.0, classes=[0, 1, 2]),
        lambda: classification(120, [0, 1, 2], public=0, shows=True),
    ),
    "PrivateLabelsClassifier, subsets": (
        PrivateLabelsClassifier(0.5, randomizer="subset_selection", classes=list("abcde")),
        lambda: classification(120, list("abcde"), public=0, shows=True),
    ),
    "PrivateLabelsClassifier, bits": (
        PrivateLabelsClassifier(1.0, randomizer="vector_approximation", classes=[0, 1, 2]),
        lambda: classification(120, [0, 1, 2], public=0, shows=True),
    ),
    "of the template": (
        TEMPLATE.Mine(1.0, classes=[0, 1]),
        lambda: classification(120, [0, 1], public=0, shows=True),
    ),
}
MODULES = (*RUN, TEMPLATE.CLASS)


def run_of(model):
    """Devices are known by their names: the template's is a user's own."""
    return (TEMPLATE.CLASS,) if isinstance(model, TEMPLATE.Mine) else RUN


def predicted(model, d=3):
    queries = np.random.default_rng(1).random((300, d))
    return model.predict_proba(queries) if hasattr(model, "predict_proba") else model.predict(queries)


@pytest.mark.parametrize("name", METHODS)
def test_same_draws_give_the_same_model_to_the_last_bit(name):
    (model, make), streams = METHODS[name], Streams(11)
    data, model = make(), model.set_params(random_state=streams)
    expected = simulated(model, **data)
    wire = Wire(model, **data, streams=streams, run=run_of(model))
    received = wire.fit()
    np.testing.assert_array_equal(predicted(received), predicted(expected))
    assert received.guarantee_ == expected.guarantee_
    assert max(client.spent for client in wire.clients) == pytest.approx(received.guarantee_.epsilon, rel=1e-12)
    assert all(client.spent <= model.epsilon * (1 + 1e-12) for client in wire.clients)
    assert not wire.users.rejected
    assert (name == "ResidualGP, joint reports") <= bool(getattr(getattr(received, "fitted_", None), "effects", None))
    assert (name == "ResidualScore, many cells") <= (getattr(getattr(received, "models_", None), "n_cells", 0) > 4)


@pytest.mark.parametrize(
    "name",
    ["HistOfTree, personal grr", "LPCT, discrete", pytest.param("ResidualScore, subsets", marks=pytest.mark.slow)],
)
def test_order_and_collectors_change_nothing(name):
    (model, make), streams = METHODS[name], Streams(5)
    data, model = make(), model.set_params(random_state=streams)
    results = [
        predicted(Wire(model, **data, streams=streams, seed=seed, shards=shards).fit())
        for seed, shards in ((0, 1), (1, 2), (2, 5))
    ]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_fit_with_reports_per_user_is_what_the_wire_sums():
    """``noise="per_user"`` and the wire, from the same randomised responses: the same bits."""
    model, make = METHODS["LPCT, per user"]
    model, data = model.set_params(random_state=Streams(9)), make()
    received = Wire(model, **data, streams=Streams(9)).fit()
    np.testing.assert_array_equal(predicted(received), predicted(model.fit(**data)))


def test_features_of_an_own_domain():
    """Devices hold features of the unit cube as the method computes them from the domain."""
    data, streams = regression(200), Streams(3)
    model = ResidualGP(4.0, y_range=Y_RANGE, domain=(-1.0, 3.0), random_state=streams)
    raw = -1.0 + 4.0 * data["X"]
    expected = simulated(model, **{**data, "X": raw})
    received = Wire(model, **{**data, "X": (raw + 1.0) / 4.0}, streams=streams).fit()
    queries = -1.0 + 4.0 * np.random.default_rng(1).random((100, 3))
    np.testing.assert_array_equal(received.predict(queries), expected.predict(queries))


@pytest.mark.slow
def test_fresh_draws_of_histoftree_have_the_law_of_the_simulation():
    data, query = regression(12), np.full((1, 3), 0.4)
    model = tree_model(epsilon=4.0, bins=2, depth=1, clip=False)
    expected = [model.set_params(random_state=s).fit(**data).predict(query)[0] for s in range(300)]
    real = [Wire(model.set_params(random_state=s), **data).fit().predict(query)[0] for s in range(130)]
    assert_same_law(expected, real)


@pytest.mark.parametrize("fits", [400, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [{"mechanism": "rr"}, {"noise": "discrete"}], ids=["rr", "discrete"])
def test_fresh_votes_have_the_law_of_the_mechanism(kind, fits):
    from lpbench.estimators.lpct.votes import VOTE
    from lpbench.privacy import Records

    data = classification(1, [0], public=30) | {"y": np.array([0])}
    model = LPCT(1.0, depth=1, min_samples_leaf=0, classes=[0, 1], random_state=0, **kind)
    data["y_public"] = (data["X_public"][:, 0] > 0.4).astype(int)
    rows, asked = [], []

    class Watched(RemoteUsers):
        def ask_present(self, device, question, who=None):
            here, reports = super().ask_present(device, question, who)
            rows.append(reports[0])
            asked.append(question)
            return here, reports

    for _ in range(fits):
        wire = Wire(model, **data)
        wire.users.__class__ = Watched
        wire.fit()
    table = VOTE.inputs(Records(data["X"], data["y"]), asked[0])
    expected = VOTE.mechanism(asked[0]).randomize(np.repeat(table, 1500, axis=0), np.random.default_rng(1))
    for column in range(4):
        assert_same_law(np.array(rows)[:, column].astype(float), expected[:, column].astype(float))


@pytest.mark.parametrize("mechanism", ["grr", "rr"])
def test_users_who_leave_after_the_labels_are_left_out(mechanism):
    data = regression(60)
    model = tree_model(bins=2, depth=1, mechanism=mechanism, random_state=0)
    wire = Wire(model, **data, silent=lambda number: range(40, 60) if number == 3 else ())
    fitted = wire.fit()
    assert wire.number == 3 and np.isfinite(fitted.predict(data["X"])).all()
    assert [client.spent < 2.0 - 1e-9 for client in wire.clients] == [False] * 40 + [True] * 20


def test_users_who_send_no_residual_are_left_out():
    data = regression(60)
    wire = Wire(ResidualGP(4.0, y_range=Y_RANGE, random_state=0), **data, silent=lambda n: range(20) if n > 1 else ())
    assert np.isfinite(wire.fit().predict(data["X"])).all()
    assert [client.spent for client in wire.clients] == [0.0] * 20 + [4.0] * 40


@pytest.mark.parametrize("name", ["LPCT, rr", "ResidualScore, two classes"])
def test_sums_and_counts_are_of_those_who_answer(name):
    model, make = METHODS[name]
    wire = Wire(model.set_params(random_state=0), **make(), silent=lambda number: range(20))
    assert np.isfinite(predicted(wire.fit())).all() and wire.number == 1


def test_a_method_that_needs_everybody_starts_anew_and_asks_nobody_twice():
    data = classification(60, [0, 1, 2], public=0, shows=True)
    model = PrivateLabelsClassifier(1.0, classes=[0, 1, 2], random_state=0)
    wire = Wire(model, **data, silent=lambda number: range(10) if number == 2 else ())
    fitted = wire.fit()
    assert wire.users.n == 50 and [client.spent for client in wire.clients] == [0.0] * 10 + [1.0] * 50
    assert [len(contents) for contents in wire.sent] == [60, 60], "answers that are there are not asked for again"
    assert fitted.guarantee_.epsilon == 1.0 and fitted.guarantee_.rounds == 1


def test_what_was_spent_on_an_attempt_is_not_forgotten():
    """A second attempt that asks other questions costs; the guarantee counts both."""
    data = classification(40, [0, 1, 2], public=0, shows=True)
    model = PrivateLabelsClassifier(1.0, randomizer="rr_with_prior", classes=[0, 1, 2], random_state=0)
    wire = Wire(model, **data, silent=lambda number: range(5) if number == 1 else ())
    for client in wire.clients:
        client.limit = 10.0
    fitted = wire.fit()
    assert fitted.guarantee_.epsilon == max(client.spent for client in wire.clients)


def test_nobody():
    data = regression(20)
    with pytest.raises(ProtocolError, match="nobody has enrolled"):
        RemoteUsers([], lambda contents: [], SECRET, 3)
    with pytest.raises(ProtocolError, match="nobody has enrolled"):
        Wire(ResidualGP(1.0, y_range=Y_RANGE), **data, silent=lambda number: range(20)).fit()
    with pytest.raises(ProtocolError, match="nobody has answered"):
        Wire(ResidualGP(1.0, y_range=Y_RANGE), **data, silent=lambda n: range(20) if n > 1 else ()).fit()


def test_a_cell_that_contradicts_public_features_is_impossible():
    data = regression(30, personal=False)
    wire = Wire(tree_model(bins=2, depth=2, random_state=0), **data)
    liars = Wire(tree_model(bins=2, depth=2, random_state=0), **{**data, "X": 1 - data["X"]}).clients
    honest, stage = wire.transport, []

    def transport(contents):
        stage.append(contents)
        if len(stage) < 3:
            [liars[user].answer(content) for user, content in contents.items()]
            return honest(contents)
        told = {user: content for user, content in contents.items() if user % 2}
        return [liars[user].answer(content) for user, content in contents.items() if user not in told] + honest(told)

    wire.users._transport = transport
    fitted = wire.fit()
    assert np.isfinite(fitted.predict(data["X"])).all()
    assert 0 < wire.users.rejected["impossible"] <= 30 and set(wire.users.rejected) == {"impossible"}


def test_reports_of_strangers_and_to_others_questions_are_refused():
    data = regression(40)
    wire = Wire(ResidualGP(4.0, y_range=Y_RANGE, random_state=0), **data)
    honest = wire.transport

    def transport(contents):
        if wire.number == 0:
            return honest(contents)
        stranger = Client(99, user_token(SECRET, 99), 4.0, RUN, data["X"][0], 0.0, data["mask"][0])
        stranger.answer(wire.sent[0][0])
        one, other = list(contents)[:2]
        lost = [wire.clients[one].answer(contents[other]), stranger.answer(contents[other]), None, b"LP", 17]
        with pytest.raises(ProtocolError, match="answered once"):
            wire.clients[one].answer(contents[one])
        return [*honest({user: content for user, content in contents.items() if user != one}), *lost]

    wire.users._transport = transport
    wire.fit()
    assert wire.users.rejected["wrong_campaign"] > 1 and wire.users.rejected["malformed"] > 2


def test_the_device_keeps_to_its_limit_and_its_order():
    data = regression(4)
    model = tree_model(bins=2, depth=1, random_state=0)
    wire, other = Wire(model, **data), Wire(model.set_params(random_state=1, bins=3), **data)
    wire.fit(), other.fit()
    first, second, third = (contents[0] for contents in wire.sent)
    (client, poor, twin) = (
        Client(0, user_token(SECRET, 0), limit, RUN, data["X"][0], data["y"][0], data["mask"][0])
        for limit in (2.0, 0.5, 2.0)
    )
    poor.answer(first)
    with pytest.raises(ProtocolError, match=r"only 0\.5 is left"):
        poor.answer(second)
    assert poor.spent == 0
    with pytest.raises(ProtocolError, match="asked for round 2 after answering 0"):
        client.answer(second)
    client.answer(first), client.answer(second)
    with pytest.raises(ProtocolError, match="answered once"):
        client.answer(second)
    settings = Broadcast.decode(third).settings
    with pytest.raises(ProtocolError, match="does not follow"):
        client.answer(Broadcast({**settings, "after": "00"}).encode())
    twin.campaign = "another"
    with pytest.raises(ProtocolError, match="not 'another'"):
        twin.answer(first)


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (HistOfTree(y_range=Y_RANGE), "continuous noise"),
        (PrivateLabelsRegressor(y_range=Y_RANGE), "continuous noise"),
        (PrivateLabelsRegressor(randomizer="staircase", y_range=Y_RANGE), "continuous noise"),
        (tree_model(epsilon=np.inf), "finite|continuous"),
        (ResidualGP(np.inf, y_range=Y_RANGE), "finite budgets"),
        (HistOfTree(noise="discrete"), "y_range=None"),
        (tree_model(n_grid_features=3, bins=60, mechanism="rr"), "cells are more"),
    ],
)
def test_what_the_wire_cannot_ask_is_refused_by_the_curator(model, named):
    wire = Wire(model, **regression(5))
    with pytest.raises((ConfigurationError, ProtocolError), match=named):
        wire.fit()
    assert all(client.spent == 0 for client in wire.clients) or "cells" in named


def test_refusals_of_devices():
    model, make = METHODS["LPCT, rr"]
    data = make()
    wire = Wire(model.set_params(random_state=0), **data)
    wire.fit()
    content, x, token = wire.sent[0][0], data["X"][0], b"x" * 16
    cases = [
        (1.0, x, 0, [0, 1], "only 1 is left"),
        (2.0, x, 5, [0, 5], "classes=.* is not .*, which the device knows"),
        (2.0, x, True, [False, True], "which the device knows"),
        (2.0, x[:2], 0, [0, 1], "n_features=3 is not 2"),
    ]
    for limit, features, y, classes, named in cases:
        with pytest.raises(ProtocolError, match=named):
            Client(0, token, limit, RUN, features, y, None, classes).answer(content)
    with pytest.raises(ProtocolError, match="does not run"):
        Client(0, token, 2.0, (), x, 0, None, [0, 1]).answer(content)
    with pytest.raises(ConfigurationError, match="y=7 must be one of 0, 5"):
        Client(0, token, 2.0, RUN, x, 7, None, [0, 5])
    with pytest.raises(ConfigurationError, match="increasing order"):
        Client(0, token, 2.0, RUN, x, 0, None, [1, 0])
    with pytest.raises(ConfigurationError, match="finite numbers"):
        Client(0, token, 2.0, RUN, [np.nan], 0.0)


def test_a_question_that_is_the_same_for_all_is_encoded_once():
    wire = Wire(tree_model(bins=2, depth=2, random_state=0), **regression(50))
    wire.fit()
    assert [len({id(content) for content in contents.values()}) for contents in wire.sent] == [1, 1, 1]


def test_reports_have_the_length_that_the_paper_counts():
    """HistOfTree A.2: at most d + 1 reals up in round 1, t^s 2^p bits in round 2 (log2 of that many with GRR)."""
    data = regression(50, personal=False)
    for mechanism, bits in (("rr", 2 * 4), ("grr", 3)):
        lengths = []
        wire = Wire(tree_model(epsilon=1.0, bins=2, depth=2, mechanism=mechanism, random_state=0), **data)
        honest = wire.transport

        def transport(contents, honest=honest, lengths=lengths):
            reports = honest(contents)
            lengths.append({8 * (len(report) - 28) for report in reports})
            return reports

        wire.users._transport = transport
        wire.fit()
        # The label takes 18 bits: (the range and 42 scales of noise) / step, either way.
        assert lengths == [{8 * -(-(64 * 3 + 3) // 8)}, {8 * -(-18 // 8)}, {8 * -(-bits // 8)}]


def test_learning_does_not_change_the_model_that_is_given():
    model = tree_model(bins=2, depth=1, random_state=0)
    learn_remotely(model, Wire(model, **regression(10)).users)
    assert not hasattr(model, "guarantee_")


def test_a_ledger_enters_users_of_a_wire_once_by_their_numbers_and_counts_those_who_were_asked_before_others_left():
    model = tree_model(epsilon=1.0, bins=2, depth=1, random_state=0)
    wire = Wire(model, **regression(12), silent=lambda number: {3} if number > 1 else ())
    with PrivacyLedger(limit=1.0) as ledger:
        fitted = wire.fit()
    assert len(ledger.payments) == 1 and ledger.epsilon == fitted.guarantee_.epsilon == 1.0
    assert ledger.of(0) == 1.0 and 0 <= ledger.of(3) <= 1.0 and ledger.of(12) == 0.0
    with ledger, pytest.raises(PrivacyError, match="costs epsilon = 1, and a user has 0 left"):
        wire.fit()
