"""The table ``alternatives.csv.gz``: what else might stand in each printed number's place, with its class."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.alternatives import ALTERNATIVE_COLUMNS, BUDGET, OURS, classes_beside_ours
from lpbench.analysis.numbers import Sample
from lpbench.reporting.interpretations import Alternative

ALTERNATIVES_FILE = "alternatives.csv.gz"
#: Alternatives that every paper's numbers have: at the next printed budgets, in other columns, at the next places, and
#: the median of what is printed for the same data set elsewhere, which knows no method.
NEXT, COLUMN, NEXT_PLACE, PRINTED = "next budget", "column", "next place", "median of other prints"
#: Significant digits of the file.
_DIGITS = {"value": 7, "se": 4}

#: Score of a number's cell under a selector of an experiment, at another budget; None where it was not run.
Find = Callable[[dict[str, Any], Alternative], Sample | None]


def alternatives_of(
    judged: pd.DataFrame, declared: Sequence[Alternative], find: Find, printed: Mapping[str, int]
) -> pd.DataFrame:
    """List the alternatives of numbers, our run first.

    Parameters
    ----------
    judged : DataFrame
        Rows of the table of numbers that judge, with the margin of each.
    declared : sequence of Alternative
        What else was run, by the paper.
    find : callable
        Looks the scores of an alternative up.
    printed : mapping
        Replications of the paper, by artifact.

    Returns
    -------
    DataFrame
        :data:`~lpbench.analysis.alternatives.ALTERNATIVE_COLUMNS`, published, margin and rescale.
    """
    rows = judged.to_dict("records")
    names, lines = number_names(judged), list[dict[str, Any]]()
    beside = _Beside(judged)
    for name, row in zip(names, rows, strict=True):
        fixed = {"number": name, "published": row["published"], "margin": row["margin"]}
        fixed["rescale"] = np.sqrt(row["replications"] / printed[row["artifact"]]) if row["replications"] else 1.0
        lines.append(fixed | {"alternative": OURS, "counted": "", "value": row["ours"], "se": row["se"]})
        for one in declared:
            if one.stands_for(row["artifact"], row["selector"]):
                # what was not run is not told apart
                sample = find(row, one)
                values = (
                    {"value": np.nan, "se": np.nan} if sample is None else {"value": sample.mean(), "se": sample.se}
                )
                lines.append(fixed | {"alternative": one.name, "counted": one.counted} | values)
        lines += [fixed | one for one in beside.of(row)]
    table = pd.DataFrame(lines, columns=[*ALTERNATIVE_COLUMNS[:-1], "published", "margin", "rescale"])
    return table.assign(**{"class": classes_beside_ours(table)})


def number_names(rows: pd.DataFrame) -> list[str]:
    """Names of numbers: the artifact, then what was run."""
    return [f"{artifact}|{cell}" for artifact, cell in zip(rows["artifact"], rows["cell"], strict=True)]


class _Beside:
    """Numbers near a given one (other columns, next budgets, other prints), which serve as alternatives to it.

    A printed number that an alternative meets as well does not identify its method.
    """

    def __init__(self, judged: pd.DataFrame) -> None:
        # the budgets of tables are several artifacts, those of a curve are not
        family = judged["artifact"].where(judged["x"].notna(), judged["unit"])
        #: Curves over the budget, whose x it is; on another axis a place may have the number of a budget by chance.
        self._over_budget = {a for a, curve in judged.groupby("artifact") if (curve["x"] == curve["epsilon"]).all()}
        self._rows = judged.assign(data=judged["cell"].str.split("|").str[0], family=family)
        self._by: dict[tuple[str, ...], dict[tuple, pd.DataFrame]] = {}

    def of(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield alternatives to the number in ``row``: other methods, next budgets and places, median of other prints.

        Each is a dictionary of its name (``alternative``), whether it is ``counted``, its ``value`` and standard error.
        """
        data, setting = row["cell"].partition("|")[0], ("panel", "mask", "epsilon", "x")
        columns = self._alike(row, data, "artifact", *setting)
        for number in columns[columns["method"] != row["method"]].to_dict("records"):
            yield _reported(f"{COLUMN} {number['method']}", number)
        for axis, name, counted in (("epsilon", NEXT, BUDGET), ("x", NEXT_PLACE, "")):
            same = [key for key in ("panel", "mask", "method", "epsilon", "x") if key != axis]
            if axis == "epsilon" and row["artifact"] in self._over_budget:
                same.remove("x")
            alike = self._alike(row, data, "family", *same)
            for side, number in _next(alike, axis, row[axis]):
                yield _reported(f"{name} {side}", number) | {"counted": counted}
        prints = columns[columns["method"] != row["method"]]["published"]
        if len(prints):
            yield {"alternative": PRINTED, "counted": "", "value": prints.median(), "se": 0.0}

    def _alike(self, row: dict[str, Any], data: str, *keys: str) -> pd.DataFrame:
        """Rows of the data set ``data`` that agree with ``row`` in the columns ``keys``.

        ``family`` is the row's artifact where it has an x, else its unit. The grouping by these keys is remembered.
        """
        if keys not in self._by:
            groups = self._rows.groupby(["data", *keys], dropna=False, sort=False)
            self._by[keys] = {_key(key): group for key, group in groups}
        values = row | {"family": row["artifact"] if row["x"] == row["x"] else row["unit"]}
        return self._by[keys][_key((data, *(values[key] for key in keys)))]


def _key(values: tuple) -> tuple:
    return tuple(None if value != value else value for value in values)


def _next(rows: pd.DataFrame, axis: str, value: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield ("below" or "above", row) for the rows next to ``value`` in column ``axis``, where there are such rows."""
    for side, numbers in (("below", rows[rows[axis] < value]), ("above", rows[rows[axis] > value])):
        if len(numbers):
            yield side, numbers.sort_values(axis).iloc[-1 if side == "below" else 0].to_dict()


def _reported(name: str, number: Mapping[str, Any]) -> dict[str, Any]:
    return {"alternative": name, "counted": "", "value": number["ours"], "se": number["se"]}


def write_alternatives(table: pd.DataFrame, folder: Path) -> Path:
    """Write ``alternatives.csv.gz``; return it."""
    columns = table.reindex(columns=ALTERNATIVE_COLUMNS)
    digits = {c: [float(f"{v:.{n}g}") for v in columns[c]] for c, n in _DIGITS.items()}
    write_csv(columns.assign(**digits), folder / ALTERNATIVES_FILE)
    return folder / ALTERNATIVES_FILE


def read_alternatives(folder: Path) -> pd.DataFrame:
    """Read the table of a report's folder; empty without it."""
    if not (folder / ALTERNATIVES_FILE).is_file():
        return pd.DataFrame(columns=ALTERNATIVE_COLUMNS)
    table = pd.read_csv(folder / ALTERNATIVES_FILE)
    return table.fillna({"counted": ""})
