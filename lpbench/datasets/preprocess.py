"""From raw columns to the canonical table, as the manifest says.

The order of the steps is fixed: name the columns, choose rows (``rows``), find the public rows (``public``), code the
label (``target``) and the features (``features``). Manifest keys:

rows
    List of ``{drop_missing: all | [columns]}``, ``{keep: {column: c, values: [...]}}`` and ``{drop: {column: ...}}``.
public
    One of ``{first: k}`` (the first k rows that are kept), ``{column: c, values: [...]}``, ``{column: c, size: k}``
    (the category whose number of rows is nearest to k), ``{file: role}`` (rows of that raw file) and
    ``{sample: k, seed: s}`` (drawn once; the same for every replication).
target
    Column name, or ``{column: c, positive: [...], negative: [...]}`` for a label coded 1 and 0.
features
    List whose items are a column name, ``{column: c, map: {category: number}}`` or ``{column: c, one_hot: [...]}``;
    or ``{all_except: [...]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lpbench.datasets.manifest import Manifest
from lpbench.datasets.table import Table
from lpbench.errors import DataError


def prepare(raw: pd.DataFrame, manifest: Manifest) -> Table:
    """Turn raw columns, as :func:`lpbench.datasets.readers.read_source` returns them, into the canonical table.

    Raises
    ------
    DataError
        A column is missing, a cell is not a number, a category is unknown, a value is missing.
    """
    frame = _Frame(raw, manifest.name)
    for step in manifest.rows:
        frame.choose_rows(step)
    public = None if manifest.public is None else frame.public(manifest.public)
    columns = frame.feature_columns(manifest.features, manifest.target)
    X = np.empty((len(frame.raw), len(columns)))
    for k, (_, values) in enumerate(columns):
        X[:, k] = values
    return Table(
        X=X,
        y=frame.target(manifest.target),
        columns=tuple(name for name, _ in columns),
        public=public,
    )


class _Frame:
    """Raw columns of one data set with checks that speak of the data set, column and row."""

    def __init__(self, raw: pd.DataFrame, name: str):
        self.raw, self.name = raw, name

    def column(self, column: str) -> pd.Series:
        if column not in self.raw.columns:
            have = ", ".join(map(str, self.raw.columns[:12])) + (", ..." if self.raw.shape[1] > 12 else "")
            raise DataError(f"data set {self.name!r}: column {column!r} is missing; the file has {have}")
        return self.raw[column]

    def numbers(self, column: str) -> np.ndarray:
        series = self.column(column)
        values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            cell = "nothing" if pd.isna(series.iloc[row]) else repr(str(series.iloc[row]))
            raise DataError(f"data set {self.name!r}: column {column!r}, row {row} holds {cell}, expected a number")
        return values

    def categories(self, column: str, known: Sequence) -> pd.Series:
        """Return the column as text, having checked that every cell is one of the known categories."""
        text = _text(self.column(column))
        allowed = {str(v) for v in known}
        if unknown := sorted(set(text.unique()) - allowed):
            raise DataError(
                f"data set {self.name!r}: column {column!r} holds {unknown[0]!r}, expected one of "
                f"{', '.join(sorted(allowed))}"
            )
        return text

    def is_in(self, column: str, values: Sequence) -> np.ndarray:
        """Return where a column holds one of the values (compared as text)."""
        return _text(self.column(column)).isin([str(v) for v in values]).to_numpy()

    def choose_rows(self, step: Mapping) -> None:
        ((kind, argument),) = step.items()
        if kind == "drop_missing":
            subset = None if argument == "all" else [self.column(c).name for c in argument]
            self.raw = self.raw.dropna(subset=subset)
        elif kind in ("keep", "drop"):
            listed = self.is_in(argument["column"], argument["values"])
            self.raw = self.raw[listed if kind == "keep" else ~listed]
        else:
            raise DataError(f"data set {self.name!r}: rows step {kind!r} must be drop_missing, keep or drop")

    def public(self, rule: Mapping) -> np.ndarray:
        n = len(self.raw)
        if "first" in rule:
            return np.arange(n) < rule["first"]
        if "sample" in rule:
            # Raw output of the bit generator, whose stream numpy guarantees across versions.
            keys = np.random.PCG64(rule["seed"]).random_raw(n)
            return np.isin(np.arange(n), np.argsort(keys, kind="stable")[: rule["sample"]])
        if "file" in rule:
            return self.raw.index.get_level_values(0).to_numpy() == rule["file"]
        if "size" in rule:
            text = _text(self.column(rule["column"]))
            counts = text.value_counts().sort_index()
            return (text == (counts - rule["size"]).abs().idxmin()).to_numpy()
        if "column" in rule:
            return self.is_in(rule["column"], rule["values"])
        raise DataError(f"data set {self.name!r}: public rule {dict(rule)} must have first, sample, file or column")

    def target(self, rule: str | Mapping) -> np.ndarray:
        if isinstance(rule, str):
            return self.numbers(rule)
        positive = [str(v) for v in rule["positive"]]
        text = self.categories(rule["column"], [*positive, *rule["negative"]])
        return text.isin(positive).to_numpy(dtype=np.float64)

    def feature_columns(self, features: Sequence | Mapping, target: str | Mapping) -> list[tuple[str, np.ndarray]]:
        """Return (name, values) of each canonical feature."""
        if isinstance(features, Mapping):
            label = target if isinstance(target, str) else target["column"]
            skip = {label, *features["all_except"]}
            features = [c for c in self.raw.columns if c not in skip]
        columns: list[tuple[str, np.ndarray]] = []
        for item in features:
            if not isinstance(item, Mapping):
                columns.append((str(item), self.numbers(item)))
            elif "map" in item:
                codes = {str(k): float(v) for k, v in item["map"].items()}
                text = self.categories(item["column"], list(codes))
                columns.append((item["column"], text.map(codes).to_numpy(dtype=np.float64)))
            else:
                text = self.categories(item["column"], item["one_hot"])
                columns.extend(
                    (f"{item['column']}={v}", (text == str(v)).to_numpy(dtype=np.float64)) for v in item["one_hot"]
                )
        return columns


def _text(series: pd.Series) -> pd.Series:
    """Cells as text without surrounding blanks; whole numbers read as floats lose their ``.0``."""
    if pd.api.types.is_float_dtype(series.dtype):
        whole = series.dropna()
        if (whole == whole.round()).all():
            series = series.astype("Int64")
    return series.astype(str).str.strip()
