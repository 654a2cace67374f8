"""Shared fixtures; tests marked ``mirror`` need the real data files and are skipped without them."""

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from lpbench import paths
from tests.committed import check_out

# Before anything else imports its name: tests see committed results, and not what a run left in their place.
_BLOBS, _RUNS = TemporaryDirectory(prefix="lpbench-committed-"), paths.ROOT / "results"
paths.COMMITTED = check_out("results/reproduced", Path(_BLOBS.name)) / "results/reproduced"

# The suite has a worker on every core, and runs compute on one thread: a pool of threads in each worker, and in each
# command that a test starts, would only wait for the others. numpy reads this when it is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Examples are derived from the test itself, so that no run fails by chance; shared machines make deadlines meaningless.
settings.register_profile("lpbench", derandomize=True, deadline=None)
settings.load_profile("lpbench")

#: Files that take longest, the longest first.
LONGEST = (
    "test_sklearn_contract test_methods test_sentences test_runs test_residual_gp test_reports test_cells "
    "test_browser test_overrides test_same_report test_tracking test_report test_intervals test_schemas "
    "test_psgd test_leaderboard test_calibrated_score test_client_by_client test_need test_public_sample "
    "test_broken_promises test_mirror test_claim_files test_levels test_export test_docs test_submissions "
    "test_keeper test_run test_contributing"
).split()

#: Folders of the checkout's results that no run changes, and the committed ones.
_READ = tuple(f"{folder}{os.sep}" for folder in (_RUNS / "published", _RUNS / "submissions", paths.COMMITTED))


def _refuse_runs(event, args):
    """No test depends on what was run in the checkout."""
    if event == "open" and isinstance(args[0], str) and args[0].startswith(f"{_RUNS}{os.sep}"):
        if not args[0].startswith(_READ):
            raise PermissionError(f"{args[0]}: a test opens a run of the checkout")


sys.addaudithook(_refuse_runs)


@pytest.fixture(scope="session", autouse=True)
def _results_apart(tmp_path_factory):
    """Commands without a results folder find a copy of what is committed: runs of the checkout change no test."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copytree(paths.COMMITTED, folder / paths.REPRODUCED)
    os.environ[paths.RESULTS_VARIABLE] = str(folder)


def pytest_unconfigure():
    _BLOBS.cleanup()


def pytest_collection_modifyitems(items):
    # files are shared out whole, and a last long one would be waited for
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
    mirror = os.environ.get("LPBENCH_DATA_MIRROR", "")
    if not (mirror and Path(mirror).is_dir()):
        skip = pytest.mark.skip(reason="LPBENCH_DATA_MIRROR does not name a folder with the real data")
        for item in items:
            if "mirror" in item.keywords:
                item.add_marker(skip)
