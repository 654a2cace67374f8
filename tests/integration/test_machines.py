"""Scores do not depend on the kind of processor, or by no more than a method's promise says."""

import numpy as np
import pytest

from lpbench.datasets import describe
from lpbench.experiments import catalog
from lpbench.paths import ROOT
from scripts import machines

SETS = {"classification": ["breast_cancer"], "regression": ["diabetes_progression"]}

pytestmark = pytest.mark.skipif(not machines.machines(), reason="the processor cannot stand for others")


def test_a_difference_breaks_the_promise(tmp_path, monkeypatch):
    scores = iter([np.array([0.5, np.nan, 0.25]), np.array([0.5, np.nan, 0.25 * (1 + 1e-12)])])
    monkeypatch.setattr(machines, "_run", lambda *args: None)
    monkeypatch.setattr(machines, "_scores", lambda *args: next(scores))
    (found,) = machines.compare(tmp_path, ["cube_vote"], [machines.Machine("other")], (1,), SETS)
    assert not found.kept and found.largest == pytest.approx(1e-12, rel=1e-3)
    assert machines._largest(np.array([np.nan]), np.array([1.0])) == np.inf
    assert machines._largest(np.array([1.0, 2.0]), np.array([1.0])) == np.inf


def test_no_promise_is_weaker_without_a_reason_and_the_page_lists_them():
    for method in catalog.methods().values():
        weaker = machines.NUMERIC if method.estimator_class.rounding else 0.0
        assert machines.promise(method.estimator) == weaker
    assert machines.promises() in (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


def test_a_method_that_reads_a_public_sample_is_tried_where_there_is_one():
    for method in catalog.methods().values():
        described = (describe(*machines._parts(name)) for name in machines.tried_on(method))
        shapes = [d for d in described if d.available]
        assert shapes and (not method.estimator_class.uses_public or all(s.n_public for s in shapes)), method.name


@pytest.mark.slow
def test_every_method_on_every_machine(tmp_path, capsys):
    assert machines.main([str(tmp_path)]) == 0, capsys.readouterr().out
