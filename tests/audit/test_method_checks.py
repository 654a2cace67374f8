"""Registered methods pass the checks of whole methods in fit and sweep; every known-bad method fails one of them."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from lpbench.audit import method_checks
from lpbench.audit.accountant import ledger
from lpbench.audit.known_bad_methods import KNOWN_BAD_METHODS
from lpbench.audit.leaks import Fitting, record
from lpbench.audit.method_checks import Complaint, caught_by, complaints
from lpbench.audit.report_sources import REPORT_SOURCES
from lpbench.audit.samples import (
    CHANGES,
    MASK,
    QUERIES,
    Y_RANGE,
    D,
    N,
    checked_methods,
    first_sample,
    other_sample,
    settings,
)
from lpbench.audit.sum_laws import COMBINATIONS, DRAWS, FEW_DRAWS, smallest_p_value
from lpbench.experiments import catalogue as registry
from lpbench.paths import ROOT
from lpbench.seeds import Streams

#: Of each method the mutant that is listed first; `make audit` and the slow tests try all.
FIRST = set({mutant.method: name for name, mutant in reversed(KNOWN_BAD_METHODS.items())}.values())


def slow_if(slow, name):
    return pytest.param(name, marks=pytest.mark.slow) if slow else name


@pytest.mark.parametrize("name", [slow_if("[" in name, name) for name in checked_methods()])
def test_honest_methods_are_not_accused(name):
    assert list(complaints(name)) == []


@pytest.mark.parametrize("name", [slow_if(name not in FIRST, name) for name in KNOWN_BAD_METHODS])
def test_known_bad_methods_are_caught(name):
    assert caught_by(name)


def test_a_known_bad_method_is_tried_until_a_stage_finds_something(monkeypatch):
    found, tried = Complaint("leak test", "sweep", "a question depends on a label"), []

    def stage(number, *complaints):
        tried.append(number)
        yield from complaints

    monkeypatch.setattr(method_checks, "of_device", lambda selector: iter(()))
    monkeypatch.setattr(method_checks, "stages", lambda *asked: iter([stage(1), stage(2, found), stage(3, found)]))
    assert caught_by("private_mean_noise_shared") == [found] and tried == [1, 2]
    assert list(complaints("private_mean")) == [found, found] and tried == [1, 2, 1, 2, 3]


def test_a_mutant_is_gone_when_its_block_ends():
    mutant = KNOWN_BAD_METHODS["histoftree_true_labels"]
    from lpbench.estimators.histoftree.rounds import Split

    before = Split.forests
    with mutant.applied():
        assert Split.forests is not before
    assert Split.forests is before


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("histoftree_true_labels_in_fit", "fit"),
        ("histoftree_true_labels_in_sweep", "sweep"),
        ("histoftree_whole_epsilon_in_fit", "fit"),
        ("histoftree_whole_epsilon_in_sweep", "sweep"),
    ],
)
def test_a_mutant_of_one_path_is_caught_on_that_path(name, path):
    assert {complaint.path for complaint in caught_by(name)} >= {path}


@pytest.mark.parametrize("selector", ["histoftree_max_edge", "label_dt", "lpct_max_edge", "private_mean"])
@pytest.mark.parametrize("change", CHANGES)
def test_the_two_samples_agree_in_everything_public(selector, change):
    (model, *_), protects = settings(selector), registry.method(selector).privacy
    first = first_sample(model)
    other = other_sample(first, protects, change)
    assert first.keys() == other.keys() and first["X"].shape == (N, D) and D >= 6
    assert (first["y"] != other["y"]).any() and set(np.unique(other["y"])) <= set(np.unique(first["y"])) | set(
        other["y"][(other["y"] >= Y_RANGE[0]) & (other["y"] <= Y_RANGE[1])]
    )
    same = {"label_ldp": np.ones_like(MASK), "semi_feature_ldp": ~MASK}.get(protects, np.zeros_like(MASK))
    np.testing.assert_array_equal(first["X"][same], other["X"][same])
    for name in first.keys() - {"X", "y"}:
        assert first[name] is other[name]


def test_the_changes_move_the_symmetric_statistics():
    """Variance, Gini index, minority count and range: a leak through one of them must not cancel."""
    for selector in ("label_dt", "private_majority"):
        model, *_ = settings(selector)
        first = first_sample(model)
        others = [other_sample(first, "ldp", change)["y"] for change in CHANGES]
        assert any(abs(y.var() - first["y"].var()) > 0.05 for y in others)
        assert any(np.unique(y).size > 1 and abs(y.mean() - first["y"].mean()) > 0.05 for y in others)


@pytest.mark.parametrize(
    ("selector", "reports"),
    [
        ("private_mean", 1),
        ("histoftree_max_edge", 2),
        ("krr", 1),
        ("residual_gp", 1),
        ("calibrated_score", 1),
        ("lpct_max_edge", 1),
        ("lpct_q", 0),
        ("psgd_linear", 2),
    ],
)
def test_every_user_is_asked_exactly_as_often_as_the_method_says(selector, reports):
    """PSGD's place and turn are two calls for one report; KRR's features are counted by their budgets."""
    model, *_ = settings(selector)
    sources, first = REPORT_SOURCES[type(model)](model), first_sample(model)
    _, tape = record(sources, Fitting(model, QUERIES), first)
    counted = [e for e in tape if e.source.times is not None]
    book = ledger(counted, clone(model).fit(**first), N)
    asked = sum(count for path, count in book.asked.items() if not path.endswith("__init__"))
    assert np.all(asked == reports)


def test_the_page_on_privacy_says_how_many_sums_are_compared():
    page = " ".join((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8").split())
    assert f"{DRAWS[0]} of them are compared with sums of {DRAWS[1]} draws of the users' own reports" in page
    assert f"private SGD ({FEW_DRAWS[0]} of either" in page and FEW_DRAWS[0] == FEW_DRAWS[1]


@pytest.mark.parametrize("sizes", [DRAWS, FEW_DRAWS])
def test_sums_are_compared_by_the_test_of_kolmogorov_and_smirnov(sizes):
    rng = np.random.default_rng(1)
    one, other = (np.round(scale * rng.laplace(size=(n, 1)), 1) for n, scale in zip(sizes, (1.0, 1.2), strict=True))
    centre = np.median(np.concatenate([one, other]))
    weights = Streams(0).generator("weights").normal(size=(COMBINATIONS, 1))
    expected = [
        stats.ks_2samp(a.ravel(), b.ravel(), method="asymp").pvalue
        for w in (1.0, *weights.ravel())
        for a, b in ((w * one, w * other), (np.abs(w * (one - centre)), np.abs(w * (other - centre))))
    ]
    assert smallest_p_value(one, other, Streams(0)) == pytest.approx(min(1.0, len(expected) * min(expected)))
