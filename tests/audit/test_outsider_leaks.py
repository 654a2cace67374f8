"""Leaks of an outsider's, each with an honest twin, run apart: what holds each of them is committed beside them."""

import csv
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import yaml

from lpbench.audit import foreign
from lpbench.audit.apart import kind_of
from lpbench.audit.keeper import Places
from lpbench.audit.methods import samples
from lpbench.errors import ConfigurationError, LpbenchError
from lpbench.estimators import PrivateMean
from lpbench.experiments.method import Method
from lpbench.experiments.schema import check_method
from lpbench.problem import Problem
from lpbench.seeds import Streams
from tests.audit.outsider_leaks import LEAKS, class_name, source
from tests.audit.outsider_leaks import yaml as yaml_of

#: What holds a leak: ``construction`` (refused before a report, or learns what its twin learns, to the bit),
#: ``run check`` (the fit ends), ``complaint`` (of the audit, on data that one fit may not have), or ``nothing``.
OUTCOMES = {
    row["name"]: row["outcome"] for row in csv.DictReader(Path(__file__).with_suffix(".csv").open(encoding="utf-8"))
}
#: Releases of its own and replaced parameters are refused, whoever is honest.
REFUSED_TWINS = {"sum_called_mean", "parameters_that_lie"}
HANDFUL = ("eight_copies", "module_list", "uses_no_epsilon", "undeclared_column", "noise_of_its_own")
#: A fit that has what the trigger of a leak waits for: users, features, budget.
MET = {"many_users": (1600, 3, {}), "ten_features": (240, 10, {}), "epsilon_of_two": (240, 3, {"epsilon": 2.0})}
#: What a leak does when its day, its command line or its table has come.
EDITED = {"after_the_review": ("2027", "2020"), "honest_while_audited": ('"audit", ', "")}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    with Places(path=[tmp_path_factory.mktemp("author")], seconds=120.0) as found:
        yield found


def outcome_of(places, name, honest=False, audited=True):
    """Predictions of a fit apart, or the sentence that ends it, and the first complaint of the audit, if any."""
    leak = LEAKS[name]
    try:
        stated = yaml.safe_load(yaml_of(name, honest))
    except yaml.YAMLError as error:
        return str(error), ""
    params = {k: v for k, v in ((stated.get("params") or {}) | stated["tuning_free"]).items() if k != "epsilon"}
    for copy in places.copies.values():
        (copy / "fresh.py").write_text(source(name, honest).replace(*EDITED.get(name, ("", ""))), encoding="utf-8")
    path = f"fresh.{class_name(name)}"
    n, d, budget = MET.get(name, (20 if name == "order_that_changes" else 240, 3, {}))
    rng = np.random.default_rng(1)
    X = np.round(rng.random((n, d)), 1 if name == "rounded_features" else 9)
    y = np.clip(3 * X[:, -1] - 1 + 0.2 * rng.standard_normal(n), -1, 2)
    public = {"y_range": (-1.0, 2.0)}
    if leak.task == "classification":
        y, public = np.clip(y.round().astype(int) + 1, 0, 3), {"classes": np.arange(4)}
    mask = {"mask": rng.random(X.shape) < 0.3} if leak.privacy == "semi_feature_ldp" else {}
    try:
        model = kind_of(places, path, leak.privacy)(random_state=1).set_params(**params, **public, **budget)
        found = model.fit(X, y, **mask).predict(X).tolist()
    except LpbenchError as error:
        return str(error), ""
    complaints = foreign.foreign_complaints(places, path, params, leak.privacy) if audited else iter(())
    return found, str(next(complaints, ""))


def test_eleven_of_twelve_are_held():
    assert OUTCOMES.keys() == LEAKS.keys() and len(LEAKS) >= 60
    counts = Counter(OUTCOMES.values())
    assert counts.keys() <= {"construction", "run check", "complaint", "nothing"}
    assert 12 * counts["nothing"] <= len(LEAKS)


def test_a_grid_does_not_search_the_budget():
    stated = yaml.safe_load(yaml_of("grid_of_budgets", honest=False))
    with pytest.raises(ConfigurationError, match="epsilon is the budget of a run"):
        check_method(Method(**stated))
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), rng.random(60)
    model, problem = PrivateMean(), Problem(X[:40], y[:40], X[40:], y[40:], y_range=(0.0, 1.0))
    task = model.task(problem, Streams(1))
    at_one, at_many = (model.for_problem(problem).refitted(task, [1.0], grid) for grid in ({}, {"epsilon": [64.0]}))
    np.testing.assert_array_equal(at_one.values, at_many.values)


def check(places, name, audited):
    found, complaint = outcome_of(places, name, audited=audited)
    twin, twins_complaint = outcome_of(places, name, honest=True, audited=audited)
    assert (isinstance(twin, list) and not twins_complaint) or name in REFUSED_TWINS, (twin, twins_complaint)
    if OUTCOMES[name] == "construction":
        assert isinstance(found, str) or (found == twin and not complaint), complaint
    elif OUTCOMES[name] == "run check":
        # what leaks by chance may not have done so in this fit, which is then that of the twin
        assert isinstance(found, str) or found == twin
    elif OUTCOMES[name] == "complaint" and audited:
        assert isinstance(found, str) or complaint


@pytest.mark.parametrize("name", HANDFUL)
def test_a_few_are_held_and_their_twins_are_not_accused(name, places):
    check(places, name, audited=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAKS)
def test_each_is_held_as_is_listed(name, places, monkeypatch):
    if name != "edge_of_the_grid":
        monkeypatch.setattr(foreign, "drawn_samples", lambda model: islice(samples(model), 1))
    check(places, name, audited=True)
