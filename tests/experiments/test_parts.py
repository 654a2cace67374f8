"""A block that is part of another one of the run is read from it, and is what computing it gives."""

import gc
from dataclasses import replace

import numpy as np
import pytest

from lpbench.experiments import run
from lpbench.experiments.compute import execute
from lpbench.experiments.config import Runner
from lpbench.experiments.engines import in_order
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.plan import plan_experiment
from lpbench.experiments.run import containing, part_of, run_blocks
from lpbench.experiments.store import BLOCK_SCHEMA, Store
from tests.experiments.helpers import block
from tests.slowly import slow_but

WHOLE = block(replications=3)
PART = block(grid={"shift": [0.0, -5.0]}, replications=2)
SERIAL = Runner(backend="serial")


def rows(table):
    return table.cast(BLOCK_SCHEMA).drop_columns("seconds").to_pylist()


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("histoftree_cart", {"depth": [1, 6]}),
        ("histoftree_max_edge", {"bins": [1, 3], "label_share": [0.7]}),
        ("adhistoftree_max_edge", {"bins_offset": [0, 1]}),
        ("krr", {"bins": [2, 4], "min_samples_leaf": [10]}),
        ("par_dt", {"max_depth": [2, 4]}),
        ("hist", {"bins": [2, 3]}),
        ("private_selection_regressor", {}),
    ],
)
def test_a_part_of_a_block_is_what_computing_it_gives(method, changes):
    group = Group(dataset=["diabetes_progression"], mask=["personalized"], method=[method], epsilon=[0.5, 1, 4])
    (whole,) = plan_experiment(Experiment(name="x", kind="table", replications=2, groups=[group])).blocks
    grid = {name: changes.get(name, values) for name, values in whole.grid.items()}
    part = replace(whole, grid=grid, budgets=(0.5, 4.0), replications=1)
    assert containing([part, whole]) == {part.key: whole}
    assert rows(part_of(execute(whole), part)) == rows(execute(part))


def test_a_parameter_at_its_default_is_the_same_written_or_not():
    group = Group(dataset=["diabetes_progression"], mask=["aligned"], method=["histoftree_max_edge"], epsilon=[1])
    (whole,) = plan_experiment(Experiment(name="x", kind="table", replications=1, groups=[group])).blocks
    part = replace(whole, params={**whole.params, "mechanism": "grr"}, grid={**whole.grid, "bins": [2, 3]})
    assert containing([part, whole]) == {part.key: whole}
    assert rows(part_of(execute(whole), part)) == rows(execute(part))
    assert containing([replace(part, params={**whole.params, "mechanism": "rr"}), whole]) == {}


@pytest.mark.parametrize("method", slow_but(["histoftree_max_edge", "lpct_max_edge"], "lpct_max_edge"))
def test_data_are_given_back_as_soon_as_they_are_scored_and_wait_for_no_collector(method, request):
    request.addfinalizer(lambda: gc.set_debug(0) or gc.garbage.clear())
    data = "diabetes_progression" if method[0] == "h" else "breast_cancer"
    group = Group(dataset=[data], mask=["personalized"], method=[method], epsilon=[1])
    (whole,) = plan_experiment(Experiment(name="x", kind="table", replications=1, groups=[group])).blocks
    execute(whole)
    [gc.collect() for _ in range(3)]  # what other tests left goes in more than one round
    gc.set_debug(gc.DEBUG_SAVEALL)
    execute(whole)
    gc.collect()
    assert not [array for found in gc.garbage for array in gc.get_referents(found) if isinstance(array, np.ndarray)]


@pytest.mark.parametrize("changes", [lambda k: {"budgets": (k + 1.0,)}, lambda k: {"replications": k + 1},
                                     lambda k: {"grid": {"shift": [float(k), -1.0]}}])  # fmt: skip
def test_blocks_are_compared_a_few_times_each_however_many_are_alike(changes, monkeypatch):
    whole, compared = block(), []
    alike = [replace(whole, **changes(k)) for k in range(10_000)]
    monkeypatch.setattr(run, "_is_part", lambda *pair, real=run._is_part: compared.append(pair) or real(*pair))
    found = containing(alike)
    assert len(compared) <= len(alike)
    assert set(found.values()) <= {alike[-1]}


def test_a_run_computes_the_whole_and_reads_the_part(tmp_path):
    report = run_blocks([PART, WHOLE], store := Store(tmp_path), SERIAL, progress=False)
    assert in_order(gc.get_freeze_count, [()], 2) > [1000]  # these a worker does not search for garbage
    assert [(o.key, o.reason) for o in report.outcomes] == [(WHOLE.key, ""), (PART.key, "part of another block")]
    table, metadata = store.read(PART.key)
    assert metadata["part_of"] == WHOLE.key and metadata["config"] == PART.config
    assert rows(table) == rows(execute(PART))


def test_a_part_is_computed_where_it_is_timed_or_the_whole_has_no_result(tmp_path):
    run_blocks([PART, WHOLE], store := Store(tmp_path / "timed"), SERIAL, progress=False, timed=[PART.key])
    assert "part_of" not in store.read(PART.key)[1]
    whole, part = (block(params={"mode": "slow"}, grid=g, replications=1) for g in (WHOLE.grid, PART.grid))
    report = run_blocks([part, whole], Store(tmp_path / "stopped"), SERIAL, progress=False, timeouts={whole.key: 0.1})
    assert [(o.key, o.status) for o in report.outcomes] == [(whole.key, "timeout"), (part.key, "ok")]


@pytest.mark.parametrize(
    "other",
    [
        block(grid={"shift": [-5.0, 0.0]}),
        block(grid={"shift": [0.0, 1.0]}),
        block(epsilon=2.0),
        block(seed=2),
        block(mask="personalized"),
        block(params={"mode": "slow"}),
        replace(WHOLE, extra_point={"shift": 1.0}),
        replace(WHOLE, grid={"shift": ["all"]}),
    ],
)
def test_blocks_that_differ_otherwise_are_no_parts(other):
    assert containing([other, WHOLE]) == {}
