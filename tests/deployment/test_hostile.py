"""Users who follow the format but not the rules: authentic nonsense (hostile curators: ``test_devices.py``)."""

from collections import Counter

import numpy as np
import pytest

from lpbench.deployment.broadcast import campaign_of
from lpbench.deployment.collector import REASONS
from lpbench.deployment.histoftree import HistOfTreeCurator
from lpbench.deployment.wire import seal, user_token
from lpbench.estimators import HistOfTree
from lpbench.privacy.payload import payload_bytes
from tests.deployment.test_histoftree_protocol import SECRET, Y_RANGE, clients_of, sample

SEED = 20240608


def rounds(mechanism):
    """A campaign of HistOfTree in which 40 of 60 users have answered round 1."""
    X, y, mask = sample(60)
    model = HistOfTree(2.0, bins=2, depth=2, mechanism=mechanism, noise="discrete", y_range=Y_RANGE, random_state=0)
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
