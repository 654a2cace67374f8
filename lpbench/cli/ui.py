"""``lpbench ui``: the runs in MLflow's browser interface."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from lpbench.cli import options


@click.command()
@options.tracking_uri()
@click.option("--port", type=click.IntRange(1, 65535), default=5000, show_default=True, metavar="N")
@options.results()
def command(tracking_uri: str | None, port: int, results: Path) -> int:
    """Browse the runs in MLflow, on 127.0.0.1."""
    from lpbench import tracking

    uri = tracking.tracking_uri(tracking_uri, results)
    server = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri, "--host", "127.0.0.1"]
    print(f"http://127.0.0.1:{port} (Ctrl-C ends it)", flush=True)
    # the server's background job runners serve features that are not used here, and cost gigabytes
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    os.execve(sys.executable, [*server, "--port", str(port)], environment)
