"""The main job: byte-identical summaries however it is run, and every experiment runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lpbench.cli.main import main
from lpbench.cli.reproduce import select_experiments
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue as registry

EXPERIMENT = "extensions/embedded_regression"


def reproduce(folder: Path, *options: str) -> bytes:
    argv = ["reproduce", EXPERIMENT, "--results", str(folder), "--replications", "2", "--tracking", "none", *options]
    assert main(argv) == 0
    return (folder / EXPERIMENT / "summary.csv").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> bytes:
    return reproduce(tmp_path_factory.mktemp("serial"), "--backend", "serial", "--order", "plan")


@pytest.mark.parametrize("options", [("--workers", "1"), ("--workers", "2", "--order", "shuffle")])
def test_summary_is_byte_identical(tmp_path, expected, options):
    assert reproduce(tmp_path, *options) == expected


def test_killed_and_resumed_run_ends_with_the_same_summary(tmp_path, expected):
    command = [sys.executable, "-m", "lpbench", "reproduce", EXPERIMENT, "--results", str(tmp_path), "--replications"]
    process = subprocess.Popen(
        [*command, "2", "--tracking", "none", "--workers", "2"], process_group=0, stderr=subprocess.DEVNULL
    )
    deadline = time.time() + 120
    while len(list((tmp_path / "store").glob("blocks/*/*.parquet"))) < 3 and time.time() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / EXPERIMENT / "summary.csv").exists()
    assert reproduce(tmp_path, "--workers", "2") == expected


def test_second_call_runs_nothing_and_writes_nothing(tmp_path, expected, capsys):
    reproduce(tmp_path, "--backend", "serial")
    capsys.readouterr()
    stamp = (tmp_path / EXPERIMENT / "summary.csv").stat().st_mtime_ns
    assert reproduce(tmp_path, "--backend", "serial") == expected
    assert "0 blocks run" in capsys.readouterr().out
    assert (tmp_path / EXPERIMENT / "summary.csv").stat().st_mtime_ns == stamp


def test_report_lists_what_is_missing_and_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LPBENCH_DATA_MIRROR", str(tmp_path / "nothing"))
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    argv = ["reproduce", "lpct/table3", EXPERIMENT, "--results", str(tmp_path), "--replications", "1"]
    compose, composed = registry._compose, []
    monkeypatch.setattr(registry, "_compose", lambda name, node: composed.append(name) or compose(name, node))
    registry.clear()
    assert main([*argv, "--tracking", "none", "--backend", "serial"]) == 0
    assert composed.count("all_experiments") <= 3, "those not run are composed at once: one by one takes long"
    assert "email: " in capsys.readouterr().out
    report = (tmp_path / "reproduced" / "report.md").read_text()
    assert "email" in report and (tmp_path / "reproduced" / EXPERIMENT / "summary.csv").is_file()


def test_a_tracking_server_that_is_down_keeps_no_artefact_from_being_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    argv = ["reproduce", EXPERIMENT, "histoftree/figure1", "--results", str(tmp_path), "--replications", "1"]
    tracking = ["--tracking", "mlflow", "--tracking-uri", "http://127.0.0.1:9"]
    assert main([*argv, "--backend", "serial", *tracking]) != 0
    assert "http://127.0.0.1:9" in capsys.readouterr().err
    assert all((tmp_path / name / "run.json").is_file() for name in (EXPERIMENT, "histoftree/figure1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(n for n, e in registry.heads("experiment", ("on_request",)).items() if not e["on_request"])
)
def test_every_experiment_runs(tmp_path, name):
    argv = ["reproduce", name, "--results", str(tmp_path), "--replications", "2", "--tracking", "none"]
    assert main([*argv, "--work-limit", "60"]) == 0
    assert (tmp_path / name / "run.json").is_file()


def test_what_runs_on_request_must_be_named_in_full():
    names = {experiment.name for experiment in select_experiments(["field/*"])}
    assert names == {"field/regression", "field/classification", "field/unbalanced", "field/public_sample"}
    asked = select_experiments(["field/sealed_regression", "histoftree/figure1"])
    assert {experiment.name for experiment in asked} == {"field/sealed_regression", "histoftree/figure1"}
    with pytest.raises(ConfigurationError, match="only if they are named in full"):
        select_experiments(["field/sealed_*"])
