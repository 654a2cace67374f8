"""The manifest that ``lpbench new dataset`` makes: a user's choices and the decisions made from the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

#: A text column with more values than this is left out, and so is one that misses more than this share of its cells.
MAX_CATEGORIES, MAX_MISSING = 20, 0.5


@dataclass(frozen=True)
class Choices:
    """What a user decides about a file; everything else is decided for her, and printed.

    Attributes
    ----------
    target : str or None
        Column to predict (None: the last one).
    positive : str or None
        Class that is predicted against all others; of two classes, by default the last in order.
    task : {"regression", "classification"} or None
        None: decided by the target's values.
    log : bool
        Predict the logarithm of the target, of 1 + the target where it may be 0.
    clip : (float, float) or None
        Clip the target to this range, which is then the public one.
    rows : int or None
        Keep at most as many rows, drawn once.
    missing : {"drop", "fill"}
        Drop rows with missing cells, or fill these by the median or the most frequent category of their column.
    public : float or None
        Share of the rows that are a public sample (None: a tenth of a classification's, none of a regression's).
    """

    target: str | None = None
    positive: str | None = None
    task: str | None = None
    log: bool = False
    clip: tuple[float, float] | None = None
    rows: int | None = None
    missing: str = "drop"
    public: float | None = None


@dataclass
class Profile:
    """A manifest in the making, and what was decided on the way."""

    content: dict[str, Any]
    decisions: list[str] = field(default_factory=list)

    def say(self, what: str, text: str) -> None:
        """Note one decision."""
        self.decisions.append(f"{what:12s}{text}")


def texts(values: pd.Series) -> pd.Series:
    """Cells as the preparation compares them: text without blanks, whole numbers without ``.0``."""
    if pd.api.types.is_float_dtype(values) and (values == values.round()).all():
        values = values.astype("Int64")
    return values.astype(str).str.strip()
