"""Charts that the pages draw themselves: intervals and bars, as coordinates for the templates.

They are as wide as a small screen, so that their letters are read there and on cards; long labels stand above their
rows. They take their colours from the page, so that they are readable in the light and in the dark and when they are
printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, RIGHT = 340, 14
#: Width of a letter, what a label above its row takes, and the share of the width that labels beside rows may take.
_LETTER, _ABOVE, _BESIDE = 6.6, 17, 0.5
_ROW, _FOOT, _BAR = 24, 22, 22


@dataclass(frozen=True)
class Value:
    """One dot: its value, its interval (NaN: none) and whether it is ours or the paper's."""

    value: float
    low: float = math.nan
    high: float = math.nan
    kind: str = "ours"


@dataclass(frozen=True)
class Dot:
    """A dot where it is drawn."""

    x: float
    low: float | None
    high: float | None
    shift: float
    kind: str
    title: str


@dataclass(frozen=True)
class IntervalRow:
    """A line of a chart: label, heights of dots and label, dots."""

    label: str
    y: float
    label_y: float
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Intervals:
    """Dots with intervals, a line an instance, above one axis."""

    rows: tuple[IntervalRow, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float | None
    words: str
    width: int
    height: int

    @property
    def beside_print(self) -> bool:
        """Whether there are dots of the paper's numbers."""
        return any(dot.kind == "theirs" for row in self.rows for dot in row.dots)


def intervals(rows: Sequence[tuple[str, Sequence[Value]]], unit: str = "", zero: float | None = 0.0) -> Intervals:
    """Lay out dots and intervals; ``zero`` is marked by a line, and the axis holds it."""
    known = [v for _, values in rows for d in values for v in (d.value, d.low, d.high) if math.isfinite(v)]
    low, high = (
        min([*known, *([zero] if zero is not None else [])]),
        max([*known, *([zero] if zero is not None else [])]),
    )
    margin = 0.06 * (high - low) or 1.0
    low, high = low - margin, high + margin
    left, above = _room([label for label, _ in rows], WIDTH)
    left = left or RIGHT

    def at(value: float) -> float:
        return round(left + (WIDTH - left - RIGHT) * (value - low) / (high - low), 1)

    found, words = [], []
    for k, (label, values) in enumerate(rows):
        dots = []
        for j, d in enumerate(v for v in values if math.isfinite(v.value)):
            whole = math.isfinite(d.low) and math.isfinite(d.high)
            name = "published" if d.kind == "theirs" else "ours"
            text = f"{label}, {name}: {d.value:.3g}{unit}" + (f" [{d.low:.3g}, {d.high:.3g}]" if whole else "")
            shift = 6.0 * j - 3.0 * (len(values) - 1)
            dots.append(
                Dot(at(d.value), at(d.low) if whole else None, at(d.high) if whole else None, shift, d.kind, text)
            )
            words.append(text)
        y = 14 + above + (_ROW + above) * k
        shown = shortened(label, int((WIDTH if above else left) / _LETTER))
        found.append(IntervalRow(shown, y, y - above, tuple(dots)))
    ticks = tuple((at(v), f"{v:g}{unit}") for v in round_values(low, high))
    line = None if zero is None else at(zero)
    return Intervals(tuple(found), ticks, line, "; ".join(words), WIDTH, (_ROW + above) * len(rows) + _FOOT)


def _room(labels: Sequence[str], width: int) -> tuple[int, int]:
    """Room for labels beside their rows and above them; one of the two is 0."""
    longest = _LETTER * max(map(len, labels), default=0)
    return (0, _ABOVE) if longest > _BESIDE * width else (math.ceil(longest) + 10, 0)


def shortened(text: str, most: int) -> str:
    """A label that fits its place."""
    return text if len(text) <= most else text[: most - 1] + "…"


def round_values(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between two ends, about so many."""
    if not high > low:
        return [low]
    raw = (high - low) / about
    unit = 10 ** math.floor(math.log10(raw))
    step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= raw)
    first = math.ceil(low / step)
    return [round(k * step, 12) for k in range(first, math.floor(high / step) + 1)]


@dataclass(frozen=True)
class BarPiece:
    """A piece of a bar."""

    x: float
    width: float
    kind: str
    text: str
    title: str


@dataclass(frozen=True)
class BarRow:
    """A bar, and the height of its label."""

    label: str
    y: float
    label_y: float
    parts: tuple[BarPiece, ...]


@dataclass(frozen=True)
class Bars:
    """Bars of several parts, each as long as the number that it stands for."""

    rows: tuple[BarRow, ...]
    words: str
    width: int
    height: int


def bars(rows: Sequence[tuple[str, Sequence[tuple[str, str, float, str]]]], width: int = WIDTH) -> Bars:
    """Lay out bars; a part is (class, words, length, text on it)."""
    longest = max((sum(p[2] for p in parts) for _, parts in rows), default=1.0) or 1.0
    left, above = _room([label for label, _ in rows], width)
    step = _BAR + 8 + above
    scale = (width - left) / longest
    found, words = [], []
    for k, (label, parts) in enumerate(rows):
        x, drawn = float(left), []
        for kind, name, length, text in parts:
            across = round(length * scale, 1)
            shown = text if across > 9 * len(text) + 8 else ""
            drawn.append(BarPiece(round(x, 1), max(across - 2, 0.5 if length else 0), kind, shown, f"{label}: {name}"))
            words.append(f"{label}: {name}")
            x += across
        y = 2 + above + step * k
        found.append(BarRow(label, y, y + (15 if not above else -5), tuple(drawn)))
    return Bars(tuple(found), "; ".join(words), width, step * len(rows) + 2)
