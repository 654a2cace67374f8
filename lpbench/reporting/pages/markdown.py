"""The little Markdown that our own reports use, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape

_CELL = re.compile(r"(?<!\\)\|")


def inline(text: str) -> Markup:
    """Bold, emphasis, code and escaped characters of one line."""
    parts = re.split(r"`([^`]*)`", text)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = f"<code>{escape(part)}</code>"
        else:
            bold = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(part)))
            bold = re.sub(r"(?<![\\\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>", bold)
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


def sections(text: str) -> tuple[Markup, list[dict]]:
    """Title and sections of a text: headings of two levels, paragraphs, lists and tables.

    Returns
    -------
    title : Markup
    sections : list of dict
        ``title`` ("" before the first heading), ``anchor`` and ``parts``: pairs ("text", Markup), ("list", items as of
        :func:`bullets`) or ("table", (heads, rows)).
    """
    title = Markup("")
    found: list[dict[str, Any]] = [{"title": Markup(""), "anchor": "", "parts": []}]
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("# "):
            title = inline(block[2:])
        elif block.startswith("## "):
            found.append({"title": inline(block[3:]), "anchor": f"part-{len(found)}", "parts": []})
        elif block.startswith("|"):
            found[-1]["parts"].append(("table", tables(block)[0]))
        elif block.startswith("- "):
            found[-1]["parts"].append(("list", bullets(block.splitlines())))
        else:
            found[-1]["parts"].append(("text", inline(" ".join(block.split()))))
    return title, [section for section in found if section["title"] or section["parts"]]
