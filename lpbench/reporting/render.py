"""Rendering of templates: one Jinja environment for the pages (``.html.j2``) and the Markdown files (``.md.j2``)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

#: Notes, errata and documents are written in Markdown; HTML in them is shown as it stands.
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


def render(template: str, **content: Any) -> str:
    """Fill a template in; a name that it needs and ``content`` lacks is an error."""
    return _environment().get_template(template).render(content)


def inline(text: str) -> Markup:
    """Render one line of Markdown (code, emphasis) as HTML."""
    return Markup(_MARKDOWN.renderInline(text))


def document(path: Path) -> Markup:
    """Render a Markdown file as HTML, its headings one level down: a page has a title of its own."""
    tokens = _MARKDOWN.parse(path.read_text(encoding="utf-8"))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{int(token.tag[1]) + 1}"
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def _entry(text: Any) -> str:
    """Text of an entry of a Markdown table."""
    return str(text).replace("|", r"\|")


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "pages" / "templates"),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {"inline": inline, "entry": _entry}
    return made
