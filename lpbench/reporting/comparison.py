"""Published against reproduced, cell by cell."""

import math

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, ratio_of_means
from lpbench.analysis.scores import CELL
from lpbench.members import BASELINE, bare_name, member
from lpbench.reporting.paper import Paper, TableLayout
from lpbench.reporting.published import published_cells

COMPARISON_COLUMNS = [
    *("experiment", "panel", "dataset", "mask", "method", "epsilon", "x"),
    *("published", "reproduced", "se", "difference", "relative_difference", "note"),
]


def compare(experiment: str, paper: Paper, summary: Summary) -> pd.DataFrame:
    """Put each published cell of a paper's experiment beside ours.

    The published values are the best of a grid, so they are compared with our ``oracle`` rows. Every published cell
    keeps at least one row, with a note where we have no number. A method that was run in several named variants
    gives one row per variant.
    """
    published = published_cells(experiment, paper)
    ours = _reproduced(paper.tables.get(experiment), summary)
    by_method = {base: group.to_dict("records") for base, group in ours.groupby("base")}
    rows = [r for cell in published.to_dict("records") for r in _match(cell, by_method.get(cell["method"], []))]
    frame = pd.DataFrame(rows, columns=COMPARISON_COLUMNS)
    frame["experiment"] = experiment
    frame["difference"] = frame["reproduced"] - frame["published"]
    frame["relative_difference"] = frame["difference"] / frame["published"].abs()
    keys = ["panel", "dataset", "mask", "method", "epsilon", "x"]
    return frame.sort_values(keys, kind="stable", ignore_index=True)


def _reproduced(layout: TableLayout | None, summary: Summary) -> pd.DataFrame:
    """Return our oracle rows (best grid points on the test rows) with value and standard error in the paper's unit.

    The unit is that of the ``layout``: ratio to the non-private tree, ratio of seconds to CT-W, or the mean.
    """
    table = summary.table[summary.table["selection"] == "oracle"].copy()
    table["base"] = table["method"].map(bare_name)
    table["paradigm"] = table["mask"].map(bare_name)
    table["data"] = table["dataset"].map(bare_name)
    table["value"], table["error"] = table["mean"], table["se"]
    if layout is not None and layout.value == "ratio":
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
    wide = chosen.pivot_table(index="replication", columns=keys, values="value")
    scores = dict(zip(wide.columns, wide.to_numpy().T, strict=True))
    base: dict[str, np.ndarray] = {}
    for (dataset, _, method, _), values in scores.items():
        if method == BASELINE:
            base.setdefault(dataset, values)
    errors = []
    for key in zip(*(table[k] for k in keys), strict=True):
        is_paired = key in scores and key[0] in base
        errors.append(ratio_of_means(scores[key], base[key[0]])[1] if is_paired else np.nan)
    return errors


def _match(cell: dict, ours: list[dict]) -> list[dict]:
    """Rows of the comparison for one published ``cell``, from ``ours``, our rows of the same method.

    There is one for each variant that was run, or one with a note where none was.
    """
    for key, column in (("dataset", "data"), ("mask", "paradigm")):
        if cell[key]:
            ours = [row for row in ours if row[column] == cell[key]]
    for axis in ("epsilon", "x"):
        if cell[axis] == cell[axis]:
            ours = [row for row in ours if math.isclose(row[axis], cell[axis])]
    # with parameters fixed by hand a method is not what the paper prints, unless it was run in no other way
    ours = [row for row in ours if member(row["method"]).is_preset] or ours
    keys = {k: cell[k] for k in ("panel", "dataset", "mask", "method", "epsilon", "x", "published")}
    if not ours:
        return [keys | {"reproduced": np.nan, "se": np.nan, "note": "; ".join(filter(None, [cell["note"], "not run"]))}]
    rows = []
    for row in ours:
        reason = "" if row["value"] == row["value"] else row["reason"] if isinstance(row["reason"], str) else "no value"
        printed = "" if cell["published"] == cell["published"] else "the paper prints -"
        names = {k: row[k] for k in ("panel", "dataset", "mask", "method")}
        note = "; ".join(filter(None, [cell["note"], printed, reason]))
        values = {"reproduced": row["value"], "se": row["error"], "note": note}
        rows.append(keys | names | values)
    return rows
