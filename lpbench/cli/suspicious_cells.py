"""Values of a column that may stand for missing ones, and names of columns that are values."""

import re

import numpy as np
import pandas as pd

from lpbench.datasets.cells import Column, typed
from lpbench.datasets.dates import days

#: Codes of missing values in many surveys, without a sign: 99, 8, 998; they are the smallest or the largest values.
_STANDS_FOR_MISSING, _ENDS = re.compile(r"9*[789]|7+|8+"), 5
#: A value this many ranges of all others away from them is far.
APART = 10


def is_value(name: str, column: Column, text: pd.Series, values: pd.Series) -> bool | None:
    """Return True if a column's name looks like one of its cells, False if not, None if it might."""
    if name.startswith("Unnamed: ") or (column.kind == "text" and name not in set(text)):
        return None
    if column.kind == "number":
        [number] = typed(pd.Series([name]), (), *column.written)
        return isinstance(number, (int, float, np.number)) and bool(values.min() <= number <= values.max())
    return column.kind == "text" or not np.isnan(days([name], column.written[0])[0])


def apart_values(values: np.ndarray) -> list[float]:
    """Numbers that may code missing cells: -9 among counts, 999 among ages, or one far from the others."""
    levels = np.unique(values)
    ends = [*levels[:_ENDS], *levels[-_ENDS:]]
    codes = [v for v in ends if (v < 0 or v > 9) and (v == -1 or _STANDS_FOR_MISSING.fullmatch(f"{abs(v):.17g}"))]
    others, suspects = np.setdiff1d(levels, codes), list[float]()
    if len(others) > (2 if -1 in codes else 1):
        low, high, counts = others[0], others[-1], others[0] >= 0 and (others == others.round()).all()
        span = high - low
        suspects = [v for v in dict.fromkeys(codes) if (counts and v < 0) or not low - span < v < high + span]
    levels = np.setdiff1d(levels, suspects)
    if len(levels) > 3:
        suspects += [levels[0]] * bool(levels[1] - levels[0] > APART * (levels[-1] - levels[1]))
        suspects += [levels[-1]] * bool(levels[-1] - levels[-2] > APART * (levels[-2] - levels[0]))
    return suspects
