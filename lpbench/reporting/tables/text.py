"""Results of an experiment as plain text, for a terminal."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lpbench.analysis import read_csv
from lpbench.reporting.paper import paper_of

LEGEND = "Mean ± standard error of the best grid point with hindsight (oracle); *: marked by the paper's rule."


def results_as_text(name: str, folder: Path) -> str:
    """Lay out what an experiment's folder holds: its paper's own table, else ``summary.csv``; empty without either."""
    own = paper_of(name).text_tables.get(name)
    table = own(folder) if own else None
    if table is not None:
        return table.as_text()
    path = folder / "summary.csv"
    return summary_as_text(read_csv(path)) if path.is_file() else ""


def summary_as_text(table: pd.DataFrame) -> str:
    """Lay out a summary: methods below each other; data sets, or the places of a figure's axis, side by side."""
    table = table[table["selection"] == "oracle"].copy()
    table["entry"] = [
        "-" if pd.isna(r.mean) else f"{r.mean:.4g} ±{r.se:.2g}{'*' if r.significant else ''}"
        for r in table[["mean", "se", "significant"]].itertuples()
    ]
    if table["x"].notna().any():
        rows = ["method"] if table["x"].equals(table["epsilon"]) else ["method", "epsilon"]
        keys, columns = ["panel", "dataset", "mask"], "x"
    else:
        keys, rows, columns = ["panel", "mask", "epsilon"], ["method"], "dataset"
    parts = [LEGEND]
    for key, part in table.groupby(keys, sort=False, dropna=False):
        place = ", ".join(f"{k} {v}" for k, v in zip(keys, key, strict=True) if v != "" and v == v)
        wide = part.pivot(index=rows, columns=columns, values="entry")
        parts.append(f"{place}\n{wide.to_string(na_rep='')}")
    return "\n\n".join(parts)
