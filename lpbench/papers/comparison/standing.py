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
from lpbench.analysis.scores import LARGER_IS_BETTER, costs
from lpbench.analysis.summary import BASELINE, CONSTANTS, Samples, best_without_privacy
from lpbench.experiments.method import Method
from lpbench.reporting.printed_names import method_title
from lpbench.selectors import parse_selector

_CELL = ["dataset", "mask", "method", "epsilon"]


def selected(table: pd.DataFrame, selection: str, cell: Sequence[str] = _CELL) -> pd.DataFrame:
    """Rows of compared methods under ``fair`` or ``oracle`` selection, one a cell."""
    # a setting fixed beforehand gives way to one that reports chose
    wanted = ("tuning_free", "private") if selection == "fair" else (selection,)
    rows = table[table["selection"].isin(wanted) & (table["panel"].fillna("") == "")]
    rows = rows.assign(panel="", order=rows["selection"].map(wanted.index)).sort_values("order", kind="stable")
    return rows.drop_duplicates(cell, keep="last").drop(columns="order").assign(selection=selection).sort_index()


def _together(others: pd.DataFrame, mine: pd.DataFrame, selection: str) -> tuple[str, str, pd.DataFrame]:
    """The one method, the metric, and the method's rows with those of the others; their column ``cost``."""
    (own,), metric = set(mine["method"]), str(mine["metric"].iloc[0])
    parts = [rows[rows["mean"].notna()] for rows in (others[others["method"] != own], mine)]
    table = pd.concat([selected(rows, selection) for rows in parts], ignore_index=True)
    return own, metric, table.assign(cost=costs(table["mean"], metric))


def standing(
    others: pd.DataFrame, mine: pd.DataFrame, selection: str, cards: Mapping[str, Method],
    seconds: Mapping[str, float], bits: Mapping[tuple[str, float], float],
) -> pd.DataFrame:  # fmt: skip
    """Rank a method with all others, for each mask and budget that it was run at.

    ``others`` is the committed summary with all selections and panels; rows of the method among them are replaced.
    ``seconds`` of one fit are by method, ``bits`` of a user's reports by method and budget.

    A row is a mask, budget and method, the best rank first: ``rank`` with Student's interval over data sets (``low``,
    ``high``), ``rank_sum``; ``wins`` and ``losses`` of *the one method* against the row's, over data sets; ``constant``
    and ``non_private``: error over that of the best private constant and of the best method without privacy at its best
    setting (geometric mean over data sets; points of accuracy above them where larger is better).
    """
    own, metric, table = _together(others, mine, selection)
    best = best_without_privacy(_mean_costs(others[others["selection"] == "oracle"], metric))
    rows: list[dict[str, object]] = []
    for mask, epsilon in sorted(set(zip(mine["mask"], mine["epsilon"], strict=True))):
        here = table[(table["mask"] == mask) & (table["epsilon"] == epsilon)]
        wide = here.pivot(index="dataset", columns="method", values="cost")
        wide = wide[wide[own].notna()]
        ranked = wide[[m for m in wide.columns if is_ranked(m)]]
        mean, low, high = rank_intervals(ranked.to_numpy(), larger_is_better=False)
        constant = wide[[m for m in wide.columns if parse_selector(m)[0] in CONSTANTS]].min(axis=1)
        top = pd.Series([float(np.mean(best.get(d, math.nan))) for d in wide.index], index=wide.index)
        for k, method in enumerate(ranked.columns):
            rows.append({
                "mask": mask, "epsilon": epsilon, "method": method, "title": method_title(method, cards),
                "rank": mean[k], "low": low[k], "high": high[k], "rank_sum": mean[k] * len(wide), "of": ranked.shape[1],
                "datasets": int(wide[method].notna().sum()), "wins": int((wide[own] < wide[method]).sum()),
                "losses": int((wide[own] > wide[method]).sum()),
                "constant": _against(wide[method], constant, metric),
                "non_private": _against(wide[method], top, metric),
                "bits": bits.get((method, epsilon), math.nan),
                "seconds": seconds.get(method, math.nan), "own": method == own,
            })  # fmt: skip
    return pd.DataFrame(rows).sort_values(["mask", "epsilon", "rank"], kind="stable", ignore_index=True)


def _mean_costs(rows: pd.DataFrame, metric: str) -> Samples:
    """Means in the place of replications, with the sign that makes smaller ones better."""
    rows = rows[rows["mean"].notna()]
    keys = zip(rows["panel"].fillna(""), rows["dataset"], rows["mask"], rows["method"], rows["epsilon"], strict=True)
    return {key: np.array([mean]) for key, mean in zip(keys, costs(rows["mean"], metric), strict=True)}


def _against(cost: pd.Series, reference: pd.Series, metric: str) -> float:
    """Geometric mean of the ratios of errors, or mean points of accuracy above the reference."""
    known = cost.notna() & reference.notna()
    if not known.any():
        return math.nan
    if LARGER_IS_BETTER[metric]:
        return 100 * float((reference - cost)[known].mean())
    return float(np.exp(np.log((cost / reference)[known]).mean()))


def where_it_wins(others: pd.DataFrame, mine: pd.DataFrame, selection: str) -> pd.DataFrame:
    """The method on each data set at each budget: its rank among those run there, and its score over the best other's.

    ``ratio`` is the own error over the best other's, or points of accuracy above it.
    """
    own, metric, table = _together(others, mine, selection)
    table = table[table["method"].map(is_ranked)]
    found = []
    for (mask, epsilon, dataset), rows in table.groupby(["mask", "epsilon", "dataset"]):
        cost = rows.set_index("method")["cost"]
        if own not in cost or len(cost) < 2:
            continue
        best = cost.drop(own).idxmin()
        ratio = 100 * (cost[best] - cost[own]) if LARGER_IS_BETTER[metric] else cost[own] / cost[best]
        found.append({"mask": mask, "epsilon": epsilon, "dataset": dataset, "rank": int((cost < cost[own]).sum()) + 1,
                      "of": len(cost), "best": best, "ratio": ratio})  # fmt: skip
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
