"""Take the pictures of docs/mlflow.md in Chromium, from a server that `make ui` has started after `make reproduce`.

Usage: python scripts/mlflow_pictures.py [ADDRESS [FOLDER]]    (default: http://127.0.0.1:5000 docs/img)

Chromedriver is asked in the WebDriver protocol; the browser's profile is a fresh one.
"""

import base64
import io
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

from mlflow import MlflowClient
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
#: Bytes of a picture, and seconds that a page may take.
MOST, PATIENCE = 60_000, 120.0
WINDOW = 1400, 860
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={WINDOW[0]},{WINDOW[1]}"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
VIEW = "runs?workflowType=machine_learning&viewStateShareKey=runs"
FIELD = "//input[contains(@placeholder,'metrics.rmse')]"


class Browser:
    """Chromium without a screen, in a fresh profile."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL)
        self.address = f"http://127.0.0.1:{port}"
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": OPTIONS}}
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                break
            except OSError:
                time.sleep(0.5)
        self.address += f"/session/{answer['sessionId']}"

    def ask(self, verb: str, path: str, content: dict | None = None) -> Any:
        """Send a command of the protocol and return its value."""
        data = None if content is None else json.dumps(content).encode()
        request = Request(self.address + path, data, {"Content-Type": "application/json"}, method=verb)
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Open a page anew, whatever was open before."""
        for address in ("about:blank", url):
            self.ask("POST", "/url", {"url": address})

    def element(self, xpath: str) -> str:
        """Wait for the last shown element of an XPath, and return its path in the protocol."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.ask("POST", "/elements", {"using": "xpath", "value": xpath})
            for one in reversed(found):
                path = f"/element/{one[ELEMENT]}"
                if self.ask("GET", f"{path}/displayed"):
                    return path
            time.sleep(0.5)
        raise TimeoutError(f"the page shows no {xpath}")

    def click(self, xpath: str) -> None:
        """Click the last shown element of an XPath, once it is there."""
        self.ask("POST", f"{self.element(xpath)}/click", {})
        time.sleep(1)

    def write(self, text: str, field: str, end: str = "\ue007") -> None:
        """Write a text into a field, and end it by Enter."""
        self.ask("POST", f"{self.element(field)}/value", {"text": text + end})
        time.sleep(2)

    def picture(self, path: Path) -> None:
        """Save the page as well as the allowed bytes permit."""
        time.sleep(3)
        whole = Image.open(io.BytesIO(base64.b64decode(self.ask("GET", "/screenshot")))).convert("RGB")
        for quality in range(90, 20, -10):
            whole.save(path, quality=quality, method=6)
            if path.stat().st_size <= MOST:
                return
        raise ValueError(f"{path} has {path.stat().st_size} bytes")

    def close(self) -> None:
        """End the browser and its driver."""
        self.ask("DELETE", "")
        self.process.terminate()
        self.process.wait()


def main(address: str = "http://127.0.0.1:5000", folder: str = str(ROOT / "docs" / "img")) -> None:
    """Take a picture of a paper's list, and of the answers that need more than a filter."""
    ids = {one.name: one.experiment_id for one in MlflowClient(address).search_experiments()}
    lists = {name: f"{address}/#/experiments/{number}/{VIEW}" for name, number in ids.items()}
    here, browser = Path(folder), Browser()
    here.mkdir(parents=True, exist_ok=True)
    try:
        browser.open(lists["histoftree"])
        browser.click("//*[@aria-label='Close']")  # the assistant's pane
        browser.click("//*[@aria-label='Hide banner']")
        browser.element("//a[contains(.,'table1')]")
        browser.picture(here / "mlflow_list.webp")

        browser.open(lists["lpct"].replace("Key=runs", "Key=different"))
        browser.element("//a[contains(.,'different')]")
        browser.write(" AND tags.`lpbench.artifact` = 'lpct/table2'", FIELD)
        browser.element("//a[contains(.,'different')]")
        browser.picture(here / "mlflow_missed.webp")

        browser.open(lists["histoftree"])
        browser.click("//a[contains(.,'table2')]")
        browser.click("//*[text()='Artifacts']")
        browser.click("//*[text()='tests']")
        browser.click("//*[text()='adhistoftree_max_edge.json']")
        browser.element("//*[text()='than']")
        browser.picture(here / "mlflow_tests.webp")

        query = quote("params.dataset = 'abalone' AND params.method = 'krr' AND metrics.mse > 0")
        order = f"searchFilter={query}&orderByKey=metrics.{quote('`mse`')}&orderByAsc=true"
        browser.open(lists["histoftree"].replace("viewStateShareKey=runs", order))
        browser.element("//*[contains(.,'Sort: mse')]")
        time.sleep(3)
        browser.click("(//a[contains(.,'krr')])[1]")
        browser.click("//*[text()='selected.bins']")  # which scrolls to the parameters
        browser.picture(here / "mlflow_setting.webp")
    finally:
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
