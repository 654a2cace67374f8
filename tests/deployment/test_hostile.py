"""Users who follow the format but not the rules: authentic nonsense (hostile curators: ``test_devices.py``)."""

from collections import Counter

import numpy as np
import pytest

from lpbench.deployment.broadcast import campaign_of
from lpbench.deployment.collector import REASONS, Collector
from lpbench.deployment.wire import seal, user_token
from lpbench.estimators import HistOfTree
from lpbench.privacy.payload import payload_bytes
from tests.deployment.devices import SECRET, Y_RANGE, Wire
from tests.deployment.test_protocols import regression

SEED = 20240608


def rounds(mechanism):
    """Rounds of a campaign of HistOfTree: the broadcast and a collector with the rules of the curator's."""
    model = HistOfTree(2.0, bins=2, depth=2, mechanism=mechanism, noise="discrete", y_range=Y_RANGE, random_state=0)
    wire, made = Wire(model, **regression(60)), []

    class Watched(Collector):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lpbench.deployment.curator.Collector", Watched)
        wire.users._shards = 1
        wire.fit()
    return [
        (sent[0], Collector(one.round, SECRET, possible=one._possible))
        for sent, one in zip(wire.sent, made, strict=True)
    ]


@pytest.mark.parametrize("mechanism", ["grr", "rr"])
def test_authentic_nonsense_is_counted_once_or_refused(mechanism):
    """Users with tokens of their own send random payloads: what is refused changes nothing, nothing escapes."""
    rng = np.random.default_rng(SEED)
    for number, (content, place) in enumerate(rounds(mechanism), start=1):
        counts, length = Counter(), payload_bytes(place.round.fields)
        for t in range(2000):
            user = int(rng.integers(2**63)) if t % 10 == 0 else int(rng.integers(80))
            payload = rng.bytes(length) if t % 3 else bytes(rng.integers(0, 2, length, dtype=np.uint8))
            before = place.state()
            report = seal(campaign_of(content), number, user, payload, user_token(SECRET, user))
            (reason,) = place.add([report])
            counts[reason] += 1
            assert (place.state() == before) == (reason != "")
        assert counts.keys() <= {"", *REASONS} and place.accepted == counts[""] <= 60, "strangers are refused"
