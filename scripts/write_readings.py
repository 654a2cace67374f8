"""Write into docs/reproduction.md, between its marks, which readings of the papers were tried and what they meet."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lpbench.files import write_text
from lpbench.paths import ROOT
from lpbench.reporting.causes import FILE, best_readings, totals
from lpbench.reporting.ladders import SUPPORT
from lpbench.reporting.paper import papers

PAGE, RESULTS = ROOT / "docs" / "reproduction.md", ROOT / "results" / "reproduced"
START, END = "<!-- readings -->", "<!-- end of readings -->"


def readings(folder: Path) -> str:
    """Return the tables: numbers met under each configuration, then every reading of ``causes.csv``."""
    table = pd.read_csv(folder / FILE, keep_default_na=False)
    lines = ["| printed numbers | configuration | met | not run |", "|---|---|---|---:|"]
    for row in totals(papers(), folder):
        met = f"{row['met']} of {row['cells']}"
        lines.append(f"| {row['what']} | {row['configuration']} | {met} | {row['cells'] - row['compared']} |")
    for row in best_readings(table):
        where = ", ".join(name.rpartition("/")[2] for name in row["artefact"].split())
        met = f"{row['met']} of {row['cells']}"
        lines.append(f"| {where} | the reading of each method that meets most, chosen by its distance | {met} | |")
    lines += ["", "| printed numbers | reading | rests on | met | median distance |", "|---|---|---|---|---:|"]
    for row in table.to_dict("records"):
        size = (
            f"{100 * row['median_size']:.1f} %"
            if row["relative"] in (True, "True", "true")
            else f"{row['median_size']:.4f}"
        )
        met = f"{round(row['within'] * row['cells'])} of {row['cells']}"
        lines.append(f"| {row['what']} | {row['reading']} | {SUPPORT[row['support']]} | {met} | {size} |")
    return "\n".join(lines)


def page(text: str, folder: Path = RESULTS) -> str:
    """Return the page with what the folder's results say between its marks."""
    pattern = re.compile(f"{START}.*{END}", flags=re.DOTALL)
    return pattern.sub(lambda _: f"{START}\n{readings(folder)}\n{END}", text)


if __name__ == "__main__":
    write_text(page(PAGE.read_text(encoding="utf-8")), PAGE)
