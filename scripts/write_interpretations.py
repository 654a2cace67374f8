"""Write the tables of docs/reproduction.md from the committed results: interpretations tried, verdicts of another seed.

``python scripts/write_interpretations.py [FOLDER]`` first keeps the verdicts of a run of the other seed.
"""

import re
import sys
from pathlib import Path

import pandas as pd

from lpbench.analysis.numbers import by_configuration
from lpbench.files import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.number_table import read_numbers
from lpbench.reporting.pages.about import SEED_FILE, changed_by_seed
from lpbench.reporting.pages.causes import TOTAL_HEADS, TOTALS
from lpbench.reporting.paper import papers

PAGE = ROOT / "docs" / "reproduction.md"
#: Columns of the verdicts of another seed.
COLUMNS = [
    *("paper", "claim", "check", "configuration", "counts", "replications", "published", "ours", "ours_low"),
    *("ours_high", "published_outcome", "ours_outcome", "stability", "power"),
]


def interpretations(folder: Path) -> str:
    """Return the table of numbers met under each configuration; papers' pages have every interpretation."""
    numbers = read_numbers(folder)
    heads = " | ".join(TOTAL_HEADS).lower()
    lines = [f"| printed numbers | configuration | {heads} |", "|---|---|" + "---:|" * len(TOTALS)]
    titles = {paper.name: paper.short for paper in papers()}
    for row in by_configuration(numbers):
        counted = " | ".join(str(row[head]) for head in TOTALS)
        judges = " (judges)" if row["judges"] else ""
        lines.append(f"| {titles[row['paper']]}, {row['what']} | {row['configuration']}{judges} | {counted} |")
    return "\n".join(lines)


def other_seed(folder: Path) -> str:
    """Return the verdicts that another seed changes."""
    found = changed_by_seed(folder)
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


def keep_verdicts(run: Path, folder: Path) -> Path:
    """Write what a run of the other seed judged (its ``verdicts.csv``) to the committed results."""
    table = pd.read_csv(run / "verdicts.csv", dtype=str, keep_default_na=False)
    write_text(table.loc[table["judges"] == "true", COLUMNS].to_csv(index=False), folder / SEED_FILE)
    return folder / SEED_FILE


if __name__ == "__main__":
    for results in sys.argv[1:]:
        print(keep_verdicts(Path(results), COMMITTED))
    write_text(page(PAGE.read_text(encoding="utf-8")), PAGE)
