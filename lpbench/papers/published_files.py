"""Reader of ``results/published``: the printed numbers, names and claims of the papers that ship with lpbench.

Printed values are never corrected: an erratum is a note beside the cell (``notes.csv``). Names are translated by
``names.csv``.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.claims import Check, Checks, Claim
from lpbench.errors import DataError
from lpbench.paths import PUBLISHED
from lpbench.reporting.paper import Output


@cache
def read(name: str) -> pd.DataFrame:
    """Read one file of ``results/published``; every value is a text, as printed."""
    path = PUBLISHED / name
    if not path.is_file():
        raise DataError(f"the published numbers are not there: {path} is missing; check out results/published again")
    return pd.read_csv(path, dtype=str, keep_default_na=False)


@cache
def names(kind: str, letter: str) -> dict[tuple[str, str], str]:
    """Map (published name, rule) to our name; ``kind`` is dataset, method, series or range."""
    rows = read("names.csv")
    rows = rows[(rows["kind"] == kind) & (rows["paper"] == letter)]
    return {(r.published, r.rule): r.ours for r in rows.itertuples()}


def stated_claims(letter: str, *parts: Checks) -> tuple[Claim, ...]:
    """Return a paper's rows of ``claims.csv`` as claims, each with its checks."""
    by_claim: dict[str, list[Check]] = {}
    for checks in parts:
        if twice := by_claim.keys() & checks.by_claim.keys():
            raise ValueError(f"claim {min(twice)} has checks in two places")
        by_claim |= checks.by_claim
    rows = read("claims.csv")
    rows = rows[rows["paper"] == letter]
    if odd := by_claim.keys() ^ set(rows["claim"]):
        raise ValueError(f"claim {min(odd)} must have a row in claims.csv and at least one check")
    return tuple(
        Claim(r["claim"], r["artifact"], r["statement"], tuple(by_claim[r["claim"]]), r["stated"] != "", r["section"])
        for r in rows.to_dict("records")
    )


def outputs(**facts: Mapping[str, Any]) -> dict[str, Output]:
    """Return one output an experiment of what is given by fact, then by experiment."""
    names = dict.fromkeys(name for by_name in facts.values() for name in by_name)
    return {name: Output(**{fact: one[name] for fact, one in facts.items() if name in one}) for name in names}


def steps(texts: Iterable[str]) -> list[float]:
    """Distance between neighboring values of each print: 0.01 for ``1.80``, 10000 for ``10000``."""
    return [10.0 ** -len(t.partition(".")[2]) if "." in t else 10.0 ** (len(t) - len(t.rstrip("0"))) for t in texts]


def table_cells(letter: str, rows: pd.DataFrame, **columns: object) -> pd.DataFrame:
    """Published cells of a table's rows under our names; ``columns`` has epsilon and published, and others if any."""
    datasets = names("dataset", letter)
    head = {"panel": "", "dataset": [datasets[d, ""] for d in rows["dataset"]], "mask": "", "x": np.nan}
    return pd.DataFrame(head | {"method": methods_of(letter, rows), "starred": False} | columns)


def methods_of(letter: str, rows: pd.DataFrame) -> list[str]:
    """Our names of the methods of a table's rows."""
    our_names = names("method", letter)
    return [our_names[key] for key in zip(rows["method"], rows["rule"], strict=True)]


def rank_sums_of(letter: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Printed rank sums, with the number of best results where it is printed too."""
    numbers = {k: rows[k].astype(float).tolist() if k in rows else np.nan for k in ("epsilon", "rank_sum", "wins")}
    mask = rows["paradigm"].tolist() if "paradigm" in rows else ""
    return pd.DataFrame({"mask": mask, "method": methods_of(letter, rows)} | numbers)


def with_notes(experiment: str, cells: pd.DataFrame) -> pd.DataFrame:
    """Add to published cells the column ``note``: the rows of ``notes.csv`` whose filled-in keys all agree."""
    notes = read("notes.csv")
    of_cells: list[list[str]] = [[] for _ in range(len(cells))]
    for row in notes[notes["experiment"] == experiment].to_dict("records"):
        keys = {key: row[key] for key in ("dataset", "mask", "method") if row[key]}
        keys |= {"epsilon": float(row["epsilon"])} if row["epsilon"] else {}
        same = np.all([np.full(len(cells), True), *(cells[key] == value for key, value in keys.items())], axis=0)
        for k in np.flatnonzero(same):
            of_cells[k].append(row["note"])
    return cells.assign(note=["; ".join(texts) for texts in of_cells])


def printed_rows(letter: str) -> tuple[tuple[str, str], ...]:
    """Printed name and data set of each row of a paper's tables, in its order."""
    return tuple((label, dataset) for (label, _), dataset in names("dataset", letter).items())
