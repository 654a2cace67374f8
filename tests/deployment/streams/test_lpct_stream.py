"""LPCT from sums over chunks: the model of all users at once, bit for bit whatever the chunks."""

import numpy as np
import pytest

from lpbench.deployment.lpct import LPCTClient, LPCTCurator
from lpbench.deployment.streams import VoteStream
from lpbench.deployment.wire import HEADER_BYTES, TAG_BYTES, user_token
from lpbench.estimators import LPCT
from lpbench.privacy.payload import LARGEST_REAL
from tests.privacy.laws import assert_same_law

SECRET = b"0123456789abcdef"
KINDS = {"rr": {"mechanism": "rr"}, "discrete": {"noise": "discrete"}}


def sample(n, seed=0):
    rng = np.random.default_rng(seed)
    X, X_public = rng.random((n, 2)), rng.random((40, 2))
    return X, (X[:, 0] > 0.4).astype(int), X_public, (X_public[:, 0] > 0.4).astype(int)


def curator_of(kind="discrete", depth=3, **options):
    _, _, X_public, y_public = sample(1)
    model = LPCT(2.0, depth=depth, public_weight=1.0, min_samples_leaf=0, random_state=9, **KINDS[kind], **options)
    return LPCTCurator(model, X_public, y_public, [0, 1], SECRET)


def streamed(curator, X, y, chunk, places=1):
    found = [VoteStream(curator) for _ in range(places)]
    for number, start in enumerate(range(0, len(X), chunk)):
        part = slice(start, start + chunk)
        found[number % places].add_users(X[part], y[part], curator.model._streams(), start)
    for other in found[1:]:
        found[0].merge(other)
    return found[0]


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_and_places_change_no_bit(kind):
    X, y, _, _ = sample(500)
    curator = curator_of(kind)
    expected = streamed(curator, X, y, 500).fit().leaf_probability_.copy()
    for chunk, places in ((1, 1), (77, 3), (499, 2)):
        stream = streamed(curator, X, y, chunk, places)
        assert stream.accepted == 500
        np.testing.assert_array_equal(stream.fit().leaf_probability_, expected)


def test_stream_equals_the_fit_of_all_users_at_once():
    """With randomised response nothing is rounded: the bits of ``fit`` with ``noise="per_user"``."""
    (X, y, _, _), (_, _, X_public, y_public) = sample(400), sample(1)
    model = LPCT(2.0, 3, 1.0, min_samples_leaf=0, mechanism="rr", noise="per_user", random_state=9)
    fitted = model.fit(X, y, X_public=X_public, y_public=y_public)
    stream = streamed(curator_of("rr"), X, y, 61)
    np.testing.assert_array_equal(stream.fit().leaf_probability_, fitted.leaf_probability_)


@pytest.mark.parametrize("kind", KINDS)
def test_payloads_of_clients_add_up_as_at_a_collector(kind):
    X, y, _, _ = sample(60)
    curator, collector = curator_of(kind), curator_of(kind).collector()
    stream = VoteStream(curator)
    sent = [LPCTClient(i, user_token(SECRET, i), 2.0, X[i], y[i], [0, 1]).answer(curator.first) for i in range(60)]
    assert set(collector.add(sent)) == {""}
    payloads = np.array([np.frombuffer(s[HEADER_BYTES:-TAG_BYTES], dtype=np.uint8) for s in sent])
    for part in np.array_split(payloads, 7):
        stream.add_payloads(part)
    np.testing.assert_array_equal(stream.sums(), collector.sums())


@pytest.mark.parametrize("kind", KINDS)
def test_simulated_users_have_the_law_of_the_mechanism(kind):
    X, y, _, _ = sample(1)
    curator = curator_of(kind, depth=1)
    stream, seen = VoteStream(curator), []
    mechanism = curator.question.mechanism
    stream.add = seen.append
    stream.add_users(np.repeat(X, 3000, axis=0), np.repeat(y, 3000), curator.model._streams())
    simulated = np.concatenate(seen).reshape(3000, -1)
    table = np.zeros((3000, 2, 2), dtype=bool)
    cell = curator._tree.leaf_index()[curator._tree.apply(X)][0]
    table[:, 0, cell] = True
    table[:, y[0], cell] = True
    expected = mechanism.randomize(table, np.random.default_rng(1)).reshape(3000, -1)
    for column in range(4):
        assert_same_law(simulated[:, column], expected[:, column])


def test_the_largest_reports_do_not_overflow():
    curator = curator_of(depth=1)
    stream = VoteStream(curator)
    for sign in (1, 1, -1):
        stream.add(np.full((3000, 4), sign * LARGEST_REAL))
    np.testing.assert_array_equal(stream.sums(), np.full(4, 3000 * LARGEST_REAL))


def test_memory_does_not_depend_on_the_number_of_users():
    X, y, _, _ = sample(300)
    curator = curator_of()
    assert streamed(curator, X, y, 100).nbytes == VoteStream(curator).nbytes


def test_refusals():
    curator, other = curator_of("rr"), curator_of("rr", depth=2)
    with pytest.raises(ValueError, match="different campaigns"):
        VoteStream(curator).merge(VoteStream(other))
    with pytest.raises(ValueError, match="1 of 2 payloads"):
        # Four bits and padding.
        VoteStream(curator_of("rr", depth=1)).add_payloads(np.array([[0b11110000], [0b00001111]], dtype=np.uint8))
