"""Tables of texts, which pages and the command line show as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainTable:
    """A table whose entries are texts.

    Attributes
    ----------
    legend : str
        What an entry says, shown above the table.
    heads : tuple of str
    rows : tuple of tuple of str
    remark : str
        Explanation of terms, shown below the table; in Markdown.
    """

    legend: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remark: str = ""


@dataclass(frozen=True)
class RateEntry:
    """One measured exponent beside that of the theory.

    Attributes
    ----------
    method : str
        Printed name, with its budget.
    expected : tuple of float
        Ends of what the theory allows.
    estimate, low, high : float
        The measured exponent with its interval.
    covers : bool
        Whether the interval meets the theory.
    """

    method: str
    expected: tuple[float, float]
    estimate: float
    low: float
    high: float
    covers: bool


@dataclass(frozen=True)
class RateGrid:
    """Exponents by task and privacy model.

    Attributes
    ----------
    legend : str
    rows, columns : tuple of str
        Tasks and models.
    entries : mapping of (row, column) to tuple of RateEntry
    """

    legend: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: Mapping[tuple[str, str], tuple[RateEntry, ...]]
