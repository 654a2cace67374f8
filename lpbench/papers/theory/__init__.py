"""The papers' theorems on trial: a row a case, a picture a paper; letter T."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.experiments.experiment import Experiment
from lpbench.papers.theory.theorems import CASES, COMPUTED, NOT_JUDGED, judged, tabulate
from lpbench.paths import COMMITTED
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures import style
from lpbench.reporting.paper import Output, Page, Paper
from lpbench.reporting.plain_table import PlainTable

FILE = "theorems.csv"
#: Seeds that chose nothing: verdicts are those of the first, the second stands beside.
FRESH = (2027, 2026)


def write(experiment: Experiment, folder: Path, seed: int = 0) -> None:
    """Write ``theorems.csv`` and the picture."""
    leaf = experiment.name.rpartition("/")[2]
    table = tabulate([*judged(Evidence(folder.parents[1]), experiment), *COMPUTED[leaf]()])
    write_csv(table, folder / FILE)
    draw(table[(table["kind"] == "dependence") & (table["outcome"] != NOT_JUDGED)], folder, leaf)


def draw(table: pd.DataFrame, folder: Path, leaf: str) -> None:
    """Differences of exponents with their intervals, the theorem's values and the nearest other statements'."""
    with style.look(mathematics=True):
        figure, ax = style.pyplot().subplots(figsize=(8.0, 1.2 + 0.36 * len(table)))
        places = np.arange(len(table))[::-1]
        reach = [table["ours"] - table["low"], table["high"] - table["ours"]]
        ax.errorbar(table["ours"], places, xerr=reach, fmt="o", color=style.COLOURS[0], label="ours, 95 %")
        ax.plot(table["expected"], places, "|", markersize=16, color=style.COLOURS[1], label="theorem")
        for k, side in enumerate(("below", "above")):
            ax.plot(table[side], places, "x", color="gray", label="" if k else "nearest other statements")
        ax.set_yticks(places, [f"{t} {j}" for t, j in zip(table["theorem"], table["judged"], strict=True)])
        ax.set_xlabel("difference of exponents")
        ax.legend(loc="upper center", bbox_to_anchor=(0.3, -0.25 if len(table) < 8 else -0.12), ncols=3, frameon=False)
        style.save(figure, folder, leaf)


def number(value: float) -> str:
    """Return a number with three digits, or a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:.3g}"


def read(folder: Path, *_: object) -> list[PlainTable]:
    """Lay out ``theorems.csv``: outcomes of the fresh seeds where they are committed, of this run elsewhere."""
    if not (folder / FILE).is_file():
        return []
    keys = ["theorem", "judged"]
    runs = [folder / FILE, *(COMMITTED / f"theory_seed{seed}" / f"{folder.name}.csv" for seed in FRESH)]
    tables = [pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in runs if path.is_file()]
    first, second = (tables[1], tables[2]) if len(tables) == len(runs) else (tables[0], tables[0])
    beside = {tuple(row[k] for k in keys): row["outcome"] for row in second.to_dict("records")}
    rows = []
    for row in first.to_dict("records"):
        ours = f"{number(row['ours'])} [{number(row['low'])}, {number(row['high'])}]"
        about = [str(row[k]) for k in ("slopes", "remark") if isinstance(row[k], str)]
        rows.append(
            (
                f"{row['theorem']} {row['source']}",
                row["outcome"],
                beside.get(tuple(row[k] for k in keys), "–"),
                row["judged"],
                number(row["expected"]),
                "–" if row["outcome"] == NOT_JUDGED else ours,
                number(row["power"]),
                row["states"],
                "; ".join(row[k] for k in ("regime", "over") if isinstance(row[k], str)) or "–",
                "; ".join(about) or "–",
            )
        )
    counts = ", ".join(f"{n} {word}" for word, n in first["outcome"].value_counts().items())
    heads = (
        "theorem",
        "outcome",
        "seed 2026",
        "judged",
        "theorem's",
        "ours [95 %]",
        "power",
        "states",
        "range",
        "beside",
    )
    return [PlainTable(f"{len(rows)} rows: {counts}.", heads, tuple(rows))]


LEAD = (
    "Theorems state orders: an excess risk falls like a power of an effective sample. Judged is dependence: a "
    "difference of exponents, paired over replications, on places inside the theorem's own inequality where the "
    "method resolves the function. “Seen”: the 95 % interval excludes both nearest other statements (no dependence, "
    "or twice), and would in 80 % of trials if the theorem held (power, which leaves out the misfit at finite n). "
    "“Opposite here”: it lies below them. “Not seen”: neither, with that power. “Cannot decide”: less power. Only "
    "exact statements “fail”.",
    "Sizes, budgets and thresholds were chosen under seed 2025; outcomes are those of seed 2027, with 2026 beside. "
    "Levels stand beside with the theorem's exponent. A private method significantly below the exact two-point value "
    "has a leak (lpbench rates METHOD).",
)
NAMES = [f"theory/{leaf}" for leaf in CASES]

PAPER = Paper(
    name="theory",
    title="Theory",
    letter="T",
    order=190,
    outputs=dict.fromkeys(NAMES, Output(write, read, in_place=True)),
    pages=(Page("theory", "Theorems on trial", tuple(NAMES), LEAD, file="label_dp"),),
)
