"""Tables of texts, which pages and the command line show as they are."""

from __future__ import annotations

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
