"""``lpbench ui`` serves what was logged, at the address that it prints; a page's content stands in test_tracking.py."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from lpbench.cli.main import main
from lpbench.paths import COMMITTED, ROOT
from lpbench.tracking import rebuild, tracking_uri


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def start(results: Path, port: int) -> tuple[subprocess.Popen, str]:
    """Start ``lpbench ui``; returns the process and the URL it prints when it answers."""
    command = [sys.executable, "-m", "lpbench", "ui", "--results", str(results), "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ui = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, process_group=0
    )
    assert "telemetry is switched off" in ui.stdout.readline()
    url = next(line for line in ui.stdout if line.endswith("(Ctrl-C ends it)\n")).split()[0]
    with urllib.request.urlopen(url.partition("#")[0] + "health", timeout=5) as answer:
        assert answer.status == 200
    return ui, url


def test_taken_port_is_an_error(tmp_path, capsys):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert main(["ui", "--results", str(tmp_path), "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert f"port {port}" in error and "make ui PORT=N" in error


@pytest.mark.slow
def test_the_address_that_is_printed_serves_the_runs(tmp_path):
    from mlflow import MlflowClient

    folder = tmp_path / "histoftree" / "table1"
    shutil.copytree(COMMITTED / "histoftree" / "table1", folder)
    record = {"name": "histoftree/table1", "config": {"seed": 1}, "config_hash": "abc"}
    rebuild(tracking_uri(None, tmp_path), tmp_path, [(folder, record)])
    ui, url = start(tmp_path, free_port())
    try:
        assert "workflowType=machine_learning" in url
        client = MlflowClient(url.partition("/#")[0])
        experiment = client.get_experiment_by_name("histoftree").experiment_id
        (parent,) = client.search_runs([experiment], "attributes.run_name = 'histoftree/table1'")
        assert "adhistoftree_cart" in parent.data.tags["mlflow.note.content"]
    finally:
        os.killpg(ui.pid, signal.SIGINT)
        ui.wait(60)
