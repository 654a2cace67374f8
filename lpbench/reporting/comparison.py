"""Published against reproduced, cell by cell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, ratio_of_means
from lpbench.analysis.scores import CELL
from lpbench.analysis.summary import BASELINE
from lpbench.naming import parse_selector
from lpbench.reporting.published import HISTOFTREE_TABLES, published_cells

COMPARISON_COLUMNS = [
    *("experiment", "panel", "dataset", "mask", "method", "epsilon", "x"),
    *("published", "reproduced", "se", "difference", "relative_difference", "note"),
]


def compare(experiment: str, summary: Summary) -> pd.DataFrame:
    """Put each published cell of an experiment beside ours.

    The published values are the best of a grid, so they are compared with our ``oracle`` rows. Every published cell
    keeps at least one row, with a note where we have no number. A method that was run in named variants only gives
    one row a variant.

    Parameters
    ----------
    experiment : str
    summary : Summary

    Returns
    -------
    DataFrame
        Columns :data:`COMPARISON_COLUMNS`; ``relative_difference`` is relative to the published value.
    """
    published = published_cells(experiment)
    ours = _reproduced(experiment, summary)
    rows = [row for cell in published.to_dict("records") for row in _match(cell, ours)]
    frame = pd.DataFrame(rows, columns=COMPARISON_COLUMNS)
    frame["experiment"] = experiment
    frame["difference"] = frame["reproduced"] - frame["published"]
    frame["relative_difference"] = frame["difference"] / frame["published"].abs()
    keys = ["panel", "dataset", "mask", "method", "epsilon", "x"]
    return frame.sort_values(keys, kind="stable", ignore_index=True)


def _reproduced(experiment: str, summary: Summary) -> pd.DataFrame:
    """Our oracle rows in the unit of the paper (ratio to the non-private tree, ratio of seconds, or the mean)."""
    table = summary.table[summary.table["selection"] == "oracle"].copy()
    table["base"] = [parse_selector(m)[0] for m in table["method"]]
    table["data"] = [parse_selector(d)[0] for d in table["dataset"]]
    table["value"], table["error"] = table["mean"], table["se"]
    if experiment in HISTOFTREE_TABLES:
        table["value"], table["error"] = table["ratio"], ratio_errors(table, summary.chosen)
    elif (table["metric"] == "seconds").any():
        reference = table[table["base"] == "ct_w"].set_index("dataset")["mean"]
        divisor = table["dataset"].map(reference)
        table["value"], table["error"] = table["mean"] / divisor, table["se"] / divisor
    reasons = summary.reasons[summary.reasons["selection"] == "oracle"]
    return table.merge(reasons[[*CELL, "reason"]], on=CELL, how="left")


def ratio_errors(table: pd.DataFrame, chosen: pd.DataFrame) -> list[float]:
    """Standard errors of the ratios to the baseline, paired by replication."""
    chosen = chosen[chosen["selection"] == "oracle"]
    keys = ["dataset", "mask", "method", "epsilon"]
    scores = {key: rows.set_index("replication")["value"] for key, rows in chosen.groupby(keys)}
    base: dict[str, pd.Series] = {}
    for (dataset, _, method, _), values in scores.items():
        if method == BASELINE:
            base.setdefault(dataset, values)
    errors = []
    for row in table.itertuples():
        a, b = scores.get((row.dataset, row.mask, row.method, row.epsilon)), base.get(row.dataset)
        errors.append(np.nan if a is None or b is None else ratio_of_means(*a.align(b, join="inner"))[1])
    return errors


def _match(cell: dict, ours: pd.DataFrame) -> list[dict]:
    found = ours[ours["base"] == cell["method"]]
    if cell["dataset"]:
        found = found[found["data"] == cell["dataset"]]
    if cell["mask"]:
        found = found[[parse_selector(m)[0] == cell["mask"] for m in found["mask"]]]
    for axis in ("epsilon", "x"):
        if cell[axis] == cell[axis]:
            found = found[np.isclose(found[axis], cell[axis])]
    if (found["method"] == cell["method"]).any():
        # the method itself was run: its restricted variants are not what the paper prints
        found = found[found["method"] == cell["method"]]
    keys = {k: cell[k] for k in ("panel", "dataset", "mask", "method", "epsilon", "x", "published")}
    if found.empty:
        return [keys | {"reproduced": np.nan, "se": np.nan, "note": _join(cell["note"], "not run")}]
    rows = []
    for row in found.to_dict("records"):
        reason = "" if row["value"] == row["value"] else row["reason"] if isinstance(row["reason"], str) else "no value"
        printed = "" if cell["published"] == cell["published"] else "the paper prints -"
        names = {k: row[k] for k in ("panel", "dataset", "mask", "method")}
        values = {"reproduced": row["value"], "se": row["error"], "note": _join(cell["note"], printed, reason)}
        rows.append(keys | names | values)
    return rows


def _join(*notes: str) -> str:
    return "; ".join(n for n in notes if n)
