"""Thirty mistakes and sabotages that were written from the methods' code before the audit was run on them."""

from __future__ import annotations

import pytest

from lpbench.audit.methods import complaints
from lpbench.audit.table import estimator_of
from tests.audit.fresh_mutants import MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_a_mutant_written_without_knowing_the_audit_is_caught(name):
    selector, mutant = MUTANTS[name]
    with mutant():
        found = next(iter(complaints(estimator_of(selector))), None)
    assert found, f"{name} on {selector} was missed"
