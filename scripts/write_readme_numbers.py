"""Write the numbers of the committed results into README.md and ARTIFACT.md, between their marks."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis.claims import FAILS, HOLDS
from lpbench.analysis.numbers import counts, equivalent_in_words, judged_numbers
from lpbench.analysis.verdicts import claims_of
from lpbench.disk import write_text
from lpbench.experiments import catalog
from lpbench.papers.theory import FRESH
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.paper import Paper, papers
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.standings import GAINS
from scripts.audits.released import RELEASES
from scripts.measure_audit import AUDIT_TIME

#: Table of what users add, and the comparisons whose compared method reads a public sample.
ADDED, EXPERIMENTS = Path(GAINS), ("comparison/classification", "comparison/public_sample")
HOME = "results/reproduced/index.html"


def proof(folder: Path) -> str:
    """Rows of the README's table: published numbers, sentences, what private users add, the audit."""
    n = counts(judged_numbers(read_numbers(folder)))
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    outcomes = claims.loc[~claims["counted_apart"].astype(bool), "ours"].value_counts()
    caught, applied = faults(folder)
    rows = [
        (
            "Do printed numbers hold?",
            f"Of {n['compared']:,} printed numbers, {n['method']:,} identify their method and {n['different']:,} are "
            "different; the others are equivalent, but not alone, or undecided. "
            f"[Why]({HOME}#papers)",
        ),
        (
            "Do printed sentences hold?",
            f"Of {outcomes.sum()} sentences, {outcomes.get(HOLDS, 0)} hold in our runs and {outcomes.get(FAILS, 0)} "
            f"fail. [Evidence]({HOME}#papers)",
        ),
        *_added(folder),
        (
            "Does the audit see faults?",
            f"{caught} of {applied} planted faults are caught; {len(RELEASES)} errors found in "
            "[released code](docs/questions/released_code.md).",
        ),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {question} | {answer} |" for question, answer in rows)])


def _added(folder: Path) -> list[tuple[str, str]]:
    """Say what users add by task, of the compared method that reads a public sample, on held-out data sets."""
    return [
        (
            f"What do private users add ({row['task']})?",
            f"They lower the error of public data alone by {low} to {high} % ({row['title']}, {row['sets']} held-out "
            f"data sets). [Intervals]({HOME}#finding-users-add-{row['task']})",
        )
        for low, high, row in spans(folder).values()
    ]


def spans(folder: Path) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return the least and the largest gain over budgets, in per cent, and a row, of each compared method."""
    table, found = pd.read_csv(folder / ADDED), {}
    table = table[(table["role"] == "held out") & (table["mask"] == "aligned")]
    for experiment in EXPERIMENTS:
        method = catalog.experiment(experiment).settings["compared"]
        mine = table[(table["experiment"] == experiment) & (table["method"] == method)]
        low, high = (f"{100 * v:.0f}".replace("-", "−") for v in (mine["gain"].min(), mine["gain"].max()))
        row = {
            "task": mine["task"].iloc[0],
            "sets": mine["sets"].max(),
            "title": method_title(method, catalog.methods()),
        }
        found[experiment] = low, high, row
    return found


def faults(folder: Path) -> tuple[int, int]:
    """Count the planted faults that the audit catches, and those that apply."""
    caught = pd.read_csv(folder / "audit_mutants.csv", keep_default_na=False)["caught_by"]
    applied = caught[~caught.str.startswith("does not apply")]
    return int((applied != "").sum()), len(applied)


def hours_of_everything(folder: Path) -> tuple[str, int]:
    """Return the hours of the last full run with one decimal, and its number of cores."""
    total = pd.read_csv(folder / "timing.csv").set_index("artifact").loc["total"]
    return f"{total['seconds'] / total['workers'] / 3600:.1f}", int(total["workers"])


def time(folder: Path) -> str:
    """How long the last full run took."""
    hours, cores = hours_of_everything(folder)
    return (
        f"`make everything` takes about {hours} hours on {cores} cores, without the sealed sets "
        "([per artifact](results/reproduced/timing.csv)).\n`lpbench plan` estimates any run."
    )


def library_example(folder: Path) -> str:
    """Median errors of the library example over seeds."""
    table = pd.read_csv(folder / "readme_example.csv").drop(columns="seed")
    ours, constant = table.columns
    return (
        f"Mean squared error, median over {len(table)} seeds: {table[ours].median():.3f}; a private constant "
        f"({constant}): {table[constant].median():.3f}."
    )


def minutes_of(folder: Path, start: str) -> str:
    """Return the minutes of the last full run's experiments whose names have a start."""
    timing = pd.read_csv(folder / "timing.csv")
    mine = timing[timing["artifact"].str.startswith(start)]
    return f"{(mine['seconds'] / mine['workers']).sum() / 60:.1f}"


def artifact(folder: Path) -> str:
    """Return ARTIFACT.md's table: claim, experiment, command, expected number, tolerance, minutes, size of scores."""
    numbers = judged_numbers(read_numbers(folder))
    verdicts = pd.read_csv(folder / "verdicts.csv", keep_default_na=False)
    claims = claims_of(verdicts[~verdicts["counted_apart"].astype(bool)])
    _, cores = hours_of_everything(folder)
    heads = "claim", "experiment", "command", "expected", "tolerance", f"minutes on {cores} cores", "scores, MB"
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for paper in (paper for paper in papers() if paper.citation):
        n, mine = counts(numbers[numbers["paper"] == paper.name]), claims[claims["paper"] == paper.letter]
        command = f"`make reproduce EXPERIMENTS='{paper.name}/*'`"
        cost = minutes_of(folder, f"{paper.name}/"), _megabytes(folder, paper.name)
        if n["compared"]:
            expected = f"{equivalent_in_words(n)}, {n['different']} different"
            cells = f"{paper.short}: printed numbers", f"`{paper.name}/*`", command, expected, "every digit"
            lines.append(f"| {' | '.join([*cells, *cost])} |")
        expected = f"{(mine['ours'] == HOLDS).sum()} of {len(mine)} hold, {(mine['ours'] == FAILS).sum()} fail"
        cells = f"{paper.short}: sentences", f"`{paper.name}/*`", command, expected, "every verdict"
        lines.append(f"| {' | '.join([*cells, *(('same run', '') if n['compared'] else cost)])} |")
    for experiment, (low, high, row) in spans(folder).items():
        cells = f"users add ({row['task']})", f"`{experiment}`", f"`lpbench reproduce {experiment}`"
        size = _megabytes(folder, experiment.partition("/")[0])
        cells = *cells, f"{low} to {high} %", "every digit", minutes_of(folder, experiment), f"{size} (all comparisons)"
        lines.append(f"| {' | '.join(cells)} |")
    for paper, outcomes in theorems(folder).items():
        cells = f"{paper.short}: theorems", f"`theory/{paper.name}`"
        command = f"`lpbench reproduce theory/{paper.name} --seed {FRESH[0]}`"
        expected = f"{outcomes.sum()} cases: {', '.join(f'{word} {n}' for word, n in outcomes.items())}"
        size = f"{_megabytes(folder, 'theory')} (all theorems)"
        cells = *cells, command, expected, "every outcome", minutes_of(folder, f"theory/{paper.name}"), size
        lines.append(f"| {' | '.join(cells)} |")
    caught, applied = faults(folder)
    taken = pd.read_csv(folder / AUDIT_TIME).iloc[0]
    minutes = f"{taken['seconds'] / 60:.1f} ({taken['cpu_seconds'] / 60:.0f} of processor time)"
    found = f"{caught} of {applied} caught"
    lines.append(f"| stated ε hold, faults are caught | audit | `make audit` | {found} | none missed | {minutes} | |")
    return "\n".join(lines)


def theorems(folder: Path) -> dict[Paper, "pd.Series[int]"]:
    """Count the outcomes of each paper's theorems, under the seed that decides."""
    tables = {paper: folder / f"theory_seed{FRESH[0]}" / f"{paper.name}.csv" for paper in papers() if paper.citation}
    return {paper: pd.read_csv(path)["outcome"].value_counts() for paper, path in tables.items()}


def _megabytes(folder: Path, paper: str) -> str:
    return f"{(folder / 'scores' / f'{paper}.parquet').stat().st_size / 1e6:.1f}"


#: Page -> name of a mark -> what stands between it and its end.
BLOCKS: dict[str, dict[str, Callable[[Path], str]]] = {
    "README.md": {"proof": proof, "time": time, "the library example": library_example},
    "ARTIFACT.md": {"the claims": artifact, "time": time},
}


def with_numbers(name: str, text: str, folder: Path) -> str:
    """Return a page with the numbers of a folder between its marks."""
    for block, write in BLOCKS[name].items():
        mark = f"<!-- numbers of {block} -->\n"
        parts = re.split(rf"(?s)(?<={mark}).*?(?=\n *<!-- end of the numbers -->)", text)
        if len(parts) != 2:
            raise ValueError(f"{name} has the mark {mark.strip()} {len(parts) - 1} times, not once")
        text = write(folder).join(parts)
    return text


if __name__ == "__main__":
    for page in BLOCKS:
        write_text(with_numbers(page, (ROOT / page).read_text(encoding="utf-8"), COMMITTED), ROOT / page)
