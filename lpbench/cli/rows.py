"""Rows of two summaries, compared: as text, as numbers, as means of two samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from lpbench.analysis import as_text
from lpbench.errors import ConfigurationError
from lpbench.experiments.results import Artefact

#: What one line of a summary is about.
KEYS = ["panel", "dataset", "mask", "method", "epsilon", "x", "selection"]
#: Columns that a line has from its own scores alone; the others compare it with the methods beside it.
OWN = ["params", "metric", "mean", "std", "se", "n"]
#: Relative difference of numbers that are written with seven digits, of which the last may be rounded either way.
LAST_DIGIT = 1.5e-6


def read_summary(folder: Path, name: str) -> pd.DataFrame:
    """Texts of an experiment's ``summary.csv``, indexed by what each line is about.

    Raises
    ------
    ConfigurationError
        The folder holds neither the file nor the scores of which it is made.
    """
    found = Artefact(folder / name, name).summary
    if found is None:
        raise ConfigurationError(f"{folder / name / 'summary.csv'} is not there: nothing to compare for {name}")
    return as_text(found).set_index(KEYS)


@dataclass(frozen=True)
class Difference:
    """A line that is not the same on both sides.

    Attributes
    ----------
    line : str
        What the line is about.
    changes : str
        What differs, ``column ours for theirs``.
    size : float
        Largest relative difference of a number; inf where something else differs.
    """

    line: str
    changes: str
    size: float = np.inf

    def __str__(self) -> str:
        by = f" ({self.size:.1e} of the value)" if np.isfinite(self.size) else ""
        return f"{self.line}: {self.changes}{by}"


def compare_lines(ours: pd.DataFrame, theirs: pd.DataFrame, tolerance: float = 0.0) -> list[Difference]:
    """List the lines that are not the same text on both sides, or whose numbers differ by more than a tolerance."""
    found = [Difference(line_of(key), "missing here") for key in theirs.index.difference(ours.index)]
    found += [Difference(line_of(key), "not published") for key in ours.index.difference(theirs.index)]
    shared = ours.index.intersection(theirs.index)
    left, right = ours.loc[shared], theirs.loc[shared]
    for row in np.flatnonzero((left != right).any(axis=1)):
        columns = [c for c in left.columns if left[c].iloc[row] != right[c].iloc[row]]
        pairs = {c: (left[c].iloc[row], right[c].iloc[row]) for c in columns}
        size = max(_relative(*pair) for pair in pairs.values())
        if size > tolerance:
            changes = ", ".join(f"{c} {one or '-'} for {other or '-'}" for c, (one, other) in pairs.items())
            found.append(Difference(line_of(shared[int(row)]), changes, size))
    return found


def _relative(ours: str, theirs: str) -> float:
    """Relative difference of two texts; inf if one is not a number."""
    try:
        one, other = float(ours), float(theirs)
    except ValueError:
        return np.inf
    return abs(one - other) / max(abs(one), abs(other)) if np.isfinite([one, other]).all() and one != other else np.inf


def line_of(key: Sequence[str]) -> str:
    """What a line is about, in words."""
    named = dict(zip(KEYS, key, strict=True))
    return " ".join(named[k] if k != "epsilon" else f"epsilon={named[k]}" for k in KEYS if named[k] and k != "x")


def compare_means(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Welch's test of each cell's mean over replications under two seeds.

    Both means are of the grid point that was selected. An oracle picks the luckiest point of the grid on either side,
    which shifts both alike and spreads their difference less than the standard errors say.

    Returns
    -------
    DataFrame
        Columns ours, theirs, z (difference in standard errors), p; one row per cell that both sides have.
    """
    shared = ours.index.intersection(theirs.index)
    numbers = [side.loc[shared, ["mean", "std", "n"]].apply(pd.to_numeric, errors="coerce") for side in (ours, theirs)]
    complete = np.logical_and.reduce([side.notna().all(axis=1) & (side["n"] >= 2) for side in numbers])
    ours, theirs = (side[complete].to_numpy().T for side in numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        z, p = stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False)
    equal = ours[0] == theirs[0]  # also where nothing is random
    columns = {"ours": ours[0], "theirs": theirs[0], "z": np.where(equal, 0.0, z)}
    return pd.DataFrame({**columns, "p": np.where(equal, 1.0, np.nan_to_num(p, nan=0.0))}, index=shared[complete])
