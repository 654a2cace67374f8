"""The papers' printed numbers under our names, each with what is known to be wrong with it."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.errors import DataError
from lpbench.reporting.paper import Paper, paper_of

#: Columns of a table of published cells and what a missing one holds: ``dataset`` and ``mask`` are empty where they do
#: not tell cells apart.
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("panel", "dataset", "mask", "method"), ""),
    **dict.fromkeys(("epsilon", "x"), np.nan),
    "published": None,
    "step": 0.0,
    "starred": False,
    "note": "",
}
PUBLISHED_COLUMNS = list(DEFAULTS)


def published_cells(experiment: str, paper: Paper | None = None) -> pd.DataFrame:
    """Return the published cells of one of our experiments, in the order of its paper; empty without any.

    ``published`` is NaN where the paper prints ``-``, ``step`` the distance between neighboring values of the print.
    ``starred`` is the paper's mark, ``note`` says what is wrong with a printed number, which is never corrected.
    """
    source = (paper or paper_of(experiment)).published.get(experiment)
    return pd.DataFrame(columns=PUBLISHED_COLUMNS) if source is None else complete_cells(source).copy()


@cache
def complete_cells(source: Path | Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Published cells as a paper states them, with all columns."""
    texts = [column for column, default in DEFAULTS.items() if default == ""]
    cells = pd.read_csv(source).fillna(dict.fromkeys(texts, "")) if isinstance(source, Path) else source()
    if "published" not in cells or not set(cells) <= set(PUBLISHED_COLUMNS):
        raise DataError(
            f"published cells have columns {', '.join(cells)}; expected published and some of {PUBLISHED_COLUMNS}"
        )
    return cells.assign(**{c: v for c, v in DEFAULTS.items() if c not in cells})[PUBLISHED_COLUMNS]


def published_rank_sums(experiment: str, paper: Paper | None = None) -> pd.DataFrame:
    """Printed rank sums: columns mask, method, epsilon, rank_sum, wins (NaN where the paper has no such row)."""
    source = (paper or paper_of(experiment)).output_of(experiment).rank_sums
    return pd.DataFrame(columns=["mask", "method", "epsilon", "rank_sum", "wins"]) if source is None else source()


def wide_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Published cells as data sets x methods, columns in the order of the paper; empty without any."""
    order = list(dict.fromkeys(cells["method"]))
    return cells.pivot(index="dataset", columns="method", values="published")[order]
