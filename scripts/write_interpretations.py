"""Write the tables of docs/reproduction.md from the committed results: interpretations tried, the other seed, classes.

``python scripts/write_interpretations.py [FOLDER]`` first keeps what a run of the other seed says: the verdicts of its
claims, the instances of those about "every" instance, and the classes of printed numbers.
"""

import io
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, DIFFERENT, EQUIVALENT, METHOD, NOT_COMPARABLE
from lpbench.analysis.claims import NO_VERDICT
from lpbench.analysis.numbers import NOT_ALONE, by_configuration, judged_numbers
from lpbench.disk import write_text
from lpbench.paths import COMMITTED, ROOT
from lpbench.reporting.alternative_table import number_names
from lpbench.reporting.claims import OTHER_SEED_INSTANCES as INSTANCES
from lpbench.reporting.number_table import OTHER_SEED_CLASSES as CLASSES_OF_SEED
from lpbench.reporting.number_table import kept_by_seed, read_numbers
from lpbench.reporting.pages.about import SEED_FILE, changed_by_seed
from lpbench.reporting.pages.causes import TOTAL_HEADS, TOTALS
from lpbench.reporting.paper import papers

PAGE = ROOT / "docs" / "reproduction.md"
#: Columns of the verdicts of another seed.
COLUMNS = [
    *("paper", "claim", "check", "configuration", "counts", "replications", "published", "ours", "ours_low"),
    *("ours_high", "published_outcome", "ours_outcome", "stability", "power"),
]
#: Outcomes of printed numbers at this commit, before they had classes, beside today's.
BEFORE = "fbd1b29c"
CHANGES = f"classes_against_{BEFORE}.csv.gz"
#: What a number is, disjoint.
KINDS = ("identifies its method", NOT_ALONE, CANNOT_TELL, DIFFERENT, NOT_COMPARABLE)


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


def kinds(rows: pd.DataFrame) -> pd.Series:
    """Return the class of each number; those that are equivalent by what they identify."""
    alone = rows["identifies"].isin([METHOD, BUDGET])
    return rows["class"].mask(rows["class"] == EQUIVALENT, KINDS[1]).mask(alone, KINDS[0])


def counted(table: pd.DataFrame, head: str) -> str:
    """Return a cross-table in Markdown, with its sums."""
    table = table.reindex(columns=KINDS, fill_value=0)
    table.loc["all"] = table.sum()
    lines = [f"| {head} | {' | '.join(KINDS)} | all |", "|---|" + "---:|" * (len(KINDS) + 1)]
    return "\n".join([*lines, *(f"| {n} | {' | '.join(map(str, r))} | {sum(r)} |" for n, *r in table.itertuples())])


def classes_of_seed(folder: Path) -> str:
    """Return the sentence of the pages, and the classes of both seeds as a cross-table."""
    judged = judged_numbers(read_numbers(folder))
    other = pd.read_csv(folder / CLASSES_OF_SEED, keep_default_na=False).set_index("number")
    both = kinds(judged).to_numpy(), kinds(other.loc[number_names(judged)]).to_numpy()
    table = pd.crosstab(*both).reindex(KINDS, fill_value=0)
    return f"{kept_by_seed(judged, folder)}.\n\n{counted(table, 'seed 2025, with seed 2026')}"


def then_and_now(folder: Path) -> str:
    """Return today's classes by the outcome at an older commit, as a cross-table."""
    rows = pd.read_csv(folder / CHANGES, keep_default_na=False)
    return counted(pd.crosstab(rows["outcome"], kinds(rows)), f"at {BEFORE}, today")


def page(text: str, folder: Path = COMMITTED) -> str:
    """Return the page with what the folder's results say between its marks."""
    tables = {"interpretations": interpretations, "another seed": other_seed}
    for name, write in (tables | {"classes of seeds": classes_of_seed, "classes before": then_and_now}).items():
        start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        between = re.compile(f"(?<={start}\n).*(?=\n{end})", flags=re.DOTALL)
        found = write(folder)
        text = between.sub(lambda _, found=found: found, text)
    return text


def keep_verdicts(run: Path, folder: Path) -> Path:
    """Write what a run of the other seed judged (its ``verdicts.csv``) to the committed results; the rest stays."""
    table = pd.read_csv(run / "verdicts.csv", dtype=str, keep_default_na=False)
    table = table.loc[table["judges"] == "true", COLUMNS]
    write_text(_with_others(table, table["ours_outcome"] != NO_VERDICT, folder / SEED_FILE), folder / SEED_FILE)
    return folder / SEED_FILE


def _with_others(table: pd.DataFrame, judged: pd.Series, path: Path) -> str:
    """Return rows of checks as a file, those that the run did not judge as they are there, if they are."""
    if path.is_file():
        known, keys = pd.read_csv(path, dtype=str, keep_default_na=False), ["claim", "check"]
        here = pd.MultiIndex.from_frame(table.loc[judged, keys])
        there = known[~pd.MultiIndex.from_frame(known[keys]).isin(here)]
        unknown = ~judged & ~pd.MultiIndex.from_frame(table[keys]).isin(pd.MultiIndex.from_frame(there[keys]))
        order = {claim: place for place, claim in enumerate(pd.concat([table, known])["claim"].unique())}
        table = pd.concat([table[judged | unknown], there])
        table = table.sort_values("claim", key=lambda column: column.map(order), kind="stable")
    return str(table.to_csv(index=False))


def keep_instances(run: Path, folder: Path) -> Path:
    """Write the instances of checks of "every" instance in a run of the other seed to the committed results."""
    verdicts, rows = (pd.read_csv(run / name, dtype=str) for name in ("verdicts.csv", "claims_instances.csv"))
    checks = verdicts[(verdicts["judges"] == "true") & (verdicts["quantifier"] == "every")]
    rows = rows[(rows["source"] == "ours") & (rows["instance"] != "pooled")].merge(checks[["claim", "check"]])
    rows = rows[["paper", "claim", "check", "instance", "value", "low", "high", "outcome"]]
    write_text(_with_others(rows, rows["outcome"].notna(), folder / INSTANCES), folder / INSTANCES)
    return folder / INSTANCES


def keep_classes(run: Path, folder: Path) -> Path:
    """Write the class of each number in a run of the other seed to the committed results."""
    judged = judged_numbers(read_numbers(run))
    rows = judged.assign(number=number_names(judged))[["number", "ours", "se", "class", "identifies"]]
    write_csv(rows, folder / CLASSES_OF_SEED)
    return folder / CLASSES_OF_SEED


def keep_changes(folder: Path) -> Path:
    """Write the outcome of each number at the older commit beside today's class."""
    command = ["git", "show", f"{BEFORE}:results/reproduced/numbers.csv"]
    old = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    before = pd.read_csv(io.StringIO(old), keep_default_na=False)
    before = before.rename(columns={"artefact": "artifact"})  # codespell:ignore artefact
    before = before[before["judges"] & (before["met"] != "")]
    before = before.assign(number=number_names(before)).rename(columns={"met": "outcome"})
    judged = judged_numbers(read_numbers(folder))
    judged = judged.assign(number=number_names(judged))[["number", "class", "identifies", "cause"]]
    rows = before[["number", "outcome", "standing"]].merge(judged, on="number", how="outer", validate="1:1")
    write_csv(rows, folder / CHANGES)
    return folder / CHANGES


if __name__ == "__main__":
    for results in map(Path, sys.argv[1:]):
        for keep in (keep_verdicts, keep_instances, keep_classes):
            print(keep(results, COMMITTED))
    print(keep_changes(COMMITTED))
    write_text(page(PAGE.read_text(encoding="utf-8")), PAGE)
