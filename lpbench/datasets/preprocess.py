"""From raw columns to the canonical table, as the manifest says.

The order of the steps is fixed: name the columns, choose rows (``rows``), find the public rows (``public``), code the
label (``target``) and the features (``features``). The keys of each step are those of
:mod:`lpbench.datasets.schema`.
"""

import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lpbench.datasets.dates import days
from lpbench.datasets.manifest import Manifest
from lpbench.datasets.table import Table
from lpbench.errors import DataError

#: Names of columns that identify: id, customer_id, CustomerId.
_IDENTIFIER = re.compile(r"(?i:(?:^|[_\W])id)$|[a-z]I[dD]$")


def repeated_identifier(raw: pd.DataFrame, least: int = 2) -> str | None:
    """Name of an identifier that repeats and has at least so many values; a value that most rows share names nobody."""
    counts = ((str(c), raw[c].value_counts()) for c in raw.columns if _IDENTIFIER.search(str(c)))
    return next((c for c, rows in counts if least <= len(rows) < rows.sum() and 2 * rows.iloc[0] <= rows.sum()), None)


def prepare(raw: pd.DataFrame, manifest: Manifest) -> Table:
    """Turn raw columns, as :func:`lpbench.datasets.readers.read_source` returns them, into the canonical table."""
    frame = _Frame(raw, manifest.name)
    for step in manifest.rows:
        frame.choose_rows(step)
    if not manifest.unit and (repeated := repeated_identifier(frame.raw)):
        warnings.warn(
            f"data set {manifest.name!r}: {repeated} repeats, so that rows of one person are in training and test "
            f"rows; add `unit: {repeated}` to the manifest if it names persons or households",
            stacklevel=2,
        )
    public = None if manifest.public is None else frame.public(manifest.public, manifest.unit)
    columns = frame.feature_columns(manifest.features, manifest.target)
    X = np.empty((len(frame.raw), len(columns)))
    for k, (_, values) in enumerate(columns):
        X[:, k] = values
    names = tuple(name for name, _ in columns)
    units = frame.units(manifest.unit, names, public) if manifest.unit else None
    return Table(X, frame.target(manifest.target), names, public, units)


def chosen_rows(raw: pd.DataFrame, manifest: Manifest) -> np.ndarray:
    """Positions among the raw rows of those that are kept."""
    frame = _Frame(raw.reset_index(drop=True), manifest.name)
    for step in manifest.rows:
        frame.choose_rows(step)
    return frame.raw.index.to_numpy()


class _Frame:
    """Raw columns of one data set, with checks whose errors name data set, column and row."""

    def __init__(self, raw: pd.DataFrame, name: str):
        self.raw, self.name = raw, name

    def wrong(self, text: str) -> DataError:
        """Build a DataError that names the data set."""
        return DataError(f"data set {self.name!r}: {text}")

    def column(self, column: str) -> pd.Series:
        """Return a raw column; a name that the file lacks raises a DataError with the names it has."""
        column = str(column)  # a name such as 2020 is a number to YAML
        if column not in self.raw.columns:
            have = ", ".join(map(str, self.raw.columns[:12])) + (", ..." if self.raw.shape[1] > 12 else "")
            raise self.wrong(f"column {column!r} is missing; the file has {have}")
        return self.raw[column]

    def numbers(self, column: str) -> np.ndarray:
        """Return a raw column as finite floats; DataError names the first row that holds none."""
        series = self.column(column)
        values = pd.to_numeric(series, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            cell = "nothing" if pd.isna(series.iloc[row]) else repr(str(series.iloc[row]))
            raise self.wrong(f"column {column!r}, row {row} holds {cell}, expected a number")
        return values

    def days(self, column: str, written: str) -> np.ndarray:
        """Return a column of dates as days since 1970-01-01; ``written`` is their format, such as "YYYY-MM-DD".

        DataError names the first row that holds none.
        """
        series = self.column(column)
        numbers = days(series, written)
        if np.isnan(numbers).any():
            row = int(np.argmax(np.isnan(numbers)))
            raise self.wrong(
                f"column {column!r}, row {row} holds {str(series.iloc[row])!r}, expected a date written as {written}"
            )
        return numbers

    def categories(self, column: str, values: Sequence) -> pd.Series:
        """Return the column as text, having checked that every cell is one of the known categories."""
        text = as_texts(self.column(column))
        allowed = set(self.cells(column, values))
        if unknown := sorted(set(text.unique()) - allowed):
            quoted = "" if all(isinstance(v, str) for v in values) else "; in the manifest, quote words and numbers"
            raise self.wrong(
                f"column {column!r} holds {unknown[0]!r}, expected one of {', '.join(sorted(allowed))}{quoted}"
            )
        return text

    def cells(self, column: str, values: Sequence) -> list[str]:
        """Convert the manifest's values to the texts of a column's cells; numbers are matched by value."""
        series = self.column(column)
        if series.dtype.kind not in "iuf":
            return [unicodedata.normalize("NFC", str(v)) for v in values]
        numbers = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
        is_integer = series.dtype.kind != "f" or (series.dropna() == series.dropna().round()).all()
        written = [str(int(n)) if is_integer and np.isfinite(n) and n == round(n) else str(float(n)) for n in numbers]
        return [w if n == n else str(v) for v, n, w in zip(values, numbers, written, strict=True)]

    def is_in(self, column: str, values: Sequence) -> np.ndarray:
        """Return True, (n,), where a column holds one of the values (compared as text)."""
        return as_texts(self.column(column)).isin(self.cells(column, values)).to_numpy()

    def units(self, column: str, features: Sequence[str], public: np.ndarray | None) -> np.ndarray:
        """Number the persons that a column names, in the order in which they occur: int array (n,).

        DataError if it is a feature too, is missing in a row, or has public and private rows.
        """
        if column in features:
            raise self.wrong(f"unit {column!r} is a feature, too; leave it out of `features`")
        codes, names = pd.factorize(self.column(column))
        if (codes < 0).any():
            raise self.wrong(f"unit {column!r} is missing in row {int(np.argmin(codes))}")
        if public is not None and (shared := np.intersect1d(codes[public], codes[~public])).size:
            raise self.wrong(f"{column} {names[shared[0]]!r} has public and private rows")
        return codes

    def choose_rows(self, step: Mapping) -> None:
        """Apply one step of the manifest's ``rows``: drop or keep rows, fill missing cells, or draw a sample."""
        ((kind, argument),) = step.items()
        if kind == "drop_missing":
            subset = None if argument == "all" else [self.column(c).name for c in argument]
            self.raw = self.raw.dropna(subset=subset)
        elif kind in ("keep", "drop"):
            listed = self.is_in(argument["column"], argument["values"])
            self.raw = self.raw[listed if kind == "keep" else ~listed]
        elif kind == "fill_missing":
            words = argument if isinstance(argument, Mapping) else {}
            columns = {c: self.column(c) for c in argument}
            self.raw = self.raw.assign(
                **{c: cells.fillna(words[c]) if words else filled(cells) for c, cells in columns.items()}
            )
        else:  # sample
            self.raw = self.raw[drawn_rows(len(self.raw), argument["size"], argument["seed"])]

    def public(self, rule: Mapping, unit: str) -> np.ndarray:
        """Return True for the public rows by the manifest's rule, bool ndarray of shape (n,).

        Sampled persons or households are public with all of their rows.
        """
        n = len(self.raw)
        if "first" in rule:
            return np.arange(n) < rule["first"]
        if "sample" in rule and unit:  # whole units, until they have as many rows
            codes = pd.factorize(self.column(unit))[0]
            rank = np.argsort(np.argsort(np.random.PCG64(rule["seed"]).random_raw(codes.max() + 1), kind="stable"))
            before = np.cumsum(np.bincount(rank[codes])) - np.bincount(rank[codes])
            return before[rank[codes]] < rule["sample"]
        if "sample" in rule:
            return drawn_rows(n, rule["sample"], rule["seed"])
        if "file" in rule:
            return self.raw.index.get_level_values(0).to_numpy() == rule["file"]
        if "size" in rule:
            text = as_texts(self.column(rule["column"]))
            counts = text.value_counts().sort_index()
            return (text == (counts - rule["size"]).abs().idxmin()).to_numpy()
        return self.is_in(rule["column"], rule["values"])

    def target(self, rule: str | Mapping) -> np.ndarray:
        """Return the labels, float64 of shape (n,): a column, clipped or its logarithm, or the number of its class."""
        if isinstance(rule, str):
            return self.numbers(rule)
        if "clip" in rule:
            return np.clip(self.numbers(rule["column"]), *rule["clip"])
        if "log" in rule:
            return self.logarithms(rule["column"], rule["log"])
        if "classes" in rule:
            codes = {cell: float(k) for k, cell in enumerate(self.cells(rule["column"], rule["classes"]))}
            return self.categories(rule["column"], rule["classes"]).map(codes).to_numpy(dtype=np.float64)
        text = self.categories(rule["column"], [*rule["positive"], *rule["negative"]])
        return text.isin(self.cells(rule["column"], rule["positive"])).to_numpy(dtype=np.float64)

    def logarithms(self, column: str, offset: float) -> np.ndarray:
        """Return log(offset + column); DataError if an argument is not positive."""
        values = offset + self.numbers(column)
        if not (values > 0).all():
            row = int(np.flatnonzero(values <= 0)[0])
            raise self.wrong(
                f"column {column!r}, row {row}: {offset:g} + the label is {values[row]:g}, "
                "which has no logarithm; use `clip` instead of `log`"
            )
        return np.log(values)

    def feature_columns(self, features: Sequence | Mapping, target: str | Mapping) -> list[tuple[str, np.ndarray]]:
        """Return (name, values (n,)) of each column of the prepared table, in the order of the manifest.

        Categories become numbers (``map``) or one column per level (``one_hot``), named "column=level".
        """
        if isinstance(features, Mapping):
            label = target if isinstance(target, str) else target["column"]
            skip = {label, *features["all_except"]}
            features = [c for c in self.raw.columns if c not in skip]
        columns: list[tuple[str, np.ndarray]] = []
        for item in features:
            if not isinstance(item, Mapping):
                columns.append((str(item), self.numbers(item)))
                continue
            column = item["column"]
            if "date" in item:
                columns.append((column, self.days(column, item["date"])))
                continue
            if "round" in item:
                columns.append((column, np.round(self.numbers(column), item["round"])))
                continue
            levels = list(item["map"] if "map" in item else item["one_hot"])
            text, cells = self.categories(column, levels), self.cells(column, levels)
            if "map" in item:
                codes = dict(zip(cells, map(float, item["map"].values()), strict=True))
                columns.append((column, text.map(codes).to_numpy(dtype=np.float64)))
            else:
                coded = [(text == cell).to_numpy(dtype=np.float64) for cell in cells]
                columns += [(f"{column}={v}", values) for v, values in zip(levels, coded, strict=True)]
        return columns


def drawn_rows(n: int, size: int, seed: int) -> np.ndarray:
    """Return which of n rows are drawn, by a stream that numpy guarantees across versions."""
    keys = np.random.PCG64(seed).random_raw(n)
    return np.isin(np.arange(n), np.argsort(keys, kind="stable")[:size])


def filled(column: pd.Series) -> pd.Series:
    """Fill missing cells: numbers by the median of the column, anything else by its most frequent value."""
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return column.fillna(column.median() if numbers else column.mode().iloc[0])


def as_texts(series: pd.Series) -> pd.Series:
    """Cells as text in one Unicode form, without surrounding blanks; whole numbers read as floats lose their ``.0``."""
    if pd.api.types.is_float_dtype(series.dtype):
        numbers = series.dropna()
        if (numbers == numbers.round()).all() and np.isfinite(numbers).all():
            beyond = (numbers.abs() >= 2.0**63).any()  # of the whole numbers of pandas
            series = series.map(int, na_action="ignore").astype(object) if beyond else series.astype("Int64")
    return series.astype(str).str.strip().str.normalize("NFC")
