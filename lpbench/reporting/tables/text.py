"""Results of an experiment as tables of texts, for a terminal."""

import math

import pandas as pd

from lpbench.analysis.significance import RULE_WORDS
from lpbench.analysis.summary import barred
from lpbench.errors import StoreError
from lpbench.experiments.results import Artifact
from lpbench.reporting.numbers import print_score, print_value
from lpbench.reporting.paper import paper_of
from lpbench.reporting.plain_table import PlainTable

#: What an entry says, by what the paper's own table shows.
_SHOWN = {"mean": "Mean ± standard error", "ratio": "Mean squared error relative to the non-private tree,"}


def tables_of(artifact: Artifact) -> list[PlainTable]:
    """An artifact's own tables, else its summary: methods below each other, data sets or places side by side."""
    paper = paper_of(artifact.name)
    read = paper.output_of(artifact.name).read
    if read and (tables := read(artifact.folder, None, {})):
        return list(tables)
    if artifact.summary is None:
        return []
    if "marked" not in artifact.summary:
        raise StoreError(
            f"{artifact.summary_file} was written by an earlier version; lpbench experiment={artifact.name} "
            "writes it again"
        )
    layout = paper.tables.get(artifact.name)
    value = "ratio" if layout and layout.value == "ratio" else "mean"
    table = artifact.summary[artifact.summary["selection"] == "oracle"].copy()
    if value == "ratio":
        table = table.assign(mean=table["ratio"], se=math.nan)
    table["entry"] = [
        "–" if pd.isna(r.mean) else f"{print_score(r.mean, r.se)}{'*' if r.marked else ''}"
        for r in table[["mean", "se", "marked"]].itertuples()
    ]
    legend = f"{_SHOWN[value]} of the best grid point on the test rows (oracle); *: {RULE_WORDS[paper.rule]}."
    if table["x"].notna().any():
        table = table[table["x"].notna()]  # a curve without any number has no place on the axis
        rows = ["method"] if table["x"].equals(table["epsilon"]) else ["method", "epsilon"]
        keys, columns = ["panel", "dataset", "mask"], "x"
    else:
        keys, rows, columns = ["panel", "mask", "epsilon"], ["method"], "dataset"
    barred_names = {method: f"{method} ({why.partition(':')[0]})" for method, why in barred(artifact.summary).items()}
    parts: list[PlainTable] = []
    for key, group in table.groupby(keys, sort=False, dropna=False):
        heading = ", ".join(f"{k} {v}" for k, v in zip(keys, key, strict=True) if v != "" and v == v)
        wide = group.pivot(index=rows, columns=columns, values="entry").fillna("").reset_index()
        if columns == "dataset" and group["spent"].notna().any():
            most = group.groupby("method")["spent"].max()
            wide["spent"] = ["–" if pd.isna(most[m]) else f"{most[m]:.6g}" for m in wide["method"]]
        wide["method"] = wide["method"].replace(barred_names)
        body = tuple(tuple(map(print_value, row)) for row in wide.itertuples(index=False))
        parts.append(PlainTable(heading, tuple(map(print_value, wide.columns)), body, "" if parts else legend))
    return parts
