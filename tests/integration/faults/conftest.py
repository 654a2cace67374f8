"""The small experiment in a user's folder, and a run of it without faults."""

from pathlib import Path

import pytest

from lpbench.cli.main import main
from tests.experiments.helpers import own_experiments
from tests.integration.faults.faulty import CONTENT, words


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory):
    with own_experiments(tmp_path_factory.mktemp("own"), CONTENT) as folder:
        yield folder


@pytest.fixture(scope="module")
def sound(own, tmp_path_factory) -> Path:
    results = tmp_path_factory.mktemp("sound")
    assert main(words(results, "--backend", "serial")) == 0
    return results
