"""Figures as small files: what a vector or a bitmap image needs to look the same, and nothing else."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter

from PIL import Image

#: Colours of a bitmap's palette. Line art has few; shades of a contour plot step by less than the eye tells apart.
PALETTE = 64
#: Decimal digits kept of a place in points (1/72 inch), and of the outline of a marker and what else is small.
DIGITS, FINE_DIGITS = 1, 2
#: Paper, ink, soft grey and blue of figures that a browser shows on a dark page; other programs ignore the rule.
_DARK = {"#ffffff": "#14171b", "#000000": "#e4e8ec", "#f0f0f0": "#343b44", "#0072b2": "#3e9be0"}
_FONTS = "DejaVu Sans,Verdana,Geneva,Arial,sans-serif"

_DROPPED = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d+(?![\d%])")
_PLACE = re.compile(r'(?<= )(?:d|x|y|width|height)="[^"]*"')
#: Browsers have read references without this prefix since 2018.
_XLINK = re.compile(r' xmlns:xlink="[^"]*"|xlink:(?=href)')
_TAG = re.compile(r"<[^>]*>")
_FAMILY = re.compile(r"(font:[^;\"]*?px) [^;\"]*|font-family:[^;\"]*;?")
_LOOK = re.compile(r' style="([^"]*)"')
_REFERENCE = re.compile(r"(?<=[\"(]#)[\w.-]+(?=[\")])")
_PATH = re.compile(r'(?<= d=")[^"]*')
_LINES = re.compile(r"(?<=M)[^A-Z]+(?:L[^A-Z]+)+")
_DEFINED = re.compile(r'<defs><path id="([^"]+)" (d="[^"]*")/></defs>')
_CLIPPED = re.compile(r'(<g clip-path="[^"]*">)(?:<(?!/?g)[^>]*/>)+</g>(?:\1(?:<(?!/?g)[^>]*/>)+</g>)+')
_ALIKE = re.compile(r'(<g clip-path="[^"]*")>((?:<use [^>]*(?P<look> class="[^"]*")/>)(?:<use [^>]*(?P=look)/>)+)</g>')
_USED = re.compile(r'<use href="#([^"]+)" x="([^"]*)" y="([^"]*)"([^>]*)/>')


def compact_svg(text: str) -> str:
    """Shorten an SVG file of matplotlib, and let it follow a browser's light or dark colours.

    Coordinates are rounded to :data:`DIGITS` decimals of a point, what many elements look like is said once, paths
    that are defined for one use stand where they are used, neighbours that are clipped alike share a group, and
    comments, metadata, groups without attributes and long or unused identifiers go.
    """
    text = _TAG.sub(lambda tag: _tag(tag[0]), _DROPPED.sub("", text))
    text = "".join(line.strip() for line in text.splitlines())
    return _looks(_joined_groups(_without_groups(_short_names(_in_place(text))))) + "\n"


def _tag(tag: str) -> str:
    tag = _XLINK.sub("", tag)
    if "base64," in tag:
        return re.sub(r'base64,([^"]*)', lambda m: f"base64,{_embedded(m[1])}", tag)
    tag = " ".join(tag.split())
    if not tag.startswith('<path id="'):
        tag = _PLACE.sub(lambda place: _rounded(place[0], DIGITS), tag)
    tag = _rounded(tag, FINE_DIGITS)
    tag = re.sub(r"(?<=[:;]) +", "", tag)
    tag = _FAMILY.sub(lambda m: m[1].replace("font:", "font-size:") if m[1] else "", tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"| style=""', "", tag)
    return _PATH.sub(lambda d: _path(d[0]), tag) if tag.startswith("<path") else tag


def _rounded(text: str, digits: int) -> str:
    return _NUMBER.sub(lambda number: f"{float(number[0]):.{digits}f}".rstrip("0").rstrip("."), text)


def _path(data: str) -> str:
    """Leave out what a path does not need to be read: blanks, leading zeros, lines that follow a point or a line."""
    data = re.sub(r" *([A-Za-z]) *", r"\1", data.strip())
    data = _LINES.sub(lambda lines: lines[0].replace("L", " "), data)
    return re.sub(r"(?<![\d.])0(?=\.)", "", re.sub(r"-0(?![\d.])", "0", data)).replace(" -", "-")


def _in_place(text: str) -> str:
    """Put paths that are used once where they are used; matplotlib defines one for every band of a line."""
    count = Counter(_REFERENCE.findall(text))
    once = {name: path for name, path in _DEFINED.findall(text) if count[name] == 1}

    def draw(use: re.Match) -> str:
        name, x, y, rest = use.groups()
        return f'<path {once[name]} transform="translate({x} {y})"{rest}/>' if name in once else use[0]

    return _USED.sub(draw, _DEFINED.sub(lambda m: "" if m[1] in once else m[0], text))


def _short_names(text: str) -> str:
    """Number the identifiers that something refers to, in the order of the references, and drop the others."""
    used = {name: f"i{k}" for k, name in enumerate(dict.fromkeys(_REFERENCE.findall(text)))}
    text = _REFERENCE.sub(lambda m: used[m[0]], text)
    return re.sub(r' id="([^"]*)"', lambda m: f' id="{used[m[1]]}"' if m[1] in used else "", text)


def _without_groups(text: str) -> str:
    """Unwrap groups without attributes: they only carried a name."""
    open_groups: list[bool] = []

    def keep(tag: re.Match) -> str:
        if tag[0].startswith("<g") and tag[0][2] in " >":
            open_groups.append(tag[0] != "<g>")
            return tag[0] if open_groups[-1] else ""
        if tag[0] == "</g>":
            return tag[0] if open_groups.pop() else ""
        return tag[0]

    return _TAG.sub(keep, text).replace("<defs></defs>", "")


def _joined_groups(text: str) -> str:
    """Make one group of neighbours that are clipped alike."""
    return _CLIPPED.sub(lambda m: m[1] + m[0].replace(m[1], "").replace("</g>", "") + "</g>", text)


def _looks(text: str) -> str:
    """Say each look once, as a class, with its colours on a dark page where they differ."""
    names = {look: f"s{k}" for k, look in enumerate(dict.fromkeys(_LOOK.findall(text)))}
    text = _LOOK.sub(lambda m: f' class="{names[m[1]]}"', text)
    text = _ALIKE.sub(lambda m: f"{m[1]}{m['look']}>{m[2].replace(m['look'], '')}</g>", text)
    plain = "".join(f".{name}{{{look}}}" for look, name in names.items())
    changed = {name: _darkened(look) for look, name in names.items()}
    ink = f"svg{{fill:{_DARK['#000000']}}}"
    dark = ink + "".join(f".{name}{{{look}}}" for name, look in changed.items() if look)
    rules = f"text{{font-family:{_FONTS}}}{plain}@media(prefers-color-scheme:dark){{{dark}}}"
    return text.replace("</style>", rules + "</style>", 1)


def _darkened(look: str) -> str:
    parts = (part.partition(":") for part in look.split(";"))
    return ";".join(f"{key}:{_DARK[value]}" for key, _, value in parts if value in _DARK)


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
