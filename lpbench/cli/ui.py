"""``lpbench ui``: the runs in MLflow's browser interface."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import NoReturn

import click

from lpbench.cli import options
from lpbench.errors import LpbenchError

_HOST = "127.0.0.1"
#: Seconds that the server may take until it answers.
_PATIENCE = 180.0
#: Nothing is sent to MLflow's makers; background jobs serve features that are not used here, and cost gigabytes.
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "MLFLOW_ENABLE_AI_GATEWAY": "false",
    "PYTHONWARNINGS": "ignore",  # of MLflow's own dependencies
}


@click.command()
@options.tracking_uri()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True, metavar="N")
@options.results()
def command(tracking_uri: str | None, port: int, results: Path) -> int:
    """Browse the runs in MLflow, on 127.0.0.1.

    What the results folder holds and MLflow does not is logged first.
    """
    from lpbench import tracking
    from lpbench.pipeline import track_results

    if _is_taken(port):
        way_out = "choose another: lpbench ui --port N, or make ui PORT=N"
        print(f"error: port {port} of {_HOST} is taken; {way_out}", file=sys.stderr)
        return 1
    uri = tracking.tracking_uri(tracking_uri, results)
    server = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", uri, "--host", _HOST, "--workers", "1"]
    server += ["--uvicorn-opts", "--log-level=warning"]
    print("MLflow is starting (its telemetry is switched off); new results are logged first ...", flush=True)
    if written := track_results(results, tracking_uri):
        print(f"{written} runs written", flush=True)
    if not tracking.has_file(uri):
        tracking.experiment_pages(uri)  # makes a local store before the server opens it
    # a terminated command takes the server with it
    signal.signal(signal.SIGTERM, _end)
    process = subprocess.Popen([*server, "--port", str(port)], env={**os.environ, **_SETTINGS})
    try:
        pages = tracking.experiment_pages(uri)  # while the server starts: both import MLflow for seconds
        _wait(process, port)
        address = f"http://{_HOST}:{port}/"
        for name, page in pages.items():
            print(f"{name:<12} {address}{page}")
        print(f"{address}#/experiments?workflowType=machine_learning (Ctrl-C ends it)", flush=True)
        return process.wait()
    finally:
        process.terminate()
        process.wait()


def _end(*_: object) -> NoReturn:
    raise click.exceptions.Exit(143)


def _is_taken(port: int) -> bool:
    """Return True if another server listens on the port of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return True
    return False


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server answers on its port; raise an error if its process ends."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise LpbenchError(f"MLflow's server ended with exit code {process.returncode}")
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{port}/health", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise LpbenchError(f"MLflow's server did not answer on port {port} within {_PATIENCE:g} s")
