"""``lpbench ui`` in a real browser: Chromium, driven by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

from lpbench.analysis import SUMMARY_COLUMNS
from lpbench.cli.main import main
from lpbench.paths import ROOT
from lpbench.tracking import rebuild, tracking_uri

PUBLISHED = "results/reproduced/histoftree/table1"
QUERY = "workflowType=machine_learning"
#: In the pane of an assistant, which MLflow opens at the first visit; it has no setting against that.
PANE = "Ask questions about your experiments"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1600,1000 --remote-allow-origins=*"
).split()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Page:
    """One tab of a headless Chromium."""

    def __init__(self, program: str, profile: Path):
        import websocket

        command = [program, *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        chosen = profile / "DevToolsActivePort"
        wait_for(lambda: chosen.is_file() and "\n" in chosen.read_text(), "the browser")
        address = f"http://127.0.0.1:{chosen.read_text().split()[0]}/json"
        with urllib.request.urlopen(address) as answer:
            tab = next(t for t in json.load(answer) if t["type"] == "page")
        self._socket, self._sent = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=60), 0

    def call(self, method: str, **params):
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while (answer := json.loads(self._socket.recv())).get("id") != self._sent:
            pass
        return answer["result"]

    def show(self, url: str, *words: str) -> str:
        """Open a page, wait until its text has all words, and return the text."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        wait_for(lambda: all(w in self.text() for w in words), f"{words} at {url}", self.text)
        return self.text()

    def text(self) -> str:
        return self.ask("document.body ? document.body.innerText : ''") or ""

    def ask(self, expression: str):
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")

    def click(self, elements: str, text: str) -> None:
        """Click on the first of some elements with this label, once it is there."""
        found = f"[...document.querySelectorAll({elements!r})].find(e => (e.ariaLabel || e.innerText) == {text!r})"
        wait_for(lambda: self.ask(f"!!{found}"), f"{text} among {elements}", self.text)
        self.ask(f"{found}.click()")

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        self._socket.close()
        self.process.terminate()
        self.process.wait()


def wait_for(condition, what: str, seen=lambda: "", seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert met, f"no {what}: {seen()[:3000]}"


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


def stop(ui: subprocess.Popen) -> None:
    os.killpg(ui.pid, signal.SIGINT)
    ui.wait(60)


def test_taken_port_is_an_error(tmp_path, capsys):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert main(["ui", "--results", str(tmp_path), "--port", str(port)]) == 1
    error = capsys.readouterr().err
    assert f"port {port}" in error and "make ui PORT=N" in error


@pytest.mark.slow
def test_browser_shows_the_table_and_the_metric(tmp_path):
    from mlflow import MlflowClient

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("install Chromium")
    pytest.importorskip("websocket", reason="pip install websocket-client")
    folder = tmp_path / "histoftree" / "table1"
    shutil.copytree(ROOT / PUBLISHED, folder)
    summary = pd.read_csv(folder / "summary.csv")
    assert list(summary.columns) == list(SUMMARY_COLUMNS)
    record = {"name": "histoftree/table1", "config": {"seed": 1}, "config_hash": "abc"}
    uri = tracking_uri(None, tmp_path)
    rebuild(uri, tmp_path, [(folder, record)])
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("histoftree").experiment_id
    (parent,) = client.search_runs([experiment], "attributes.run_name = 'histoftree/table1'")
    ui, url = start(tmp_path, free_port())
    page = Page(program, tmp_path / "profile")
    try:
        home = url.partition("#")[0]
        text = page.show(url, "histoftree")
        assert "Model training" in text and "Prompts" not in text
        page.picture(tmp_path / "list.png")
        table = ("mask personalized", "adhistoftree_cart", "aquatic_toxicity")
        page.show(f"{home}#/experiments/{experiment}/runs/{parent.info.run_id}?{QUERY}", *table)
        page.picture(tmp_path / "parent.png")
        text = page.show(f"{home}#/experiments/{experiment}/runs?{QUERY}", "mse", "par_dt")
        page.picture(tmp_path / "comparison.png")
        # docs/cluster.md: what MLflow shows first is put away by one click each, for good
        assert PANE in text
        page.click("button", "Close")
        page.show(f"{home}#/experiments", "histoftree")
        assert PANE not in page.text()
        page.click("*", "Model training")
        page.show(f"{home}#/experiments", "Model registry")
        page.click("a", "histoftree")
        wait_for(lambda: all(w in page.text() for w in ("Sort: Created", "matching runs")), "list of runs", page.text)
        assert PANE not in page.text() and "Prompts" not in page.text()
    finally:
        page.close()
        stop(ui)
