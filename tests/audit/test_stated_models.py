"""The privacy model that a method states: each of its settings has it, or one that implies it."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from lpbench.audit import table
from lpbench.audit.apart import check_spent
from lpbench.errors import PrivacyError
from lpbench.experiments import catalog
from lpbench.experiments.spent import keeps_model
from lpbench.privacy import MODELS, Guarantee
from lpbench.submission import verify

#: Places of a record (label, protected feature, shown feature) in which two that a model compares may differ.
RECORD = {0, 1, 2}
HIDDEN = {"ldp": RECORD, "semi_feature_ldp": {0, 1}, "label_ldp": {0}, "cdp": RECORD, "label_cdp": {0}, "none": set()}
HIST, KRR = (f"private_selection_regressor[estimator={name}]" for name in ("hist", "krr"))


def compared(model):
    """Pairs of records whose reports a model bounds."""
    records = list(product((0, 1), repeat=3))
    return {(a, b) for a, b in product(records, records) if all(a[k] == b[k] or k in HIDDEN[model] for k in range(3))}


@pytest.mark.parametrize("stated", MODELS)
@pytest.mark.parametrize("found", MODELS)
def test_a_model_is_kept_by_those_that_bound_each_of_its_pairs_and_trust_the_same(stated, found):
    trusts = [model in ("cdp", "label_cdp") for model in (stated, found)]
    implied = compared(stated) <= compared(found) and trusts[0] == trusts[1] and found != "none"
    assert keeps_model(stated, found, "record") == (implied or stated == "none")


def test_a_mask_that_hides_no_feature_leaves_the_label_of_the_semi_feature_model():
    """Only where the mask says what is protected, so that another one hides features."""
    for protects in ("mask", "label", "record"):
        assert keeps_model("semi_feature_ldp", "label_ldp", protects) == (protects == "mask")


@pytest.fixture
def silent(monkeypatch):
    """An audit that compares models alone."""
    monkeypatch.setattr(table, "complaints", lambda model: [])


def test_a_setting_may_have_a_stronger_model_than_its_method_states(silent, monkeypatch):
    assert catalog.method(HIST).privacy == "semi_feature_ldp"
    runs = [table.recorded_run(table.estimator_of(HIST), 1.0)]
    monkeypatch.setattr(table, "recorded_run", lambda model, epsilon: runs[0])
    assert runs[0].spent.model == "ldp" and table.method_complaints(HIST) == []


def test_a_setting_with_a_weaker_model_than_stated_is_a_complaint(silent):
    (sentence,) = table.complaints_about(replace(catalog.method(KRR), privacy="ldp"))
    assert sentence.endswith("the YAML says privacy: ldp, the reports say semi_feature_ldp: write it there")
    (sentence,) = table.complaints_about(replace(catalog.method("label_ldp_vote"), privacy="semi_feature_ldp"))
    assert "the reports say label_ldp" in sentence


@pytest.mark.parametrize(("stated", "found"), list(product(MODELS, MODELS)))
def test_runs_apart_and_verification_ask_the_same_as_the_audit(stated, found, monkeypatch):
    facts = SimpleNamespace(protects="mask", uses_epsilon=True, exceeds_budget=False, estimator="own.Mean")
    users = SimpleNamespace(spent=Guarantee(found, 1.0), units=None, mask=np.zeros((3, 2), dtype=bool))
    kept = keeps_model(stated, found, "mask")
    try:
        check_spent(facts, users, 1.0, stated)
        assert kept
    except PrivacyError as error:
        assert not kept and f"{stated} is stated, and the reports say {found}" in str(error)

    class Kind:
        protects, uses_epsilon = "mask", True

        def __init__(self, **_):
            self.guarantee_ = users.spent

        get_params, learn_from = dict, lambda self, users: self

    sample = SimpleNamespace(stated=lambda known: {}, users=lambda seed: users)
    monkeypatch.setattr(verify, "kind_of", lambda places, estimator: Kind)
    monkeypatch.setattr(verify, "audit_sample", lambda model: sample)
    method = SimpleNamespace(estimator="own.Mean", params={})
    said = list(verify._misstated(None, method, {"model": stated, "epsilon": 1.0, "asked": 1.0}, [1.0]))
    assert said == ([] if kept else [f"submission.yaml states {stated}, and the reports say {found}"])
