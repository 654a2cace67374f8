"""Every device: protected values change neither refusals nor lengths; it answers or spends nothing, also restarted."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.deployment.broadcast import MOST_BROADCAST, Broadcast
from lpbench.deployment.client import MOST_REPORT
from lpbench.deployment.collector import ProtocolError
from lpbench.deployment.ledger import Ledger
from lpbench.partitions import TreePartition
from tests.deployment.devices import DEVICES, LIMIT, ready

#: Values that have broken devices, beside random ones.
CURATED = (
    *(1e-300, 5e-324, 1.0, 1, True, 2**52, 2**62, 10**30, -1, 0, 0.5, 64, 1e308, None, "x", "laplace", "rr", "grr"),
    *([0, 1], [0, 1, 2], [1, 0], [], [-(2**52), 2**52], [0, 1e-320], [0.0, 5e-324], [1e300, 1e301], [[0, 1]], {}),
)
JSON = st.recursive(
    st.one_of(
        st.sampled_from(CURATED),
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, width=64),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=6,
)
ROUNDS = [(name, number) for name, device in DEVICES.items() for number in range(1, len(device.broadcasts()) + 1)]


def random_tree(draw, n_features):
    """A partition that is a tree, with thresholds anywhere."""
    feature, inner = [-1], 0
    for _ in range(draw(st.integers(0, 8))):
        leaves = [i for i, f in enumerate(feature) if f < 0 and i >= inner]
        place = draw(st.sampled_from(leaves))
        feature[place] = draw(st.integers(0, n_features - 1))
        inner = place + 1
        feature += [-1, -1]
    threshold = np.array([draw(st.floats(-2, 2)) for _ in feature])
    n = len(feature)
    return TreePartition(np.array(feature), threshold, np.zeros(n, int), np.zeros(n_features), np.ones(n_features))


@st.composite
def questions(draw, name, number):
    """A broadcast of some round: settings changed, removed and added, another partition, changed bytes."""
    broadcast = Broadcast.decode(DEVICES[name].broadcasts()[number - 1])
    changed, tree = dict(broadcast.settings), broadcast.tree
    for key in draw(st.lists(st.sampled_from([*sorted(changed), "new"]), max_size=3)):
        if draw(st.integers(0, 9)) == 0:
            changed.pop(key, None)
        else:
            changed[key] = draw(JSON)
    if tree is not None and draw(st.booleans()):
        tree = random_tree(draw, draw(st.sampled_from([tree.n_features, tree.n_features, 1, 2, 3, 4])))
    text = json.dumps(changed).encode()
    content = bytearray(struct.pack(">I", len(text)) + text + Broadcast({}, tree).encode()[6:])
    for place in draw(st.lists(st.integers(0, len(content) - 1), max_size=2)) if draw(st.integers(0, 3)) == 0 else []:
        content[place] = draw(st.integers(0, 255))
    return bytes(content)


def outcome(client, content):
    """What an observer sees: the words of the refusal, or the length of the report, and what was spent."""
    before = client.spent
    try:
        report = client.answer(content)
    except ProtocolError as error:
        assert client.spent == before
        return "refused", str(error), before
    assert before <= client.spent <= LIMIT * (1 + 1e-12)
    return "answered", len(report), client.spent


@pytest.mark.parametrize(("name", "number"), ROUNDS)
@settings(max_examples=150)
@given(data=st.data())
def test_protected_values_change_neither_refusals_nor_lengths(name, number, data):
    content = data.draw(questions(name, number))
    user, one, other = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    device = DEVICES[name]
    assert outcome(ready(device, user, one, number), content) == outcome(ready(device, user, other, number), content)


@pytest.mark.parametrize(("name", "number"), ROUNDS)
def test_each_curated_value_of_each_setting(name, number):
    device, answered = DEVICES[name], 0
    broadcast = Broadcast.decode(device.broadcasts()[number - 1])
    assert outcome(ready(device, 0, 1, number), device.broadcasts()[number - 1])[0] == "answered"
    for key in broadcast.settings:
        for value in CURATED:
            content = Broadcast({**broadcast.settings, key: value}, broadcast.tree).encode()
            seen = {outcome(ready(device, 0, protected, number), content) for protected in range(6)}
            assert len(seen) == 1, (key, value, seen)
            answered += seen.pop()[0] == "answered"
            if key == "round" and type(value) is not int:
                assert outcome(ready(device, 0, 1, number), content)[0] == "refused"
    assert answered > 0


@pytest.mark.parametrize("name", DEVICES)
def test_no_report_carries_continuous_noise(name):
    """What depends on protected values is a whole number, or lies on a public grid of a power of two."""
    device = DEVICES[name]
    for number, content in enumerate(device.broadcasts(), start=1):
        client = ready(device, 0, 1, number)
        answer = client._plan(Broadcast.decode(content))
        n_private = sum(field.columns for field in answer.fields if type(field).__name__ != "Reals")
        values = answer.values()
        steps = [getattr(f, "step", 1.0) for f in answer.fields for _ in range(f.columns)]
        assert (values[:n_private] % steps[:n_private] == 0).all()
        public = values[n_private:]
        np.testing.assert_array_equal(
            public, ready(device, 0, 2, number)._plan(Broadcast.decode(content)).values()[n_private:]
        )


@pytest.mark.parametrize("name", DEVICES)
def test_broadcasts_that_are_too_long_or_too_deep_are_refused(name):
    client = ready(DEVICES[name], 0, 1, 1)
    deep = b"[" * 100_000 + b"]" * 100_000
    for content in (
        struct.pack(">I", len(deep)) + deep,
        struct.pack(">I", 2) + b"{}" + bytes(MOST_BROADCAST),
        b'\x00\x00\x00\x0a{"a": NaN}',
        "text",
        None,
    ):
        with pytest.raises(ProtocolError, match="cannot be read"):
            client.answer(content)
    assert client.spent == 0


def test_a_short_broadcast_cannot_ask_for_a_long_report():
    device = DEVICES["LPCT (discrete)"]
    broadcast = Broadcast.decode(device.broadcasts()[0])
    n_inner = 2**13 - 1
    feature = np.repeat([0, -1], [n_inner, n_inner + 1])
    tree = TreePartition(
        feature, np.full(feature.size, 0.5), np.zeros(feature.size, int), broadcast.tree.lower, broadcast.tree.upper
    )
    client = ready(device, 0, 1, 1)
    with pytest.raises(ProtocolError, match=f"a report has at most {MOST_REPORT}"):
        client.answer(Broadcast({**broadcast.settings, "budget": 1e-3}, tree).encode())
    assert client.spent == 0


def test_partitions_that_are_no_trees_are_refused():
    """The root a leaf and its sibling the parent of both; a chain deeper than any partition."""
    head = b"\x00\x00\x00\x02{}"
    own_parent = struct.pack(">HI3Hd", 1, 3, 0, 1, 0, 0.5)
    n = 300
    chain = struct.pack(">HI", 1, 2 * n + 1) + struct.pack(">H", 1) + struct.pack(">2H", 1, 0) * (n - 1)
    chain += struct.pack(">2H", 0, 0) + bytes(8 * n)
    endless = struct.pack(">HI3Hd", 1, 3, 1, 0, 0, np.inf)
    for tree in (own_parent, chain, endless):
        with pytest.raises(ProtocolError, match="cannot be read"):
            Broadcast.decode(head + tree)


@pytest.mark.parametrize("name", DEVICES)
def test_a_restart_forgets_nothing(name, tmp_path):
    device, path = DEVICES[name], tmp_path / "ledger.json"
    contents, spent = device.broadcasts(), 0.0
    for content in contents:
        client = device.make(0, 1, ledger=path)
        assert client.spent == spent
        client.answer(content)
        spent = client.spent
        for _ in range(2):
            with pytest.raises(ProtocolError, match="answered once"):
                client.answer(content)
            client = device.make(0, 1, ledger=path)
    assert device.make(0, 1, ledger=path).spent == spent == pytest.approx(LIMIT)


def test_the_limit_holds_over_all_protocols_of_a_ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.json")
    one, other = DEVICES["LPCT (rr)"], DEVICES["HistOfTree (grr)"]
    one.make(0, 1, ledger=ledger).answer(one.broadcasts()[0])
    with pytest.raises(ProtocolError, match="only 0 is left"):
        other.make(0, 1, ledger=tmp_path / "ledger.json").answer(other.broadcasts()[0])


@pytest.mark.parametrize("name", DEVICES)
def test_nothing_leaves_before_the_ledger_is_written(name, tmp_path, monkeypatch):
    device = DEVICES[name]
    client = device.make(0, 1, ledger=tmp_path / "ledger.json")

    def no_space(path, durable):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("lpbench.deployment.ledger.atomic_write", no_space)
        with pytest.raises(ProtocolError, match="no space left"):
            client.answer(device.broadcasts()[0])
    assert client.spent == 0 and not (tmp_path / "ledger.json").exists()
    client.answer(device.broadcasts()[0])
    ledger = Ledger(tmp_path / "ledger.json")
    assert ledger.spent == client.spent and ledger.progress(client.protocol).round == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"spent": -1, "progress": {}}', '{"spent": NaN, "progress": {}}'])
def test_a_ledger_that_cannot_be_read_stops_the_device(content, tmp_path):
    path = Path(tmp_path / "ledger.json")
    path.write_text(content)
    with pytest.raises(ProtocolError, match="nothing may be spent"):
        Ledger(path)
