import ast
import inspect
import math
import os
from dataclasses import replace

import pandas as pd
import pytest

from lpbench import source
from lpbench.datasets import load_manifest
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog as registry
from lpbench.experiments import schema
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.method import facts_of, import_object
from lpbench.experiments.plan import plan_experiment
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.privacy import MODELS
from tests.experiments.helpers import block, own_experiments
from tests.sources import read_sources_again


def experiment(**group):
    content = {"dataset": ["diabetes_progression"], "mask": ["aligned"], "method": ["private_mean"], "epsilon": [1.0]}
    return Experiment(name="test", replications=2, groups=[Group(**{**content, **group})])


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"dataset": ["abalon"]}, "abalone"),
        ({"mask": ["alligned"]}, "aligned"),
        ({"mask": ["file[path=gone.csv]"]}, "gone.csv"),  # private_mean reads no mask
        ({"method": ["histoftree_kart"]}, "histoftree_cart"),
        ({"epsilon": [0.0]}, "epsilon=0.0"),
        ({"epsilon": [math.nan]}, "epsilon=nan"),
        ({"epsilon": [-1]}, "epsilon=-1"),
        ({"epsilon": []}, "epsilon"),
        ({"block_epsilon": [2.0, 4.0]}, "block_epsilon"),
        ({"block_epsilon": [1.0, 0.0]}, "epsilon=0.0"),
        ({"x": "dataset"}, "x='dataset'"),
        ({"x": "mask.n_protected"}, "values"),
        ({"method": ["private_majority"]}, "classification"),
        ({"method": ["private_mean[color=1]"]}, "color"),
    ],
)
def test_bad_groups_are_refused_by_name(group, message):
    with pytest.raises(ConfigurationError, match=message):
        plan_experiment(experiment(**group))


@pytest.mark.parametrize("replications", [0, -1, 1.5, True])
def test_replications_must_be_a_whole_number(replications):
    with pytest.raises(ConfigurationError, match="replications="):
        plan_experiment(replace(experiment(), replications=replications))


def test_budgets_computed_together_are_one_block_that_shows_each_its_own(tmp_path):
    shown = [plan_experiment(experiment(epsilon=[e], block_epsilon=[1.0, 2.0, 4.0])) for e in (1.0, 2.0, 4.0)]
    whole = plan_experiment(experiment(epsilon=[1.0, 2.0, 4.0]))
    assert {b.key for plan in shown for b in plan.blocks} == {b.key for b in whole.blocks}
    run_blocks(whole.blocks, Store(tmp_path), Runner(backend="serial"), progress=False)
    parts = pd.concat([assemble(plan.entries, Store(tmp_path)) for plan in shown], ignore_index=True)
    alone = plan_experiment(experiment(epsilon=[2.0]))
    run_blocks(alone.blocks, Store(tmp_path), Runner(backend="serial"), progress=False)
    columns = ["epsilon", "params", "replication", "value"]
    together = assemble(whole.entries, Store(tmp_path)).sort_values(["epsilon", "replication"], ignore_index=True)
    assert parts[columns].equals(together[columns])
    two = parts.loc[parts["epsilon"] == 2.0, columns].reset_index(drop=True)
    assert two.equals(assemble(alone.entries, Store(tmp_path))[columns])


def test_facts_of_an_estimator_are_those_of_its_class():
    for path in {method.estimator for method in registry.methods().values()}:
        cls, facts = import_object(path), facts_of(path)
        assert (facts.module, facts.uses_mask, facts.uses_epsilon) == (cls.__module__, cls.uses_mask, cls.uses_epsilon)
        assert facts.parameters == (*inspect.signature(cls).parameters,)
    assert schema.PRIVACY == (*MODELS,)


def test_key_does_not_depend_on_names():
    assert block(name="a", title="b").key == block(name="c", title="d").key


def test_import_closure_follows_imports_and_ignores_siblings():
    closure = {*source.modules("tests.experiments.fakes")}
    assert {"lpbench.estimators.base", "lpbench.seeds", "lpbench.problem"} <= closure
    assert "lpbench.tracking" not in closure and "lpbench.experiments.run" not in closure


def test_a_module_is_parsed_once_for_each_content(tmp_path, monkeypatch):
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    helper = tmp_path / "own" / "kept_source.py"
    helper.parent.mkdir()
    helper.write_text("FACTOR = 1.0\n")
    monkeypatch.syspath_prepend(helper.parent)
    parsed = []
    monkeypatch.setattr(source.ast, "dump", lambda tree, real=ast.dump: parsed.append(tree) or real(tree))

    def current_hash():
        read_sources_again()
        return source.source_hash("kept_source")

    first = current_hash()
    os.utime(helper, (0, 0))
    assert current_hash() == first and len(parsed) == 1
    helper.write_text("FACTOR = 20.0\n")
    assert current_hash() != first and len(parsed) == 2


def test_a_swept_mask_parameter_becomes_x():
    plan = plan_experiment(experiment(method=["histoftree_max_edge"], x="mask.n_protected", values=[1, 2]))
    assert [e.x_value for e in plan.entries] == [1, 2]
    assert [e.block.mask_params["n_protected"] for e in plan.entries] == [1, 2]


@pytest.mark.parametrize("name", sorted(registry.experiment_names()))
def test_every_experiment_is_what_its_file_says_and_can_be_planned(name):
    experiment, path = registry.experiment(name), registry.CONF / "experiment" / f"{name}.yaml"
    assert repr(experiment) == repr(registry._typed(registry.read_yaml(path), Experiment, name, path))
    plan = plan_experiment(replace(experiment, replications=1))
    assert experiment.kind == "drawing" or plan.entries


def test_our_experiments_scale_features_by_public_knowledge():
    """The papers' tables scale by all rows, and so do two that show the same blocks, which say so in a note."""
    for name, own in registry.experiments().items():
        sets = {d for group in own.groups for d in group.dataset} | set(own.settings.get("datasets", ()))
        real = [d for d in map(own.data_set, sets) if (m := load_manifest(d.name)).sources and m.public is None]
        by_rows = any(d.params.get("scaling", "rows") == "rows" for d in real)
        if name in ("extensions/constants_regression", "extensions/sensitivity_order"):
            assert by_rows and any("all rows" in note for note in own.notes)
        elif name.startswith(("comparison/", "extensions/")):
            assert not by_rows, name
        else:
            assert own.scaling == "rows", name


def test_scaling_of_an_experiment_is_that_of_its_blocks_and_part_of_their_keys():
    rows, bounds = experiment(), replace(experiment(), scaling="bounds")
    (one,), (other,) = plan_experiment(rows).blocks, plan_experiment(bounds).blocks
    assert (dict(one.dataset_params), dict(other.dataset_params)) == ({}, {"scaling": "bounds"})
    assert one.key != other.key and one.fingerprint != other.fingerprint
    with pytest.raises(ConfigurationError, match="scaling='rest' must be one of 'rows', 'bounds'"):
        plan_experiment(replace(rows, scaling="rest"))


def test_what_is_timed_is_one_fit_and_not_a_share_of_a_sweep():
    timed = [e for e in registry.experiments().values() if e.kind == "timing"]
    assert len(timed) == 2
    assert {entry.wanted.n_points for e in timed for entry in plan_experiment(e).entries} == {1}


def test_cells_that_an_experiment_leaves_out_are_not_run_and_say_why(tmp_path):
    both = experiment(method=["private_mean", "krr"], epsilon=[1.0, 2.0])
    plan = plan_experiment(replace(both, left_out={"krr on diabetes_progression": "an hour a fit"}))
    assert plan.left_out == {"krr on diabetes_progression": "an hour a fit"}
    assert len(plan.blocks) == 1 and not plan.missing
    run_blocks(plan.blocks, Store(tmp_path), Runner(backend="serial"), progress=False)
    scores = assemble(plan.entries, Store(tmp_path))
    left = scores[scores["status"] == "left_out"]
    assert list(left["epsilon"]) == [1.0, 2.0] and set(left["method"]) == {"krr"} and len(scores) > 2
    assert set(left["reason"]) == {"an hour a fit"}


def test_a_cell_that_is_left_out_must_be_one_of_the_groups(tmp_path):
    content = {"name": "own/mistyped", "left_out": {"krr on diabetes": "an hour a fit"}, "groups": [
        {"dataset": ["diabetes_progression"], "method": ["krr"], "epsilon": [1]}]}  # fmt: skip
    with own_experiments(tmp_path, content), pytest.raises(ConfigurationError, match="krr on diabetes_progression"):
        registry.experiment("own/mistyped")
