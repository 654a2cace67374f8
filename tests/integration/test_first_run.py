"""The first ten minutes: what is imported, what is said of missing data, what a run answers."""

import json
import os
import subprocess
import sys

import pytest

from lpbench.analysis.claims import Claim
from lpbench.cli.main import main

FAST = ["tracking=none", "runner=serial", "replications=2"]
#: Modules that take long to load -> what nobody needs them for.
HEAVY = ("mlflow", "matplotlib", "pandas", "numpy", "hydra", "sklearn", "scipy.stats._stats_py", "lpbench.audit")


def imported(*argv: str) -> set[str]:
    """Heavy modules that a command imports, in a process of its own."""
    code = (
        "import json, sys; from lpbench.cli.main import main; main(sys.argv[1:]); "
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_list_of_data_sets_loads_neither_tables_nor_hydra():
    assert imported("list", "datasets") <= {"numpy"}


def processor_seconds(code: str, *argv: str) -> float:
    """As a user starts it: numpy makes its threads, which the suite forbids."""
    environment = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    before = os.times()
    subprocess.run([sys.executable, "-c", code, *argv], check=True, capture_output=True, env=environment)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])


@pytest.mark.slow
def test_starts_take_a_few_times_as_long_as_importing_numpy(tmp_path):
    """numpy takes about 0.1 s: 1.6 s for a stored and logged cell, 1 s for help, a typo and the lists."""
    stored = [*FAST[1:], f"results_dir={tmp_path}", "method=histoftree_cart", "epsilon=2"]
    assert main(stored) == 0
    quick = [["--help"], ["method=histoftree_kart"], *(["list", what] for what in ("methods", "datasets"))]
    run = "import sys; from lpbench.cli.main import main; main(sys.argv[1:])"
    # in turns, and the best of some: other work on the machine slows all alike
    rounds = [
        [processor_seconds("import numpy"), *(processor_seconds(run, *argv) for argv in (stored, *quick))]
        for _ in range(3)
    ]
    numpy, cell, *rest = map(min, zip(*rounds, strict=True))
    assert cell / numpy < 16
    assert max(rest) / numpy < 10


def test_a_stored_and_logged_cell_loads_nothing_to_compute_draw_or_log_it(tmp_path):
    argv = [*FAST[1:], f"results_dir={tmp_path}", "method=private_mean", "epsilon=2"]
    assert main(argv) == 0
    assert imported(*argv) <= {"pandas", "numpy", "hydra"}


@pytest.mark.parametrize(
    ("artifact", "leaf", "expected"),
    [("table1-3", "table2", True), ("table1-3", "table4", False), ("figure4a-b", "figure4b", True),
     ("figure4c", "figure4c", True), ("figure4c", "figure4", False), ("appendix A.1", "mechanism", False)],
)  # fmt: skip
def test_a_claim_knows_its_artifacts(artifact, leaf, expected):
    assert Claim("C", artifact, "").concerns(leaf) is expected
