"""The tidy table of scores: its columns, what it must satisfy, and how tables are written to disk.

A summary of a table with holes averages over unequal sets and cannot be reproduced, so holes are refused here; what
was not run on purpose (``skipped``, ``left_out``) or did not finish (``timeout``, ``failed``) is said in the ``status``
column and stays visible.
"""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lpbench.disk import atomic_write
from lpbench.errors import DataError
from lpbench.problem import METRICS

#: A cell: one method on one scenario at one budget and one place of the horizontal axis.
CELL = ["experiment", "panel", "dataset", "mask", "method", "epsilon", "x"]
#: A grid point of a cell, in the order in which :func:`normalize` sorts.
POINT = [*CELL, "metric", "params"]
SCORE_COLUMNS = [*CELL, "params", "replication", "metric", "value", "status", "reason", "seconds"]
SCORE_STATUSES = ("ok", "failed", "skipped", "left_out", "timeout")
#: For each metric, True where a larger value is better; seconds are measured, not scored.
LARGER_IS_BETTER = {**METRICS, "seconds": False}
_TEXT = ["experiment", "panel", "dataset", "mask", "method", "params", "metric", "status", "reason"]
#: Significant digits of every table on disk: far beyond any standard error, and fewer than processors agree on.
WRITTEN_DIGITS = 7

T = TypeVar("T", np.ndarray, pd.Series)


def costs(scores: T, metric: str) -> T:
    """Scores with the sign that makes smaller ones better; errors stay as they are."""
    return -scores if LARGER_IS_BETTER[metric] else scores


def canonical_params(text: str) -> str:
    """JSON of a grid point with sorted keys and no spaces; an empty text is the empty point."""
    return json.dumps(json.loads(text) if text else {}, sort_keys=True, separators=(",", ":"))


def normalize(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores with texts as categories and rows in canonical order: results depend on the set of rows only."""
    missing = [c for c in SCORE_COLUMNS if c not in scores.columns]
    if missing:
        raise DataError(f"the scores have no column {', '.join(missing)}; expected {', '.join(SCORE_COLUMNS)}")
    frame = scores[SCORE_COLUMNS].copy()
    for column in _TEXT:
        frame[column] = _category(frame[column], canonical_params if column == "params" else str)
    for column in ("epsilon", "x", "value", "seconds"):
        frame[column] = frame[column].astype(float)
    frame["replication"] = frame["replication"].astype(int)
    keys = [*POINT, "replication"]
    # scores come from the store in order, and to see that takes a tenth of the time of sorting them
    if _ties(frame, keys)[1]:
        return frame.reset_index(drop=True)
    return frame.sort_values(keys, kind="stable", ignore_index=True)


def point_numbers(frame: pd.DataFrame) -> np.ndarray:
    """Number the grid points of a normalized table from 0, in its order; rows of one point stand together."""
    return np.append(0, np.cumsum(~_ties(frame, POINT)[0]))[: len(frame)]


def _ties(frame: pd.DataFrame, keys: Sequence[str]) -> tuple[np.ndarray, bool]:
    """Mark each row with the same keys as the next one, (n - 1,), and True if all rows are in the order of the keys."""
    tied, in_order = np.ones(max(len(frame) - 1, 0), dtype=bool), True
    for column in keys:
        values = (frame[column].cat.codes if column in _TEXT else frame[column].fillna(np.inf)).to_numpy()
        in_order &= not (tied & (values[:-1] > values[1:])).any()
        tied &= values[:-1] == values[1:]
    return tied, in_order


def first_rows(numbers: np.ndarray) -> np.ndarray:
    """Positions where a new number begins, in numbers that never fall."""
    return np.flatnonzero(np.diff(numbers, prepend=-1))


def _category(column: pd.Series, clean: Callable[[str], str]) -> pd.Series:
    """Convert texts to a category column with ``clean`` applied to each text; missing texts become ""."""
    column = column.astype("category")
    names = [clean(c) for c in column.cat.categories]
    categories = sorted({*names, ""})
    codes = pd.Index(categories).get_indexer([*names, ""])
    # the last code stands for a missing text
    return pd.Series(pd.Categorical.from_codes(codes[column.cat.codes.to_numpy()], categories), index=column.index)


def check_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Normalize the scores and refuse what cannot be summarized honestly.

    Parameters
    ----------
    scores : DataFrame
        Columns :data:`SCORE_COLUMNS`. A row with ``replication`` -1 stands for a whole cell that did not run.

    Returns
    -------
    DataFrame
        See :func:`normalize`.

    Raises
    ------
    DataError
        A missing column, an unknown status or metric, a score that is not finite, a duplicate, or a table that is
        not dense (a grid point without a row for a replication that the same data set has elsewhere).
    """
    frame = normalize(scores)
    _check_words(frame, "status", SCORE_STATUSES)
    ok = frame[frame["status"] == "ok"]
    _check_words(ok, "metric", LARGER_IS_BETTER)
    bad = ok[~np.isfinite(ok["value"])]
    if len(bad):
        raise DataError(
            f"{len(bad)} scores with status ok are not finite, the first one: {_describe(bad.iloc[0])}; "
            "a fit that gives no number must carry one of the other statuses and a reason"
        )
    rows, numbers = frame, point_numbers(frame)
    if (frame["replication"] < 0).any():
        ran = (frame["replication"] >= 0).to_numpy()
        rows, numbers = frame[ran], numbers[ran]
    replications = rows["replication"].to_numpy()
    double = (np.diff(numbers, prepend=-1) == 0) & (np.diff(replications, prepend=-1) == 0)
    if double.any():
        raise DataError(
            f"{int(double.sum())} scores appear twice, the first one: {_describe(rows[double].iloc[0])}; "
            "two groups of the experiment overlap, or two runs were mixed in one folder"
        )
    _check_dense(rows, numbers)
    return frame


def _check_words(frame: pd.DataFrame, column: str, allowed: Collection[str]) -> None:
    unknown = sorted(set(frame[column].unique()) - set(allowed))
    if unknown:
        raise DataError(f"{column}={unknown[0]!r} in the scores must be one of {', '.join(allowed)}")


def _check_dense(rows: pd.DataFrame, numbers: np.ndarray) -> None:
    """Refuse points that lack a replication which their data set has elsewhere, by a DataError with the first one.

    ``numbers`` (n,) is the grid point of each row. No point has a replication twice.
    """
    if rows.empty:
        return
    first = first_rows(numbers)
    got = rows.iloc[first].drop(columns="replication").assign(got=np.diff(first, append=len(rows)))
    scope = got.groupby(["experiment", "panel", "dataset"], observed=True).ngroup().to_numpy()
    drawn = np.zeros((scope.max() + 1, rows["replication"].max() + 1), dtype=bool)
    drawn[scope.repeat(got["got"]), rows["replication"]] = True
    short = got.assign(wanted=drawn.sum(axis=1)[scope]).query("got != wanted")
    if len(short):
        row = short.iloc[0]
        raise DataError(
            f"the scores are not dense: {len(short)} grid points lack replications, the first one: {_describe(row)} "
            f"has {row['got']} of {row['wanted']}; run the experiment again so that every point has every replication"
        )


def _describe(row: pd.Series) -> str:
    keys = [*CELL, "params", "replication"]
    parts = [f"{k}={row[k]}" for k in keys if k in row.index and row[k] != "" and row[k] == row[k]]
    return ", ".join(parts)


def format_value(value: object) -> str:
    """Text of one table cell: floats as the shortest text that reads back to the same bits, missing ones as nothing."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table so that equal tables give equal bytes (UTF-8, LF, atomic replacement).

    Parameters
    ----------
    frame : DataFrame
        The table, in the order in which its rows are written.
    path : Path
        Floats are written with :data:`WRITTEN_DIGITS` significant digits. A name that ends in ``.gz`` is packed.
    """
    packing: Any = {"method": "gzip", "mtime": 0, "filename": ""} if path.suffix == ".gz" else None
    with atomic_write(path) as file:
        as_text(frame).to_csv(file, index=False, lineterminator="\n", compression=packing)


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The texts that :func:`write_csv` writes.

    Parameters
    ----------
    frame : DataFrame
        A table of scores, a summary or standings.

    Returns
    -------
    DataFrame of str
        Its entries as they are written, under the same column names.
    """
    floats = frame.select_dtypes("floating").columns
    frame = frame.assign(**{c: [float(f"{v:.{WRITTEN_DIGITS}g}") for v in frame[c].tolist()] for c in floats})
    return pd.DataFrame({c: [format_value(v) for v in frame[c].tolist()] for c in frame.columns}, columns=frame.columns)


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table written by :func:`write_csv`; empty texts stay empty, empty numbers are NaN.

    Parameters
    ----------
    path : Path
        A CSV file, packed if its name ends in ``.gz``.

    Returns
    -------
    DataFrame
        The table as it was before :func:`write_csv`, up to :data:`WRITTEN_DIGITS`.
    """
    return from_text(pd.read_csv(path, keep_default_na=False, dtype=str))


def from_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of which :func:`as_text` gave the texts.

    Parameters
    ----------
    frame : DataFrame of str
        Texts of :func:`as_text`; its columns are replaced in place.

    Returns
    -------
    DataFrame
        The same table with numbers and truth values; an empty number is NaN.
    """
    for column in frame.columns:
        if column in _NUMBERS:
            frame[column] = [float(text or "nan") for text in frame[column].tolist()]
        elif column in ("best", "marked"):
            frame[column] = frame[column] == "true"
    return frame


_NUMBERS = {
    *("epsilon", "x", "mean", "std", "se", "n", "ratio", "rank", "p_best_is_better"),
    *("published", "reproduced", "difference", "relative_difference"),
    *("loss", "replications", "seed", "over_constant", "over_constant_se", "p_constant", "over_free", "over_free_se"),
    *("over_public", "over_public_se", "public_over_free", "public_over_free_se", "public_rows"),
    *("bits", "seconds", "spent", "spent_delta"),
}
