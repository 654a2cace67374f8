"""Shared fixtures; tests marked ``mirror`` need the real data files and are skipped without them."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from lpbench.paths import COMMITTED, RESULTS_VARIABLE

# The suite has a worker on every core, and runs compute on one thread: a pool of threads in each worker, and in each
# command that a test starts, would only wait for the others. numpy reads this when it is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Examples are derived from the test itself, so that no run fails by chance; shared machines make deadlines meaningless.
settings.register_profile("lpbench", derandomize=True, deadline=None)
settings.load_profile("lpbench")

#: Files that take more than ten seconds each.
LONGEST = (
    "test_method_checks.py", "test_reproduce.py", "test_tutorial.py", "test_runs.py", "test_mlflow.py",
    "test_claim_files.py", "test_command.py", "test_mutants.py", "test_protocols.py", "test_devices.py",
    "test_browser.py", "test_methods.py", "test_run.py", "test_sklearn_contract.py", "test_causes.py",
    "test_audit_your_own.py", "test_first_run.py", "test_levels.py", "test_papers.py",
)  # fmt: skip


#: Folders of the checkout's results that are committed.
_COMMITTED = tuple(f"{COMMITTED.parent / name}{os.sep}" for name in ("published", "reproduced", "submissions"))


def _refuse_runs(event, args):
    """No test depends on what was run in the checkout."""
    if event == "open" and isinstance(args[0], str) and args[0].startswith(f"{COMMITTED.parent}{os.sep}"):
        if not args[0].startswith(_COMMITTED):
            raise PermissionError(f"{args[0]}: a test opens a run of the checkout")


sys.addaudithook(_refuse_runs)


@pytest.fixture(scope="session", autouse=True)
def _results_apart(tmp_path_factory):
    """Commands without a results folder find a copy of what is committed: runs of the checkout change no test."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copytree(COMMITTED, folder / COMMITTED.name)
    os.environ[RESULTS_VARIABLE] = str(folder)


def pytest_collection_modifyitems(items):
    # the longest files first: files are shared out whole, and a last long one would be waited for
    items.sort(key=lambda item: item.path.name not in LONGEST)
    mirror = os.environ.get("LPBENCH_DATA_MIRROR", "")
    if not (mirror and Path(mirror).is_dir()):
        skip = pytest.mark.skip(reason="LPBENCH_DATA_MIRROR does not name a folder with the real data")
        for item in items:
            if "mirror" in item.keywords:
                item.add_marker(skip)
