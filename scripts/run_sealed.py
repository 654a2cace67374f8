"""Run today's methods on the sealed sets, once, from a clean commit (``make sealed``); write the record of that run.

Refused where the work tree has changes, or a record says that a run was made: a sealed set that is read twice tests
nothing. Both experiments have the four lines: constant, public only, private, non-private.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lpbench.cli.main import main as lpbench
from lpbench.experiments.committed import commit as keep_scores
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.results import Artifact, Results
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.paper import paper_of

EXPERIMENTS = ("comparison/sealed_classification", "comparison/sealed_regression")
RECORD = "sealed.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both experiments, commit their scores to the report's folder, and write the record; return the exit code."""
    parser = argparse.ArgumentParser(prog="make sealed", description=__doc__)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="results folder")
    parser.add_argument("--workers", default="1", help="processes")
    options = parser.parse_args(arguments)
    if reason := refusal(COMMITTED / RECORD):
        print(f"error: {reason}", file=sys.stderr)
        return 2
    commit = git("rev-parse", "HEAD")
    run = ["reproduce", *EXPERIMENTS, "--sealed", "--tracking", "none", "--workers", options.workers]
    if code := lpbench([*run, "--results", str(options.results)]):
        return code
    results = Results(options.results)
    artifacts = [results.artifact(name) for name in EXPERIMENTS]
    paper = paper_of(EXPERIMENTS[0])
    keep_scores(artifacts, COMMITTED, paper.name, paper.rule)
    (COMMITTED / RECORD).write_text(json.dumps(record_of(commit, artifacts), indent=1, sort_keys=True) + "\n")
    print(f"record: {COMMITTED / RECORD}; next: lpbench report --replace, and commit both")
    return 0


def refusal(record: Path) -> str:
    """Say why the sealed sets must not be read now; empty if they may be."""
    if record.is_file():
        said = json.loads(record.read_text())
        return f"the sealed sets were read on {said['date']} by commit {said['commit'][:8]}, and once is the rule"
    if changes := git("status", "--porcelain", "--untracked-files=no"):
        first = changes.splitlines()[0]
        return f"the work tree has changes ({first.strip()}); commit them, so that the record names the code that ran"
    return ""


def record_of(commit: str, artifacts: Sequence[Artifact]) -> dict[str, object]:
    """Return commit, date, seed, and of each experiment its data sets, methods and number of scores."""
    return {
        "commit": commit,
        "date": datetime.now(UTC).date().isoformat(),
        "seed": ROOT_SEED,
        "experiments": {
            a.name: {
                "data sets": sorted(set(a.chosen["dataset"])),
                "methods": sorted(set(a.chosen["method"])),
                "scores": len(a.chosen),
            }
            for a in artifacts
        },
    }


def git(*words: str) -> str:
    """Return what a command of git prints about this checkout."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
