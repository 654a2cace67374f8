"""The papers' theorems on trial: one row per case, one picture per paper; letter T."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.experiments.experiment import Experiment
from lpbench.papers.theory.cases import CASES, COMPUTED, judged, worth
from lpbench.papers.theory.theorems import NOT_JUDGED, tabulate
from lpbench.paths import COMMITTED
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures import style
from lpbench.reporting.paper import Output, Page, Paper
from lpbench.reporting.plain_table import PlainTable

THEOREMS_FILE, WORTH_FILE = "theorems.csv", "worth.csv"
THEOREM_KEYS = ["theorem", "judged"]
#: Seeds that chose nothing: verdicts are those of the first, the second stands beside.
FRESH = (2028, 2029)


def write(experiment: Experiment, folder: Path, seed: int = 0) -> None:
    """Write ``theorems.csv``, the picture, and of LPCT ``worth.csv``."""
    leaf, results = experiment.name.rpartition("/")[2], Evidence(folder.parents[1])
    write_csv(tabulate([*judged(results, experiment), *COMPUTED[leaf]()]), folder / THEOREMS_FILE)
    if leaf == "lpct":
        write_csv(worth(results), folder / WORTH_FILE)
    first, second = _tables(folder)
    draw(first, second, folder, leaf)


def _tables(folder: Path) -> list[pd.DataFrame]:
    """Tables of theorems, first that of the seed that decides, then the one beside it: committed, else this run's.

    Pages and pictures show the committed verdicts first: a run under the seed that chose sizes decides nothing.
    """
    fresh = [COMMITTED / f"theory_seed{seed}" / f"{folder.name}.csv" for seed in FRESH]
    runs = [path if path.is_file() else folder / THEOREMS_FILE for path in fresh]
    return [pd.read_csv(path, keep_default_na=False, na_values=[""]) for path in runs]


def draw(table: pd.DataFrame, beside: pd.DataFrame, folder: Path, leaf: str) -> None:
    """Differences of exponents with their intervals, the theorem's values and the nearest other statements'."""
    with style.look(mathematics=True):
        table = table[(table["kind"] == "dependence") & (table["outcome"] != NOT_JUDGED)]
        figure, ax = style.pyplot().subplots(figsize=(8.0, 1.2 + 0.36 * len(table)))
        places = np.arange(len(table))[::-1]
        reach = [table["ours"] - table["low"], table["high"] - table["ours"]]
        ax.errorbar(table["ours"], places, xerr=reach, fmt="o", color=style.COLORS[0], label="ours, 95 %")
        second = table[THEOREM_KEYS].merge(beside, on=THEOREM_KEYS, how="left")["ours"]
        ax.plot(second, places, "o", color=style.COLORS[0], fillstyle="none", label=f"seed {FRESH[1]}")
        ax.plot(table["expected"], places, "|", markersize=16, color=style.COLORS[1], label="theorem")
        ax.plot(table[["below", "above"]], places, "x", color="gray", label=["nearest other statements", ""])
        ax.set_yticks(places, [f"{t} {j}" for t, j in zip(table["theorem"], table["judged"], strict=True)])
        ax.set_xlabel("difference of exponents")
        ax.legend(loc="upper center", bbox_to_anchor=(0.3, -0.25 if len(table) < 8 else -0.12), ncols=4, frameon=False)
        style.save(figure, folder, leaf)


def number(value: float) -> str:
    """Return a number with three digits, or a dash for NaN."""
    return "–" if math.isnan(value) else f"{float(f'{value:.3g}'):,.9g}".replace("-", "−")


def _found(row: Any) -> str:
    """Format the measured value with its interval, and the theorem's value or the end of the allowed range."""
    if row["outcome"] == NOT_JUDGED:
        return "–"
    ours, theirs = number(row["ours"]), f"(theorem {number(row['expected'])})"
    if row["low"] < row["high"]:
        ours += f" [{number(row['low'])}, {number(row['high'])}]"
    if row["kind"] == "exact":
        least = math.isinf(row["above"])
        theirs = f"(at least {number(row['below'])})" if least else f"(at most {number(row['above'])})"
    return f"{ours} {theirs}"


def read(folder: Path, *_: object) -> list[PlainTable]:
    """Lay out ``theorems.csv``, one row per case, each theorem with its statement once, and ``worth.csv``."""
    if not (folder / THEOREMS_FILE).is_file():
        return []
    first, second = _tables(folder)
    table = first.merge(second[[*THEOREM_KEYS, "outcome"]], on=THEOREM_KEYS, how="left", suffixes=("", "_beside"))
    text = ["regime", "over", "slopes", "remark", "outcome_beside"]
    table[text] = table[text].astype(object).where(table[text].notna(), "")
    table.loc[table.duplicated(["theorem", "source", "states"]), "states"] = ""
    rows = []
    for row in table.to_dict("records"):
        pairs = (row["regime"], row["over"]), (row["slopes"].replace(" − ", " minus ").replace("-", "−"), row["remark"])
        where, beside = (", ".join(filter(None, pair)) or "–" for pair in pairs)
        outcome = (row["outcome"], row["judged"], row["outcome_beside"] or "–", number(row["power"]))
        rows.append((f"{row['theorem']} {row['source']}", *outcome, _found(row), where, beside, row["states"]))
    heads = (
        *("theorem", "outcome", "case", f"outcome, seed {FRESH[1]}", "power", "ours [95 %] (theorem or bound)"),
        *("term, and points used", "exponents, remarks", "statement"),
    )
    tables = [PlainTable(f"{len(first)} cases.", heads, tuple(rows))]
    if (folder / WORTH_FILE).is_file():
        texts = tuple(tuple(map(number, row)) for row in pd.read_csv(folder / WORTH_FILE).to_numpy())
        legend = (
            "The column “private rows” has the number of private rows with which LPCT-P is as accurate as LPCT-Q with "
            "n_Q public rows. “Low” and “high” are the ends of this number's 95 % bootstrap interval."
        )
        tables.append(PlainTable(legend, ("γ", "n_Q", "ε", "private rows", "low", "high"), texts))
    return tables


LEAD = (
    "A theorem states an order: the excess risk falls like a power of an effective sample size. We judge how the "
    "exponent of this power depends on one quantity. For example, the case “d: 1 against 2” is the exponent at d = "
    "1 minus the exponent at d = 2. Both exponents come from the same replications. An exponent is fitted to points "
    "(sample sizes or budgets) that are in range and resolved. “In range”: the point satisfies the theorem's own "
    "inequality. “Resolved”: the excess risk is above 2 standard errors and below half of the best constant's "
    "excess risk. At a resolved point, the best depth and number of bins also lie inside their grids. A case is not "
    "judged if one of its exponents has fewer than three points in range and resolved.",
    "We compare the theorem with two other statements: no dependence and twice the dependence. “Seen”: the 95 % "
    "interval of the difference of exponents lies between the values of these two statements, and the power is at "
    "least 80\u00a0%. “Opposite here”: the interval lies below both values. “Not seen”: the interval lies elsewhere, "
    "although the power is at least 80\u00a0%. “Cannot decide”: the interval is not below both values, and the power "
    "is below 80\u00a0%. “As stated”: an exponent is within 0.05 of the theorem's exponent. “Slower here” and “faster "
    "here”: the exponent is smaller or larger than the theorem's by more than 0.05. “Holds” and “fails” are the "
    "outcomes of exact statements. No other statement can fail.",
    "Power is the smaller of two shares of simulated runs. The first is the share of runs under the theorem whose "
    "intervals exclude the other statements. The second is the share of simulated repetitions of our run that have "
    "our run's outcome. These repetitions deviate from the theorem as our run does.",
    "We chose sizes, budgets and thresholds under seed 2025. The outcomes are those of seed 2028. One column has "
    "the outcomes of seed 2029. The column “exponents, remarks” has both exponents of a case, and the theorem's "
    "exponents in brackets. In H-T3, W is the mask of protected features, and V is the set of cells compatible with "
    "a user's report. In H-T5 and L-T5, p is the depth of the tree, t the number of bins and s the number of "
    "protected features. The two-point value of a lower bound is the smallest possible mean excess risk on the "
    "distributions of the theorem's proof. A private method with a significantly smaller risk leaks more than its "
    "budget allows. “Would be seen”: the comparison with the two-point value detects an optimal method that "
    "secretly spends this ε (power 80\u00a0%).",
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
