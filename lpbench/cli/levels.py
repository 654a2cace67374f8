"""The levels of reproduction, each run anew and compared with published results (``lpbench verify``).

- *bitwise*: same seed, same versions: every character of every ``summary.csv``.
- *numeric*: same seed, other processors or versions: every number but for its last written digit.
- *statistical*: another seed: every cell within its interval, and the verdicts on the papers' claims.
- *conceptual*: other data: the order of the methods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from lpbench.cli.conceptual import print_orders, with_datasets
from lpbench.cli.rows import (
    LAST_DIGIT,
    OWN,
    compare_lines,
    compare_means,
    line_of,
    read_summary,
)
from lpbench.cli.sampling import FOLDER, run_sample
from lpbench.errors import ConfigurationError
from lpbench.experiments.config import Runner
from lpbench.experiments.job import Job
from lpbench.experiments.timing import is_measured
from lpbench.paths import ROOT
from lpbench.pipeline import Result, describe_missing, run_jobs
from lpbench.reporting.other_seed import changes
from lpbench.reporting.publish import publish
from lpbench.selectors import parse_selector

#: Largest relative difference of a number that a level allows.
TOLERANCES = {"bitwise": 0.0, "numeric": LAST_DIGIT}
#: Probability that any cell of a correct run with another seed is called different (Bonferroni over all cells).
FALSE_ALARM = 1e-3
#: Packages of the lock file that can change a number.
DECISIVE = ("numpy", "scipy", "scikit-learn", "pandas")
_SHOWN = 10


def verify(
    level: str,
    jobs: Sequence[Job],
    results: Path,
    runner: Runner,
    against: Path,
    datasets: Sequence[str] = (),
    everything: bool = True,
) -> int:
    """Run experiments again, compare, print what holds.

    Parameters
    ----------
    level : {"bitwise", "numeric", "statistical", "conceptual"}
    jobs : sequence of Job
        Drawings and timings among them are left out.
    results : Path
        Folder of the new results.
    runner : Runner
    against : Path
        Published results: holds ``<experiment>/summary.csv``.
    datasets : sequence of str
        Of the conceptual level: in the place of those of the experiments.
    everything : bool
        Run all blocks instead of a sample; the conceptual level always does.

    Returns
    -------
    int
        Number of differences, and of blocks and artefacts that failed.

    Raises
    ------
    ConfigurationError
        An experiment cannot be compared; nothing was run.
    """
    jobs = [job for job in jobs if job.experiment.kind in ("table", "figure")]
    if not jobs:
        raise ConfigurationError("only tables and figures can be verified: drawings and timings hold no such numbers")
    names = [job.name for job in jobs]
    for name in names:
        read_summary(against, name)  # before hours of work that nothing can be compared with
    if level == "conceptual":
        moved = [with_datasets(job.experiment, datasets) for job in jobs]
        result = run_jobs([Job(e, job.seed) for e, job in zip(moved, jobs, strict=True)], results, runner)
        print_orders(names, results, against)
        return _failures(result)
    if not everything:
        for job in [job for job in jobs if not job.plan.blocks]:
            print(f"{job.name}: not compared, none of its data are at hand")
        jobs = [job for job in jobs if job.plan.blocks]
    result = run_jobs(jobs, results, runner) if everything else run_sample(jobs, results, runner)
    tables = {job.name: _sides(job, results, against, everything) for job in jobs}
    problems = _failures(result)
    if level == "statistical":
        if everything:
            publish(results, names)
        return problems + _statistical(tables, results, against)
    return problems + _the_same(level, tables, results if everything else None, against)


def _sides(job: Job, results: Path, against: Path, everything: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lines of both sides that can be compared: of data at hand; of a sample, what a line has from its own scores."""
    here = results if everything else results / FOLDER
    ours, theirs = (read_summary(folder, job.name) for folder in (here, against))
    if not everything:
        return ours[OWN], theirs.loc[theirs.index.isin(ours.index), OWN]
    ours, theirs = (side[[_name(d) not in job.plan.missing for d in _datasets(side)]] for side in (ours, theirs))
    return ours, theirs


def _datasets(side: pd.DataFrame) -> list[str]:
    return list(side.index.get_level_values("dataset"))


def _name(selector: str) -> str:
    return parse_selector(selector)[0]


def _the_same(
    level: str, tables: dict[str, tuple[pd.DataFrame, pd.DataFrame]], results: Path | None, against: Path
) -> int:
    """Print the lines that differ, and of whole artefacts the other tables that do; returns their number."""
    problems, others = 0, other_versions()
    for line in others:
        print(f"note: {line}; the same bits are promised for the versions of requirements.lock only")
    for name, (ours, theirs) in tables.items():
        differences = compare_lines(ours, theirs, TOLERANCES[level])
        derived = _other_tables(name, results, against) if results and level == "bitwise" else []
        problems += len(differences) + len(derived)
        if not differences:
            print(f"{name}: {'identical' if level == 'bitwise' else 'the same numbers'}, {len(ours)} lines")
        else:
            most = max(d.size for d in differences)
            by = "not in numbers alone" if most == float("inf") else f"by at most {most:.1e} of a value"
            print(f"{name}: {len(differences)} of {len(theirs)} lines differ, {by}")
        for difference in [*differences[:_SHOWN], *derived]:
            print(f"  {difference}")
    if problems:
        print("no promise is broken: the versions differ" if others else f"the promise of the {level} level is broken")
    return problems


def _other_tables(name: str, results: Path, against: Path) -> list[str]:
    """Tables besides the summary that are not the same bytes, where all cells of the experiment were compared."""
    published = sorted(p for p in (against / name).glob("*.csv") if p.name != "summary.csv" and not is_measured(p))
    both = [(p, results / name / p.name) for p in published]
    return [f"{p.name}: not the same bytes" for p, q in both if not q.is_file() or p.read_bytes() != q.read_bytes()]


def other_versions() -> list[str]:
    """Packages that decide numbers and are not installed in the version of the lock file."""
    pinned = dict(re.findall(r"^([\w.\-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    found = []
    for package in DECISIVE:
        try:
            installed = version(package)
        except PackageNotFoundError:
            installed = "missing"
        if pinned.get(package) != installed:
            found.append(f"{package} is {installed}, requirements.lock has {pinned.get(package)}")
    return found


def _failures(result: Result) -> int:
    if result.plan.missing:
        print(describe_missing(result.plan.missing))
    for outcome in result.run.failed:
        print(outcome.line())
    return len(result.run.failed) + len(result.problems)


def _statistical(tables: dict[str, tuple[pd.DataFrame, pd.DataFrame]], results: Path, against: Path) -> int:
    problems = 0
    cells = pd.concat([compare_means(*sides).assign(experiment=name) for name, sides in tables.items()])
    limit = FALSE_ALARM / max(len(cells), 1)
    for name, part in cells.groupby("experiment", sort=False):
        inside, outside = (part["p"] >= 0.05).mean(), part[part["p"] < limit]
        print(f"{name!s}: {len(part)} cells, {inside:.1%} within the 95 % interval, {len(outside)} different")
        for key, new, old, z in outside[["ours", "theirs", "z"]].head(_SHOWN).itertuples():
            print(f"  {line_of(key)}: {new:.6g} for {old:.6g}, {z:+.1f} standard errors")
        problems += len(outside)
    for path in [*results.glob("claims.csv"), *results.glob("*/claims.csv")]:
        if (theirs := against / path.relative_to(results)).is_file():
            found, said = changes(theirs, path)
            print(f"claims: {said}")
            for row in found.itertuples():
                print(f"  {row.claim}, {row.check}: {row.ours_outcome_other}, published: {row.ours_outcome}")
    return problems
