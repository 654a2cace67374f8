"""Tables of texts, which pages and the command line show as they are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlainTable:
    legend: str  # what an entry says, shown above the table
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remark: str = ""  # explanation of terms, shown below the table; in Markdown
    finding: str = ""  # heading of its section, in the place of the experiment's title
