"""Parties that follow the format but not the rules: users who send what they like, curators who ask what they like."""

from collections import Counter

import numpy as np
import pytest

from lpbench.deployment.broadcast import Broadcast, campaign_of
from lpbench.deployment.collector import REASONS, ProtocolError
from lpbench.deployment.histoftree import HistOfTreeClient, HistOfTreeCurator
from lpbench.deployment.lpct import LPCTClient, LPCTCurator
from lpbench.deployment.wire import seal, user_token
from lpbench.estimators import LPCT, HistOfTree
from lpbench.privacy.payload import payload_bytes
from tests.deployment.test_histoftree_protocol import SECRET, Y_RANGE, clients_of, sample

SEED = 20240608
#: What a hostile broadcast may say instead of a setting.
NONSENSE = (
    *(-1, 0, 1, 2, 3, 64, 1e9, 10**30, -5.5, 1e-9, float("inf"), True, None, "x", "grr", "rr", {}, [], [1], [0, 0]),
    *([5, 1], [0, 1, 2], [99], [1e30, 2e30], ["a", "b"]),
)


def rounds(mechanism):
    """A campaign of HistOfTree in which 40 of 60 users have answered round 1."""
    X, y, mask = sample(60)
    model = HistOfTree(2.0, bins=2, depth=2, mechanism=mechanism, y_range=Y_RANGE, random_state=0)
    curator, clients = HistOfTreeCurator(model, 3, SECRET), clients_of(X, y, mask, 2.0)
    first = curator.collector(1)
    first.add(client.answer(curator.first) for client in clients[:40])
    return {1: curator.first, 2: curator.close_labels(first)}, {k: curator.collector(k) for k in (1, 2)}


@pytest.mark.parametrize("mechanism", ["grr", "rr"])
def test_authentic_nonsense_is_counted_once_or_refused(mechanism):
    """Users with tokens of their own send random payloads: what is refused changes nothing, nothing escapes."""
    rng = np.random.default_rng(SEED)
    contents, collectors = rounds(mechanism)
    for number, place in collectors.items():
        counts, length = Counter(), payload_bytes(place.round.fields)
        for t in range(2000):
            user = int(rng.integers(2**63)) if t % 10 == 0 else int(rng.integers(80))
            payload = rng.bytes(length) if t % 3 else bytes(rng.integers(0, 2, length, dtype=np.uint8))
            before = place.state()
            report = seal(campaign_of(contents[number]), number, user, payload, user_token(SECRET, user))
            (reason,) = place.add([report])
            counts[reason] += 1
            assert (place.state() == before) == (reason != "")
        assert counts.keys() <= {"", *REASONS} and place.accepted == counts[""] <= 80 + 200
        assert number == 1 or place.accepted <= 40, "who is unknown from round 1 is refused in round 2"


def mutated(content, rng):
    """Change one or two settings, and sometimes bytes."""
    broadcast = Broadcast.decode(content)
    settings = dict(broadcast.settings)
    for name in rng.choice(sorted(settings.keys() - {"protocol", "round", "after"}), size=rng.integers(1, 3)):
        settings[str(name)] = NONSENSE[rng.integers(len(NONSENSE))]
    raw = bytearray(Broadcast(settings, broadcast.tree).encode())
    if rng.random() < 0.2:
        for place in rng.integers(len(raw), size=3):
            raw[place] = rng.integers(256)
    return bytes(raw)


def refuses_or_keeps_to_its_limit(client, content):
    before = client.spent
    try:
        client.answer(content)
    except ProtocolError:
        assert client.spent == before
        return False
    assert client.spent <= client.limit * (1 + 1e-12)
    return True


def test_devices_answer_or_refuse_whatever_they_are_asked():
    """No exception but ProtocolError; a refusal spends nothing, an answer never more than the limit."""
    rng = np.random.default_rng(SEED)
    X, y, mask = sample(1)
    answered = Counter()
    for mechanism in ("grr", "rr"):
        contents, _ = rounds(mechanism)
        for t in range(1500):
            client = HistOfTreeClient(0, user_token(SECRET, 0), 2.0, X[0], y[0], mask[0])
            if t % 2:
                client.answer(contents[1])
            answered[refuses_or_keeps_to_its_limit(client, mutated(contents[1 + t % 2], rng))] += 1
    curator = LPCTCurator(LPCT(2.0, depth=2), X.repeat(20, axis=0), np.arange(20) % 2, [0, 1], SECRET)
    for _ in range(500):
        client = LPCTClient(0, user_token(SECRET, 0), 2.0, X[0], 1)
        answered[refuses_or_keeps_to_its_limit(client, mutated(curator.first, rng))] += 1
    assert min(answered.values()) > 100
