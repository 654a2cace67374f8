"""The little Markdown that our own reports use, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

_CELL = re.compile(r"(?<!\\)\|")


def inline(text: str) -> Markup:
    """Bold, code and escaped characters of one line."""
    parts = re.split(r"`([^`]*)`", text)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = f"<code>{escape(part)}</code>"
        else:
            bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(part)))
            parts[k] = re.sub(r"\\([*|_])", r"\1", bold)
    return Markup("".join(parts))


def bullets(lines: Iterable[str]) -> list[tuple[Markup, list[Markup]]]:
    """Items of a list of two levels: text and the items below it."""
    found: list[tuple[Markup, list[Markup]]] = []
    for line in lines:
        if line.startswith("  - ") and found:
            found[-1][1].append(inline(line[4:]))
        else:
            found.append((inline(line.removeprefix("- ")), []))
    return found


def tables(text: str) -> list[tuple[list[Markup], list[list[Markup]]]]:
    """Tables of a text: heads and rows of each."""
    found: list[tuple[list[Markup], list[list[Markup]]]] = []
    before = False
    for line in text.splitlines():
        inside = line.startswith("|")
        if inside:
            cells = [inline(c.strip()) for c in _CELL.split(line.strip()[1:-1])]
            if not before:
                found.append((cells, []))
            elif not set(line) <= set("|-: "):
                found[-1][1].append(cells)
        before = inside
    return found
