"""Wrong implementations are wrong in what their name says, and in nothing else."""

import numpy as np
import pytest

from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.compute import execute
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.plan import plan_experiment
from lpbench.experiments.schema import ALTERNATIVES
from lpbench.members import bare_name
from lpbench.papers.mutants.doubled_noise import LoudMechanism
from lpbench.privacy import Laplace

DIABETES, DRIFT = "diabetes_progression", "posterior_drift[n_private=500,n_public=50]"


def scores(method, dataset=DIABETES, mask="aligned", epsilon=1.0, **grid):
    """Scores of two replications and all grid points."""
    group = Group(dataset=(dataset,), mask=(mask,), method=(method,), epsilon=(epsilon,), grid=grid)
    plan = plan_experiment(Experiment(name="own/x", paper="own", replications=2, groups=(group,)))
    return execute(plan.blocks[0]).to_pandas().set_index(["replication", "params"])["value"]


@pytest.mark.parametrize("method", ["par_dt{}", "hist{}"])
def test_noise_of_the_label_is_another_budget(method):
    """Of ParDT that is all noise; Hist shares its budget among two statistics, of which one is spared."""
    wrong = {name: scores(method.format(f"[mutant={name}]")) for name in ("clear_labels", "doubled_label_noise")}
    right = {budget: scores(method.format(""), epsilon=budget) for budget in (0.5, 1.0, np.inf)}
    assert not np.array_equal(wrong["clear_labels"], right[1.0])
    if method == "par_dt{}":
        assert np.array_equal(wrong["clear_labels"], right[np.inf])
        assert np.array_equal(wrong["doubled_label_noise"], right[0.5])
    else:
        assert (wrong["clear_labels"].mean() - right[np.inf].mean()) < (right[1.0].mean() - right[np.inf].mean())


def test_label_noise_leaves_the_cells_alone():
    """With twice the noise at twice the budget the labels are those of the budget, and the cells are not."""
    wrong = scores("histoftree_max_edge[mutant=doubled_label_noise]", epsilon=2.0)
    right = scores("histoftree_max_edge", epsilon=1.0)
    one_bin = right.index.get_level_values(1).str.contains('"bins":1,')
    np.testing.assert_allclose(wrong[one_bin], right[one_bin], rtol=1e-9)
    assert not np.allclose(wrong[~one_bin], right[~one_bin])


@pytest.mark.parametrize("mask", ["aligned", "personalized"])
def test_reports_that_are_not_debiased_are_those_of_the_method_where_there_is_nothing_to_hide(mask):
    wrong, right = (scores(f"histoftree_max_edge{m}", mask=mask) for m in ("[mutant=no_debiasing]", ""))
    grid = right.index.get_level_values(1)
    nothing = grid.str.contains('"bins":1,') if mask == "aligned" else grid.str.contains("never")
    np.testing.assert_allclose(wrong[nothing], right[nothing], rtol=1e-9)
    assert not np.isclose(wrong[~nothing], right[~nothing]).all()
    # the patch ends with the fit
    np.testing.assert_array_equal(right, scores("histoftree_max_edge", mask=mask))


def test_votes_with_twice_the_noise_keep_their_budget():
    loud, right = LoudMechanism(2.0), Laplace.for_budget(1.0, sensitivity=2.0)
    assert (loud.half.scale, loud.budget) == (2 * right.scale, 2.0)
    wrong, method = (scores(f"lpct_prune_max_edge{m}", DRIFT, "all_private") for m in ("[mutant=doubled_noise]", ""))
    assert not np.array_equal(wrong, method)


def test_patches_stand_for_methods_and_are_none():
    named = [m for e in catalog.experiments().values() if e.kind == ALTERNATIVES for m in e.methods]
    patched = [m for m in named if "mutant=" in m]
    assert patched and {*map(bare_name, named)} <= {*catalog.method_names()}
    assert not any("mutant" in name for name in catalog.method_names())
    for selector in patched:
        wrong, right = catalog.method(selector), catalog.method(bare_name(selector))
        assert issubclass(wrong.estimator_class, right.estimator_class)
        assert wrong.estimator_class is not right.estimator_class
    with pytest.raises(ConfigurationError, match="no_such_patch"):
        catalog.method("hist[mutant=no_such_patch]").build()
