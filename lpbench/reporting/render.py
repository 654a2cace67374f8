"""Rendering of templates: one Jinja environment for the pages (``.html.j2``) and the Markdown files (``.md.j2``)."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from lpbench.disk import write_text
from lpbench.reporting.numbers import per_cent
from lpbench.reporting.printed_names import in_print

TEMPLATES = Path(__file__).parent / "pages" / "templates"
#: A word or more between stars, which are neither of a symbol (s*) nor of a mark.
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*]*)\*(?![\w*])")
#: Words of the papers that have a symbol, or a name in full.
_SYMBOLS = {"gamma": "γ", "lambda": "λ", "eta": "η", "mse": "mean squared error"}


def render(template: str, **content: Any) -> str:
    """Fill a template in; a name that it needs and ``content`` lacks is an error."""
    return _environment().get_template(template).render(content)


def write_page(template: str, path: Path, **content: Any) -> Path:
    """Write a page, and beside it (``root``: the way from the page there) the style, script and icon of every page."""
    write_text(render(template, **content), path)
    for name in ("style.css", "page.js", "favicon.svg"):
        write_text((TEMPLATES / name).read_text(encoding="utf-8"), path.parent / content.get("root", "") / name)
    return path


def coded(text: str) -> Markup:
    """Text in which what stands between backticks is code; elsewhere stars emphasize, and printed names stand."""
    parts = str(text).split("`")
    if len(parts) % 2 == 0:  # a backtick without its pair stands for itself
        parts[-2:] = ["`".join(parts[-2:])]
    return Markup("").join(
        Markup("<code>{}</code>").format(p)
        if k % 2
        else Markup(_EMPHASIS.sub(r"<em>\1</em>", str(escape(in_print(p)))))
        for k, p in enumerate(parts)
    )


def contents(body: str) -> list[tuple[str, Markup]]:
    """Identifiers and texts of a page's headings of the second level, also of those that open a fold."""
    headings = re.findall(r'<(?:h2|details class="group") id="([^"]+)".*?>(?:<summary><h2>)?(.*?)</h2>', body)
    return [(name, Markup(text)) for name, text in headings]


def in_symbols(text: str) -> str:
    """Replace words by symbols in a paper's text: ``epsilon <= 1`` becomes ``ε ≤ 1``."""
    text = re.sub(r"\b(?:[Ee]psilon|eps)\b", "ε", text)
    for word, symbol in _SYMBOLS.items():
        text = re.sub(rf"\b{word}\b", symbol, text)
    return text.replace("<=", "≤").replace(">=", "≥").replace("ε^2", "ε²")


@cache
def _environment() -> jinja2.Environment:
    """Return Jinja's environment: HTML is escaped, and an undefined name is an error."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals |= {"root": "", "made": {}, "stored": True, "with_contents": False, "description": "", "preview": ""}
    made.filters |= {"coded": coded, "contents": contents, "in_symbols": in_symbols, "printed": in_print}
    made.filters["per_cent"] = per_cent
    made.filters["entry"] = lambda text: str(text).replace("|", r"\|")
    return made
