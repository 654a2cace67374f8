"""Write what docs/need.md computes from the committed results between its marks: advice, and how intervals held."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lpbench.files import write_text
from lpbench.paths import ROOT
from scripts.need_calibration import FILE, summary

PAGE, RESULTS = ROOT / "docs" / "need.md", ROOT / "results" / "reproduced"
#: Experiments of the field whose advice is shown, and masks of their choices.
EXPERIMENTS = {"Numbers": ("regression", "public_sample"), "Classes": ("classification",)}
#: Label of runs without privacy.
NON_PRIVATE = "without privacy"


def losses(experiment: str) -> pd.DataFrame:
    """Return the loss of every cell over the least one without privacy on the same data set."""
    table = pd.read_csv(RESULTS / "field" / experiment / "summary.csv")
    table["loss"] = table["mean"].where(table["metric"] == "mse", 1.0 - table["mean"])
    free = table["panel"] == NON_PRIVATE
    table["relative"] = table["loss"] / table["dataset"].map(table[free].groupby("dataset")["loss"].min())
    return table[~free & (table["selection"] != "oracle")]


def advice() -> str:
    """Return the tables: what is public, users and budget; method, loss relative to no privacy, command."""
    parts = []
    for title, experiments in EXPERIMENTS.items():
        lines = [
            f"### {title}\n",
            "| public | users | ε | use | loss / loss without privacy: median [range], sets | command |",
            "|---|---|---:|---|---|---|",
        ]
        for experiment in experiments:
            table = losses(experiment)
            for row in pd.read_csv(RESULTS / "field" / experiment / "advice.csv").itertuples():
                here = table[(table["method"] == row.method) & (table["epsilon"] == row.epsilon)]
                found = here.groupby("dataset")["relative"].min()
                loss = f"{found.median():.2f} [{found.min():.2f}, {found.max():.2f}], {found.size}"
                name = row.method if "[" not in row.method else f"'{row.method}'"
                command = f"`lpbench dataset=NAME method={name} epsilon={row.epsilon:g}`"
                lines.append(f"| {row.given} | {row.users} | {row.epsilon:g} | {row.title} | {loss} | {command} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def calibration() -> str:
    """Return how often the intervals held, for all data sets and each."""
    table = pd.read_csv(FILE)
    lines = [
        "| data set | cells in their interval | beyond the pilot | least ε in its interval | median high / low |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, part in [*table.groupby("dataset", sort=False), ("**all**", table)]:
        s = summary(part)
        shares = (f"{s[k]:.0%}" for k in ("covered", "covered_beyond", "covered_budgets"))
        lines.append(f"| {name} | {' | '.join(shares)} | {s['span']:.2f} |")
    return "\n".join(lines)


def with_numbers(text: str) -> str:
    """Return the page with what stands between its marks computed anew."""
    for name, write in {"advice": advice, "calibration": calibration}.items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        text = re.sub(f"{start}.*?{end}", lambda _, s=start, e=end, w=write: f"{s}\n{w()}\n{e}", text, flags=re.S)
    return text


def write(page: Path = PAGE) -> None:
    """Write the page anew."""
    write_text(with_numbers(page.read_text(encoding="utf-8")), page)


if __name__ == "__main__":
    write()
