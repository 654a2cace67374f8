"""The small experiment in a user's folder, and a run of it without faults."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lpbench.cli.main import main
from lpbench.experiments import catalogue
from tests.integration.faults.faulty import CONTENT, words


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory):
    """The small experiment in a user's folder."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LPBENCH_PLUGINS", str(folder))
        catalogue.clear()
        path = folder / "experiments" / "own" / "faulty.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(yaml.safe_dump(CONTENT))
        yield folder
        catalogue.clear()


@pytest.fixture(scope="module")
def sound(own, tmp_path_factory) -> Path:
    """A run without faults."""
    results = tmp_path_factory.mktemp("sound")
    assert main(words(results, "--backend", "serial")) == 0
    return results
