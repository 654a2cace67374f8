"""Write what docs/need.md computes from the committed results between its marks: advice, and how intervals held."""

import re
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_diabetes

from lpbench.disk import write_text
from lpbench.experiments import catalog
from lpbench.paths import COMMITTED, ROOT
from lpbench.planning import need
from lpbench.reporting.figures import style
from lpbench.reporting.pages.advice import choices
from lpbench.reporting.standings import read_standings
from scripts.need_calibration import FILE, HELD_OUT, summary

#: Heads of the first cells of a row of advice; a cell for each budget follows.
HEADS = "asked", "protected features", "public sample"
PAGE = ROOT / "docs" / "need.md"


def advice() -> str:
    """Return one table per task (method and what it adds, by public inputs and budget), then the methods' commands."""
    rows = pd.DataFrame(choices(catalog.experiments().values(), read_standings(COMMITTED), catalog.methods()))
    return "\n\n".join(_advice_of(str(task).capitalize(), part) for task, part in rows.groupby("task", sort=False))


def _advice_of(title: str, rows: pd.DataFrame) -> str:
    budgets = sorted(rows["epsilon"].unique(), key=float)
    change = rows["change"].str.split(" on ", n=1, expand=True)
    rows = rows.assign(cell=rows["method"].where(rows["instead"] != "public", "ask nobody") + ", " + change[0])
    place = ["asked", "features", "sample", "sets"]
    table = rows.assign(sets=change[1]).pivot(index=place, columns="epsilon", values="cell")[budgets].fillna("–")
    lines = [f"### {title}\n", f"| {' | '.join([*HEADS, 'held out', *(f'ε = {b}' for b in budgets)])} |"]
    lines += ["|---" * (len(HEADS) + 1 + len(budgets)) + "|"]
    lines += [
        f"| {' | '.join([*inputs, *cells])} |" for inputs, cells in zip(table.index, table.to_numpy(), strict=True)
    ]
    names = rows.assign(title=rows["method"].str.removeprefix("ask nobody, and use "))
    names = names.drop_duplicates("title").sort_values("title")
    commands = (f"- {row.title}: `{row.command.rpartition(' ')[0]} epsilon=1`" for row in names.itertuples())
    return "\n".join([*lines, "\nCommands:\n", *commands])


def calibration() -> str:
    """Return how often the intervals held, for all data sets and each."""
    table = pd.read_csv(FILE)
    lines = [
        "| data set | cells in their interval | beyond the pilot | least ε in its interval | median high / low |",
        "|---|---:|---:|---:|---:|",
    ]
    held_out = table["dataset"].isin(HELD_OUT)
    groups = [("**the width was chosen on**", table[~held_out]), ("**held out**", table[held_out])]
    for name, part in [*table.groupby("dataset", sort=False), *groups]:
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


def draw(folder: Path) -> None:
    """Draw the README's figure, ``need.svg``: the answer for the data of docs/examples/plan_the_budget.py."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    answer = need(X, y, mask=(X.columns == "age").tolist(), y_range=(0, 400), users=[442, 44200], splits=6)
    with style.look(mathematics=True):
        style.save(answer.plot(), folder, "need")


def write(page: Path = PAGE) -> None:
    """Write the page anew, and draw the figure beside it."""
    write_text(with_numbers(page.read_text(encoding="utf-8")), page)
    draw(page.parent)


if __name__ == "__main__":
    write()
