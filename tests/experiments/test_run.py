"""Same bits for any worker count, order, backend, or interrupted-and-resumed run."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from lpbench.analysis.scores import SCORE_COLUMNS
from lpbench.errors import ConfigurationError
from lpbench.estimators.base import expand_grid
from lpbench.experiments import catalog
from lpbench.experiments.assemble import assemble
from lpbench.experiments.compute import execute
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.plan import Plan, plan_experiment
from lpbench.experiments.run import _calls, run_blocks
from lpbench.experiments.store import Store
from tests.experiments.helpers import block, cell


def product() -> Plan:
    cells = [cell(epsilon=e, mask=m) for e in (0.5, 1.0, 2.0) for m in ("aligned", "personalized")]
    return sum(cells, Plan(()))


def scores(plan: Plan, store: Store) -> bytes:
    return assemble(plan.entries, store).drop(columns="seconds").to_csv(index=False).encode()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("serial"))
    run_blocks(product().blocks, store, Runner(backend="serial", order="plan"), progress=False)
    return scores(product(), store)


@pytest.mark.parametrize(
    ("workers", "order"),
    [(1, "longest_first"), (2, "shuffle"), *(
        pytest.param(*given, marks=pytest.mark.slow)
        for given in ((1, "plan"), (1, "shuffle"), (2, "plan"), (2, "longest_first"))
    )],
)  # fmt: skip
def test_workers_and_order_do_not_change_a_bit(tmp_path, expected, workers, order):
    store = Store(tmp_path)
    report = run_blocks(product().blocks, store, Runner(workers=workers, order=order), progress=False)
    assert not report.failed
    assert scores(product(), store) == expected


def test_a_worker_goes_on_with_its_data_set():
    blocks = [replace(block(epsilon=e), dataset=name) for name in "ab" for e in (1.0, 2.0, 3.0)]
    waiting, taken = {b.key: b for b in blocks}, []
    calls = _calls(waiting, [], "", dict.fromkeys(waiting, 1.0), False)
    for ended in (None, None, 1, 0, 2, 4):  # two workers; whose call ends asks for the next one
        if ended is not None:
            del waiting[taken[ended].key]
        taken.append(next(calls)[0])
    assert [b.dataset for b in taken] == list("abbaba"), "and where nothing is left of it, helps another one"
    assert {b.key for b in taken} == {b.key for b in blocks}


def test_failure_is_recorded_retried_and_not_fatal(tmp_path):
    store = Store(tmp_path)
    plan = cell(params={"mode": "fail"}) + cell()
    report = run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False)
    assert [o.status for o in report.failed] == ["failed"]
    frame = assemble(plan.entries, store)
    assert list(frame.columns) == SCORE_COLUMNS
    bad = frame[frame["status"] == "failed"]
    assert len(bad) == 1 and "broken on purpose" in bad["reason"].iloc[0]
    failure = store.read_failure(report.failed[0].key)
    assert "RuntimeError" in failure["traceback"]
    assert len(run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False).outcomes) == 1


def test_killed_worker_loses_only_its_block(tmp_path):
    store = Store(tmp_path / "store")
    flag = str(tmp_path / "died")
    once, always = cell(params={"mode": "die_once", "flag": flag}), cell(params={"mode": "die"})
    plan = product() + once + always
    report = run_blocks(plan.blocks, store, Runner(workers=2), progress=False)
    assert {o.status for o in report.failed} == {"failed"} and "worker process died" in report.failed[0].reason
    assert len(report.outcomes) == 8 and len(store.keys()) >= 4, "at most two are lost with each worker"
    assert not run_blocks((product() + once).blocks, store, Runner(workers=2), progress=False).failed
    assert len(store.keys()) == 7


def test_what_the_clock_stops_is_no_result_and_is_tried_again(tmp_path):
    store = Store(tmp_path)
    plan = cell(params={"mode": "sleep"})
    for _ in range(2):
        seconds = {b.key: 0.2 for b in plan.blocks}
        report = run_blocks(plan.blocks, store, Runner(backend="serial"), progress=False, timeouts=seconds)
        assert [o.status for o in report.failed] == ["timeout"] and "0.2 s" in report.failed[0].reason
        assert assemble(plan.entries, store)["status"].tolist() == ["timeout"]


_SCRIPT = """
import sys
from lpbench.experiments.config import Runner
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from tests.experiments.test_run import slow_product
run_blocks(slow_product().blocks, Store(sys.argv[1]), Runner(workers=2), progress=False)
"""


def slow_product() -> Plan:
    return sum([cell(epsilon=e, params={"mode": "slow"}) for e in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)], Plan(()))


def test_sigkill_and_resume_give_the_same_bits(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path / "a")], process_group=0)
    store = Store(tmp_path / "a")
    deadline = time.time() + 60
    while not store.keys() and time.time() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(store.keys())
    assert 0 < done < 6
    report = run_blocks(slow_product().blocks, store, Runner(workers=2), progress=False)
    assert len(report.outcomes) == 6 - done
    other = Store(tmp_path / "b")
    run_blocks(slow_product().blocks, other, Runner(backend="serial"), progress=False)
    assert scores(slow_product(), store) == scores(slow_product(), other)


def test_two_processes_share_the_work(tmp_path):
    script = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
    other = subprocess.Popen(script)
    report = run_blocks(slow_product().blocks, Store(tmp_path), Runner(workers=1), progress=False)
    assert other.wait() == 0
    assert not report.failed and len(Store(tmp_path).keys()) == 6


def test_mask_free_methods_are_computed_once():
    plan = cell(estimator="Unmasked", mask="aligned") + cell(estimator="Unmasked", mask="personalized")
    assert len(plan.entries) == 2 and len(plan.blocks) == 1
    assert len((cell(mask="aligned") + cell(mask="personalized")).blocks) == 2


def test_grid_point_does_not_depend_on_the_grid():
    small = execute(block(grid={"shift": [5.0]})).to_pandas()
    large = execute(block()).to_pandas()
    point = large["params"] == '{"shift":5.0}'
    assert len(expand_grid({"shift": [0.0, 5.0, -5.0]})) == 3
    np.testing.assert_array_equal(small["value"], large.loc[point, "value"])


def test_tuning_free_point_joins_the_grid():
    table = execute(block(tuning_free={"shift": 1.0})).to_pandas()
    assert set(table["params"]) == {'{"shift":0.0}', '{"shift":5.0}', '{"shift":-5.0}', '{"shift":1.0}'}
    assert len(execute(block(tuning_free={"shift": 5.0})).to_pandas()) == 9


@pytest.mark.parametrize("change", [{"workers": 0}, {"backend": "threads"}, {"order": "random"}])
def test_impossible_runner_settings(tmp_path, change):
    key = next(iter(change))
    with pytest.raises(ConfigurationError, match=f"runner.{key}="):
        run_blocks([block()], Store(tmp_path), progress=False, runner=Runner(**change))


def test_rows_outside_the_range_of_the_public_ones_are_no_news_to_a_run(recwarn):
    made = {name: catalog.method(name) for name in ("residual_score", "lpct_max_edge")}
    group = Group(dataset=["breast_cancer"], method=list(made), epsilon=[1.0])
    experiment = Experiment(name="single", kind="single", replications=1, groups=[group])
    for own in plan_experiment(experiment, seed=1, methods=made).blocks:
        execute(own)
    assert not recwarn.list
