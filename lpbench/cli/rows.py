"""Comparison of two summaries of an experiment, line by line: to the last digit, or by standard errors."""

from collections.abc import Sequence
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


def read_summary(folder: Path, name: str) -> pd.DataFrame:
    """Texts of an experiment's ``summary.csv``, indexed by what each line is about."""
    found = Artefact(folder / name, name).summary
    if found is None:
        raise ConfigurationError(f"{folder / name / 'summary.csv'} is not there: nothing to compare for {name}")
    return as_text(found).set_index(KEYS)


def compare(ours: pd.DataFrame, theirs: pd.DataFrame, tolerance: float | None) -> pd.DataFrame:
    """Compare two summaries within a relative difference of numbers, or (None) within standard errors of the means.

    Columns line, change (in words), size (relative difference, or standard errors), p (1 within the tolerance and 0
    beyond, or of Welch's test). By digits only lines whose text differs have a row, else all cells of both sides.
    """
    shared = ours.index.intersection(theirs.index)
    left, right = ours.loc[shared], theirs.loc[shared]
    if tolerance is None:
        rows = _by_means(left, right)
    else:
        rows = [(key, "missing here", np.inf, 0.0) for key in theirs.index.difference(ours.index)]
        rows += [(key, "not published", np.inf, 0.0) for key in ours.index.difference(theirs.index)]
        rows += _by_digits(left, right, tolerance)
    return pd.DataFrame([(_words(key), *row) for key, *row in rows], columns=["line", "change", "size", "p"])


def _by_digits(ours: pd.DataFrame, theirs: pd.DataFrame, tolerance: float) -> list[tuple]:
    rows: list[tuple] = []
    for row in np.flatnonzero((ours != theirs).any(axis=1)):
        columns = [c for c in ours.columns if ours[c].iloc[row] != theirs[c].iloc[row]]
        pairs = {c: (ours[c].iloc[row], theirs[c].iloc[row]) for c in columns}
        size = max(_relative(*pair) for pair in pairs.values())
        change = ", ".join(f"{c} {one or '-'} for {other or '-'}" for c, (one, other) in pairs.items())
        by = f" ({size:.1e} of the value)" if np.isfinite(size) else ""
        rows.append((ours.index[int(row)], change + by, size, float(size <= tolerance)))
    return rows


def _relative(ours: str, theirs: str) -> float:
    """Relative difference of two texts; inf if one is not a number."""
    try:
        one, other = float(ours), float(theirs)
    except ValueError:
        return np.inf
    return abs(one - other) / max(abs(one), abs(other)) if np.isfinite([one, other]).all() and one != other else np.inf


def _by_means(ours: pd.DataFrame, theirs: pd.DataFrame) -> list[tuple]:
    """Welch's test of each cell's mean under two seeds; an oracle's luck shifts both sides alike."""
    numbers = [side[["mean", "std", "n"]].apply(pd.to_numeric, errors="coerce") for side in (ours, theirs)]
    complete = np.logical_and.reduce([side.notna().all(axis=1) & (side["n"] >= 2) for side in numbers])
    new, old = (side[complete].to_numpy().T for side in numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        z, p = stats.ttest_ind_from_stats(*new, *old, equal_var=False)
    equal = new[0] == old[0]  # also where nothing is random
    z, p = np.where(equal, 0.0, z), np.where(equal, 1.0, np.nan_to_num(p, nan=0.0))
    changes = [f"{a:.6g} for {b:.6g}, {s:+.1f} standard errors" for a, b, s in zip(new[0], old[0], z, strict=True)]
    return list(zip(ours.index[complete], changes, np.abs(z), p, strict=True))


def _words(key: Sequence[str]) -> str:
    """What a line is about, in words."""
    named = dict(zip(KEYS, key, strict=True))
    return " ".join(named[k] if k != "epsilon" else f"epsilon={named[k]}" for k in KEYS if named[k] and k != "x")
