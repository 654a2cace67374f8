"""Write the tables of docs/reproduction.md from the committed results: interpretations tried, verdicts of another seed.

``python scripts/write_interpretations.py [FOLDER]``: a results folder of the other seed is judged first.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from lpbench.files import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.causes import FILE, best_interpretations, totals
from lpbench.reporting.interpretations import SUPPORT
from lpbench.reporting.other_seed import changes_in_words, write_other_seed
from lpbench.reporting.paper import papers

PAGE = ROOT / "docs" / "reproduction.md"


def interpretations(folder: Path) -> str:
    """Return the tables: numbers met under each configuration, then every interpretation of ``causes.csv``."""
    table = pd.read_csv(folder / FILE, keep_default_na=False)
    lines = ["| printed numbers | configuration | met | ruled out by our data | not run |", "|---|---|---|---:|---:|"]
    for row in totals(papers(), folder):
        met = f"{row['met']} of {row['cells']}"
        left = row["cells"] - row["compared"]
        lines.append(f"| {row['what']} | {row['configuration']} | {met} | {row['excluded']} | {left} |")
    for row in best_interpretations(table):
        where = ", ".join(name.rpartition("/")[2] for name in row["artefact"].split())
        met = f"{row['met']} of {row['cells']}"
        lines.append(
            f"| {where} | the interpretation of each method that meets most, chosen by its distance | {met} | | |"
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


def other_seed(folder: Path) -> str:
    """Return the verdicts that another seed changes."""
    found = changes_in_words(folder)
    if found is None:
        return "No run with another seed has been judged by the present rules yet."
    said, heads, rows = found
    table = [heads, ["---"] * len(heads), *rows] if rows else []
    return "\n".join([said, *([""] if table else []), *(f"| {' | '.join(row)} |" for row in table)])


def page(text: str, folder: Path = COMMITTED) -> str:
    """Return the page with what the folder's results say between its marks."""
    for name, write in (("interpretations", interpretations), ("another seed", other_seed)):
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        between = re.compile(f"(?<={start}\n).*(?=\n{end})", flags=re.DOTALL)
        found = write(folder)
        text = between.sub(lambda _, found=found: found, text)
    return text


if __name__ == "__main__":
    for results in sys.argv[1:]:
        print(write_other_seed(Path(results), COMMITTED))
    write_text(page(PAGE.read_text(encoding="utf-8")), PAGE)
