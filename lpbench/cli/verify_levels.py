"""The levels of reproduction: run again and compared with published results (``lpbench verify``).

- *bitwise*: same seed, same versions: every character of every ``summary.csv``.
- *numeric*: same seed, other processors or versions: every number but for its last written digit.
- *statistical*: another seed: every cell within its interval, and the verdicts on the papers' claims.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lpbench.analysis import as_text, write_csv
from lpbench.analysis.verdicts import changes as changed_verdicts
from lpbench.cli import options
from lpbench.errors import ConfigurationError, NotRunError
from lpbench.experiments import catalog
from lpbench.experiments.assemble import assemble
from lpbench.experiments.config import ROOT_SEED, Runner
from lpbench.experiments.experiment import Experiment, changes, deviations
from lpbench.experiments.job import Job, job_of
from lpbench.experiments.plan import Entry, Plan, by_name
from lpbench.experiments.results import Artifact
from lpbench.experiments.run import run_blocks
from lpbench.experiments.store import Store
from lpbench.experiments.timing import is_measured
from lpbench.paths import ROOT
from lpbench.pipeline import Result, describe_missing, run_jobs
from lpbench.reporting.artifact import summarize_experiment
from lpbench.reporting.publish import report_run
from lpbench.selectors import parse_selector

#: Largest relative difference of a number (seven digits are written, the last may be rounded either way); None: by
#: standard errors.
TOLERANCES = {"bitwise": 0.0, "numeric": 1.5e-6, "statistical": None}
#: Probability that any cell of a correct run with another seed is called different (Bonferroni over all cells).
VERIFY_FALSE_ALARM = 1e-3
#: Differences of an experiment that are printed.
_PRINTED_DIFFERENCES = 10
#: Where the summaries of a sample are written; a whole run has the experiment's own folder.
SAMPLE_FOLDER = "sample"
#: Numbers that a block reads which is sampled, unless a method has none as small.
_SMALL = 100_000
#: What one line of a summary is about.
LINE_KEYS = ["panel", "dataset", "mask", "method", "epsilon", "x", "selection"]
#: Columns that depend on a line's own method alone; the others compare it with the methods beside it.
OWN = ["params", "metric", "mean", "std", "se", "n"]

#: Lines of an experiment's summary here, and as published.
Sides = tuple[pd.DataFrame, pd.DataFrame]


def job_like(published: Artifact, same_seed: bool, replications: int | None, seed: int | None) -> Job:
    """Job that runs an artifact again as it was run: as its record says, else as registered."""
    config = published.record.get("config") if published.was_computed else None
    experiment = Experiment.from_record(config["experiment"]) if config else catalog.experiment(published.name)
    first = config["seed"] if config else ROOT_SEED
    if not same_seed and seed == first:
        raise ConfigurationError(
            f"seed {seed} is that of {published.folder}: `lpbench verify bitwise` compares with it"
        )
    again = first if same_seed else first + 1 if seed is None else seed
    return job_of(experiment, replications=replications, seed=again)


def _check_folder(job: Job, results: Path, against: Path) -> None:
    """Refuse a results folder that holds the experiment under other settings, or that is the one compared with."""
    if results == against:
        raise ConfigurationError(f"--results {results} is --against too: new results need a folder of their own")
    stored = Artifact(results / job.name, job.name)
    config = stored.record.get("config") if stored.was_computed else None
    if config:
        changed = deviations(
            replace(Experiment.from_record(config["experiment"]), title="", notes=()),
            replace(job.experiment, title="", notes=()),
        )
        changed += changes({"seed": config["seed"]}, {"seed": job.seed})
        if changed:
            raise ConfigurationError(
                f"{stored.folder} holds {job.name} run otherwise ({'; '.join(changed)}): choose another --results"
            )


def verify(level: str, jobs: Sequence[Job], results: Path, runner: Runner, against: Path, everything: bool) -> int:
    """Run experiments, or a sample of blocks, again; print the differences and the conclusion.

    Returns
    -------
    int
        Number of differences and failures, in experiments of which at least one number was compared.

    Raises
    ------
    NotRunError
        No number of any experiment was compared.
    """
    jobs = [job for job in jobs if job.experiment.kind in ("table", "figure")]
    if not jobs:
        raise ConfigurationError("only tables and figures can be verified: drawings and timings hold no such numbers")
    for job in jobs:
        _check_folder(job, results, against)
        read_summary(against, job.name)  # before hours of work that nothing can be compared with
    if missing := sum((job.plan for job in jobs), Plan(())).missing:
        print(describe_missing(missing))
    for job in [job for job in jobs if not job.plan.blocks]:
        print(f"{job.name}: not compared, none of its data are at hand")
    runnable = [job for job in jobs if job.plan.blocks]
    compared, problems = _compare(level, runnable, results, runner, against, everything) if runnable else (0, 0)
    if not compared:
        raise NotRunError(f"{level}: no number of {options.counted(len(jobs))} was compared, for the reasons above")
    others = len(jobs) - compared
    of = f" for {options.counted(compared)}" if compared > 1 else ""
    of = f" for {compared} of {len(jobs)} experiments, {others} not compared" if others else of
    print(f"{level}: " + (f"does not hold{of} ({problems} differences)" if problems else f"holds{of}"))
    return problems


def _compare(
    level: str, jobs: Sequence[Job], results: Path, runner: Runner, against: Path, everything: bool
) -> tuple[int, int]:
    """Run again at a ``level`` and print the differences: number of experiments compared, and of problems.

    ``everything`` runs whole experiments instead of a sample.
    """
    result = run_jobs(jobs, results, runner) if everything else run_sample(jobs, results, runner)
    tables = {job.name: _sides(job, results, against, everything) for job in jobs}
    for outcome in result.run.failed:
        print(outcome.line())
    problems = len(result.run.failed) + len(result.problems)
    if level == "statistical":
        if everything:
            report_run(results, [job.name for job in jobs])
        compared, different = _print_differences(level, tables, {})
        _print_verdicts(results, against)
        return compared, problems + different
    pinned = dict(re.findall(r"^([\w.\-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    installed = {package: version(package) for package in ("numpy", "scipy", "scikit-learn", "pandas")}
    others = [f"{p} is {v}, requirements.lock has {pinned.get(p)}" for p, v in installed.items() if pinned.get(p) != v]
    for line in others:
        print(f"note: {line}; the same bits are promised for the versions of requirements.lock only")
    complete = [job.name for job in jobs if everything and level == "bitwise" and not job.plan.missing]
    compared, different = _print_differences(level, tables, {n: _other_tables(n, results, against) for n in complete})
    if compared and different:
        print("no promise is broken: the versions differ" if others else f"the promise of the {level} level is broken")
    return compared, problems + different


def _sides(job: Job, results: Path, against: Path, everything: bool) -> Sides:
    """Return both sides' summary lines, new and committed, on data at hand.

    Of a sample they have only the columns that depend on one method alone.
    """
    folder_of_run = results if everything else results / SAMPLE_FOLDER
    ours, theirs = (read_summary(folder, job.name) for folder in (folder_of_run, against))
    if not everything:
        return ours[OWN], theirs.loc[theirs.index.isin(ours.index), OWN]

    def at_hand(side: pd.DataFrame) -> pd.DataFrame:
        datasets = side.index.get_level_values("dataset")
        return side[[parse_selector(dataset)[0] not in job.plan.missing for dataset in datasets]]

    return at_hand(ours), at_hand(theirs)


def _print_differences(level: str, tables: dict[str, Sides], derived: dict[str, list[str]]) -> tuple[int, int]:
    """Print the lines that differ, and those about the other tables of whole artifacts.

    Returns the number of experiments with at least one compared number, and that of differences.
    """
    rows = {name: compare(*sides, TOLERANCES[level]) for name, sides in tables.items()}
    limit = VERIFY_FALSE_ALARM / max(sum(map(len, rows.values())), 1)
    compared = problems = 0
    for name, compared_rows in rows.items():
        different = compared_rows[compared_rows["p"] < limit]
        lines = [*(different["line"] + ": " + different["change"]).head(_PRINTED_DIFFERENCES), *derived.get(name, [])]
        ours, theirs = tables[name]
        # a line without a mean is that of a failed or missing block
        numbers = (
            compared_rows if level == "statistical" else ours[ours.index.isin(theirs.index) & (ours["mean"] != "")]
        )
        compared += len(numbers) > 0
        words = (
            _in_words(level, tables[name], compared_rows, different)
            if len(numbers)
            else "not compared, no number is in both"
        )
        print(f"{name}: {words}")
        for line in lines:
            print(f"  {line}")
        problems += len(different) + len(derived.get(name, []))
    return compared, problems


def _in_words(level: str, sides: Sides, compared: pd.DataFrame, different: pd.DataFrame) -> str:
    """Summarize the comparison of one experiment: how many lines differ, and by how much."""
    if level == "statistical":
        inside = (compared["p"] >= 0.05).mean()
        return f"{len(compared)} cells, {inside:.1%} within the 95 % interval, {len(different)} different"
    ours, theirs = map(len, sides)
    if different.empty:
        return f"{'identical' if level == 'bitwise' else 'the same numbers'}, {ours} lines"
    most = different["size"].max()
    by = "not in numbers alone" if most == float("inf") else f"by at most {most:.1e} of a value"
    return f"{len(different)} of {theirs} lines differ, {by}"


def _other_tables(name: str, results: Path, against: Path) -> list[str]:
    """List tables besides the summary whose bytes differ, where all cells of the experiment were compared."""
    published = sorted(p for p in (against / name).glob("*.csv") if p.name != "summary.csv" and not is_measured(p))
    pairs = [(p, results / name / p.name) for p in published]
    return [f"{p.name}: not the same bytes" for p, q in pairs if not q.is_file() or p.read_bytes() != q.read_bytes()]


def _print_verdicts(results: Path, against: Path) -> None:
    """Print the verdicts on claims that change with the seed."""
    for path in [*results.glob("verdicts.csv"), *results.glob("*/verdicts.csv")]:
        if (theirs := against / path.relative_to(results)).is_file():
            changed, summary = changed_verdicts(theirs, path)
            print(f"claims: {summary}")
            for row in changed.itertuples():
                print(f"  {row.claim}, {row.check}: {row.ours_outcome_other}, published: {row.ours_outcome}")


def sample(plan: Plan) -> Plan:
    """Choose one entry for each experiment and method, always the same."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in plan.entries:
        if entry.block is not None:
            groups.setdefault((entry.experiment, entry.method), []).append(entry)
    return Plan(tuple(min(entries, key=_lot) for entries in groups.values()))


def _lot(entry: Entry) -> tuple[int, str]:
    """Sort key by which the sample is chosen: size unless small, then a hash of the entry's names."""
    numbers = entry.wanted.numbers
    names = [entry.experiment, entry.panel, entry.dataset, entry.mask, entry.method, str(entry.x_value)]
    return 0 if numbers <= _SMALL else numbers, hashlib.sha256("|".join(names).encode()).hexdigest()


def run_sample(jobs: Sequence[Job], results: Path, runner: Runner) -> Result:
    """Run a sample of the jobs' blocks and write ``<results>/sample/<experiment>/summary.csv`` of it."""
    store = Store(results / "store")
    plans = {job.name: sample(job.plan) for job in jobs}
    plan = sum((job.plan for job in jobs), Plan(()))
    run = run_blocks(sum(plans.values(), Plan(())).blocks, store, runner)
    for job in jobs:
        scores = assemble(plans[job.name].entries, store)
        table = summarize_experiment(job.experiment, scores, by_name(job.methods)).table
        write_csv(table, results / SAMPLE_FOLDER / job.name / "summary.csv")
    return Result(run=run, plan=plan)


def read_summary(folder: Path, name: str) -> pd.DataFrame:
    """Texts of an experiment's ``summary.csv``, indexed by what each line is about."""
    table = Artifact(folder / name, name).summary
    if table is None:
        raise ConfigurationError(f"{folder / name / 'summary.csv'} is not there: nothing to compare for {name}")
    return as_text(table).set_index(LINE_KEYS)


def compare(ours: pd.DataFrame, theirs: pd.DataFrame, tolerance: float | None) -> pd.DataFrame:
    """Compare two summaries within a relative difference of numbers, or (None) within standard errors of the means.

    Columns line, change (in words), size (relative difference, or standard errors), p (1 within the tolerance and 0
    beyond, or of Welch's test). By digits only lines whose text differs have a row, else all cells of both sides.
    """
    shared = ours.index.intersection(theirs.index)
    sides = ours.loc[shared], theirs.loc[shared]
    if tolerance is None:
        rows = _by_means(*sides) if len(shared) else []
    else:
        rows = [(key, "missing here", np.inf, 0.0) for key in theirs.index.difference(ours.index)]
        rows += [(key, "not published", np.inf, 0.0) for key in ours.index.difference(theirs.index)]
        rows += _by_digits(*sides, tolerance) if len(shared) else []
    return pd.DataFrame([(_words(key), *row) for key, *row in rows], columns=["line", "change", "size", "p"])


def _by_digits(ours: pd.DataFrame, theirs: pd.DataFrame, tolerance: float) -> list[tuple]:
    """Rows (key, change in words, relative size, 1 or 0 for within tolerance) of lines whose texts differ."""
    rows: list[tuple] = []
    for row in np.flatnonzero((ours != theirs).any(axis=1)):
        columns = [c for c in ours.columns if ours[c].iloc[row] != theirs[c].iloc[row]]
        pairs = {c: (ours[c].iloc[row], theirs[c].iloc[row]) for c in columns}
        size = max(_relative(*pair) for pair in pairs.values())
        change = ", ".join(f"{c} {one or '-'} for {published or '-'}" for c, (one, published) in pairs.items())
        by = f" ({size:.1e} of the value)" if np.isfinite(size) else ""
        rows.append((ours.index[int(row)], change + by, size, float(size <= tolerance)))
    return rows


def _relative(ours: str, theirs: str) -> float:
    """Relative difference of two texts; inf if one is not a number."""
    try:
        first, second = float(ours), float(theirs)
    except ValueError:
        return np.inf
    return (
        abs(first - second) / max(abs(first), abs(second))
        if np.isfinite([first, second]).all() and first != second
        else np.inf
    )


def _by_means(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[tuple]:
    """Compare each cell's mean under two seeds by Welch's test: rows (key, change in words, standard errors, p-value).

    Selection on the test rows biases both sides alike.
    """
    numbers = [side[["mean", "std", "n"]].apply(pd.to_numeric, errors="coerce") for side in (ours, theirs)]
    complete = np.logical_and.reduce([side.notna().all(axis=1) & (side["n"] >= 2) for side in numbers])
    new, old = (side[complete].to_numpy().T for side in numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        z, p = stats.ttest_ind_from_stats(*new, *old, equal_var=False)
    equal = new[0] == old[0]  # also where nothing is random
    z, p = np.where(equal, 0.0, z), np.where(equal, 1.0, np.nan_to_num(p, nan=0.0))
    changes = [f"{a:.6g} for {b:.6g}, {s:+.1f} standard errors" for a, b, s in zip(new[0], old[0], z, strict=True)]
    return list(zip(ours.index[complete], changes, np.abs(z), p, strict=True))


def _words(key: Sequence[str]) -> str:
    """Return the nonempty keys of a compared line as words, for messages."""
    named = dict(zip(LINE_KEYS, key, strict=True))
    return " ".join(named[k] if k != "epsilon" else f"epsilon={named[k]}" for k in LINE_KEYS if named[k] and k != "x")
