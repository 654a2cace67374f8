"""LPCT from sums over chunks: the model of all users at once, bit for bit whatever the chunks."""

import numpy as np
import pytest

from lpbench.deployment.streams import StreamedUsers, SumStream
from lpbench.deployment.wire import HEADER_BYTES, TAG_BYTES
from lpbench.errors import PrivacyError
from lpbench.estimators import LPCT, PrivateMean
from lpbench.estimators.lpct.votes import VOTE
from lpbench.privacy import PublicSample, Records
from lpbench.privacy.payload import LARGEST_REAL
from tests.deployment.devices import Wire
from tests.privacy.laws import assert_same_law

KINDS = {"rr": {"mechanism": "rr"}, "discrete": {"noise": "discrete"}}


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 2)), rng.random((40, 2))
    return X, (X[:, 0] > 0.4).astype(int), X_public, (X_public[:, 0] > 0.4).astype(int)


def model_of(kind="discrete", depth=3, **options):
    return LPCT(
        2.0, depth, 1.0, min_samples_leaf=0, random_state=9, classes=[0, 1], **KINDS[kind], **options
    )  # fmt: skip


def fit(model, collect, n=500):
    _, _, X_public, y_public = sample(1)
    users = StreamedUsers(collect, n, 2, classes=[0, 1], public=PublicSample(X_public, y_public))
    return type(model)(**model.get_params(deep=False)).learn_from(users)


def empty(model):
    """A stream for the question that a model asks."""
    found = []
    fit(model, found.append)
    return found[0]


def add_all(stream, model, X, y, chunk, places=1):
    """Users in chunks that report at several places."""
    found = [stream, *(SumStream(stream.device, stream.question) for _ in range(places - 1))]
    for number, start in enumerate(range(0, len(X), chunk)):
        part = slice(start, start + chunk)
        found[number % places].add_users(X[part], y[part], model._streams(), start)
    for other in found[1:]:
        stream.merge(other)
    assert stream.accepted == len(X)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_and_places_change_no_bit(kind):
    (X, y, _, _), model = sample(500), model_of(kind)
    expected = fit(model, lambda stream: add_all(stream, model, X, y, 500)).leaf_probability_
    for chunk, places in ((1, 1), (77, 3), (499, 2)):
        other = fit(model, lambda stream, c=chunk, p=places: add_all(stream, model, X, y, c, p))
        np.testing.assert_array_equal(other.leaf_probability_, expected)


def test_stream_equals_the_fit_of_all_users_at_once():
    """With randomised response nothing is rounded: the bits of ``fit`` with ``noise="per_user"``."""
    (X, y, _, _), (_, _, X_public, y_public) = sample(400), sample(1)
    model = model_of("rr", noise="per_user")
    streamed = fit(model, lambda stream: add_all(stream, model, X, y, 61), 400)
    fitted = model.fit(X, y, X_public=X_public, y_public=y_public)
    np.testing.assert_array_equal(streamed.leaf_probability_, fitted.leaf_probability_)
    assert streamed.guarantee_ == fitted.guarantee_


@pytest.mark.parametrize("kind", KINDS)
def test_payloads_of_clients_add_up_as_at_a_curator(kind):
    (X, y, _, _), (_, _, X_public, y_public) = sample(60), sample(1)
    model, payloads = model_of(kind), []
    wire = Wire(model, X, y, X_public=X_public, y_public=y_public)
    honest = wire.transport

    def transport(contents):
        reports = honest(contents)
        payloads.extend(np.frombuffer(report[HEADER_BYTES:-TAG_BYTES], dtype=np.uint8) for report in reports)
        return reports

    wire.users._transport = transport
    received = wire.fit()

    def collect(stream):
        for part in np.array_split(np.array(payloads), 7):
            stream.add_payloads(part)

    np.testing.assert_array_equal(fit(model, collect, 60).leaf_probability_, received.leaf_probability_)


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_users_have_the_law_of_the_mechanism(kind):
    (X, y, _, _), model = sample(1), model_of(kind, depth=1)
    stream, seen = empty(model), []
    stream.add = seen.append
    stream.add_users(np.repeat(X, 3000, axis=0), np.repeat(y, 3000), model._streams())
    simulated = np.concatenate(seen).reshape(3000, -1)
    table = np.repeat(VOTE.inputs(Records(X, y), stream.question), 3000, axis=0)
    expected = VOTE.mechanism(stream.question).randomize(table, np.random.default_rng(1)).reshape(3000, -1)
    for column in range(4):
        assert_same_law(simulated[:, column], expected[:, column])


def test_the_largest_reports_do_not_overflow():
    stream = empty(model_of(depth=1))
    for sign in (1, 1, -1):
        stream.add(np.full((3000, 4), sign * LARGEST_REAL))
    np.testing.assert_array_equal(stream.sums(), np.full(4, 3000 * LARGEST_REAL))


def test_memory_does_not_depend_on_the_number_of_users():
    (X, y, _, _), model = sample(300), model_of()
    stream, before = empty(model), empty(model).nbytes
    add_all(stream, model, X, y, 100)
    assert stream.nbytes == before


def test_refusals():
    one, other = empty(model_of("rr")), empty(model_of("rr", depth=2))
    with pytest.raises(ValueError, match="different campaigns"):
        one.merge(other)
    with pytest.raises(ValueError, match="1 of 2 payloads"):
        # Four bits and padding.
        empty(model_of("rr", depth=1)).add_payloads(np.array([[0b11110000], [0b00001111]], dtype=np.uint8))
    with pytest.raises(PrivacyError, match="sums alone"):
        PrivateMean().learn_from(StreamedUsers(lambda stream: None, 5, 2, y_range=(0.0, 1.0)))
