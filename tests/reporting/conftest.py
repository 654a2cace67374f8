"""A small report as a run leaves it: a figure, a part of a table, an experiment that was not run, an audit."""

import os
from pathlib import Path

import pandas as pd
import pytest

from lpbench.disk import locked
from lpbench.reporting.artifact import write_artifact
from lpbench.reporting.pages.audit import write_audit
from lpbench.reporting.pages.site import write_pages
from lpbench.reporting.report import write_report
from tests.reporting.fake import CARDS, experiment, placeholder, scores_of, typed
from tests.reporting.store import put, write_tables

ENVIRONMENT = {"lpbench": "0.1", "versions": {"numpy": "2.4"}}
_NONE: dict[str, list] = {"heads": ["mechanism"], "rows": []}
AUDIT = {
    "epsilon": 1.0,
    "samples": 1000,
    "seed": 1,
    "failure": 1e-5,
    "false_alarm": 0.001,
    "detectable": 2.0,
    "envelope": 28,
    "bad": _NONE,
    "good": _NONE,
    "methods": {
        "heads": ["method", "model", "exact"],
        "rows": [["krr", "ldp", "1 | 2"], ["krr[budget=halves]", "ldp", "1"]],
    },
}


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of a run's report, below that of the run: made once for all workers, and for reading."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with locked(shared / ".site.lock"):
        if not (shared / "site").is_dir():
            write_site(own / "run")
            (own / "run").rename(shared / "site")
    return shared / "site" / "reproduced"


def write_site(results: Path) -> None:
    folder = results / "reproduced"
    figure, table = experiment("histoftree/figure2c"), experiment("histoftree/table1")
    put(results, figure, scores_of(figure, lambda k: 1.1 + 0.02 * abs(k["x"] - 4), replications=3))
    (results / "histoftree/figure2c/figure2c.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    for group in table["groups"]:
        group["dataset"] = ["abalone", "red_wine"]
    scores = scores_of(table, lambda k: 1.0 + 0.1 * len(k["method"]), replications=3)
    slow = placeholder(table, "building", "krr[variant=text]", 2, "timeout", "over the <limit> of 3 s")
    scores = pd.concat([scores, slow], ignore_index=True)
    write_artifact(typed(table), scores, CARDS, results / "histoftree/table1")
    scores.to_parquet(results / "histoftree/table1/scores.parquet")
    for name in ("figure2c", "table1"):
        (folder / "histoftree" / name).mkdir(parents=True)
        for path in (results / "histoftree" / name).iterdir():
            if path.suffix != ".parquet":
                (folder / "histoftree" / name / path.name).write_bytes(path.read_bytes())
    (folder / "audit.csv").write_text("method,claimed_epsilon\nkrr,1.0\n")
    write_audit(AUDIT, folder)
    experiments = [typed(e) for e in (figure, table, experiment("histoftree/table2"), experiment("lpct/figure4a"))]
    content = (results, experiments, [("taxi", "Ask the owner.")], ENVIRONMENT, folder)
    write_tables(results, experiments, folder)
    write_report(*content)
    write_pages(*content, CARDS)
    study = (*content[:-1], results)
    write_tables(results, experiments, results)
    write_report(*study)
    write_pages(*study, CARDS, study="Two papers")
