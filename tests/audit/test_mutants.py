"""Every transformation of what users answer, of every private method, is caught by the audit itself."""

import pytest

from lpbench.audit import table
from lpbench.audit.mutants import MUTANTS, mutant_rows
from lpbench.estimators import PrivateMajority
from lpbench.experiments import catalog

METHODS = list(catalog.methods())
#: Methods whose users protect nothing, or are not asked.
APART = "does not apply"


def test_there_are_enough_of_them():
    assert len(MUTANTS) >= 12 and len(set(MUTANTS)) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_of_votes_is_caught(mutant):
    """Those of a mean: test_command.py."""
    assert mutant_rows("", PrivateMajority(), [mutant])[0].caught_by in ("sealed", "account", "rows", "law")


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_all_mutants_of_each_method_are_caught(name):
    rows = table.mutant_rows(name)
    assert [row.mutant for row in rows if not row.caught_by] == []


def test_a_mutant_that_does_not_apply_says_why():
    assert table.mutant_rows("dt")[0].caught_by == f"{APART}: the method protects nothing"
    assert table.mutant_rows("lpct_q")[0].caught_by == f"{APART}: nobody is asked"
