"""What a finding about a paper consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Erratum:
    """One finding: where, what, and a function that computes the evidence."""

    paper: str
    where: str
    what: str
    compute: Callable[[], str]


def wide_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Published cells as data sets x methods, columns in the order of the paper."""
    order = list(dict.fromkeys(cells["method"]))
    return cells.pivot(index="dataset", columns="method", values="published")[order]
