"""Reports of any kind (numbers, vectors, bytes, categories, dicts) as named columns, and columns as features."""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lpbench.errors import DataError

#: Named columns of n reports, each of shape (n,): numbers as floats, categories as texts.
Columns = dict[str, np.ndarray]

#: Name of the column that says whether a number is of a type of whole numbers.
WHOLE = "whole-number type of"
#: Leading bytes of a report that become columns.
_MOST_BYTES = 64
#: Digits of a number that are looked at by themselves, and the most columns whose digits are.
_DIGITS, _MOST_WITH_DIGITS = 9, 16
#: Categories of a column with a code of their own; the rest share one.
_MOST_CATEGORIES = 1000


def part_of(columns: Columns, start: int, stop: int) -> Columns:
    """Return the rows ``start`` to ``stop`` of all columns."""
    return {name: column[start:stop] for name, column in columns.items()}


def to_columns(reports: Any, name: str = "report") -> Columns:
    """Cut reports (numbers, texts, bytes, vectors, dicts) into columns ``name[0]``, ``name.key`` of shape (n,)."""
    if isinstance(reports, Mapping):
        return {
            key: column for member in reports for key, column in to_columns(reports[member], f"{name}.{member}").items()
        }
    if isinstance(reports, np.ndarray) and reports.dtype.kind in "biuf":
        return _numbers(reports, name)
    reports = reports.tolist() if isinstance(reports, np.ndarray) else list(reports)
    kinds = {_kind(report) for report in reports}
    if len(kinds) > 1:
        raise DataError(f"{name}s are of several kinds ({', '.join(sorted(kinds))}); every one must be of the same")
    kind = kinds.pop() if kinds else "number"
    if kind == "number":
        try:
            return _numbers(np.array(reports, dtype=np.float64), name) | _types(reports, name)
        except OverflowError as error:
            raise DataError(f"a {name} is a whole number beyond float64; send it as text or in parts") from error
    if kind == "category":
        return {name: np.array([str(report) for report in reports], dtype=object)}
    if kind == "bytes":
        return _bytes(reports, name)
    if kind == "dict":
        return _dicts(reports, name)
    if kind == "vector":
        return _vectors(reports, name)
    raise DataError(f"a {name} is a {kind}; it must be a number, a text, bytes, a vector, or a dict of these")


def _kind(report: Any) -> str:
    """Kind of a report: "category", "number", "bytes", "dict", "vector", or the name of its type."""
    if isinstance(report, (str, type(None))):
        return "category"
    if isinstance(report, (numbers.Real, np.bool_)):
        return "number"
    if isinstance(report, (bytes, bytearray)):
        return "bytes"
    if isinstance(report, Mapping):
        return "dict"
    return "vector" if isinstance(report, (Sequence, np.ndarray)) else type(report).__name__


def _numbers(reports: np.ndarray, name: str) -> Columns:
    """Column of each entry of numeric reports (n, ...), keyed "name" or "name[i]"; DataError for NaN."""
    table = reports.astype(np.float64).reshape(len(reports), -1)
    if np.isnan(table).any():
        raise DataError(f"a {name} is NaN (not a number); every report must be one that a curator could receive")
    if reports.ndim == 1:
        return {name: table[:, 0]}
    return {f"{name}[{i}]": column for i, column in enumerate(table.T)}


def _types(reports: Sequence[Any], name: str) -> Columns:
    """Return a column that tells whole numbers from floats, where reports mix them: a reader of 1 and 1.0 sees both."""
    is_integer = np.array([isinstance(report, (numbers.Integral, np.bool_)) for report in reports], dtype=np.float64)
    return {f"{WHOLE} {name}": is_integer} if np.ptp(is_integer) else {}


def _bytes(reports: Sequence[bytes], name: str) -> Columns:
    """Columns of the first bytes of reports, -1 behind their ends, and of their lengths if these differ."""
    lengths = np.array([len(report) for report in reports])
    width = min(int(lengths.max()), _MOST_BYTES)
    table = np.full((len(reports), width), -1.0)
    for row, report in zip(table, reports, strict=True):
        row[: len(report)] = np.frombuffer(bytes(report[:width]), dtype=np.uint8)
    columns = {f"byte {i} of {name}": column for i, column in enumerate(table.T)}
    return columns | ({f"length of {name}": lengths.astype(np.float64)} if np.ptp(lengths) else {})


def _dicts(reports: Sequence[Mapping], name: str) -> Columns:
    keys = list(reports[0])
    if any(report.keys() != reports[0].keys() for report in reports):
        raise DataError(f"{name}s have different keys; every one must have those of the first, {keys}")
    return to_columns({key: [report[key] for report in reports] for key in keys}, name)


def _vectors(reports: Sequence[Any], name: str) -> Columns:
    """Turn reports that are vectors into a column for each entry; DataError if their lengths differ."""
    lengths = {len(report) for report in reports}
    if len(lengths) > 1:
        raise DataError(f"{name}s have different lengths ({min(lengths)} to {max(lengths)}); every one must be equal")
    try:
        table = np.array(reports)
    except ValueError:
        table = np.empty(0, dtype=object)
    if table.dtype.kind in "biuf":
        return _numbers(table, name)
    parts = [to_columns(list(entries), f"{name}[{i}]") for i, entries in enumerate(zip(*reports, strict=True))]
    return {key: column for columns in parts for key, column in columns.items()}


@dataclass(frozen=True)
class Encoder:
    """Map of columns of reports to numeric features: numbers centered, categories coded by likelihood ratio, digits.

    The digits of a number are whether it is one of single precision, and what is left of it beyond each decimal place:
    noise that is rounded, or drawn in single precision, leaves those of the value.
    """

    names: tuple[str, ...]
    # subtracted from a column of numbers, so that single precision keeps what distinguishes them
    centers: tuple[float, ...]
    # of a column of categories: those seen, in the order of their codes 1, 2, ...; any other is 0
    categories: tuple[tuple[str, ...] | None, ...]
    digits: bool  # whether they are features too
    signed: tuple[str, ...] = ()  # columns of numbers with negative zeros, whose sign of a zero is a feature

    @classmethod
    def fit(cls, first: Columns, second: Columns, digits: bool = True) -> Self:
        """Learn centers and codes from reports of two values, which must not be those that test an event."""
        centers: list[float] = []
        categories: list[tuple[str, ...] | None] = []
        for name, column in first.items():
            if column.dtype == object:
                centers.append(0.0)
                categories.append(_by_ratio(column, second[name]))
            else:
                middle = float(np.median(np.concatenate([column, second[name]])))
                centers.append(middle if np.isfinite(middle) else 0.0)
                categories.append(None)
        signed = tuple(n for n in first if any(_negative_zeros(columns[n]).any() for columns in (first, second)))
        return cls(tuple(first), tuple(centers), tuple(categories), digits and len(first) <= _MOST_WITH_DIGITS, signed)

    def __call__(self, columns: Columns) -> np.ndarray:
        """Numeric features of n reports, given by their columns: (n, features), those of a column side by side."""
        features = [
            columns[name] - center if seen is None else _codes(columns[name], seen)
            for name, center, seen in zip(self.names, self.centers, self.categories, strict=True)
        ]
        features += [d for name in self._with_digits for d in _digits_of(columns[name])]
        return np.column_stack(features + [_negative_zeros(columns[name]) for name in self.signed])

    @property
    def _with_digits(self) -> list[str]:
        numbers = [name for name, seen in zip(self.names, self.categories, strict=True) if seen is None]
        return numbers if self.digits else []

    def known(self, columns: Columns) -> np.ndarray:
        """Return True for reports of which all categories have been seen, bool ndarray of shape (n,)."""
        all_seen = np.ones(len(columns[self.names[0]]), dtype=bool)
        for name, seen in zip(self.names, self.categories, strict=True):
            if seen is not None:
                all_seen &= np.isin(columns[name].astype(str), seen)
        return all_seen

    def condition(self, feature: int, low: float, high: float) -> str:
        """Describe ``low < feature <= high`` in terms of the reports."""
        if feature >= len(self.names):
            column, digit = divmod(feature - len(self.names), _DIGITS + 1)
            if column >= len(self._with_digits):
                name = self.signed[feature - len(self.names) - (_DIGITS + 1) * len(self._with_digits)]
                return f"{name} is {'' if low > 0 else 'not '}a negative zero"
            name = self._with_digits[column]
            if digit == _DIGITS:
                return f"{name} is {'' if low > 0 else 'not '}a number of single precision"
            remainder = f"{name} mod 1e-{digit}"
            return f"{max(low, 0):.5g} < {remainder} * 1e{digit} <= {min(high, 1):.5g}"
        name, seen = self.names[feature], self.categories[feature]
        if seen is not None:
            inside = [category for code, category in enumerate(seen, start=1) if low < code <= high]
            categories = ", ".join(inside[:8]) + (f" and {len(inside) - 8} more" if len(inside) > 8 else "")
            return f"{name} = {categories}" if len(inside) == 1 else f"{name} in {{{categories}}}"
        low, high = low + self.centers[feature], high + self.centers[feature]
        if np.isinf(low):
            return f"{name} <= {high:.5g}"
        return f"{name} > {low:.5g}" if np.isinf(high) else f"{low:.5g} < {name} <= {high:.5g}"


def _digits_of(column: np.ndarray) -> list[np.ndarray]:
    with np.errstate(invalid="ignore", over="ignore"):
        rests = [np.round(column * 10.0**digit % 1.0, 6) % 1.0 for digit in range(_DIGITS)]
        single = column == column.astype(np.float32)
    return [*(np.nan_to_num(remainder) for remainder in rests), single.astype(np.float64)]


def _negative_zeros(column: np.ndarray) -> np.ndarray:
    """Mark the entries -0.0, which equal 0.0 and print otherwise."""
    if column.dtype == object:
        return np.zeros(len(column))
    return ((column == 0) & np.signbit(column)).astype(np.float64)


def _by_ratio(first: np.ndarray, second: np.ndarray) -> tuple[str, ...]:
    """Categories in increasing order of their likelihood ratio between two samples, the reports of two values."""
    seen, codes = np.unique(np.concatenate([first, second]).astype(str), return_inverse=True)
    counts = [np.bincount(side, minlength=seen.size) for side in (codes[: len(first)], codes[len(first) :])]
    frequent = np.argsort(-(counts[0] + counts[1]), kind="stable")[:_MOST_CATEGORIES]
    ratio = (counts[0][frequent] + 0.5) / (counts[1][frequent] + 0.5)
    return tuple(seen[frequent[np.argsort(ratio, kind="stable")]].tolist())


def _codes(column: np.ndarray, seen: tuple[str, ...]) -> np.ndarray:
    code = {category: float(i) for i, category in enumerate(seen, start=1)}
    return np.array([code.get(category, 0.0) for category in column])
