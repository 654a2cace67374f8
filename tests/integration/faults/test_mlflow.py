"""Faults while runs are logged to MLflow: two at once, full and read-only disks, a run killed at any moment.

Results and report stay, and the next call logs each run once.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lpbench.cli.main import main
from lpbench.experiments.store import Store
from tests.integration.faults.faulty import NAME, mounted, summary


def tracked(results: Path) -> list[str]:
    """Names of the runs in MLflow's file, each once."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{results}/mlflow.db")
    found = client.get_experiment_by_name("own")
    return sorted(run.info.run_name for run in client.search_runs([found.experiment_id])) if found else []


def with_mlflow(results: Path) -> list[str]:
    return ["reproduce", NAME, "--results", str(results), "--workers", "1", "--tracking", "mlflow"]


#: The paper, the artifact and its six cells.
RUNS = 8


@pytest.mark.slow
def test_two_first_runs_in_one_folder_log_to_mlflow_at_once(tmp_path, sound):
    command = [sys.executable, "-m", "lpbench", *with_mlflow(tmp_path)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [run.communicate() for run in runs]
    assert [run.returncode for run in runs] == [0, 0] and not any("warning" in err for _, err in ends), ends
    assert summary(tmp_path) == summary(sound)
    assert len(tracked(tmp_path)) == len(set(tracked(tmp_path))) == RUNS


def run(*argv: str) -> subprocess.CompletedProcess:
    """A command in a process of its own, which lets go of every file."""
    return subprocess.run([sys.executable, "-m", "lpbench", *argv], capture_output=True, text=True)


def fill(path: Path, left: int) -> None:
    """Fill a disk but for some bytes."""
    disk = os.statvfs(path.parent)
    path.write_bytes(bytes(max(disk.f_bavail * disk.f_bsize - left, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 100_000, 900_000])
def test_mlflow_on_a_full_disk_costs_neither_results_nor_report(tmp_path, sound, room):
    """No room for its file; for a part of it; for the file, but not for the runs."""
    disk, results = tmp_path / "small", tmp_path / "results"
    shutil.copytree(sound / "store", results / "store")
    with mounted(disk, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        uri = f"sqlite:///{disk}/mlflow.db"
        fill(disk / "filler", room)
        done = run(*with_mlflow(results), "--tracking-uri", uri)
        assert done.returncode == 0 and f"page: {results}/own/index.html" in done.stdout, done
        assert done.stderr.count("warning: not logged to MLflow") == 1 and "Traceback" not in done.stderr, done
        assert summary(results) == summary(sound)
        (disk / "filler").unlink()
        done = run("report", "--results", str(results), "--tracking-uri", uri)
        assert done.returncode == 0 and "warning" not in done.stderr, done
        shutil.copy(disk / "mlflow.db", tmp_path)
    assert len(tracked(tmp_path)) == len(set(tracked(tmp_path))) == RUNS


@pytest.mark.slow
def test_a_read_only_folder_refuses_mlflow_and_report_in_a_sentence(tmp_path, sound):
    results = tmp_path / "results"
    shutil.copytree(sound, results)
    with mounted(results, "--bind", str(results)):
        subprocess.run(["mount", "-o", "remount,bind,ro", str(results)], check=True)
        for options in (("--tracking", "mlflow"), ()):
            done = run("report", *options, "--results", str(results))
            said = done.stderr
            assert done.returncode == 2 and "read-only" in said and "Traceback" not in said and said.count("\n") <= 2
        # what only looks, works
        assert run("show", NAME, "--results", str(results)).returncode == 0
        assert run("plan", NAME, f"results_dir={results}").returncode == 0
    assert main(["report", "--tracking", "mlflow", "--results", str(results)]) == 0 and len(tracked(results)) == RUNS


MOMENTS = {
    "blocks are computed": "store/blocks/*/*.parquet",
    "scores are written": f"{NAME}/scores.parquet",
    "figures are drawn": f"{NAME}/*.svg",
    "the record is written": f"{NAME}/run.json",
    "MLflow's file is made": ".mlflow.db.*.tmp",
    "MLflow's file is there": "mlflow.db",
    "runs are logged": "mlflow.db-journal",
    "files are logged": "mlartifacts/own/*/artifacts/*",
    "the report is written": "own/report.md",
    "pages are written": "own/about.html",
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_killed_at_any_moment_is_completed_by_the_next_call(tmp_path, sound, capsys, moment):
    command = [sys.executable, "-m", "lpbench", *with_mlflow(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
    while not list(tmp_path.glob(MOMENTS[moment])) and process.poll() is None:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stored = Store(tmp_path / "store").keys()
    capsys.readouterr()
    assert main(with_mlflow(tmp_path)) == 0
    said = capsys.readouterr()
    assert f"{3 - len(stored)} blocks run" in said.out and "warning" not in said.err, said
    assert summary(tmp_path) == summary(sound)
    assert (tmp_path / "own" / "index.html").read_bytes() == (sound / "own" / "index.html").read_bytes()
    assert len(tracked(tmp_path)) == len(set(tracked(tmp_path))) == RUNS
    assert not list(tmp_path.glob(".mlflow.db.*.tmp*")) and not list((tmp_path / "store" / "begun").glob("*"))
