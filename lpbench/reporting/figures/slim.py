"""Matplotlib's SVG in a third of the bytes: the same shapes, repeated parts written once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from xml.etree import ElementTree

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
#: Decimals of a coordinate in points: a hundredth of a point is not seen.
_DECIMALS = 2
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")


def slim(svg: str) -> str:
    """Shorten coordinates and names, give styles that several elements share a class, take empty groups away."""
    ElementTree.register_namespace("", _SVG.strip("{}"))
    ElementTree.register_namespace("xlink", _LINK.partition("}")[0].strip("{"))
    root = ElementTree.fromstring(svg)
    for metadata in root.findall(f"{_SVG}metadata"):
        root.remove(metadata)
    _rename(root)
    _ungroup(root)
    for element in root.iter():
        element.text, element.tail = (text if text and text.strip() else None for text in (element.text, element.tail))
        for name, value in element.attrib.items():
            if name == "d":
                value = re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(value.split()))
            if name == "transform":
                value = _NO_TURN.sub("", value).strip()
            if name in ("d", "x", "y", "width", "height", "points", "transform"):
                value = _NUMBER.sub(_short, value)
            element.set(name, value)
        if element.get("transform") == "":
            del element.attrib["transform"]
    _share_styles(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _short(number: re.Match[str]) -> str:
    return f"{round(float(number[0]), _DECIMALS) + 0.0:.{_DECIMALS}f}".rstrip("0").rstrip(".")


def _rename(root: ElementTree.Element) -> None:
    """Keep the names that something refers to, and make them short."""
    used = set(re.findall(r"#([\w.-]+)", " ".join(v for e in root.iter() for v in e.attrib.values())))
    short: dict[str, str] = {}
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name is not None and name in used:
            element.set("id", short.setdefault(name, f"n{len(short)}"))
    for element in root.iter():
        for key, value in element.attrib.items():
            if "#" in value and key != "style":
                element.set(key, re.sub(r"#([\w.-]+)", lambda m: f"#{short.get(m[1], m[1])}", value))


def _ungroup(parent: ElementTree.Element) -> None:
    """Put the children of groups that say nothing in the groups' place."""
    for child in list(parent):
        _ungroup(child)
    children = [e for child in parent for e in (child if child.tag == f"{_SVG}g" and not child.attrib else [child])]
    parent[:] = children


def _share_styles(root: ElementTree.Element) -> None:
    styles = Counter(e.get("style", "") for e in root.iter())
    names: Iterator[str] = (f"s{k}" for k in count())
    shared = {style: next(names) for style, n in styles.items() if style and n > 1}
    for element in root.iter():
        if element.get("style") in shared:
            element.set("class", shared[element.attrib.pop("style")])
    sheet = next(root.iter(f"{_SVG}style"))
    rules = "".join(f".{name}{{{style.replace(': ', ':').replace('; ', ';')}}}" for style, name in shared.items())
    sheet.text = (sheet.text or "") + rules
