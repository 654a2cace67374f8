"""Every device of a method: its paths are those of audit.csv, and no protected value changes a refusal or a length."""

import sys
import warnings
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbench.audit.devices import audited_methods, method_randomizer
from lpbench.audit.leaks import Fitting, Sweeping
from lpbench.audit.randomizers import GroupMessage
from lpbench.audit.samples import QUERIES, checked_methods, first_sample, grid_points
from lpbench.audit.samples import settings as audited_settings
from lpbench.privacy import Mechanism
from lpbench.seeds import Streams

#: Device -> the methods of it that randomise records which were located before.
INNER = {"CellDevice": ("categories", "bits"), "SubsetDevice": ("hidden",)}
#: Cells are given by public objects; a client holds its own list of classes, whose length no curator changes.
KEPT = {"n_classes", "n_features", "cells", "tree", "score", "purpose", "axes"}
FLOATS = (0.0, -1.0, 0.5, 5e-324, 1e-300, 1e308, np.inf, np.nan, float(2**62))
VALUES = {
    float: FLOATS,
    int: (-1, 0, 1, 2, 3, 7, 10**6),
    str: ("", "laplace", "discrete", "rr", "grr"),
    tuple: ((0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (-1e300, 1e300), (0.0, 5e-324), (np.nan, 1.0), (-np.inf, np.inf)),
}


@cache
def asked(name):
    """Devices, questions and records of a method's messages."""
    messages = method_randomizer(name, 1.0).messages
    parts = [part for m in messages for part in (m.parts if isinstance(m, GroupMessage) else [m])]
    return [part.asked for part in parts if part.asked is not None]


ASKED = [(name, k) for name in audited_methods() for k in range(len(asked(name)))]


def calls(run, sample):
    """Qualified names of all functions that a run calls."""
    seen = set()

    def note(frame, event, argument):
        if event == "call":
            seen.add(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        run(sample)
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", [name for name in checked_methods() if asked(name)])
def test_fit_and_sweep_go_the_way_that_is_named(name):
    model = audited_settings(name)[0]
    several = {"bins": 2} if model.get_params().get("bins", 0) is None else {}
    point = {**grid_points(name, model)[0], **several}
    model.set_params(**several)
    runs = Fitting(model, QUERIES), Sweeping(model, QUERIES, [model.epsilon], [point])
    for part in range(2):
        called = calls(runs[part], first_sample(model))
        for one in asked(name):
            path, device = (one.fit, one.sweep)[part], type(one.device).__name__
            if path.draw is not None:
                assert path.name in called
            else:
                assert called & {f"{device}.{method}" for method in (*INNER.get(device, ()), "report")}


def changed(draw, value):
    """Another value of the same kind."""
    if isinstance(value, Mechanism) and is_dataclass(value):
        names = [f.name for f in fields(value) if isinstance(getattr(value, f.name), float)]
        return replace(value, **{name: draw(st.sampled_from(FLOATS)) for name in names})
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.full_like(value, draw(st.sampled_from(FLOATS)))
    for kind, values in VALUES.items():
        if isinstance(value, kind):
            return draw(st.sampled_from(values))
    return value


@st.composite
def questions(draw, question):
    """A question with some of its parts changed; one that cannot even be written down is drawn again."""
    names = [f.name for f in fields(question) if f.name not in KEPT and getattr(question, f.name) is not None]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)) if names else []
    try:
        return replace(question, **{name: changed(draw, getattr(question, name)) for name in chosen})
    except Exception:
        return question


def outcome(device, question, records):
    """The words of a refusal, or what everybody sees of an answer: price, payload and shape."""
    try:
        device.check(question)
        price, payload = device.budget(question), device.fields(question)
        report = device.report(records, question, device.draws(Streams(3), len(records), question))
    except Exception as error:
        return "refused", type(error).__name__, str(error)
    return "answered", str(price), payload, np.shape(report)


@pytest.mark.parametrize(("name", "k"), ASKED)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_protected_values_change_neither_refusals_nor_lengths(name, k, data):
    one = asked(name)[k]
    question = data.draw(questions(one.question))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        seen = {str(outcome(one.device, question, one.records.repeated(i, 1))) for i in range(len(one.records))}
    assert len(seen) == 1, seen


@pytest.mark.parametrize(("name", "k"), ASKED)
def test_the_price_and_the_payload_of_a_question_are_known_before_the_answer(name, k):
    one = asked(name)[k]
    for i in range(len(one.records)):
        report = one.reports(one.records.repeated(i, 2), Streams(i))
        assert np.reshape(report, (2, -1)).shape[1] == sum(field.columns for field in one.device.fields(one.question))
