"""Cells of a table that is text: which words mean missing, and columns of numbers, of dates and of categories."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.datasets.dates import closest_way, ways_of

#: Words that mean missing where they stand among numbers or dates; among other words they may be categories.
MISSING = ("?", "-", "--", ".", "na", "n/a", "#n/a", "nan", "<na>", "none", "null", "nil", "n.a.", "unknown", "missing")
_WHOLE, _EXPONENT = r"(?:0|[1-9]\d*)", r"(?:[eE][+-]?\d+)?"
#: Ways of writing 1234.5, the likeliest first -> pattern of all such numbers, without a sign.
WAYS = {
    "1234.5": rf"(?:{_WHOLE}\.?\d*|\.\d+){_EXPONENT}",
    "1,234.5": r"(?:0|[1-9]\d{0,2}(?:,\d{3})*)(?:\.\d+)?",
    "1234,5": rf"(?:{_WHOLE},?\d*|,\d+){_EXPONENT}",
    **{
        f"1{mark}234{point}5": rf"(?:0|[1-9]\d{{0,2}}(?:[{mark}]\d{{3}})*)(?:[{point}]\d+)?"
        for mark, point in (".,", " .", " ,", "'.", "',")
    },
}
_PLAIN = re.compile(rf"[+-]?(?:{WAYS['1234.5']})")
#: Digits, with zeros in front too; and those that are a code: zeros in front, or more of them than a number holds.
_DIGITS = re.compile(rf"[+-]?(?:\d+\.?\d*|\.\d+){_EXPONENT}")
_CODE = re.compile(r"[+-]?(?:0\d+(?:\.\d*)?|[1-9]\d{15,})")
_CURRENCY = r"[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|AUD|CAD|R\$|Rs\.?|kr\.?"
#: Sign, currency, sign, digits, and a currency, a percent sign or a unit behind them.
_PARTS = re.compile(
    rf"([+-]?) ?((?:{_CURRENCY})?) ?([+-]?)([\d.,].*?) ?((?:{_CURRENCY}|[%‰°]\w?|[^\W\d_]{{1,4}}[²³]?)?)"
)
#: A date without separators, which is a number.
_COMPACT = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_EXAMPLE = re.compile(rf"(\D*?)({'|'.join(map(re.escape, WAYS))})(\D*)")
SEVERAL_WAYS = "numbers that are written in several ways"
#: Cells that tell whether a text is nearly of another kind.
_SAMPLE = 200
#: Blanks and apostrophes of all kinds are one.
_ALIKE = str.maketrans("\xa0\u202f\u2009’−", "   '-")


@dataclass(frozen=True)
class Column:
    """Content of a text column: its kind, the words that mean missing, and cells that do not fit."""

    kind: str  # number, date or text
    written: tuple[str, ...] = ()  # example of its numbers, formats that fit its dates; (): plain numbers, or text
    missing: tuple[str, ...] = ()  # words that mean missing
    remark: str = ""
    nearly: str = ""  # what most cells of a text are: numbers, numbers in several ways, or days like an example
    odd: tuple[str, ...] = ()  # the other cells, or an example of each way


def decide(cells: Iterable[str], words: Sequence[str] | None = None, sep: str = ",", commas: bool = False) -> Column:
    """Decide what a column of stripped text holds; empty cells are missing.

    ``words`` mean missing in every column (None: those of :data:`MISSING` among numbers or dates alone). Where a number
    could be read in two ways, the separator of the cells, and whether other columns have decimal ``commas``, decide.
    """
    values = [cell for cell in dict.fromkeys(cells) if cell]
    missing = tuple(v for v in values if (v.lower() in MISSING if words is None else v in words))
    remaining = [v for v in values if v not in missing]
    kind, written, remark = _kind(remaining, sep, commas)
    if kind != "text":
        return Column(kind, written, missing, remark)
    nearly, odd = ("", ()) if remark else _nearly(remaining, sep, commas)
    if words is None and missing:
        if nearly:
            odd += missing
        elif remaining:
            remark = f"{', '.join(map(repr, missing))} taken for a category; --missing-words {missing[0]} means missing"
        missing = ()
    return Column(kind, written, missing, remark, nearly, odd)


def _kind(values: list[str], sep: str, commas: bool) -> tuple[str, tuple[str, ...], str]:
    """Return the kind of a column's words (number, date or text), the formats that fit all of them, and a remark.

    A format is written as an example, such as "1,234.5"; none is needed for plain numbers. The remark (or "") names
    another possible reading. ``commas`` is True if any column of the file has a comma inside numbers; with ``;`` as
    separator ``sep`` that is the decimal mark.
    """
    if not values:
        return "text", (), ""
    if plain := all(map(_DIGITS.fullmatch, values)):
        if code := next(filter(_CODE.fullmatch, values), ""):
            return "text", (), f"{code!r} is a code, not a number: zeros in front, or too many digits"
        if all(map(_COMPACT.fullmatch, values)):
            day = f"{values[0][:4]}-{values[0][4:6]}-{values[0][6:]}"
            return "number", (), f"{values[0]!r} looks like a date and is read as a number; write {day} to have days"
        if not commas:
            return "number", (), ""
    parts = [_PARTS.fullmatch(value.translate(_ALIKE)) for value in values]
    first = parts[0]
    if first and all(match and match[2] == first[2] and match[5] == first[5] for match in parts):
        bodies = [match[4] for match in parts if match]
        fits = [way for way, pattern in WAYS.items() if all(re.fullmatch(pattern, body) for body in bodies)]
        comma, dot = (any(mark in body for body in bodies) for mark in ",.")
        if (comma and sep == ";") or ((comma or dot) and commas):
            fits.sort(key=lambda way: ",5" not in way)
        if fits:
            examples, otherwise = [f"{first[2]}{way}{first[5]}" for way in fits], ""
            if comma or (dot and commas):
                pairs = zip(examples, fits, strict=True)
                otherwise = next((e for e, way in pairs if (",5" in way) != (",5" in fits[0])), "")
            remark = f"{values[0]!r} could be meant otherwise: write {otherwise!r} into `numbers`" if otherwise else ""
            return "number", () if plain and examples[0] == "1234.5" else (examples[0],), remark
    dates = ways_of(values)
    return ("date", dates, "") if dates else ("text", (), "")


def _nearly(values: list[str], sep: str, commas: bool) -> tuple[str, tuple[str, ...]]:
    """Return the kind that most cells of a text column have, in words, with the exceptions; ("", ()) if none.

    Where numbers could be read in several ways, return an example of each.
    """
    few = values[:: len(values) // _SAMPLE | 1]
    if 2 * sum(map(is_number, few)) > len(few):
        odd = tuple(value for value in values if not is_number(value))
        if _kind([value for value in values if is_number(value)], sep, commas)[0] == "number":
            return "numbers", odd
        return (SEVERAL_WAYS, tuple({decide([v]).written: v for v in values}.values())) if not odd else ("", ())
    way, misfits = closest_way(values)
    return (f"days written like {next(v for v in values if v not in misfits)!r}", tuple(misfits)) if way else ("", ())


def is_number(cell: str) -> bool:
    """True for a number in any of the ways, with a currency, a percent sign or a unit or without; codes are none."""
    if _DIGITS.fullmatch(cell):
        return not _CODE.fullmatch(cell)
    match = _PARTS.fullmatch(cell.translate(_ALIKE))
    return match is not None and any(re.fullmatch(pattern, match[4]) for pattern in WAYS.values())


def typed(cells: pd.Series, words: Sequence[str] = (), example: str = "") -> np.ndarray:
    """Convert cells of a column as the manifest says: numbers written like ``example``, plain numbers, else text.

    Empty cells and ``words`` are missing.
    """
    text = [cell.strip() for cell in texts(cells)]
    text = ["" if cell in words else cell for cell in text] if words else text
    numbers = text
    if written := _EXAMPLE.fullmatch(example):
        before, way, after = (text_of.strip() for text_of in written.groups())
        mark, point, fits = (way[1] if way[1] != "2" else ""), way[-2], re.compile(WAYS[way])
        numbers = []
        for cell in text:
            match = _PARTS.fullmatch(cell.translate(_ALIKE))
            if match and match[2] == before and match[5] == after and fits.fullmatch(match[4]):
                cell = match[1] + match[3] + match[4].replace(mark, "").replace(point, ".")
            numbers.append(cell)
    present = [number for number in numbers if number]
    plain = present and all(map(_PLAIN.fullmatch, present)) and (example or not any(map(_CODE.fullmatch, present)))
    if not plain:
        return np.array([cell or None for cell in text], dtype=object)
    if len(present) == len(text) and all(n.lstrip("+-").isdecimal() and len(n) < 16 for n in present):
        return np.array(list(map(int, numbers)))
    return np.array([float(number or "nan") for number in numbers])  # Python reads a text as the nearest double


def texts(cells: pd.Series) -> list[str]:
    """Cells as text in one Unicode form (NFC); empty where missing."""
    values = cells.to_numpy(dtype=object)
    pairs = zip(values, pd.isna(values), strict=True)
    return ["" if missing else unicodedata.normalize("NFC", str(value)) for value, missing in pairs]
