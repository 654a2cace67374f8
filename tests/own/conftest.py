"""A folder of a user's own, in which lpbench runs as it would for that user."""

import sys
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from lpbench import paths
from lpbench.cli.main import main
from lpbench.experiments import catalog as registry
from tests.sources import read_sources_again


def change(path: str, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


@pytest.fixture
def forget():
    """What has been read about methods and experiments is forgotten: each command is a process of its own."""

    def clear():
        registry.clear()
        read_sources_again()
        paths._refuse_others.cache_clear()

    clear()
    # workers that are there already know neither this folder nor its environment
    get_reusable_executor().shutdown()
    before = set(sys.modules), list(sys.path)
    yield clear
    clear()
    get_reusable_executor().shutdown()
    for name in set(sys.modules) - before[0]:
        if name.startswith("own_"):
            del sys.modules[name]
    sys.path[:] = before[1]


@pytest.fixture
def home(tmp_path, monkeypatch, forget):
    """An empty folder to work in; results and caches stay inside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LPBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("LPBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("LPBENCH_PLUGINS", "LPBENCH_DATASETS", "LPBENCH_DATA_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def lpbench(home, forget, capsys):
    """Run a command line; returns exit code, output and errors."""

    def run(line: str) -> tuple[int, str, str]:
        forget()
        code = main(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
