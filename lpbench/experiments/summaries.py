"""Summaries at full precision as files: the table with the reasons of its empty cells, and the chosen scores."""

from pathlib import Path
from typing import Any

import pandas as pd
from pyarrow import ArrowException

from lpbench.analysis import SUMMARY_COLUMNS, Summary
from lpbench.analysis.scores import CELL
from lpbench.disk import atomic_write
from lpbench.errors import StoreError

#: The summary with the marks after Holm's correction and the reasons of its empty cells.
SUMMARY_FILE = "summary.parquet"
#: The scores of the chosen grid points, one row per replication.
CHOSEN_FILE = "chosen.parquet"
#: What a row of a summary is about.
ROW = [*CELL, "selection"]
_TEXT = ["experiment", "panel", "dataset", "mask", "method", "selection", "params", "metric", "spent_model", "audit"]


def keep_summary(summary: Summary, folder: Path) -> list[Path]:
    """Write a summary so that :func:`read_summary` gives it back to the last bit; return the files."""
    table = summary.table.assign(marked_holm=summary.marked_holm)
    if len(summary.reasons):
        # every reason has its row: an empty cell keeps one
        table = table.merge(summary.reasons, on=ROW, how="left")
    else:
        table = table.assign(reason=None)
    _write(table.astype({"reason": "str"}), folder / SUMMARY_FILE)
    _write(summary.chosen, folder / CHOSEN_FILE)
    return [folder / SUMMARY_FILE, folder / CHOSEN_FILE]


def read_summary(folder: Path) -> Summary | None:
    """Read the summary that was kept in an artifact's folder; None if there is none."""
    chosen = read_chosen(folder)
    if chosen is None or not (folder / SUMMARY_FILE).is_file():
        return None
    table = _read(folder / SUMMARY_FILE)
    if not {*SUMMARY_COLUMNS} <= {*table.columns}:  # kept by an earlier version
        return None
    reasons = table.loc[table["reason"].notna(), [*ROW, "reason"]].reset_index(drop=True)
    return Summary(table[SUMMARY_COLUMNS], chosen, reasons, table["marked_holm"])


def read_chosen(folder: Path) -> pd.DataFrame | None:
    """Read the kept scores of the chosen grid points alone; None if there are none."""
    return _read(folder / CHOSEN_FILE) if (folder / CHOSEN_FILE).is_file() else None


def read_parquet(path: Path, **options: Any) -> pd.DataFrame:
    """Read a table of a results folder as :func:`pandas.read_parquet` does; StoreError if the file is damaged."""
    try:
        return pd.read_parquet(path, **options)
    except (ArrowException, OSError) as error:
        raise StoreError(
            f"{path} is damaged ({' '.join(str(error).split())}); remove it and run its experiment again"
        ) from error


def _write(frame: pd.DataFrame, path: Path) -> None:
    with atomic_write(path) as file:
        frame.to_parquet(file, compression="zstd", index=False)


def _read(path: Path) -> pd.DataFrame:
    frame = read_parquet(path)
    return frame.astype({c: object for c in _TEXT if c in frame.columns})
