"""Table of numbers: each published number beside ours under each configuration, whether it is met, and if not, why.

A number is *met* where ours is the same within noise (two standard errors of the difference, the print being taken to
be as precise as ours) or within the tolerance stated for its table or figure. A miss has a cause where another
interpretation of the paper meets it on the same replications.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from lpbench.analysis.rates import ratio_of_means

#: Classes of a compared number, those that are met first.
SAME, NEAR, DIFFERENT = "same within noise", "within the tolerance", "different"
#: What stands behind a number that is not met, from a proof to nothing.
IMPOSSIBLE, MET_BY, FOUND = "impossible in print", "met by", "met by what was found afterwards"
SUSPECTED, UNEXPLAINED = "suspected", "unexplained"
#: ``judges``: whether the number is counted under this configuration; ``reading``: the interpretation of a row whose
#: configuration is "tried"; ``cell``: what was run, data set, method, mask, epsilon, panel and x joined by "|";
#: ``chance``: how often what was found afterwards would meet it by chance.
COLUMNS = [
    *("paper", "artefact", "panel", "dataset", "mask", "method", "epsilon", "x", "unit", "configuration", "reading"),
    *("judges", "cell", "published", "ours", "se", "replications", "distance", "tolerance", "met", "standing"),
    *("reason", "chance"),
]
NUMBER = COLUMNS[1:8]
#: Standard errors of a difference within which two numbers are the same, and draws of the columns permuted.
NOISE, DRAWS = 2.0, 1000

T = TypeVar("T")


@dataclass(frozen=True)
class Sample:
    replications: np.ndarray
    values: np.ndarray
    base: np.ndarray | None = None  # of the tree without privacy, where the unit is the ratio of the means

    def mean(self, replications: np.ndarray | None = None) -> float:
        """The number in its unit, over all replications or some of them."""
        kept = slice(None) if replications is None else np.isin(self.replications, replications)
        mean = float(self.values[kept].mean())
        return mean if self.base is None else mean / float(self.base[kept].mean())

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


def met_class(ours: np.ndarray, published: np.ndarray, se: np.ndarray, tolerance: float, relative: bool) -> np.ndarray:
    """The class of each number; empty where there is none, or no tolerance."""
    apart = np.abs(distance_of(ours, published, relative))
    noise = np.abs(ours - published) <= NOISE * np.sqrt(2) * np.nan_to_num(se)
    found = np.where(noise, SAME, np.where(apart <= tolerance + 1e-11, NEAR, DIFFERENT))
    return np.where(np.isnan(apart) | np.isnan(tolerance), "", found)


def cause_of(
    published: float, judged: Sample, others: Iterable[tuple[T, Sample]], tolerance: float, relative: bool
) -> T | None:
    """The first of other interpretations that meets a number which the judged one misses, on shared replications."""

    def meets(sample: Sample, shared: np.ndarray) -> bool:
        return bool(abs(distance_of(sample.mean(shared), published, relative)) <= tolerance + 1e-11)

    for other, sample in others:
        shared = np.intersect1d(judged.replications, sample.replications)
        if shared.size and meets(sample, shared) and not meets(judged, shared):
            return other
    return None


def met_by_chance(
    published: np.ndarray, judged: np.ndarray, found: np.ndarray, tolerance: float, relative: bool
) -> np.ndarray:
    """Chance with which each number of a column is met if an interpretation's changes are permuted over it."""
    change, rng = np.log(found / judged) if relative else found - judged, np.random.default_rng(0)
    met = np.zeros(len(published))
    for _ in range(DRAWS):
        drawn = change[np.argsort(rng.random(len(change)), kind="stable")]
        ours = judged * np.exp(drawn) if relative else judged + drawn
        met += np.abs(distance_of(ours, published, relative)) <= tolerance + 1e-11
    return met / DRAWS


def judged_numbers(numbers: pd.DataFrame) -> pd.DataFrame:
    """One row a published number that has a tolerance and a counterpart, under the configuration that judges it."""
    return numbers[numbers["judges"].astype(bool) & (numbers["met"] != "")]


def counts(rows: pd.DataFrame) -> dict[str, int]:
    """Numbers compared and met (the same, or within the tolerance), and misses by what stands behind them."""
    met, standing = rows["met"], rows["standing"]
    explained = standing.str.startswith(MET_BY) & (standing != FOUND)
    return {
        "compared": len(rows),
        "met": int(met.isin([SAME, NEAR]).sum()),
        "same": int((met == SAME).sum()),
        "impossible": int((standing == IMPOSSIBLE).sum()),
        "explained": int(explained.sum()),
        "found": int((standing == FOUND).sum()),
        "unexplained": int(standing.isin([SUSPECTED, UNEXPLAINED]).sum()),
        "chance": round(float(rows["chance"].sum())),
    }


def in_words(rows: pd.DataFrame) -> str:
    """The count of some compared numbers as a sentence."""
    n = counts(rows)
    text = (
        f"{n['compared']:,} printed numbers compared: {n['met']:,} met ({n['same']:,} of them the same within noise), "
        f"{n['impossible'] + n['explained']:,} missed with a reason ({n['impossible']} impossible in print), "
        f"{n['found'] + n['unexplained']:,} unexplained"
    )
    if n["found"]:
        text += f"; a search after the fact reproduces {n['found']} of them, chance alone {n['chance']}"
    return text


def by_configuration(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Counts under each configuration of each paper, of tables and curves, judging or not; what was tried is none."""
    rows = rows[(rows["met"] != "") & ((rows["reading"] == "") | (rows["configuration"] == "found"))]
    keys = ["paper", "what", "configuration", "judges"]
    rows = rows.assign(what=np.where(rows["x"].notna(), "curves", "tables"), judges=rows["judges"].astype(bool))
    return [dict(zip(keys, key, strict=True)) | counts(part) for key, part in rows.groupby(keys, sort=False)]
