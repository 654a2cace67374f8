"""Dates and time stamps: ways of writing them, and days since 1970."""

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

#: ISO 8601 as pandas reads it: a day, or a day and a time with T or a blank, with or without fractions and offset.
ISO = "ISO8601"
_DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y",
    "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y-%m", "%b %Y", "%B %Y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
#: Ways of writing dates, the commonest first.
WAYS = (
    *(day + clock for clock in _CLOCKS for day in _DAYS), "%Y-%m-%dT%H:%M:%S", ISO, "%Y-%m-%d %H:%M:%S,%f",
    "%Y-%m-%d %H:%M:%S %Z", "%d/%b/%Y:%H:%M:%S %z", "%a, %d %b %Y %H:%M:%S %z", "%a %b %d %H:%M:%S %Y",
)  # fmt: skip
#: Beginning of a date, by which other texts are passed over.
_BEGINNING = re.compile(r"\d{1,4}[-/. ] ?\w|\d{8}T\d|[A-Z][a-z]{2,8},? \w", re.IGNORECASE)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d|\d{8}T\d")
#: Times without a day, and years without a century, which no column of days can be made of.
_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?")
_SHORT_YEAR = re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d\d( .*)?")
#: Texts that tell which ways are worth trying on all.
_SAMPLE = 100


def days(texts: Sequence[str] | pd.Series, way: str) -> np.ndarray:
    """Days since 1970 of texts in the date format ``way``, in UTC where they have an offset; NaN for other texts."""
    codes, values = pd.factorize(np.asarray(texts, dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a way that does not fit is no news
        dates = pd.to_datetime(pd.Series(values), format=way, errors="coerce", utc=True)
    numbers = (dates.dt.tz_localize(None).to_numpy() - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return np.append(numbers, np.nan)[codes]


def closest_way(texts: Sequence[str]) -> tuple[str, list[str]]:
    """Return the date format that fits most texts, and the texts it does not fit; none if these are half or more."""
    sample = texts[:: len(texts) // _SAMPLE | 1]
    if 2 * sum(_BEGINNING.match(text) is not None for text in sample) <= len(sample):
        return "", []
    fitting = {way: int(_fits(sample, way).sum()) for way in WAYS}
    best, misfits = "", list(texts)
    for way in sorted(WAYS, key=lambda way: -fitting[way]):
        if not misfits or 2 * fitting[way] <= len(sample):
            break
        others = [text for text, fits in zip(texts, _fits(texts, way), strict=True) if not fits]
        if len(others) < len(misfits):
            best, misfits = way, others
    return (best, misfits) if 2 * len(misfits) < len(texts) else ("", [])


def ways_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Date formats that fit every text: the likeliest, and the one with day and month exchanged."""
    way, misfits = closest_way(texts)
    if not way or misfits:
        return ()
    exchanged = way.translate(str.maketrans("dm", "md"))
    return (way, exchanged) if exchanged != way and exchanged in WAYS and _fits(texts, exchanged).all() else (way,)


def near_date(texts: Sequence[str]) -> str:
    """Describe texts that look like dates without a day, such as a month and year; empty for others."""
    if all(map(_TIME.fullmatch, texts)):
        return f"times without a date, e.g. {texts[0]!r}; write them as numbers of hours"
    if all(map(_SHORT_YEAR.fullmatch, texts)):
        return f"days whose years have two digits, e.g. {texts[0]!r}; write them with four"
    return ""


def _fits(texts: Sequence[str], way: str) -> np.ndarray:
    day = np.array([way != ISO or _ISO_DAY.match(text) is not None for text in texts])
    return day & ~np.isnan(days(texts, way))
