"""Random and mutated byte strings into the parser: nothing escapes, nothing changes, no round takes another's.

The adversary of the last test holds an enrolled user's own token; the others do not.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from lpbench.deployment.collector import REASONS, Collector, Round
from lpbench.deployment.wire import seal, user_token
from lpbench.privacy.payload import Integers, Reals, pack

SECRET = b"0123456789abcdef"
FIELDS = {1: (Reals(1), Integers(2, 3), Reals(3)), 2: (Integers(37),)}
CAMPAIGN = {1: b"campaig1", 2: b"campaig2"}
SEED = 20240607


def collectors(users):
    """One collector for each round, each with the honest reports of the first half of the users."""
    made = {k: Collector(Round(k, CAMPAIGN[k], FIELDS[k]), SECRET) for k in (1, 2)}
    for k, place in made.items():
        assert set(place.add(honest(k, user) for user in range(users // 2))) <= {""}
    return made


def honest(k, user):
    rng = np.random.default_rng(user)
    values = [[rng.laplace(), 0, 1, 0, 0.5, 0.0, rng.random()]] if k == 1 else [[rng.integers(37)]]
    return seal(
        CAMPAIGN[k], k, user, pack(FIELDS[k], np.array(values, dtype=float)).tobytes(), user_token(SECRET, user)
    )


def mutate(seeds, rng):
    """One byte string: noise, or an honest report with bits flipped, bytes cut, added, swapped, or parts of another."""
    kind = rng.integers(8)
    if kind == 0:
        return rng.bytes(rng.integers(0, 120))
    report = bytearray(seeds[rng.integers(len(seeds))])
    if kind == 1:
        for bit in rng.integers(0, 8 * len(report), rng.integers(1, 6)):
            report[bit // 8] ^= 1 << int(bit % 8)
    elif kind == 2:
        del report[rng.integers(len(report)) :]
    elif kind == 3:
        report += rng.bytes(rng.integers(1, 40))
    elif kind == 4:
        report[3] = rng.integers(256)  # the round
    elif kind == 5:
        report[4:12] = CAMPAIGN[int(rng.integers(1, 3))]
        report[3] = rng.integers(1, 3)
    elif kind == 6:
        other = seeds[rng.integers(len(seeds))]
        cut = rng.integers(min(len(report), len(other)))
        report[cut:] = other[cut:]
    else:
        report[12:20] = int(rng.integers(60)).to_bytes(8, "big")  # the user
    return bytes(report)


def attack(n, seed=SEED, users=40):
    """Throw n strings at both collectors; returns the reasons and checks that nothing changed."""
    rng = np.random.default_rng(seed)
    seeds = [honest(k, user) for k in (1, 2) for user in range(users)]
    places = collectors(users)
    before = {k: place.state() for k, place in places.items()}
    genuine = set(seeds)
    counts = Counter()
    for start in range(0, n, 1000):
        strings = [mutate(seeds, rng) for _ in range(min(1000, n - start))]
        # A mutation may leave a report as it was; sent again by its owner it is not an attack.
        strings = [s for s in strings if s not in genuine]
        for place in places.values():
            reasons = place.add(strings)
            assert set(reasons) <= REASONS.keys(), "every one is refused"
            counts.update(reasons)
    assert {k: place.state() for k, place in places.items()} == before
    assert sum(sum(place.rejected.values()) for place in places.values()) == sum(counts.values())
    return counts


def test_a_hundred_thousand_strings():
    counts = attack(100_000)
    text = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text(encoding="utf-8")
    for number in (SEED, sum(counts.values()), *counts.values()):
        assert str(number) in text.replace(",", ""), f"docs/privacy.md does not report {number}"
    assert {"malformed", "wrong_campaign", "out_of_round", "over_long", "truncated", "forged"} <= counts.keys()


def test_no_report_of_one_round_passes_in_another():
    users = 40
    places = collectors(0)
    before = {k: place.state() for k, place in places.items()}
    for k, place in places.items():
        reports = [honest(3 - k, user) for user in range(users)]
        assert set(place.add(reports)) == {"out_of_round"}
        renamed = [r[:3] + bytes([k]) + CAMPAIGN[k] + r[12:] for r in reports]
        assert set(place.add(renamed)) <= {"over_long", "truncated", "forged"}
    assert {k: place.state() for k, place in places.items()} == before


def test_authentic_nonsense_is_malformed_and_changes_nothing():
    """A user may send whatever it likes in its own name: only legal payloads are counted, and only once."""
    rng = np.random.default_rng(SEED)
    place = collectors(0)[2]
    for user in range(500):
        payload, before = rng.bytes(1), place.state()
        reason = place.add([seal(CAMPAIGN[2], 2, user, payload, user_token(SECRET, user))])[0]
        legal = payload[0] & 0b11 == 0 and payload[0] >> 2 < 37
        assert reason == ("" if legal else "malformed")
        assert legal or place.state() == before
    assert 0 < place.accepted < 500
