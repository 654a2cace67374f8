"""Table of numbers: each published number beside ours under each configuration, its class, and causes of differences.

Classes are those of :mod:`lpbench.analysis.alternatives`. A difference has a cause where another interpretation of the
paper meets the number on the same replications, within the tolerance, and the constant does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, DIFFERENT, EQUIVALENT, METHOD, NOT_COMPARABLE
from lpbench.analysis.rates import ratio_of_means

#: What a number identifies where something of what counts against it may as well stand in its place.
NOTHING = "nothing"
#: Numbers that are equivalent and do not identify their method, on every page.
NOT_ALONE = "equivalent, but not alone"
#: Causes of a difference, and why a number is not comparable.
MET_BY, AFTER_THE_FACT, SUSPECTED, NO_CAUSE = "met by", "after_the_fact", "suspected", "none"
CONTRADICTION, GUESS = "contradiction in the paper", "our target is a guess"
#: ``judges``: whether the number is counted under this configuration; ``interpretation``: that of a row whose
#: configuration is "tried"; ``cell``: what was run, data set, method, mask, epsilon, panel and x joined by "|";
#: ``class``: empty where there is no number or no tolerance; ``identifies``: empty where no alternative was run;
#: ``chance``: how often what was found after the fact would meet it by chance.
NUMBER_COLUMNS = (
    "paper artifact panel dataset mask method epsilon x unit configuration interpretation judges cell published ours "
    "se replications distance tolerance class identifies cause reason chance"
).split()
NUMBER = NUMBER_COLUMNS[1:8]
#: Draws of the columns permuted.
PERMUTATIONS = 1000

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    """Scores of one cell by replication, and of the non-private tree where the printed number is a ratio of means."""

    replications: np.ndarray
    values: np.ndarray
    base: np.ndarray | None = None  # of the tree without privacy, where the unit is the ratio of the means

    def mean(self, replications: np.ndarray | None = None) -> float:
        """The number in its unit, over all replications or some of them."""
        chosen = slice(None) if replications is None else np.isin(self.replications, replications)
        mean = float(self.values[chosen].mean())
        return mean if self.base is None else mean / float(self.base[chosen].mean())

    @property
    def se(self) -> float:
        """Standard error of the number, paired by replication where it is a ratio."""
        if self.base is not None:
            return float(ratio_of_means(self.values, self.base)[1])
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values))) if len(self.values) > 1 else np.nan


def distance_of(ours: np.ndarray | float, published: np.ndarray | float, relative: bool) -> np.ndarray:
    """Distance from print, in the unit or relative to the print."""
    apart = np.asarray(ours, dtype=float) - published
    return apart / np.abs(published) if relative else apart


def cause_of(
    published: float, judged: Sample, others: Iterable[tuple[T, Sample]], tolerance: float, relative: bool
) -> T | None:
    """Return the first other interpretation whose number is within the tolerance where the judged one is not.

    All are compared on shared replications; None: no interpretation is.
    """

    def meets(sample: Sample, shared: np.ndarray) -> bool:
        return bool(abs(distance_of(sample.mean(shared), published, relative)) <= tolerance + 1e-11)

    for interpretation, sample in others:
        shared = np.intersect1d(judged.replications, sample.replications)
        if shared.size and meets(sample, shared) and not meets(judged, shared):
            return interpretation
    return None


def met_by_chance(
    published: np.ndarray, readings: Sequence[tuple[np.ndarray, np.ndarray]], tolerance: float, relative: bool
) -> np.ndarray:
    """Chance with which any of several interpretations meets each number of a column, if its changes are permuted.

    A reading is what was judged and what it makes of it. Every draw permutes the data sets of the column in one way for
    all readings; where one has no number (NaN) it meets none.
    """
    met, rng = np.zeros(len(published)), np.random.default_rng(0)
    pairs = [(judged, np.log(ours / judged) if relative else ours - judged) for judged, ours in readings]
    for _ in range(PERMUTATIONS):
        order, hit = np.argsort(rng.random(len(published)), kind="stable"), np.zeros(len(published), dtype=bool)
        for judged, change in pairs:
            ours = judged * np.exp(change[order]) if relative else judged + change[order]
            hit |= np.abs(distance_of(ours, published, relative)) <= tolerance + 1e-11
        met += hit
    return met / PERMUTATIONS


def judged_numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row per published number that has a tolerance and a counterpart, under the configuration that judges it."""
    return numbers[numbers["judges"].astype(bool) & (numbers["class"] != "")]


def counts(rows: pd.DataFrame) -> dict[str, int]:
    """Count the compared numbers by class, and the different ones by their known cause.

    ``alike``, ``undecided``, ``different`` and ``apart`` (not comparable) add up to ``compared`` with ``method``, of
    which ``budget`` are a part; ``beside`` have alternatives. ``explained``, ``after``, ``suspected`` and ``open`` add
    up to ``different``.
    """
    classes, cause = rows["class"], rows["cause"]
    equivalent, differs = classes == EQUIVALENT, classes == DIFFERENT
    method = equivalent & rows["identifies"].isin([METHOD, BUDGET])
    return {
        "compared": len(rows),
        "beside": int((rows["identifies"] != "").sum()),
        "equivalent": int(equivalent.sum()),
        "method": int(method.sum()),
        "budget": int((method & (rows["identifies"] == BUDGET)).sum()),
        "alike": int((equivalent & ~method).sum()),
        "undecided": int((classes == CANNOT_TELL).sum()),
        "different": int(differs.sum()),
        "apart": int((classes == NOT_COMPARABLE).sum()),
        "explained": int((differs & cause.str.startswith(MET_BY)).sum()),
        "after": int((differs & (cause == AFTER_THE_FACT)).sum()),
        "suspected": int((differs & (cause == SUSPECTED)).sum()),
        "open": int((differs & (cause == NO_CAUSE)).sum()),
        "chance": round(float(rows["chance"].sum())),
    }


def equivalent_in_words(n: dict[str, int]) -> str:
    """Say which of the :func:`counts` identify their method and which are equivalent, without the rest.

    Where no alternative stands beside the numbers, equivalence is all that is known.
    """
    if not n["beside"]:
        return f"{n['equivalent']:,} of {n['compared']:,} numbers equivalent, alone or not"
    return f"{n['method']:,} of {n['compared']:,} numbers identify their method, {n['alike']:,} {NOT_ALONE}"


def in_words(rows: pd.DataFrame) -> str:
    """Say what the compared numbers identify, and how many are in each class; without the last full stop."""
    n = counts(rows)
    text = f"{n['equivalent']:,} of {n['compared']:,} printed numbers are equivalent to ours"
    if n["beside"]:
        text = (
            f"{n['method']:,} of {n['compared']:,} printed numbers identify their method, and {n['budget']:,} of these "
            f"identify the budget, too. {n['alike']:,} more are equivalent, but not alone: a "
            "constant or another method may be equivalent, too"
        )
    text += f". {n['different']:,} are different. {n['undecided']:,} are undecided"
    return f"{text}. {n['apart']:,} cannot be compared"


def causes_in_words(rows: pd.DataFrame) -> str:
    """Say what stands behind the numbers that differ; without the last full stop."""
    n = counts(rows)
    text = f"Of the {n['different']:,} that differ, another interpretation of the paper reproduces {n['explained']:,}"
    if n["after"]:
        text += f", and settings found later by search reproduce {n['after']} ({n['chance']} expected by chance)"
    return f"{text}. A cause is suspected for {n['suspected']:,}, and no cause is known for {n['open']:,}"


def distinct_fits(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep one row for each of our fits: several printed numbers may be compared with the same one."""
    cell = rows["cell"].str.split("|", expand=True).reindex(columns=range(2))
    return rows[~rows.assign(data=cell[0], selector=cell[1]).duplicated(["data", "selector", "x", "ours", "se"])]


def by_configuration(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Counts of numbers by paper, kind (tables or curves) and configuration; tried interpretations are left out."""
    rows = rows[(rows["class"] != "") & ((rows["interpretation"] == "") | (rows["configuration"] == AFTER_THE_FACT))]
    keys = ["paper", "what", "configuration", "judges"]
    rows = rows.assign(what=np.where(rows["x"].notna(), "curves", "tables"), judges=rows["judges"].astype(bool))
    return [dict(zip(keys, key, strict=True)) | counts(group) for key, group in rows.groupby(keys, sort=False)]
