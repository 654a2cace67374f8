"""Committed results that answer in a second."""

import shutil

import pytest

from lpbench.paths import COMMITTED


@pytest.fixture(scope="session")
def few_committed(tmp_path_factory):
    """A fresh clone's results folder with one committed table of each of two papers."""
    folder = tmp_path_factory.mktemp("committed")
    for name in ("histoftree/table1", "lpct/table2"):
        shutil.copytree(COMMITTED / name, folder / COMMITTED.name / name)
    return folder
