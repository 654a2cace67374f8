"""Write into docs/reproduction.md, between its marks, the interpretations that were tried."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lpbench.files import write_text
from lpbench.paths import ROOT
from lpbench.reporting.causes import FILE, best_interpretations, totals
from lpbench.reporting.interpretations import SUPPORT
from lpbench.reporting.paper import papers

PAGE, RESULTS = ROOT / "docs" / "reproduction.md", ROOT / "results" / "reproduced"
START, END = "<!-- interpretations -->", "<!-- end of interpretations -->"


def interpretations(folder: Path) -> str:
    """Return the tables: numbers met under each configuration, then every interpretation of ``causes.csv``."""
    table = pd.read_csv(folder / FILE, keep_default_na=False)
    lines = ["| printed numbers | configuration | met | not run |", "|---|---|---|---:|"]
    for row in totals(papers(), folder):
        met = f"{row['met']} of {row['cells']}"
        lines.append(f"| {row['what']} | {row['configuration']} | {met} | {row['cells'] - row['compared']} |")
    for row in best_interpretations(table):
        where = ", ".join(name.rpartition("/")[2] for name in row["artefact"].split())
        met = f"{row['met']} of {row['cells']}"
        lines.append(
            f"| {where} | the interpretation of each method that meets most, chosen by its distance | {met} | |"
        )
    lines += ["", "| printed numbers | interpretation | rests on | met | median distance |", "|---|---|---|---|---:|"]
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
    return pattern.sub(lambda _: f"{START}\n{interpretations(folder)}\n{END}", text)


if __name__ == "__main__":
    write_text(page(PAGE.read_text(encoding="utf-8")), PAGE)
