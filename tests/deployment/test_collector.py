"""Collectors: a wrong report is refused with its reason and changes nothing; order and merging do not matter."""

import numpy as np
import pytest

from lpbench.deployment.collector import REASONS, Collector, ProtocolError, Round
from lpbench.deployment.wire import VERSION, seal, user_token
from lpbench.privacy.payload import GridPoints, Integers, Reals, pack

SECRET = b"0123456789abcdef"
CAMPAIGN, OTHER = b"campaign", b"another."
FIELDS = (Integers(5), Reals(1), GridPoints(0.25, 100, 2))


def report(user, values=(3, 1.5, 0.25, -2.0), number=1, campaign=CAMPAIGN, fields=FIELDS, payload=None, secret=SECRET):
    payload = pack(fields, np.array([values], dtype=float)).tobytes() if payload is None else payload
    return seal(campaign, number, user, payload, user_token(secret, user))


def collector(number=1, campaign=CAMPAIGN, **options):
    return Collector(Round(number, campaign, FIELDS), SECRET, **options)


GOOD = report(1)
BAD = {
    "malformed": [
        *(b"", b"LP", GOOD[:27], b"QQ" + GOOD[2:], 17, None, "text"),
        GOOD[:2] + bytes([VERSION + 1]) + GOOD[3:],
        report(2, payload=bytes([0xFF]) + bytes(10)),
    ],
    "wrong_campaign": [report(2, campaign=OTHER)],
    "out_of_round": [report(2, number=2), report(2, number=0), report(2, number=2, campaign=OTHER)],
    "over_long": [report(2, payload=bytes(40)), GOOD + b"\x00"],
    "truncated": [report(2, payload=b"\x00"), GOOD[:-1]],
    "forged": [report(2, secret=b"guess"), GOOD[:-1] + bytes([GOOD[-1] ^ 1]), GOOD[:19] + b"\x09" + GOOD[20:]],
    "replayed": [GOOD],
    "duplicate": [report(1, (4, 0.0, 0.0, 0.0))],
}


@pytest.mark.parametrize("reason", BAD)
def test_each_wrong_report_is_refused_with_its_reason_and_changes_nothing(reason):
    place = collector()
    assert place.add([GOOD]) == [""]
    before = place.state()
    for bad in BAD[reason]:
        assert place.add([bad]) == [reason], bad
        assert place.state() == before
    assert place.rejected == {reason: len(BAD[reason])} and reason in REASONS
    assert place.accepted == 1


def test_reports_that_contradict_public_facts_are_impossible():
    place = collector(possible=lambda users, values: values[:, 0] != users)
    assert place.add([report(3), report(4)]) == ["impossible", ""]
    assert place.rejected == {"impossible": 1} and place.accepted == 1


def test_reports_of_other_collectors_are_refused():
    place = collector(shard=1, n_shards=3)
    assert place.add([report(u) for u in range(5)]) == ["wrong_collector", "", "wrong_collector", "wrong_collector", ""]


def test_a_refused_report_does_not_bar_the_user():
    place = collector()
    wrong = report(1, payload=bytes([0xFF]) + bytes(10))
    assert place.add([wrong, GOOD]) == ["malformed", ""]


def random_reports(n, seed=0):
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.integers(0, 5, n), rng.laplace(size=n), rng.integers(-9, 9, (n, 2)) * 0.25])
    return values, [report(i, row) for i, row in enumerate(values)]


def test_order_chunks_and_merging_change_no_bit():
    values, reports = random_reports(300)
    states = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        shards = 1 + seed
        places = [collector(shard=s, n_shards=shards) for s in range(shards)]
        for chunk in np.array_split(rng.permutation(300), 1 + 10 * seed):
            for s, place in enumerate(places):
                assert set(place.add(reports[i] for i in chunk if i % shards == s)) <= {""}
        for other in rng.permutation(places[1:]):
            places[0].merge(other)
        states.append(places[0].state())
    assert all(state == states[0] for state in states)
    np.testing.assert_array_equal(places[0].rows()[1], values)


def test_collectors_that_do_not_fit_are_not_merged():
    one, two = collector(), collector()
    one.add([GOOD])
    two.add([GOOD])
    with pytest.raises(ProtocolError, match="reported to both"):
        one.merge(two)
    for other in (collector(number=2), collector(campaign=OTHER)):
        with pytest.raises(ProtocolError, match="different rounds"):
            one.merge(other)
    assert one.accepted == 1
