"""Write the numbers of the committed results into README.md and ARTIFACT.md, between their marks."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from lpbench.analysis.claims import FAILS, HOLDS
from lpbench.analysis.gains import in_words, shown_signs
from lpbench.analysis.numbers import counts, equivalent_in_words, judged_numbers
from lpbench.analysis.verdicts import claims_of
from lpbench.disk import write_text
from lpbench.experiments import catalog
from lpbench.papers.theory import FRESH
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.baselines import best_constants, published_wins
from lpbench.reporting.number_table import kept_by_seed, read_numbers
from lpbench.reporting.pages.about import minutes_of, time_in_words
from lpbench.reporting.pages.findings import below_the_constant, our_methods, over_public, sent
from lpbench.reporting.pages.site import surprise
from lpbench.reporting.paper import Paper, papers
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.standings import GAINS, read_standings
from scripts.audits.released import RELEASES
from scripts.measure_audit import AUDIT_TIME

#: Table of what users add, and the comparisons whose compared method reads a public sample.
ADDED, EXPERIMENTS = Path(GAINS), ("comparison/classification", "comparison/public_sample")
HOME = "results/reproduced/index.html"


def proof(folder: Path) -> str:
    """Rows of the README's table: published numbers, sentences, what private users add, the audit."""
    judged = judged_numbers(read_numbers(folder))
    n = counts(judged)
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    outcomes = claims.loc[~claims["counted_apart"].astype(bool), "ours"].value_counts()
    caught, applied = faults(folder)
    rows = [
        (
            "Do printed numbers hold?",
            f"Of {n['compared']:,} printed numbers, {n['method']:,} identify their method and {n['different']:,} are "
            "different. The others do not identify a method. "
            f"[Why numbers differ]({HOME.replace('index', 'histoftree')}#table-1)",
        ),
        (
            "Do printed sentences hold?",
            f"Of {outcomes.sum()} sentences, {outcomes.get(HOLDS, 0)} hold in our runs and {outcomes.get(FAILS, 0)} "
            f"fail. [Evidence]({HOME}#papers)",
        ),
        *_added(folder),
        ("What is most surprising?", f"{_surprise(folder, n, claims)} [Rule]({HOME}#surprise)"),
        ("Can I trust it?", f"{kept_by_seed(judged, folder).partition(', and')[0]}. [Checks, limits]({HOME}#trust)"),
        (
            "Does the audit see faults?",
            f"Planted faults are caught in {caught} of {applied} settings; {len(RELEASES)} errors found in "
            "[released code](docs/questions/released_code.md).",
        ),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {question} | {answer} |" for question, answer in rows)])


def _surprise(folder: Path, n: dict[str, int], claims: pd.DataFrame) -> str:
    """Return the finding that Home calls the most surprising one."""
    constants = best_constants(read_standings(folder))
    wins = [row for paper in papers() for name in paper.tables for row in published_wins(name, paper, constants)]
    counted = claims[~claims["counted_apart"].astype(bool)].to_dict("records")
    return str(surprise([finding for finding in [below_the_constant(wins)] if finding], n, counted)[0][1])


def _added(folder: Path) -> list[tuple[str, str]]:
    """Say what users add by task and by what they send, of our methods that read a public sample, held out."""
    rows = spans(folder)
    return [
        (
            f"Do private users improve on public data ({task})?",
            " ".join(
                f"{row['sent'].capitalize()}: {row['brief']} ({row['title']}, {row['sets']} held-out sets)."
                for row in rows
                if row["task"] == task
            )
            + f" [Intervals]({HOME}#findings)",
        )
        for task in dict.fromkeys(row["task"] for row in rows)
    ]


def spans(folder: Path) -> list[dict[str, Any]]:
    """Return what users add by budget, in words, of each of our methods that read a public sample."""
    table, found = pd.read_csv(folder / ADDED), []
    for experiment in map(catalog.experiment, EXPERIMENTS):
        for method in our_methods(experiment):
            mine = over_public(table, experiment.name, method)
            if len(mine):
                row = {
                    "experiment": experiment.name,
                    "task": mine["task"].iloc[0],
                    "sets": mine["sets"].max(),
                    "sent": sent(mine["inputs"].iloc[0]),
                    "title": method_title(method, catalog.methods()),
                    "words": in_words(mine),
                    "brief": in_brief(mine),
                }
                found.append(row)
    return found


def in_brief(gained: pd.DataFrame) -> str:
    """Return the budgets at which private users change the error of public data alone, without sizes."""
    signs, budgets = shown_signs(gained), gained["epsilon"].map("{:g}".format)
    less, more = [*budgets[signs > 0]], [*budgets[signs < 0]]
    if not less and not more:
        return "no difference shown"
    if not less:
        return f"more error at ε = {', '.join(more)}"
    to_the_last = len(less) > 1 and [*budgets][-len(less) :] == less
    at = f"from ε = {less[0]} on" if to_the_last else f"at ε = {', '.join(less)}"
    return f"less error {at}" + (f", more at ε = {', '.join(more)}" if more else "")


def faults(folder: Path) -> tuple[int, int]:
    """Count the planted faults that the audit catches, and those that apply."""
    caught = pd.read_csv(folder / "audit_mutants.csv", keep_default_na=False)["caught_by"]
    applied = caught[~caught.str.startswith("does not apply")]
    return int((applied != "").sum()), len(applied)


def _minutes(folder: Path, start: str) -> str:
    return f"{minutes_of(pd.read_csv(folder / 'timing.csv'), start):.1f}"


def commands(folder: Path) -> str:
    """Return the first commands, and how long they take."""
    minutes, _, cores = time_in_words(folder)
    return (
        "```\nmake quick        # a small version in a minute, without a download; the first call installs 1 GB\n"
        f"make reproduce    # the three papers, about {minutes} on {cores} cores\n```"
    )


def time(folder: Path) -> str:
    """How long the last full run took."""
    _, hours, cores = time_in_words(folder)
    return (
        f"`make everything` takes about {hours} on {cores} cores, excluding sealed (run-once) data sets "
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


def artifact(folder: Path) -> str:
    """Return ARTIFACT.md's table: claim, experiment, command, expected number, tolerance, minutes, size of scores."""
    numbers = judged_numbers(read_numbers(folder))
    verdicts = pd.read_csv(folder / "verdicts.csv", keep_default_na=False)
    claims = claims_of(verdicts[~verdicts["counted_apart"].astype(bool)])
    _, _, cores = time_in_words(folder)
    heads = "claim", "experiment", "command", "expected", "tolerance", f"minutes on {cores} cores", "scores, MB"
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for paper in (paper for paper in papers() if paper.citation):
        n, mine = counts(numbers[numbers["paper"] == paper.name]), claims[claims["paper"] == paper.letter]
        command = f"`make reproduce EXPERIMENTS='{paper.name}/*'`"
        cost = _minutes(folder, f"{paper.name}/"), _megabytes(folder, paper.name)
        if n["compared"]:
            expected = f"{equivalent_in_words(n)}, {n['different']} different"
            cells = f"{paper.short}: printed numbers", f"`{paper.name}/*`", command, expected, "every digit"
            lines.append(f"| {' | '.join([*cells, *cost])} |")
        expected = f"{(mine['ours'] == HOLDS).sum()} of {len(mine)} hold, {(mine['ours'] == FAILS).sum()} fail"
        cells = f"{paper.short}: sentences", f"`{paper.name}/*`", command, expected, "every verdict"
        lines.append(f"| {' | '.join([*cells, *(('same run', '') if n['compared'] else cost)])} |")
    for row in spans(folder):
        experiment = row["experiment"]
        cells = f"users add ({row['task']}, {row['sent']})", f"`{experiment}`", f"`lpbench reproduce {experiment}`"
        size = _megabytes(folder, experiment.partition("/")[0])
        cells = *cells, row["words"], "every digit", _minutes(folder, experiment), f"{size} (all comparisons)"
        lines.append(f"| {' | '.join(cells)} |")
    for paper, outcomes in theorems(folder).items():
        cells = f"{paper.short}: theorems", f"`theory/{paper.name}`"
        command = f"`lpbench reproduce theory/{paper.name} --seed {FRESH[0]}`"
        expected = f"{outcomes.sum()} cases: {', '.join(f'{word} {n}' for word, n in outcomes.items())}"
        size = f"{_megabytes(folder, 'theory')} (all theorems)"
        cells = *cells, command, expected, "every outcome", _minutes(folder, f"theory/{paper.name}"), size
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
    "README.md": {"proof": proof, "commands": commands, "time": time, "the library example": library_example},
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
