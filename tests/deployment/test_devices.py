"""Every device: protected values change neither refusals nor lengths; it answers or spends nothing, also restarted."""

import base64
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.deployment.broadcast import MOST_BROADCAST, Broadcast, campaign_of, decode_tree, encode_tree
from lpbench.deployment.client import ENROLMENT, MOST_REPORT
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


def places_of(value, path=()):
    """Paths to everything in a broadcast: settings, the parts of its question, entries of lists."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places_of(part, (*path, key))


def at(settings, path):
    for key in path:
        settings = settings[key]
    return settings


def changed(settings, path, value):
    """The settings with another value at a path."""
    if not path:
        return value
    copy = dict(settings) if isinstance(settings, dict) else list(settings)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return copy


@st.composite
def arrays(draw):
    """An array as broadcasts hold it: numbers that have broken devices, of some shape."""
    values = draw(st.lists(st.sampled_from([0, 1, 2, -1, 0.5, 5e-324, 1e300, 2.0**52, 0.0, np.nan]), max_size=4))
    array = np.array(values, dtype="<f8")
    if np.isfinite(array).all() and (np.abs(array) < 2.0**60).all():
        array = array.astype(draw(st.sampled_from(["<f8", "<i8", "|b1"])))
    if draw(st.booleans()):
        array = array.reshape(1, -1)
    return {"array": array.dtype.str, "shape": list(array.shape),
            "content": base64.b64encode(array.tobytes()).decode()}  # fmt: skip


@st.composite
def questions(draw, name, number):
    """A broadcast of some round: settings changed, removed and added, another partition, changed bytes."""
    settings = Broadcast.decode(DEVICES[name].broadcasts()[number - 1]).settings
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(list(places_of(settings))[1:]))
        value = at(settings, path)
        if isinstance(value, dict) and "tree" in value and draw(st.booleans()):
            tree = random_tree(draw, draw(st.sampled_from([1, 2, 2, 3, 3, 4])))
            new = {"tree": base64.b64encode(encode_tree(tree)).decode()}
        elif isinstance(value, dict) and draw(st.integers(0, 9)) == 0:
            new = {key: part for key, part in value.items() if key != draw(st.sampled_from(sorted(value)))}
        else:
            new = draw(arrays() if isinstance(value, dict) and draw(st.booleans()) else JSON)
        settings = changed(settings, path, new)
        if not isinstance(settings, dict):
            break
    content = bytearray(json.dumps(settings).encode())
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


@pytest.mark.parametrize("examples", [25, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "number"), ROUNDS)
def test_protected_values_change_neither_refusals_nor_lengths(name, number, examples):
    settings(max_examples=examples, deadline=None)(given(data=st.data())(same_outcome))(name=name, number=number)


def same_outcome(name, number, data):
    """One question to one user who holds one value or another."""
    content = data.draw(questions(name, number))
    user, one, other = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 50)), data.draw(st.integers(0, 50))
    device = DEVICES[name]
    assert outcome(ready(device, user, one, number), content) == outcome(ready(device, user, other, number), content)


@pytest.mark.parametrize("values", [2, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "number"), ROUNDS)
def test_each_curated_value_of_each_setting(name, number, values):
    device, answered = DEVICES[name], 0
    broadcast = Broadcast.decode(device.broadcasts()[number - 1])
    assert outcome(ready(device, 0, 1, number), device.broadcasts()[number - 1])[0] == "answered"
    # Public samples and other lists of numbers stand for one another; growing a forest anew takes its time.
    paths = [path for path in list(places_of(broadcast.settings))[1:] if path[-1:] != ("content",)]
    for path in paths:
        for value in CURATED:
            content = Broadcast(changed(broadcast.settings, path, value)).encode()
            seen = {outcome(ready(device, 0, protected, number), content) for protected in range(values)}
            assert len(seen) == 1, (path, value, seen)
            answered += seen.pop()[0] == "answered"
            if path == ("round",) and type(value) is not int:
                assert outcome(ready(device, 0, 1, number), content)[0] == "refused"
    assert answered > 0


@pytest.mark.parametrize("name", DEVICES)
def test_no_report_carries_continuous_noise(name):
    """What depends on protected values is a whole number, or lies on a public grid of a power of two."""
    device = DEVICES[name]
    for number, content in enumerate(device.broadcasts(), start=1):
        settings = Broadcast.decode(content).settings
        answers = [ready(device, 0, protected, number)._plan(settings) for protected in (1, 2)]
        if settings["device"] == ENROLMENT:
            np.testing.assert_array_equal(answers[0].values(), answers[1].values())
            continue
        for answer in answers:
            assert not any(type(field).__name__ == "Reals" for field in answer.fields)
            steps = [getattr(f, "step", 1.0) for f in answer.fields for _ in range(f.columns)]
            assert (answer.values() % steps == 0).all()


@pytest.mark.parametrize("kind", ["laplace", "rr", "discrete"])
def test_questions_for_continuous_noise_are_refused(kind):
    device = DEVICES["LPCT (discrete)"]
    settings = Broadcast.decode(device.broadcasts()[0]).settings
    path = next(path for path in places_of(settings) if path[-1:] == ("kind",))
    seen = outcome(ready(device, 0, 1, 1), Broadcast(changed(settings, path, kind)).encode())
    assert seen[0] == ("refused" if kind == "laplace" else "answered") and (
        kind != "laplace" or "continuous" in seen[1]
    )


def test_noise_for_a_smaller_sensitivity_than_the_record_has_is_refused():
    """A curator may name any mechanism; that it hides one record from every other is for the device to see."""
    for name, least in (("PrivateLabelsRegressor", 2.0), ("PrivateLabelsClassifier", 2.0)):
        device, number = DEVICES[name], 1 + (name == "PrivateLabelsClassifier")
        settings = Broadcast.decode(device.broadcasts()[number - 1]).settings
        assert settings["device"] != ENROLMENT
        for sensitivity in (1e-3, least):
            fields = {"scale": 1e6 * sensitivity, "step": 1.0, "sensitivity": sensitivity}
            noise = {"made": "DiscreteLaplace", "fields": fields}
            content = Broadcast(changed(settings, ("question", "fields", "mechanism"), noise)).encode()
            assert (outcome(ready(device, 0, 1, number), content)[0] == "answered") <= (sensitivity == least)


@pytest.mark.parametrize("name", DEVICES)
def test_broadcasts_that_are_too_long_or_too_deep_are_refused(name):
    client = ready(DEVICES[name], 0, 1, 1)
    deep = b"[" * 100_000 + b"]" * 100_000
    for content in (deep, b"{}" + b" " * MOST_BROADCAST, b'{"a": NaN}', b"[]", "text", None):
        with pytest.raises(ProtocolError, match="cannot be read"):
            client.answer(content)
    assert client.spent == 0


def test_a_short_broadcast_cannot_ask_for_a_long_report():
    device = DEVICES["LPCT (discrete)"]
    settings = Broadcast.decode(device.broadcasts()[0]).settings
    n_inner = 2**13 - 1
    feature = np.repeat([0, -1], [n_inner, n_inner + 1])
    tree = TreePartition(feature, np.full(feature.size, 0.5), np.zeros(feature.size, int), np.zeros(3), np.ones(3))
    question = changed(settings, ("question", "fields", "mechanism", "fields", "budget"), 1e-3)
    path = next(path for path in places_of(question) if path[-2:] == ("tree", "tree"))
    question = changed(question, path, base64.b64encode(encode_tree(tree)).decode())
    client = ready(device, 0, 1, 1)
    with pytest.raises(ProtocolError, match=f"a report has at most {MOST_REPORT}"):
        client.answer(Broadcast(changed(question, (*path[:-2], "depth"), None)).encode())
    assert client.spent == 0


def test_partitions_that_are_no_trees_are_refused():
    """The root a leaf and its sibling the parent of both; a chain deeper than any partition."""
    own_parent = struct.pack(">HI3Hd", 1, 3, 0, 1, 0, 0.5)
    n = 300
    chain = struct.pack(">HI", 1, 2 * n + 1) + struct.pack(">H", 1) + struct.pack(">2H", 1, 0) * (n - 1)
    chain += struct.pack(">2H", 0, 0) + bytes(8 * n)
    endless = struct.pack(">HI3Hd", 1, 3, 1, 0, 0, np.inf)
    for tree in (own_parent, chain, endless):
        with pytest.raises(ValueError, match=r"not a tree|cuts deep"):
            decode_tree(tree)


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


def test_the_limit_holds_over_all_campaigns_of_a_ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.json")
    one, other = DEVICES["LPCT (rr)"], DEVICES["HistOfTree (grr)"]
    one.make(0, 1, ledger=ledger, campaign="campaign").answer(one.broadcasts()[0])
    client, after = other.make(0, 1, ledger=tmp_path / "ledger.json", campaign="second"), {}
    for content, refused in zip(other.broadcasts()[:2], (False, True), strict=True):
        content = Broadcast({**Broadcast.decode(content).settings, "campaign": "second", **after}).encode()
        after = {"after": campaign_of(content).hex()}
        if not refused:
            client.answer(content)
            continue
        with pytest.raises(ProtocolError, match="only 0 is left"):
            client.answer(content)


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
    assert ledger.spent == client.spent and ledger.progress(client.campaign).round == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"spent": -1, "progress": {}}', '{"spent": NaN, "progress": {}}'])
def test_a_ledger_that_cannot_be_read_stops_the_device(content, tmp_path):
    path = Path(tmp_path / "ledger.json")
    path.write_text(content)
    with pytest.raises(ProtocolError, match="nothing may be spent"):
        Ledger(path)
