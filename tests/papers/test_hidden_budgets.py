"""The smallest budget that a mechanism can hide from the floors: k, if it spends k ε under the name of ε.

By arithmetic, without fits. Of n reports on a sign of small signal, the best reader of a mechanism learns by the
triangular discrimination of the reports of two inputs, T² = ½ Σ (p − q)² / (p + q); randomised response of a budget e
has T = tanh(e / 2), the largest of all. So a mechanism at k ε errs below the floor of ε, and `lpbench rates` sees it,
where its T at k ε is that of randomised response at the smallest budget which 40 replications tell from ε.
"""

import itertools
import math
import re

import numpy as np
import pytest

from lpbench.cli.rates import DRAWS, FAMILIES, ROWS
from lpbench.papers.theory.floors import family_of, least_leak
from lpbench.paths import ROOT
from lpbench.privacy.mechanism import REGISTERED
from lpbench.testing import mechanism_of

#: Column of the table in docs/theory.md -> the floor that `lpbench rates` holds a method against.
FLOORS = {
    "H": (FAMILIES["regression"][3], "aligned[n_protected=1]"),
    "L": (FAMILIES["classification"][3], "label_only"),
    "Z, numbers": (FAMILIES["regression"][2], "label_only"),
    "Z, classes": (FAMILIES["classification"][2], "label_only"),
}
#: Neighboring inputs where those of the domain's examples tell nothing.
PAIRS = {"Exponential": [[1.0, 0.0], [0.0, 1.0]]}
NAMES = [name for name in REGISTERED if "." not in name]
USERS, CELLS = 30_000, 60


def discrimination(name, budget):
    """T of a mechanism at a budget, from its reports of two inputs: the largest of all pairs of examples."""
    mechanism, rng = mechanism_of(name, budget), np.random.default_rng(1)
    inputs = np.asarray(PAIRS.get(name, mechanism.domain.examples))[:4]
    reports = [np.asarray(mechanism.randomize(np.repeat(v[None], USERS, axis=0), rng), float) for v in inputs]
    return max(_apart(first, second) for first, second in itertools.combinations(reports, 2))


def _apart(*reports):
    """T of two samples of reports."""
    if reports[0].ndim > 1:  # entries are independent, or the reports symmetric about the two means
        along = reports[0].mean(axis=0) - reports[1].mean(axis=0)
        reports = [np.tensordot(r, along, along.ndim).round(9) for r in reports]
    ends = np.unique(np.quantile(np.concatenate(reports), np.linspace(0, 1, CELLS), method="inverted_cdf"))
    p, q = (np.bincount(np.searchsorted(ends, r, "left"), minlength=len(ends) + 1) / USERS for r in reports)
    some = p + q > 0
    return math.sqrt(0.5 * np.sum((p - q)[some] ** 2 / (p + q)[some]))


@pytest.fixture(scope="module")
def least():
    """Smallest budget of an optimal method that is seen under the name of 1, by floor."""
    shapes = {name: family_of(*place, "label_ldp", ROWS)[1] for name, place in FLOORS.items()}
    return {k: least_leak(round(DRAWS * s["cubes"] / s["share"]), 1.0, **s) for k, s in shapes.items()}


@pytest.fixture(scope="module")
def documented():
    """Rows of the table in docs/theory.md: mechanism -> k on each floor."""
    lines = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "docs/theory.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {name: [float(v) for v in cells.split(" | ")] for name, cells in lines}


def test_each_paper_has_a_floor_that_sees_a_hidden_budget_of_thirty_percent(least):
    assert max(min(v for k, v in least.items() if k[0] == letter) for letter in "HLZ") <= 1.3


def test_randomised_response_tells_most_of_a_sign():
    found = {name: discrimination(name, 1.0) for name in NAMES}
    assert found["Channel"] == pytest.approx(math.tanh(0.5), abs=0.01)
    assert max(found.values()) <= math.tanh(0.5) + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_documented_budgets_are_the_smallest_that_the_floors_see(name, documented, least):
    for k, spent in zip(documented[name], least.values(), strict=True):
        below, above = (discrimination(name, k * side) for side in (0.95, 1.05))
        assert below <= math.tanh(spent / 2) <= above
