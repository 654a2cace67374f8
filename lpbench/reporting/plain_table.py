"""Tables of texts, which pages and the command line show as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainTable:
    """A table whose entries are texts."""

    legend: str  # what an entry says, shown above the table
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remark: str = ""  # explanation of terms, shown below the table; in Markdown
    finding: str = ""  # heading of its section, in the place of the experiment's title


@dataclass(frozen=True)
class RateEntry:
    """One measured exponent beside that of the theory."""

    method: str  # printed name, with its budget
    expected: tuple[float, float]  # ends of what the theory allows
    estimate: float  # with its interval
    low: float
    high: float
    covers: bool  # whether the interval meets the theory


@dataclass(frozen=True)
class RateGrid:
    """Exponents by task and privacy model."""

    legend: str
    rows: tuple[str, ...]  # tasks
    columns: tuple[str, ...]  # privacy models
    entries: Mapping[tuple[str, str], tuple[RateEntry, ...]]
