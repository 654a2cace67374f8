"""Figures as small files: what a vector or a bitmap image needs to look the same, and nothing else."""

from __future__ import annotations

import base64
import io
import re

from PIL import Image

#: Colours of a bitmap's palette. Line art has few; shades of a contour plot step by less than the eye tells apart.
PALETTE = 64
#: Decimal digits kept of a coordinate in points (1/72 inch).
DIGITS = 2
#: Paper, ink, soft grey and blue of figures that a browser shows on a dark page; other programs ignore the rule.
_DARK = (("#ffffff", "#14171b"), ("#000000", "#e4e8ec"), ("#f0f0f0", "#343b44"), ("#0072b2", "#3e9be0"))
_FONTS = "DejaVu Sans,Verdana,Geneva,Arial,sans-serif"

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_NUMBER = re.compile(rf"-?\d+\.\d{{{DIGITS + 1},}}(?![\d%])")
_TAG = re.compile(r"<[^>]*>")
_ID = re.compile(r' id="([^"]*)"')
_FAMILY = re.compile(r"(font:[^;\"]*?px) [^;\"]*|font-family:[^;\"]*;?")


def compact_svg(text: str) -> str:
    """Shorten an SVG file of matplotlib, and let it follow a browser's light or dark colours.

    Coordinates are rounded to :data:`DIGITS` decimals of a point; comments, metadata, unused identifiers and the names
    of fonts at every single text go.
    """
    text = _DROPPED.sub("", text)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = _TAG.sub(lambda tag: _tag(tag[0], used), text)
    text = "".join(line.strip() for line in text.splitlines())
    text = re.sub(r' transform="rotate\(-?0 [^"]*"', "", text)
    # groups that only carried a name
    while (shorter := re.sub(r"<g></g>|<defs></defs>", "", text)) != text:
        text = shorter
    return text.replace("</style>", _style() + "</style>", 1) + "\n"


def _tag(tag: str, used: set[str]) -> str:
    if "base64," in tag:
        return re.sub(r'base64,([^"]*)', lambda m: f"base64,{_embedded(m[1])}", tag)
    tag = " ".join(tag.split())
    tag = _NUMBER.sub(_round, tag)
    tag = _ID.sub(lambda m: m[0] if m[1] in used else "", tag)
    tag = re.sub(r"(?<=[:;]) +", "", tag)
    tag = _FAMILY.sub(lambda m: m[1].replace("font:", "font-size:") if m[1] else "", tag)
    return re.sub(r" (?=[MLQCz] | ?\"/?>)|(?<=[MLQCz]) (?=-?\d)", "", tag) if tag.startswith("<path") else tag


def _round(match: re.Match) -> str:
    text = f"{float(match[0]):.{DIGITS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _style() -> str:
    rules = [(kind, light, other) for light, other in _DARK for kind in ("fill", "stroke")]
    dark = "".join(f'[style*="{kind}:{light}"]{{{kind}:{other}!important}}' for kind, light, other in rules)
    ink = dict(_DARK)["#000000"]
    return f"text{{font-family:{_FONTS}}}@media(prefers-color-scheme:dark){{svg{{fill:{ink}}}{dark}}}"


def _embedded(data: str) -> str:
    """Base64 of a rasterised part, on a palette; transparent where nothing was drawn."""
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    return base64.b64encode(_on_palette(image, Image.Quantize.FASTOCTREE)).decode()


def compact_png(data: bytes) -> bytes:
    """Reduce a PNG file to a palette, without dithering."""
    return _on_palette(Image.open(io.BytesIO(data)).convert("RGB"), Image.Quantize.MEDIANCUT)


def _on_palette(image: Image.Image, method: Image.Quantize) -> bytes:
    buffer = io.BytesIO()
    image.quantize(PALETTE, method=method, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
