import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lpbench.cli.main import main
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import Runner
from lpbench.experiments.engines import check_backend, engine, in_order
from lpbench.experiments.plan import Plan
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.experiments.time_limit import CellTimeout, time_limit
from tests.experiments.helpers import cell
from tests.experiments.test_run import product, scores

CLUSTERS = {"dask": "distributed", "ray": "ray"}


def summary(tmp_path, backend: str) -> bytes:
    """Run a small experiment of the command line on a backend; returns its summary."""
    results = tmp_path / backend
    options = ["--replications", "2", "--tracking", "none", "--workers", "2", "--results", str(results)]
    assert main(["reproduce", "label_dp/budget", *options, "--backend", backend]) == 0
    return (results / "runs" / "replications=2" / "label_dp" / "budget" / "summary.csv").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("backend", CLUSTERS)
def test_summary_is_the_same_on_every_engine(tmp_path, backend):
    pytest.importorskip(CLUSTERS[backend], reason="make engines")
    serial = summary(tmp_path, "serial")
    assert summary(tmp_path, "loky") == serial
    assert summary(tmp_path, backend) == serial


@pytest.mark.slow
@pytest.mark.parametrize("backend", CLUSTERS)
def test_killed_worker_of_a_cluster_loses_only_its_block(tmp_path, backend):
    pytest.importorskip(CLUSTERS[backend], reason="make engines")
    expected = Store(tmp_path / "expected")
    run_blocks(product().blocks, expected, Runner(backend="serial"), progress=False)
    store = Store(tmp_path / "store")
    once = cell(params={"mode": "die_once", "flag": str(tmp_path / "died")})
    always = cell(params={"mode": "die"})
    # both in the middle of the run, so that others are in flight and waiting
    plan = Plan(product().entries[:3]) + once + always + Plan(product().entries[3:])
    runner = Runner(backend=backend, workers=2, order="plan")
    report = run_blocks(plan.blocks, store, runner, progress=False)
    assert len(report.outcomes) == 8 and "worker process died" in report.failed[0].reason
    assert not run_blocks((product() + once).blocks, store, runner, progress=False).failed
    assert len(store.keys()) == 7
    assert scores(product(), store) == scores(product(), expected)


@pytest.mark.slow
def test_time_limit_on_a_dask_worker(tmp_path):
    pytest.importorskip("distributed", reason="make engines")
    plan = cell() + cell(params={"mode": "slow"}, replications=60)
    seconds = {b.key: 0.4 for b in plan.blocks}
    runner = Runner(backend="dask", workers=2)
    report = run_blocks(plan.blocks, Store(tmp_path), runner, progress=False, timeouts=seconds)
    assert sorted(o.status for o in report.outcomes) == ["ok", "timeout"]


@pytest.mark.parametrize("backend", CLUSTERS)
def test_missing_engine_is_named_with_its_extra(monkeypatch, backend):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=rf"runner.backend='{backend}'.*pip install -e '\.\[{backend}\]'"):
        check_backend(backend)


def in_thread(function) -> BaseException | None:
    """The exception with which the function ends in a thread, if any."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).exception()


def test_limit_interrupts_a_thread_and_says_which():
    def busy():
        with time_limit(0.05):
            while True:
                time.sleep(0.001)

    error = in_thread(busy)
    assert isinstance(error, CellTimeout) and "0.05 s" in str(error)


def test_limit_that_is_not_reached_leaves_the_thread_alone():
    def brief():
        with time_limit(0.01):
            pass
        time.sleep(0.05)

    assert in_thread(brief) is None


def test_a_call_is_asked_for_when_a_worker_is_free():
    asked = []
    with engine("loky", 2) as mapping:
        results = mapping(divmod, ((7, asked.append(n) or n) for n in range(1, 7)))
        assert len(asked) == 2, "calls are sent before a result is asked for"
        for done, _ in enumerate(results):
            assert len(asked) <= done + 2, "two calls run, and the next one is asked for when a result is known"
    assert len(asked) == 6


def test_results_come_in_the_order_of_the_calls():
    assert in_order(divmod, [(7, n) for n in (2, 3, 4)], workers=2) == [(3, 1), (2, 1), (1, 3)]
