"""Whether the intervals of ``lpbench need`` hold: every quarter of the rows as a pilot against runs on all of them.

    python scripts/need_calibration.py [data set ...]

Writes results/reproduced/need/calibration.csv and prints the shares that docs/need.md shows. The truth of a cell, a
number of users and a budget, is the mean error of 20 random splits of all rows. HELD_OUT sets, and their smaller number
of rows, were named before anything was run on them.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.datasets import load_manifest, load_table
from lpbench.paths import COMMITTED
from lpbench.planning import Need, need
from lpbench.seeds import Streams

#: Data sets with the most rows that are read.
DATASETS = dict.fromkeys(("abalone", "airfoil", "red_wine", "white_wine", "visits", "diabetes", "employ", "hmda"), 3000)
#: Sets on which neither the law nor the width of the intervals was chosen.
HELD_OUT = dict.fromkeys(("german", "election", "bike", "fish_toxicity", "rice", "employee"), 1600)
BUDGETS, PROTECTED = (0.5, 1.0, 2.0, 4.0, 8.0), 2
PILOT, SPLITS = 0.25, 20
#: Wanted errors of which the least budget is checked, in errors of the best constant.
WANTED = ("0.95x", "0.9x", "0.8x", "0.7x", "0.6x")
FILE = COMMITTED / "need" / "calibration.csv"


def answers(name: str) -> tuple[list[Need], Need]:
    """Return the answers from each quarter of the rows, and from all."""
    table, task = load_table(name), load_manifest(name).task
    order = Streams(0).generator("pilot", dataset=name).permutation(table.y.size)[: (DATASETS | HELD_OUT)[name]]
    y_range = (float(table.y.min()), float(table.y.max())) if task == "regression" else None
    mask = np.arange(len(table.columns)) < PROTECTED
    size = round(PILOT * order.size)
    quarters = [(order[k * size : (k + 1) * size], 1 + 10 * k, {}) for k in range(order.size // size)]
    found = []
    for rows, seed, splits in (*quarters, (order, 2, {"splits": SPLITS})):
        X, y = table.X[rows], table.y[rows] if task == "regression" else table.y[rows].astype(int)
        found.append(need(X, y, mask=mask, budgets=BUDGETS, y_range=y_range, task=task, seed=seed, **splits))
    return found[:-1], found[-1]


def rows(name: str, pilots: Sequence[Need], truth: Need) -> Iterator[dict[str, object]]:
    """Rows of the table."""
    for number, pilot in enumerate(pilots):
        for row in cells(name, pilot, truth):
            yield {"dataset": name, "pilot": number, **row}


def cells(name: str, pilot: Need, truth: Need) -> Iterator[dict[str, object]]:
    """Cells of the truth beside what the pilot says, and least budgets beside those that reached the wanted error."""
    known, inside = truth.runs.losses["method"].mean(axis=0)[:, :-1], pilot.runs.users[-1]
    for n, errors in zip(truth.runs.users, known, strict=True):
        for epsilon, error in zip(BUDGETS, errors, strict=True):
            said, low, high = pilot.error(n, epsilon)[:, 0]
            yield _row(name, "error", n, epsilon, error, said, low, high, n <= inside)
        for wanted in WANTED:
            value = pilot.wanted(wanted)
            answer = pilot.least_epsilon(error=value, users=[n]).iloc[0]
            # between two budgets the true curve is taken for a line of logarithms
            grid = np.geomspace(BUDGETS[0], BUDGETS[-1], 121)
            curve = np.exp(np.interp(np.log(grid), np.log(BUDGETS), np.log(np.minimum.accumulate(errors))))
            least = grid[np.argmax(curve <= value)] if (curve <= value).any() else np.inf
            yield _row(name, wanted, n, np.nan, least, answer["epsilon"], answer["low"], answer["high"], n <= inside)


def _row(
    name: str, what: str, n: int, epsilon: float, truth: float, said: float, low: float, high: float, inside: bool
) -> dict[str, object]:
    numbers = {"truth": truth, "said": said, "low": low, "high": high}
    row = {"dataset": name, "what": what, "users": int(n), "epsilon": epsilon}
    return {**row, **{k: float(f"{v:.5g}") for k, v in numbers.items()}, "inside_pilot": bool(inside)}


def summary(table: pd.DataFrame) -> dict[str, float]:
    """Return the shares of acceptance: covered cells, covered least budgets, median span inside the pilot's range."""
    held = (table["low"] <= table["truth"] * (1 + 1e-9)) & (table["truth"] <= table["high"] * (1 + 1e-9))
    errors = table["what"] == "error"
    inside = table[errors & table["inside_pilot"]]
    return {
        "datasets": table["dataset"].nunique(),
        "cells": int(errors.sum()),
        "covered": float(held[errors].mean()),
        "covered_beyond": float(held[errors & ~table["inside_pilot"]].mean()),
        "budgets": int((~errors).sum()),
        "covered_budgets": float(held[~errors].mean()),
        "span": float((inside["high"] / inside["low"]).median()),
    }


def main() -> None:
    """Compute the table, write it and print its summary."""
    table = [row for name in sys.argv[1:] or [*DATASETS, *HELD_OUT] for row in rows(name, *answers(name))]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    write_csv(pd.DataFrame(table), FILE)
    for name, value in summary(pd.read_csv(FILE)).items():
        print(f"{name}: {value:.3g}")


if __name__ == "__main__":
    main()
