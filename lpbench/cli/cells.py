"""Stored cells of tables: where they are, their replications, and the p-value of method A against method B."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: Row of a stored summary, and under ``folder`` where it is.
Row = dict[Any, Any]

#: What two cells that are compared share.
SHARED = ("experiment", "panel", "dataset", "mask", "epsilon", "x", "selection", "metric")
TEST = "p-value: two-sided Wilcoxon signed-rank test, paired by replication, exact with ties, zero differences dropped"


def named(text: str) -> list[str]:
    """Split ``A,B`` into selectors, whose brackets may have commas."""
    return re.split(r",(?![^\[]*\])", text)


def compared_lines(cells: Sequence[Sequence[Row]]) -> list[str]:
    """Compare the cells of two methods that share all but the method, a line each; the last line names the test.

    Wrong implementations are compared where there is nothing else.
    """
    pairs = [(a, b) for a, b in itertools.product(*cells) if _shared(a) == _shared(b)]
    right = [pair for pair in pairs if not pair[0]["experiment"].startswith("mutants/")]
    lines = [line for a, b in right or pairs for line in _compared(a, b)]
    return lines and [*lines, TEST]


def _shared(row: Row) -> str:
    """Return what two cells that are compared share, as a text: numbers that are missing in both are equal there."""
    return repr([row[key] for key in SHARED])


def _compared(a: Row, b: Row) -> list[str]:
    """Line on two cells (rows of a summary): means over common replications, their difference and its p-value.

    No line if scores by replication are not at hand.
    """
    from lpbench.analysis.significance import two_sided

    first, second = replications_of(a), replications_of(b)
    if first is None or second is None:
        return []
    scores = first.to_frame(a["method"]).join(second.rename(b["method"]), how="inner")
    (mean, other), apart = scores.mean(), scores.iloc[:, 0] - scores.iloc[:, 1]
    return [
        f"{place_of(a, a['method'] + ' against ' + b['method'])}, {a['selection']}: {a['metric']} {mean:.6g} against "
        f"{other:.6g}, difference {apart.mean():.4g} over {len(scores)} replications, "
        f"p-value {two_sided(apart.to_numpy()[:, None])[0]:.4g}"
    ]


def place_of(row: Row, method: str) -> str:
    """Say where a cell is: experiment, data set, mask, method, budget, and panel and place on the axis, if any."""
    # a single cell's folder says what it was run with besides
    setting = [row["folder"].name if row["experiment"] == "single" else f"epsilon={row['epsilon']:g}"]
    setting += [f"panel={row['panel']}"] if row["panel"] else []
    setting += [] if math.isnan(row["x"]) else [f"x={row['x']:g}"]
    return f"{row['experiment']}: {row['dataset']} {row['mask']} {method} {' '.join(setting)}"


def replications_of(row: Row) -> pd.Series | None:
    """Return a cell's scores by replication; None where they are not at hand."""
    from lpbench.experiments.results import Artifact

    chosen = Artifact(row["folder"], row["experiment"]).chosen
    if chosen is None:
        return None
    keys = ["panel", "dataset", "mask", "method", "epsilon", "selection"]
    same = (chosen[keys] == [row[key] for key in keys]).all(axis=1)
    same &= chosen["x"].isna() if math.isnan(row["x"]) else chosen["x"] == row["x"]
    return chosen[same].set_index("replication")["value"].sort_index()
