"""Dots with intervals as a table with a drawn column: places in per cent of its width, beside the values as texts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Value(NamedTuple):
    """One dot: its value, its interval (NaN: none) and whether it is ours or the paper's."""

    value: float
    low: float = math.nan
    high: float = math.nan
    kind: str = "ours"

    @property
    def whole(self) -> bool:
        """Whether it has an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def text(self) -> str:
        return f"{self.value:.3g}" + (f" [{self.low:.3g}, {self.high:.3g}]" if self.whole else "")


@dataclass(frozen=True)
class Intervals:
    """Rows of labelled dots above one axis, which holds zero."""

    rows: Sequence[tuple[str, Sequence[Value]]]
    unit: str = ""

    @property
    def kinds(self) -> list[str]:
        """Kinds of the dots, ours last."""
        return sorted({v.kind for _, values in self.rows for v in values}, reverse=True)

    @property
    def ends(self) -> tuple[float, float]:
        """Least and greatest value of the axis."""
        known = [0.0, *(w for _, values in self.rows for v in values for w in v[:3] if math.isfinite(w))]
        return min(known), max(known)

    def at(self, value: float) -> float:
        """Place of a value, in per cent."""
        low, high = self.ends
        return round(3 + 94 * (value - low) / ((high - low) or 1.0), 1)
