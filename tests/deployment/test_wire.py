"""Reports survive the wire unchanged, take exactly the bits they promise, and every field refuses what does not fit."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbench.deployment.broadcast import Broadcast, decode_tree, encode_tree
from lpbench.deployment.codec import from_json, to_json
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.wire import HEADER_BYTES, TAG_BYTES, open_envelope, seal, user_token
from lpbench.estimators.lpct.votes import VOTE, VoteMechanism, VoteQuestion
from lpbench.estimators.tuning_free.level_reports import LevelReport
from lpbench.estimators.tuning_free.rounds import RESIDUAL, Question
from lpbench.partitions import TreeCells, grow_max_edge
from lpbench.privacy import DiscreteLaplace
from lpbench.privacy.payload import (
    LARGEST_REAL,
    GridPoints,
    Integers,
    Reals,
    grid_reach,
    pack,
    payload_bits,
    payload_bytes,
    unpack,
)

FIELDS = st.lists(
    st.one_of(
        st.builds(Reals, st.integers(0, 3)),
        st.builds(Integers, st.integers(1, 2**40), st.integers(0, 4)),
        st.builds(GridPoints, st.sampled_from([1.0, 0.25, 2.0**-10]), st.integers(1, 10**6), st.integers(0, 3)),
    ),
    max_size=5,
)


def random_tree(seed):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 3))
    return grow_max_edge(X, (X[:, 0] * X[:, 1] > 0.3).astype(int), 1 + seed, criterion="gini", n_classes=2)


def legal_values(field, n, rng):
    if isinstance(field, Reals):
        return rng.normal(scale=10.0 ** rng.integers(-3, 12), size=(n, field.count))
    if isinstance(field, Integers):
        return rng.integers(0, field.size, size=(n, field.count)).astype(float)
    return rng.integers(-field.reach, field.reach + 1, size=(n, field.count)) * field.step


@given(FIELDS, st.integers(0, 2**32), st.integers(1, 5))
def test_round_trip(fields, seed, n):
    rng = np.random.default_rng(seed)
    values = np.hstack([np.zeros((n, 0)), *(legal_values(f, n, rng) for f in fields)])
    packed = pack(fields, values)
    assert packed.shape == (n, payload_bytes(fields)) and packed.shape[1] == -(-payload_bits(fields) // 8)
    back, legal = unpack(fields, packed)
    assert legal.all()
    np.testing.assert_array_equal(back, values)


def test_bits_are_the_fewest_of_fixed_width():
    assert [Integers(m).bits for m in (1, 2, 3, 4, 5, 256, 257)] == [0, 1, 2, 2, 3, 8, 9]
    assert Reals(3).bits == 192 and Integers(2, 10).bits == 10
    assert GridPoints(0.5, 127).bits == 8 and GridPoints(0.5, 128).bits == 9


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Reals(1), math.nan),
        (Reals(1), math.inf),
        (Reals(1), 2 * LARGEST_REAL),
        (Integers(3), 3),
        (Integers(3), -1),
        (Integers(3), 0.5),
        (GridPoints(0.5, 4), 0.3),
    ],
)
def test_values_that_do_not_fit_are_refused(field, value):
    with pytest.raises(ValueError, match="does not fit"):
        pack([field], np.array([[value]]))


def test_impossible_payloads_are_not_legal():
    assert not unpack([Reals(1)], np.frombuffer(np.array([np.nan], ">f8").tobytes(), np.uint8)[None])[1][0]
    assert not unpack([Integers(3)], np.array([[0b11000000]], dtype=np.uint8))[1][0], "category 3 of 3"
    assert not unpack([Integers(4)], np.array([[0b01000001]], dtype=np.uint8))[1][0], "padding"
    assert unpack([Integers(4)], np.array([[0b01000000]], dtype=np.uint8))[0][0, 0] == 1


def test_grid_points_hold_discrete_noise():
    mechanism = DiscreteLaplace.for_budget(0.5, 2.0**-10, 2.0)
    field = GridPoints(mechanism.step, grid_reach(1.0, mechanism.scale, mechanism.step), 1)
    reports = mechanism.randomize(np.ones((20_000, 1)), np.random.default_rng(0))
    np.testing.assert_array_equal(unpack([field], pack([field], reports))[0], reports)
    assert field.bits < 64
    # Beyond the reach (probability below 1e-18) a report is clipped, which is post-processing.
    assert unpack([field], pack([field], np.array([[1e6]])))[0][0, 0] == field.reach * field.step


def test_envelope():
    token = user_token(b"secret", 7)
    report = seal(b"campaign", 2, 7, b"payload", token)
    assert len(report) == HEADER_BYTES + 7 + TAG_BYTES
    envelope = open_envelope(report)
    assert (envelope.round, envelope.campaign, envelope.user, envelope.payload) == (2, b"campaign", 7, b"payload")
    assert envelope.is_authentic(b"secret") and not envelope.is_authentic(b"other")
    assert open_envelope(b"") is None and open_envelope(b"XX" + report[2:]) is None


def test_every_changed_bit_of_a_report_is_noticed():
    report = seal(b"campaign", 1, 3, b"\x10\x20", user_token(b"secret", 3))
    for bit in range(8 * len(report)):
        changed = bytearray(report)
        changed[bit // 8] ^= 1 << bit % 8
        envelope = open_envelope(bytes(changed))
        assert envelope is None or not envelope.is_authentic(b"secret")


def test_broadcasts_keep_the_partition():
    X = np.random.default_rng(0).random((500, 3))
    for seed in range(5):
        tree = random_tree(seed)
        content = encode_tree(tree)
        back = decode_tree(content)
        np.testing.assert_array_equal(back.apply(X[:, : tree.n_features]), tree.apply(X[:, : tree.n_features]))
        assert len(content) == 6 + 2 * tree.n_nodes + 8 * (tree.feature >= 0).sum()
    assert Broadcast.decode(Broadcast({"round": 2}).encode()).settings == {"round": 2}


def test_questions_survive_the_wire():
    """Numbers to the last bit, types and nested parts included."""
    budget, tree = 0.1 + 0.2, random_tree(1)
    votes = VoteQuestion(TreeCells(tree, 1), 3, VoteMechanism(budget, "rr"), {"depth": 1})
    back = from_json(json.loads(json.dumps(to_json(votes))), VOTE)
    assert (back.mechanism, back.n_classes, back.axes) == (votes.mechanism, 3, {"depth": 1})
    X = np.random.default_rng(0).random((50, 3))
    np.testing.assert_array_equal(back.cells.locate(X), votes.cells.locate(X))
    effects = {2: np.array([budget, -0.0])}
    asked = Question(np.array([7]), np.array([budget]), np.array([1e-300]), LevelReport(budget, 3), 3.0, -1, effects)
    back = from_json(json.loads(json.dumps(to_json(asked))), RESIDUAL)
    assert back.report == asked.report and back.centre.tobytes() == asked.centre.tobytes()
    assert back.effects[2].tobytes() == effects[2].tobytes() and back.users.dtype == asked.users.dtype


@pytest.mark.parametrize("value", [object(), np.array([None]), float("inf"), np.nan, {1: object()}])
def test_what_cannot_be_sent(value):
    with pytest.raises(ProtocolError, match=r"cannot be sent|finite"):
        to_json(value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": Infinity}', b"\xff\xff\xff\xff{}"])
def test_unreadable_broadcasts(content):
    with pytest.raises(ProtocolError, match="cannot be read"):
        Broadcast.decode(content)


@pytest.mark.parametrize(
    "value",
    [
        {"made": "Path", "fields": {}},
        {"made": "LabelDevice", "fields": {}},
        {"made": "VoteQuestion", "fields": {"cells": 1}},
        {"made": "VoteMechanism", "fields": {"budget": True}},
        {"made": "VoteMechanism", "fields": {"budget": 1.0, "kind": 3}},
        {"made": "VoteMechanism", "fields": {"budget": 1.0, "more": 3}},
        {"array": "<f8", "shape": [1 << 20, 1 << 20], "content": ""},
        {"array": "|O", "shape": [1], "content": ""},
        {"array": "<f8", "shape": [2], "content": "AAAAAAAAAAA="},
        {"something": "else"},
        [[[[[[[[[[[[[[1]]]]]]]]]]]]]],
    ],
)
def test_what_is_no_question(value):
    with pytest.raises((ProtocolError, TypeError, ValueError)):
        from_json(value, VOTE)


def test_a_partition_whose_arrays_do_not_fit_is_refused():
    good = encode_tree(random_tree(0))
    for bad in (good[:-8], good + bytes(8), good[:6] + b"\x00\x09" + good[8:]):
        with pytest.raises(ValueError, match=r"fit together|buffer"):
            decode_tree(bad)
