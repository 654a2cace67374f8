"""A method and its devices run where no private record is: what reaches for one finds nothing, or is a complaint."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from lpbench.audit import codec, foreign
from lpbench.audit.keeper import Places
from lpbench.audit.methods import samples
from lpbench.errors import PrivacyError
from lpbench.privacy import GRR, Laplace, Records, SimulatedUsers
from lpbench.seeds import Streams

HONEST = """
from dataclasses import dataclass
import numpy as np
from lpbench.estimators.base import LocalRegressor
from lpbench.privacy import Device, Laplace

@dataclass(frozen=True)
class Question:
    epsilon: float
    number: int = 0

@dataclass(frozen=True)
class Label(Device[Question]):
    group: int = 0

    def mechanism(self, question):
        return Laplace.for_budget(question.epsilon, 3.0)

    def inputs(self, records, question):
        return np.clip(records.y, -1.0, 2.0)

@dataclass(eq=False, repr=False)
class Method(LocalRegressor):
    epsilon: float = 1.0
    protects = "label"

    def learn(self, users):
        self.mean_ = users.ask(Label(), Question(self.epsilon)).mean()
        return self

    def predict(self, X):
        return self._finish(np.full(len(self._check_predict(X)), self.mean_))
"""

#: Title -> (text of the honest method, its replacement, a word of the complaint).
LEAKS = {
    "another row": ("np.clip(records.y, -1.0, 2.0)", "np.clip(np.roll(records.y, 1), -1.0, 2.0)", "rows"),
    "the sample's mean": ("np.clip(records.y, -1.0, 2.0)", "np.clip(records.y - records.y.mean(), -1.0, 2.0)", "rows"),
    "memory of a device": (
        "return np.clip(records.y, -1.0, 2.0)",
        "SEEN.extend(records.y.tolist()); return np.clip(np.full(len(records), SEEN[0]), -1.0, 2.0)",
        "rows",
    ),
    "a mechanism of one's own": (
        "return Laplace.for_budget(question.epsilon, 3.0)",
        "return type('Quiet', (Laplace,), {'randomize': lambda self, values, rng: values})(scale=3.0, sensitivity=3.0)",
        "library",
    ),
    "a sensitivity too small": ("question.epsilon, 3.0", "question.epsilon, 0.3", "spread over more"),
    "a report of one's own": (
        "def inputs(self",
        "def report(self, records, question, draws):\n        return records.y\n\n    def inputs(self",
        "report",
    ),
    "a budget of one's own": (
        "def inputs(self", "def budget(self, question):\n        return 0.1\n\n    def inputs(self", "budget",
    ),
    "asking twice": (
        "users.ask(Label(), Question(self.epsilon)).mean()",
        "users.ask(Label(), Question(self.epsilon)).mean() + 0 * users.ask(Label(1), Question(self.epsilon)).mean()",
        "account",
    ),
    "a guarantee of one's own": (
        "    def predict(self, X):",
        "    def __getstate__(self):\n        from lpbench.privacy import Guarantee\n"
        "        return {**vars(self), 'guarantee_': Guarantee('label_ldp', 0.1)}\n\n    def predict(self, X):",
        "guarantee_ says",
    ),
    "predicting from users": (
        "return self\n", "self.users_ = users\n        return self\n", "pickled",
    ),
    "a way in": (
        "    def learn(self",
        "    def learn_from(self, users):\n        return super().learn_from(users)\n\n    def learn(self",
        "way in",
    ),
    "records": ("users.ask(Label(), Question(self.epsilon)).mean()", "users.reveal().y.mean()", "sealed"),
    "an attribute": ("users.ask(Label(), Question(self.epsilon)).mean()", "users._records.y.mean()", "not public"),
    "all objects": (
        "users.ask(Label(), Question(self.epsilon)).mean()",
        "max(len(o) for o in __import__('gc').get_objects() if type(o).__name__ == 'Records')",
        "sealed",
    ),
    "leaving": ("return self\n", "raise SystemExit(0)\n", "fails"),
    "a refusal that tells": (
        "return np.clip(records.y, -1.0, 2.0)",
        "assert records.y[0] < 0; return np.clip(records.y, -1.0, 2.0)",
        "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with Places(path=[tmp_path_factory.mktemp("author")]) as found:
        yield found


def write(places, source):
    (Path(places.method.path[0]) / "submitted.py").write_text(source, encoding="utf-8")


@pytest.fixture
def complaints_of(monkeypatch, places):
    """Complaints about a source, in the first sample of an audit."""
    monkeypatch.setattr(foreign, "drawn_samples", lambda model, budgets: islice(samples(model, budgets), 1))

    def complaints(source):
        write(places, "SEEN = []\n" + source)
        return [str(found) for found in foreign.foreign_complaints(places, "submitted.Method", {})]

    return complaints


def test_an_honest_method_has_no_complaint(complaints_of):
    assert complaints_of(HONEST) == []


@pytest.mark.parametrize("title", LEAKS)
def test_a_leak_is_a_complaint(title, complaints_of):
    old, new, word = LEAKS[title]
    assert old in HONEST
    found = complaints_of(HONEST.replace(old, new))
    assert found and word in " ".join(found)


def test_what_runs_apart_learns_what_runs_here_learns(monkeypatch, places):
    write(places, HONEST)
    monkeypatch.syspath_prepend(places.method.path[0])
    from submitted import Method

    rng = np.random.default_rng(0)
    records = Records(rng.random((80, 3)), rng.uniform(-1, 2, 80), np.zeros((80, 3), dtype=bool))
    here, apart = (SimulatedUsers(records, Streams(3), y_range=(-1.0, 2.0)) for _ in range(2))
    expected = Method(y_range=(-1.0, 2.0), random_state=1).learn_from(here).predict(records.X)
    model = places.describe("submitted.Method", {"y_range": (-1.0, 2.0)})
    predictions, stated = places.predict(places.learn(model, apart, 1), records.X)
    np.testing.assert_array_equal(predictions, expected)
    assert stated == here.spent == apart.spent


@pytest.mark.parametrize(
    "value", [None, True, 2**80, 0.1, float("inf"), "ä", (1, [2.0]), {"a": (1,)}, b"x", Streams(4)]
)
def test_plain_values_pass_between_processes_unchanged(value):
    assert codec.decode(codec.encode(value), codec.no_object) == value


def test_arrays_and_mechanisms_pass_and_code_does_not():
    array = np.array([[1.5, np.nan], [np.inf, -0.0]])
    np.testing.assert_array_equal(codec.decode(codec.encode(array), codec.no_object), array)
    for mechanism in (Laplace.for_budget(1.0, 2.0), GRR(1.0, 5)):
        assert codec.decode(codec.encode(mechanism), codec.library_object) == mechanism
    for code in (print, lambda: 0, np.array([object()])):
        with pytest.raises(PrivacyError):
            codec.encode(code)
    with pytest.raises(PrivacyError):
        codec.decode(codec.encode(mechanism), codec.no_object)
    with pytest.raises(PrivacyError):
        codec.decode(b'{"object":["os:system",{"dict":[]}]}', codec.library_object)
