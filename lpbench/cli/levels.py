"""The three levels of reproduction, each run anew and compared with published results (``lpbench verify``).

- *bitwise*: same seed, same versions: every byte of every ``summary.csv``.
- *statistical*: another seed: every cell within its interval, and the verdicts on the papers' claims.
- *conceptual*: other data: the order of the methods.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lpbench.datasets import load_manifest
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalogue
from lpbench.experiments.config import Runner
from lpbench.experiments.experiment import Experiment, Group
from lpbench.experiments.job import Job
from lpbench.paths import ROOT
from lpbench.pipeline import Result, describe_missing, publish, run_jobs
from lpbench.selectors import parse_selector

#: What one line of a summary is about.
KEYS = ["panel", "dataset", "mask", "method", "epsilon", "x", "selection"]
#: Probability that any cell of a correct run with another seed is called different (Bonferroni over all cells).
FALSE_ALARM = 1e-3
#: Packages of the lock file that can change a number.
DECISIVE = ("numpy", "scipy", "scikit-learn", "pandas")
_SHOWN = 10


def verify(
    level: str, jobs: Sequence[Job], results: Path, runner: Runner, against: Path, datasets: Sequence[str] = ()
) -> int:
    """Run experiments again, compare, print what holds.

    Parameters
    ----------
    level : {"bitwise", "statistical", "conceptual"}
    jobs : sequence of Job
        Drawings and timings among them are left out.
    results : Path
        Folder of the new results.
    runner : Runner
    against : Path
        Published results: holds ``<experiment>/summary.csv``.
    datasets : sequence of str
        Of the conceptual level: in the place of those of the experiments.

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
        _summary_file(against, name)  # before hours of work that nothing can be compared with
    if level == "conceptual":
        moved = [with_datasets(job.experiment, datasets) for job in jobs]
        jobs = [Job(experiment, job.seed) for experiment, job in zip(moved, jobs, strict=True)]
    result = run_jobs(jobs, results, runner)
    problems = _failures(result)
    if level == "statistical":
        publish(results, result.plan.missing)
    compare = {"bitwise": _bitwise, "statistical": _statistical, "conceptual": _conceptual}[level]
    return problems + compare(names, results, against)


def _bitwise(names: Sequence[str], results: Path, against: Path) -> int:
    for line in other_versions():
        print(f"note: {line}; the same bits are promised for the versions of requirements.lock only")
    problems = 0
    for name in names:
        ours, theirs = (_summary_file(folder, name) for folder in (results, against))
        if ours.read_bytes() == theirs.read_bytes():
            print(f"{name}: identical, {len(read_summary(ours))} lines")
            continue
        differences = compare_lines(read_summary(ours), read_summary(theirs))
        problems += len(differences)
        print(f"{name}: {len(differences)} lines differ")
        for difference in differences[:_SHOWN]:
            print(f"  {difference}")
    return problems


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


def _summary_file(folder: Path, name: str) -> Path:
    path = folder / name / "summary.csv"
    if not path.is_file():
        raise ConfigurationError(f"{path} is not there: nothing to compare for experiment {name}")
    return path


def read_summary(path: Path) -> pd.DataFrame:
    """Read a ``summary.csv`` as text, indexed by what each line is about."""
    return pd.read_csv(path, dtype=str, keep_default_na=False).set_index(KEYS)


def compare_lines(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[str]:
    """List every line that is not the same text on both sides, with the largest relative difference of its numbers."""
    found = [f"{_cell(key)}: missing here" for key in theirs.index.difference(ours.index)]
    found += [f"{_cell(key)}: not published" for key in ours.index.difference(theirs.index)]
    shared = ours.index.intersection(theirs.index)
    left, right = ours.loc[shared], theirs.loc[shared]
    for row in np.flatnonzero((left != right).any(axis=1)):
        columns = [c for c in left.columns if left[c].iloc[row] != right[c].iloc[row]]
        changes = ", ".join(f"{c} {left[c].iloc[row] or '-'} for {right[c].iloc[row] or '-'}" for c in columns)
        found.append(f"{_cell(shared[int(row)])}: {changes}")
    return found


def _cell(key: Sequence[str]) -> str:
    named = dict(zip(KEYS, key, strict=True))
    return " ".join(named[k] if k != "epsilon" else f"epsilon={named[k]}" for k in KEYS if named[k] and k != "x")


def _failures(result: Result) -> int:
    if result.plan.missing:
        print(describe_missing(result.plan.missing))
    for outcome in result.run.failed:
        print(outcome.line())
    return len(result.run.failed) + len(result.problems)


def _statistical(names: Sequence[str], results: Path, against: Path) -> int:
    problems, tables = 0, []
    for name in names:
        ours, theirs = (_summary_file(folder, name) for folder in (results, against))
        tables.append(compare_means(read_summary(ours), read_summary(theirs)).assign(experiment=name))
    cells = pd.concat(tables)
    limit = FALSE_ALARM / max(len(cells), 1)
    for name, part in cells.groupby("experiment", sort=False):
        inside, outside = (part["p"] >= 0.05).mean(), part[part["p"] < limit]
        print(f"{name!s}: {len(part)} cells, {inside:.1%} within the 95 % interval, {len(outside)} different")
        for key, new, old, z in outside[["ours", "theirs", "z"]].head(_SHOWN).itertuples():
            print(f"  {_cell(key)}: {new:.6g} for {old:.6g}, {z:+.1f} standard errors")
        problems += len(outside)
    for line in changed_claims(results / "claims.csv", against / "claims.csv"):
        print(line)
    return problems


def compare_means(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Welch's test of each cell's mean over replications under two seeds.

    Both means are of the grid point that was selected. An oracle picks the luckiest point of the grid on either side,
    which shifts both alike and spreads their difference less than the standard errors say.

    Returns
    -------
    DataFrame
        Columns ours, theirs, z (difference in standard errors), p; one row per cell that both sides have.
    """
    shared = ours.index.intersection(theirs.index)
    numbers = [side.loc[shared, ["mean", "std", "n"]].apply(pd.to_numeric, errors="coerce") for side in (ours, theirs)]
    complete = np.logical_and.reduce([side.notna().all(axis=1) & (side["n"] >= 2) for side in numbers])
    ours, theirs = (side[complete].to_numpy().T for side in numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        z, p = stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)
    equal = ours[0] == theirs[0]  # also where nothing is random
    columns = {"ours": ours[0], "theirs": theirs[0], "z": np.where(equal, 0.0, z)}
    return pd.DataFrame({**columns, "p": np.where(equal, 1.0, np.nan_to_num(p, nan=0.0))}, index=shared[complete])


def changed_claims(ours: Path, theirs: Path) -> list[str]:
    """Say how many claims of the papers have the same verdict under both seeds, and which have not."""
    if not theirs.is_file():
        return []
    left, right = (pd.read_csv(path, dtype=str).set_index(["paper", "claim"])["verdict"] for path in (ours, theirs))
    both = pd.DataFrame({"ours": left, "theirs": right}).dropna()
    both = both[(both != "not_run").all(axis=1)]
    if both.empty:
        return []
    changed = both[both["ours"] != both["theirs"]]
    lines = [f"claims: {len(both) - len(changed)} of {len(both)} that could be judged have the published verdict"]
    return lines + [f"  {claim}: {new}, published: {old}" for (_, claim), new, old in changed.itertuples()]


def _conceptual(names: Sequence[str], results: Path, against: Path) -> int:
    for name in names:
        ours = mean_ranks(read_summary(_summary_file(results, f"conceptual/{name}")))
        theirs = mean_ranks(read_summary(_summary_file(against, name)))
        print_order(name, ours, theirs)
        print(f"  table: {results / 'conceptual' / name}")
    return 0


def with_datasets(experiment: Experiment, datasets: Sequence[str]) -> Experiment:
    """The same methods, masks and budgets on other data.

    Raises
    ------
    ConfigurationError
        No group of the experiment has methods for the task of a data set.
    """
    groups: list[Group] = []
    for group in experiment.groups:
        task = catalogue.method(group.method[0]).task
        chosen = tuple(d for d in datasets if load_manifest(parse_selector(d)[0]).task == task)
        other = Group(dataset=chosen, mask=group.mask, method=group.method, epsilon=group.epsilon, grid=group.grid)
        if chosen and other not in groups:
            groups.append(other)
    used = {d for group in groups for d in group.dataset}
    if unused := sorted(set(datasets) - used):
        raise ConfigurationError(
            f"experiment {experiment.name} has no method for the task of data set {unused[0]}; "
            "choose another experiment (`lpbench list experiments`)"
        )
    return Experiment(
        name=f"conceptual/{experiment.name}",
        paper="conceptual",
        title=f"{experiment.title}: on {', '.join(datasets)}",
        replications=experiment.replications,
        groups=tuple(groups),
        notes=(f"the methods, masks and budgets of {experiment.name}",),
    )


def mean_ranks(summary: pd.DataFrame) -> pd.Series:
    """Mean rank of each method over its cells, oracle selection, best first."""
    table = summary.reset_index()
    table = table[table["selection"] == "oracle"].assign(rank=pd.to_numeric(table["rank"], errors="coerce"))
    return table.groupby("method")["rank"].mean().dropna().sort_values()


def print_order(name: str, ours: pd.Series, theirs: pd.Series) -> None:
    """Print mean ranks side by side, and how far the orders agree."""
    both = pd.DataFrame({"here": ours, "published": theirs}).dropna()
    agreement = stats.kendalltau(both["here"], both["published"]).statistic if len(both) > 1 else np.nan
    print(f"{name}: mean rank of {len(both)} methods; Kendall's tau with the published order {agreement:.2f}")
    for method, row in both.sort_values("here").iterrows():
        print(f"  {method:30s} {row['here']:6.2f}  published {row['published']:6.2f}")
