"""Tables of texts, which pages and the command line show as they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlainTable:
    """Table of texts with legend, headings and remark, for pages and Markdown.

    ``finding`` is a sentence that the table supports, and ``grid`` what a page needs to lay it out as a matrix.
    """

    legend: str  # what an entry says, shown above the table
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remark: str = ""  # explanation of terms, shown below the table; in Markdown
    finding: str = ""  # heading of its section, in the place of the experiment's title
    #: The same by rows and columns, several values a cell (legend, columns, rows), which a page shows above the table.
    grid: Mapping[str, Any] | None = None
