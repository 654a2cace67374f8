"""The smallest budget that a mechanism can hide from the lower bounds: k, if it spends k ε under the name of ε.

By simulation, as `lpbench rates` does: readers of :mod:`overspender` run every registered mechanism at k ε on the hard
families of HistOfTree, LPCT and label DP, and read its reports nearly as well as anybody could.
"""

import math
import re

import numpy as np
import pytest

from lpbench.analysis.curves import Curve
from lpbench.cli.main import main
from lpbench.datasets import make_problem
from lpbench.experiments import catalog
from lpbench.members import member
from lpbench.papers.theory.lower_bounds import ROWS, floor_row, hard_families
from lpbench.papers.theory.theorems import BOUND_FAILS
from lpbench.paths import ROOT

from .overspender import NAMES, OverspendingClassifier, OverspendingRegressor, reading

#: Multiples of the budget that are tried.
TRIED = (1, 1.1, 1.2, 1.3, 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8)
NUMBERS, HIDDEN = hard_families("regression", "semi_feature_ldp")
CLASSES, DRIFTED = hard_families("classification", "semi_feature_ldp")
#: Columns of the table in docs/theory.md.
FLOORS = {"H": HIDDEN, "L": DRIFTED, "Z, numbers": NUMBERS, "Z, classes": CLASSES}


def named(floor, mechanism, k):
    """True where `lpbench rates` names a mechanism that is run at k times the budget of a floor."""
    dataset, mask, epsilon, draws = FLOORS[floor]
    family, shape = member(dataset), member(mask)
    kind = OverspendingRegressor if "regression" in dataset else OverspendingClassifier
    values = np.empty((draws, 1))
    for r in range(draws):
        params = {**family.params, "n": ROWS}
        problem = make_problem(family.name, params, shape.name, shape.params, replication=r, seed=2025)
        model = kind(epsilon, mechanism=mechanism, k=k, random_state=r).for_problem(problem)
        model.fit(problem.X_train, problem.y_train, **problem.fit_arguments)
        values[r] = problem.score(model.predict(problem.X_test))
    curve = Curve("floor", dataset, mask, "planted", epsilon, np.array([ROWS]), values.mean(axis=0), None, values)
    return floor_row("label_ldp", [curve]).word == BOUND_FAILS


@pytest.fixture(scope="module")
def documented():
    """Rows of the table in docs/theory.md: mechanism -> k on each floor."""
    lines = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "docs/theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: dict(zip(FLOORS, map(float, cells.split(" | ")), strict=True)) for name, cells in lines}


def test_each_mechanism_has_documented_budgets_and_one_of_each_paper_is_small(documented):
    assert list(documented) == NAMES
    for paper in "HLZ":
        assert min(k for row in documented.values() for floor, k in row.items() if floor[0] == paper) <= 1.3


@pytest.mark.slow
def test_randomized_response_tells_most_of_a_sign():
    found = {name: reading(name, 1.0)[-1] for name in NAMES}
    assert found["Channel"] == pytest.approx(math.tanh(0.5), abs=0.01)
    assert max(found.values()) <= math.tanh(0.5) + 0.01


@pytest.mark.parametrize("floor", ["L", "Z, numbers", "Z, classes"])
def test_an_overspender_is_named_and_an_honest_reader_is_not(floor, documented):
    assert [named(floor, "Channel", k) for k in (1, documented["Channel"][floor])] == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("name", NAMES)
def test_documented_budgets_are_the_smallest_that_are_named(name, floor, documented):
    least = documented[name][floor]
    assert [named(floor, name, k) for k in TRIED if k <= least] == [k == least for k in TRIED if k <= least]


PRIVATE = [name for name in catalog.method_names() if catalog.method(name).privacy not in (None, "none")]


@pytest.mark.slow
@pytest.mark.parametrize("method", PRIVATE)
def test_no_registered_method_is_named(method, tmp_path):
    sizes = ["--n", "512", "--n", "1024", "--n", "2048", "--replications", "2"]
    assert main(["rates", method, *sizes, "--results", str(tmp_path), "--workers", "1"]) == 0
