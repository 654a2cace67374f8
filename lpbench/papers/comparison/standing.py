"""Where one method stands among those of a committed experiment: ranks, wins and losses, error, bits and cost.

The others come from the committed summary and, where they were kept, the committed replications; none of their blocks
is run. Ranks over data sets need means alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, is_ranked
from lpbench.analysis.ranks import rank_intervals
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.summary import BASELINE, CONSTANTS, best_without_privacy
from lpbench.experiments.method import Method
from lpbench.reporting.cards import method_title
from lpbench.selectors import parse_selector

#: Selections that a user without test labels can have, in the order in which they replace each other.
FAIR = ("tuning_free", "private")
_CELL = ["dataset", "mask", "method", "epsilon"]


def selected(table: pd.DataFrame, selection: str, cell: Sequence[str] = _CELL) -> pd.DataFrame:
    """Rows of compared methods under ``fair`` or ``oracle`` selection, one a cell."""
    wanted = FAIR if selection == "fair" else (selection,)
    rows = table[table["selection"].isin(wanted) & (table["panel"].fillna("") == "")]
    rows = rows.assign(panel="", order=rows["selection"].map(wanted.index)).sort_values("order", kind="stable")
    return rows.drop_duplicates(cell, keep="last").drop(columns="order").assign(selection=selection).sort_index()


def _together(others: pd.DataFrame, mine: pd.DataFrame, selection: str) -> tuple[str, bool, pd.DataFrame]:
    """The one method, whether larger scores are better, and its rows with those of the others."""
    (own,) = set(mine["method"])
    parts = [rows[rows["mean"].notna()] for rows in (others[others["method"] != own], mine)]
    table = pd.concat([selected(rows, selection) for rows in parts], ignore_index=True)
    return own, LARGER_IS_BETTER[str(mine["metric"].iloc[0])], table


def standing(
    others: pd.DataFrame, mine: pd.DataFrame, selection: str, cards: Mapping[str, Method],
    costs: Mapping[str, float], bits: Mapping[tuple[str, float], float],
) -> pd.DataFrame:  # fmt: skip
    """Rank a method with all others, for each mask and budget that it was run at.

    Parameters
    ----------
    others, mine : DataFrame
        Columns of ``summary.csv``; ``others`` is the committed summary with all selections and panels. Rows of the
        method among the others are replaced.
    selection : {"fair", "oracle"}
    cards : mapping
        Method selector -> its card.
    costs : mapping of str to float
        Seconds of one fit, by method.
    bits : mapping of (str, float) to float
        Of a user's reports, by method and budget.

    Returns
    -------
    DataFrame
        One row a mask, budget and method, the best rank first: ``rank`` with Student's interval over data sets
        (``low``, ``high``), ``rank_sum``; ``wins`` and ``losses`` of *the one method* against the row's, over data
        sets; ``constant`` and ``non_private``: error over that of the best private constant and of the best method
        without privacy at its best setting (geometric mean over data sets; points of accuracy above them where larger
        is better); ``bits`` and ``seconds`` of one fit; ``own``.
    """
    own, larger, table = _together(others, mine, selection)
    best = best_without_privacy(_means(others[others["selection"] == "oracle"]), larger)
    rows: list[dict[str, object]] = []
    for mask, epsilon in sorted(set(zip(mine["mask"], mine["epsilon"], strict=True))):
        here = table[(table["mask"] == mask) & (table["epsilon"] == epsilon)]
        wide = here.pivot(index="dataset", columns="method", values="mean")
        wide = wide[wide[own].notna()]
        ranked = wide[[m for m in wide.columns if is_ranked(m)]]
        mean, low, high = rank_intervals(ranked.to_numpy(), larger_is_better=larger)
        floor = wide[[m for m in wide.columns if parse_selector(m)[0] in CONSTANTS]]
        constant = (floor.max(axis=1) if larger else floor.min(axis=1)) if floor.shape[1] else wide[own] * math.nan
        top = pd.Series([float(np.mean(best.get(d, math.nan))) for d in wide.index], index=wide.index)
        for k, method in enumerate(ranked.columns):
            ahead = (wide[own] > wide[method]) if larger else (wide[own] < wide[method])
            behind = (wide[own] < wide[method]) if larger else (wide[own] > wide[method])
            rows.append({
                "mask": mask, "epsilon": epsilon, "method": method, "title": method_title(method, cards),
                "rank": mean[k], "low": low[k], "high": high[k], "rank_sum": mean[k] * len(wide), "of": ranked.shape[1],
                "datasets": int(wide[method].notna().sum()), "wins": int(ahead.sum()), "losses": int(behind.sum()),
                "constant": _against(wide[method], constant, larger),
                "non_private": _against(wide[method], top, larger),
                "bits": bits.get((method, epsilon), math.nan),
                "seconds": costs.get(method, math.nan), "own": method == own,
            })  # fmt: skip
    return pd.DataFrame(rows).sort_values(["mask", "epsilon", "rank"], kind="stable", ignore_index=True)


def _means(rows: pd.DataFrame) -> dict[tuple[str, str, str, str, float], np.ndarray]:
    """Means in the place of replications, as :meth:`lpbench.analysis.Summary.samples` has them."""
    rows = rows[rows["mean"].notna()]
    keys = zip(rows["panel"].fillna(""), rows["dataset"], rows["mask"], rows["method"], rows["epsilon"], strict=True)
    return {key: np.array([mean]) for key, mean in zip(keys, rows["mean"], strict=True)}


def _against(scores: pd.Series, reference: pd.Series, larger: bool) -> float:
    """Geometric mean of the ratios of errors, or mean points of accuracy above the reference."""
    known = scores.notna() & reference.notna()
    if not known.any():
        return math.nan
    if larger:
        return 100 * float((scores - reference)[known].mean())
    return float(np.exp(np.log((scores / reference)[known]).mean()))


def where_it_wins(others: pd.DataFrame, mine: pd.DataFrame, selection: str) -> pd.DataFrame:
    """The method on each data set at each budget: its rank among those run there, and its score over the best other's.

    Returns
    -------
    DataFrame
        Columns mask, epsilon, dataset, rank, of, best (method), ratio (own error over the best other's;
        points of accuracy above it).
    """
    own, larger, table = _together(others, mine, selection)
    table = table[table["method"].map(is_ranked)]
    found = []
    for (mask, epsilon, dataset), rows in table.groupby(["mask", "epsilon", "dataset"]):
        means = rows.set_index("method")["mean"]
        if own not in means or len(means) < 2:
            continue
        rest = means.drop(own)
        best = rest.idxmax() if larger else rest.idxmin()
        place = int(((means > means[own]) if larger else (means < means[own])).sum()) + 1
        found.append({"mask": mask, "epsilon": epsilon, "dataset": dataset, "rank": place, "of": len(means),
                      "best": best,
                      "ratio": 100 * (means[own] - rest[best]) if larger else means[own] / rest[best]})  # fmt: skip
    return pd.DataFrame(found, columns=["mask", "epsilon", "dataset", "rank", "of", "best", "ratio"])


def joined(
    others: pd.DataFrame, replicated: pd.DataFrame | None, mine: Summary, selection: str, experiment: str
) -> Summary:
    """All methods of a selection as one summary, with the replications that are at hand, for tables and figures."""
    own, _, table = _together(others, mine.table, selection)
    table = table.assign(experiment=experiment, marked=False, p_best_is_better=math.nan)
    tree = others[(others["method"] == BASELINE) & (others["selection"] == "oracle")]
    table["ratio"] = table["mean"] / table["dataset"].map(tree.groupby("dataset")["mean"].first())
    kept = ([] if replicated is None else [replicated[replicated["method"] != own]]) + [mine.chosen]
    chosen = pd.concat([selected(rows, selection, [*_CELL, "replication"]) for rows in kept], ignore_index=True)
    chosen = chosen.assign(experiment=experiment)[list(mine.chosen.columns)]
    return Summary(table[list(mine.table.columns)], chosen, mine.reasons, pd.Series(False, index=table.index))
