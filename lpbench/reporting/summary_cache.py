"""Summaries kept at full precision beside the scores: reports need thousands of chosen rows, not millions of scores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lpbench.analysis import SUMMARY_COLUMNS, Summary
from lpbench.analysis.scores import CELL
from lpbench.files import atomic_write

#: The summary with the marks after Holm's correction and the reasons of its empty cells.
TABLE = "summary.parquet"
#: The scores of the chosen grid points, one row a replication.
CHOSEN = "chosen.parquet"
_ROW = [*CELL, "selection"]
_TEXT = ["experiment", "panel", "dataset", "mask", "method", "selection", "params", "metric"]


def keep(summary: Summary, folder: Path) -> None:
    """Write a summary so that :func:`kept` gives it back to the last bit."""
    table = summary.table.assign(marked_holm=summary.marked_holm)
    if len(summary.reasons):
        # every reason has its row: an empty cell keeps one
        table = table.merge(summary.reasons, on=_ROW, how="left")
    else:
        table = table.assign(reason=None)
    _write(table.astype({"reason": "str"}), folder / TABLE)
    _write(summary.chosen, folder / CHOSEN)


def kept(folder: Path) -> Summary | None:
    """Read the summary that was kept in an experiment's folder; None if there is none."""
    chosen = kept_scores(folder)
    if chosen is None or not (folder / TABLE).is_file():
        return None
    table = _read(folder / TABLE)
    reasons = table.loc[table["reason"].notna(), [*_ROW, "reason"]].reset_index(drop=True)
    return Summary(table[SUMMARY_COLUMNS], chosen, reasons, table["marked_holm"])


def kept_scores(folder: Path) -> pd.DataFrame | None:
    """Read the kept scores of the chosen grid points alone; None if there are none."""
    return _read(folder / CHOSEN) if (folder / CHOSEN).is_file() else None


def forget(folder: Path) -> None:
    """Remove what was kept: the scores that it was made from are about to change."""
    for name in (TABLE, CHOSEN):
        (folder / name).unlink(missing_ok=True)


def _write(frame: pd.DataFrame, path: Path) -> None:
    with atomic_write(path) as file:
        frame.to_parquet(file, compression="zstd", index=False)


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path)
    return frame.astype({c: object for c in _TEXT if c in frame.columns})
