"""Content of the page About: environment, time and benchmarks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from lpbench.analysis.verdicts import changes
from lpbench.experiments.method import Method
from lpbench.reporting.entries import ReportEntry
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.pages.names import anchor_of, printed_name
from lpbench.reporting.pages.tables import csv_table, shown_tables
from lpbench.reporting.paper import papers
from lpbench.reporting.report import described

#: Tables that other commands leave in the folder of the report: title, what it shows, the command that makes it.
ABOUT_TABLES = {
    "timing": ("Time", "The seconds of an experiment are summed over blocks. A block is a job of one worker.",
               "lpbench report"),
    "bench": ("Benchmarks", "Times of kernels and sweeps, compared with times of slow versions. Seconds are processor "
              "time of one thread. One process measured both times of a ratio. “Ratio to memory” is a time divided by "
              "the time of copying input and output once. “36 drawn, scaled”: time of 36 drawn points, scaled to all.",
              "make bench"),
}  # fmt: skip

#: The seed of a second run of the claims' experiments, and its verdicts: columns of ``verdicts.csv``.
SEED = 2026
SEED_FILE = f"claims_seed{SEED}.csv"


def about(folder: Path, entries: Sequence[ReportEntry], environment: Mapping, cards: Mapping[str, Method]) -> dict:
    """Collect the page's content; a table whose file is not there is named as not made."""
    tables = []
    for stem, (title, text, command) in ABOUT_TABLES.items():
        table = csv_table(folder / f"{stem}.csv")
        if table is None:
            continue
        if table[0][0] == "artifact":
            table = table[0], [[printed_name(row[0]) if "/" in row[0] else row[0], *row[1:]] for row in table[1]]
        about = {"stem": stem, "title": title, "text": text, "command": command}
        tables.append(about | {"heads": table[0], "rows": table[1]})
    return {
        "title": "About",
        "found": tables,
        "seconds": [
            {"anchor": anchor_of(e.name), "title": e.title, "table": table}
            for e in entries
            if e.kind == "timing"
            for table in shown_tables(e, cards, {})[:1]
        ],
        "run": _of_the_run(entries),
        "report": described(environment),
        "sealed": (folder / "sealed.json").is_file(),
    }


def minutes_of(timing: pd.DataFrame, start: str) -> float:
    """Return the minutes of the last full run's experiments whose names have a start."""
    of_start = timing[timing["artifact"].str.startswith(start)]
    return float((of_start["seconds"] / of_start["workers"]).sum() / 60)


def time_in_words(folder: Path) -> tuple[str, str, int] | None:
    """Say how long the papers and everything took in the last full run, and on how many cores; None if nothing ran."""
    timing = pd.read_csv(folder / "timing.csv")
    if timing.empty:
        return None
    minutes = sum(minutes_of(timing, f"{paper.name}/") for paper in papers() if paper.citation)
    return f"{minutes:.0f} minutes", f"{minutes_of(timing, 'total'):.0f} minutes", int(timing["workers"].iloc[-1])


def changed_by_seed(folder: Path) -> tuple[str, tuple[str, ...], list[list[str]]] | None:
    """Compare the verdicts of both seeds: a sentence, the heads and the rows of a table; None without a second run."""
    if not (folder / SEED_FILE).is_file():
        return None
    table, words = changes(folder / "verdicts.csv", folder / SEED_FILE)
    rows = [
        [
            f"{row.claim}, {row.check}",
            f"{row.published_outcome} / {row.ours_outcome}",
            f"{row.published_outcome_other} / {row.ours_outcome_other}",
            ", ".join(per_cent(float(v)) if v else "–" for v in (row.stability, row.stability_other)),
        ]
        for row in table.itertuples()
    ]
    return f"With seed {SEED}, {words}.", ("check", "print / ours", f"with seed {SEED}", "kept by resamples"), rows


def _of_the_run(entries: Sequence[ReportEntry]) -> dict[str, str]:
    """Seed, workers and environment of the experiments that ran, name to text; several values where they differ."""
    records = [e.record for e in entries if e.record]
    run = [{"seed": r["config"]["seed"], "workers": r.get("workers", "")} | r["environment"] for r in records]
    facts = {}
    for key, column in pd.DataFrame(map(described, run)).items():
        count = column.value_counts(sort=False)
        texts = [f"{value} ({n} of {len(run)} experiments)" for value, n in count.items()]
        facts[str(key)] = str(count.index[0]) if count.iloc[0] == len(run) else "; ".join(texts)
    return facts
