"""Two full runs give the same report, but for the files that hold seconds and facts of the machine."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from lpbench.cli.main import main
from lpbench.derivation import RECORDS
from lpbench.experiments.timing import MEASURED, is_measured
from tests.experiments.helpers import own_experiments

GROUP = {"dataset": ["breast_cancer"], "method": ["ct_w", "lpdt", "pglm"], "epsilon": [2]}
CONTENT = [
    {"name": "own/scored", "paper": "own", "kind": "table", "title": "Scored", "replications": 2, "groups": [GROUP]},
    {"name": "own/timed", "paper": "own", "kind": "timing", "title": "Timed", "replications": 2, "groups": [GROUP]},
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The files of two runs: in this process in the plan's order, and in two workers shuffled and after each other.

    The second is logged to MLflow.
    """
    with own_experiments(tmp_path_factory.mktemp("own"), *CONTENT) as home:
        get_reusable_executor().shutdown()  # workers of other tests do not know this environment
        for words in ("--backend serial --order plan --tracking none", "--workers 2 --order shuffle --tracking mlflow"):
            results = home / words.split()[1]
            assert main(["reproduce", "own/*", "--quick", "--results", str(results), *words.split()]) == 0
        with closing(sqlite3.connect(home / "2/mlflow.db")) as logged:
            names = {name for (name,) in logged.execute("select name from runs")}
        assert {"scored", "timed"} <= names
        yield files(home / "serial"), files(home / "2")


def files(results: Path) -> dict[Path, bytes]:
    folder = results / "own"
    beside = (RECORDS, "run.json", "scores.parquet", "summary.parquet", "chosen.parquet")  # of the run, with seconds
    return {
        p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file() and not {*p.parts} & {*beside}
    }


def test_two_runs_give_the_same_files_but_for_those_named(reports):
    first, second = reports
    assert first.keys() == second.keys()
    differing = {path for path in first if first[path] != second[path]}
    assert not [path for path in differing if not is_measured(path)]
    # seconds were measured, and nowhere else
    assert {"timing.csv", "about.html", "seconds.csv"} <= {path.name for path in differing}


def test_a_timing_experiment_has_no_other_files(reports):
    timed = {path.name for path in reports[0] if path.parent.name == "timed"}
    assert timed == {"seconds.csv", "seconds_comparison.csv", "seconds.tex"}


def test_every_pattern_says_what_it_is_for():
    names = ["seconds.csv", "lpct_seconds.parquet", "timing.csv", "about.html", "bench.csv", "bench_exponents.svg"]
    assert all(any(Path(name).match(pattern) for name in names) for pattern in MEASURED)
    assert not any(is_measured(Path(name)) for name in ("summary.csv", "index.html", "verdicts.csv", "lpct.html"))
