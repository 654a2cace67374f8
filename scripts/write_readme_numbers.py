"""Write the numbers of the committed results into the README, between its marks."""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from lpbench.analysis.claims import FAILS, HOLDS
from lpbench.analysis.numbers import counts, judged_numbers
from lpbench.analysis.verdicts import claims_of
from lpbench.experiments import catalogue
from lpbench.files import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.standings import GAINS

#: Table of what users add, and the comparisons whose compared method reads a public sample.
ADDED, EXPERIMENTS = Path(GAINS), ("comparison/classification", "comparison/public_sample")
HOME = "results/reproduced/index.html"


def proof(folder: Path) -> str:
    """Rows of the README's table: published numbers, sentences, what private users add, the audit."""
    n = counts(judged_numbers(read_numbers(folder)))
    claims = claims_of(pd.read_csv(folder / "verdicts.csv", keep_default_na=False))
    outcomes = claims.loc[~claims["counted_apart"].astype(bool), "ours"].value_counts()
    mutants = pd.read_csv(folder / "audit_mutants.csv", keep_default_na=False)
    applied = mutants["caught_by"][~mutants["caught_by"].str.startswith("does not apply")]
    errors = (ROOT / "docs" / "released_code.md").read_text(encoding="utf-8").count("\n## ")
    rows = [
        (
            "Do printed numbers hold?",
            f"Of {n['compared']:,} printed numbers, {n['method']:,} identify their method and {n['different']:,} are "
            "different; the others are equivalent to a constant or another method, too, or undecided. "
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
            f"{(applied != '').sum()} of {len(applied)} planted faults are caught; {errors} errors found in "
            "[released code](docs/released_code.md).",
        ),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {question} | {answer} |" for question, answer in rows)])


def _added(folder: Path) -> list[tuple[str, str]]:
    """Say what users add by task, of the compared method that reads a public sample, on held-out data sets."""
    table, rows = pd.read_csv(folder / ADDED), []
    table = table[(table["role"] == "held out") & (table["mask"] == "aligned")]
    for experiment in EXPERIMENTS:
        method = catalogue.experiment(experiment).settings["compared"]
        mine = table[(table["experiment"] == experiment) & (table["method"] == method)]
        low, high = (f"{100 * v:.0f}".replace("-", "−") for v in (mine["gain"].min(), mine["gain"].max()))
        answer = (
            f"They lower the error of public data alone by {low} to {high} % "
            f"({method_title(method, catalogue.methods())}, {mine['sets'].max()} held-out data sets). "
            f"[Intervals]({HOME}#finding-users-add-{mine['task'].iloc[0]})"
        )
        rows.append((f"What do private users add ({mine['task'].iloc[0]})?", answer))
    return rows


def hours_of_everything(folder: Path) -> tuple[str, int]:
    """Return the hours of the last full run with one decimal, and its number of cores."""
    total = pd.read_csv(folder / "timing.csv").set_index("artefact").loc["total"]
    return f"{total['seconds'] / total['workers'] / 3600:.1f}", int(total["workers"])


def time(folder: Path) -> str:
    """How long the last full run took."""
    hours, cores = hours_of_everything(folder)
    return (
        f"`make everything` takes about {hours} hours on {cores} cores, without the sealed sets "
        "([per artefact](results/reproduced/timing.csv)).\n`lpbench plan` estimates any run."
    )


def library_example(folder: Path) -> str:
    """Median errors of the library example over seeds."""
    table = pd.read_csv(folder / "readme_example.csv").drop(columns="seed")
    ours, constant = table.columns
    return (
        f"Mean squared error, median over {len(table)} seeds: {table[ours].median():.3f}; a private constant "
        f"({constant}): {table[constant].median():.3f}."
    )


#: Name of a mark -> what stands between it and its end.
BLOCKS: dict[str, Callable[[Path], str]] = {
    "proof": proof,
    "time": time,
    "the library example": library_example,
}


def with_numbers(text: str, folder: Path) -> str:
    """The README with the numbers of a folder between its marks."""
    for name, write in BLOCKS.items():
        mark = f"<!-- numbers of {name} -->\n"
        parts = re.split(rf"(?s)(?<={mark}).*?(?=\n *<!-- end of the numbers -->)", text)
        if len(parts) != 2:
            raise ValueError(f"README.md has the mark {mark.strip()} {len(parts) - 1} times, not once")
        text = write(folder).join(parts)
    return text


def with_hours(text: str, folder: Path) -> str:
    """ARTIFACT.md with the time of the last full run in its row and head."""
    hours, cores = hours_of_everything(folder)
    text, rows = re.subn(r"(\| `make everything` \| )[\d.]+ hours", rf"\g<1>{hours} hours", text)
    text, heads = re.subn(r"(\| time on )\d+ cores", rf"\g<1>{cores} cores", text)
    if (rows, heads) != (1, 1):
        raise ValueError("ARTIFACT.md must have one row of `make everything` and one head of times")
    return text


#: What each page takes from a folder of results.
WRITERS = {"README.md": with_numbers, "ARTIFACT.md": with_hours}

if __name__ == "__main__":
    for name, write in WRITERS.items():
        write_text(write((ROOT / name).read_text(encoding="utf-8"), COMMITTED), ROOT / name)
