"""Raw files to a table of raw columns: CSV, Excel, ARFF and LIBSVM, plain or gzipped."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from lpbench.datasets.archives import check_size
from lpbench.errors import DataError

#: Values must not depend on the parser: each is the nearest double to what is written (pandas 3 needs no telling).
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}


def read_source(source: Mapping, paths: Mapping[str, Path], columns: Sequence[str], name: str) -> pd.DataFrame:
    """Read the raw files of one entry of a manifest's ``sources``, and stack them in the order of their roles.

    ``columns`` are names by position (none: the files' own header). The outer level of the index is the role of the
    file that a row came from.
    """
    if source["kind"] == "embedded":
        try:
            return resolve_name(source["loader"])(as_frame=True, **source.get("options", {})).frame
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"data set {name!r}: {source['loader']} does not take its options: {error}") from error
    columns = list(source.get("columns") or columns)
    options = {"type": "arff"} if source["kind"] == "openml" else source.get("format", {})
    frames = []
    for path in paths.values():
        frame = _read_file(path, options, name)
        if columns:
            if frame.shape[1] != len(columns):
                raise DataError(
                    f"data set {name!r}: {path.name} has {frame.shape[1]} columns, expected {len(columns)} "
                    f"({', '.join(columns[:6])}, ...)"
                )
            frame.columns = columns
        frames.append(frame)
    return pd.concat(frames, keys=list(paths))


def _read_file(path: Path, options: Mapping, name: str) -> pd.DataFrame:
    kind = options.get("type", "csv")
    if kind not in _READERS:
        raise DataError(f"data set {name!r}: format type {kind!r} must be one of {', '.join(_READERS)}")
    try:
        check_size(path)
        return _READERS[kind](path, options)
    # What a parser raises on a file of another kind is not one family; each of these means "not this format".
    except (ValueError, KeyError, EOFError, OSError, NotImplementedError, StopIteration) as error:
        if isinstance(error, DataError):
            raise
        reason = " ".join(str(error).split())
        raise DataError(f"data set {name!r}: {path} cannot be read as {kind}: {reason}") from error


def _read_csv(path: Path, options: Mapping) -> pd.DataFrame:
    return pd.read_csv(
        path,
        sep=options.get("sep", ","),
        header=0 if options.get("header", True) else None,
        na_values=options.get("missing", []),
        comment=options.get("comment"),
        skipinitialspace=True,
        **_EXACT,
    )


def _read_excel(path: Path, options: Mapping) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Display settings of Excel that openpyxl does not know; cells are unaffected.
        warnings.filterwarnings("ignore", message="Unknown extension", category=UserWarning)
        return pd.read_excel(
            path, sheet_name=options.get("sheet", 0), header=None, skiprows=options.get("skip_rows", 1)
        )


def _read_arff(path: Path, options: Mapping) -> pd.DataFrame:
    with open(path, encoding="utf-8") as file:
        values, _ = arff.loadarff(file)
    frame = pd.DataFrame(values)
    for column in frame.select_dtypes(object):
        text = frame[column].str.decode("utf-8")
        frame[column] = text.mask(text == "?")
    return frame


def _read_svmlight(path: Path, options: Mapping) -> pd.DataFrame:
    X, y = load_svmlight_file(str(path))
    return pd.DataFrame(np.column_stack([y, X.toarray()]))


_READERS = {"csv": _read_csv, "excel": _read_excel, "arff": _read_arff, "svmlight": _read_svmlight}
