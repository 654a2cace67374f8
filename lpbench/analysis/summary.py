"""From scores to the summary table: one row per cell and selection, with its place among the methods compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.ranks import ranks
from lpbench.analysis.scores import CELL, LARGER_IS_BETTER, check_scores
from lpbench.analysis.selection import Selected, Settings, select
from lpbench.analysis.significance import LOSS_DIGITS, RULES, signed_ranks
from lpbench.analysis.variants import competitors
from lpbench.members import BASELINE, is_ranked

#: Keys and columns of what scores cost: epsilon, delta and privacy model that users spent, and what the audit says.
CELL_KEYS = ["panel", "dataset", "mask", "method", "epsilon"]
COSTS = ["spent", "spent_delta", "spent_model", "audit"]
#: What is said of a score's privacy; nothing of references without privacy. All but what is kept has neither rank nor
#: star, and a reason behind a colon. The methods of the package are audited by its tests.
AUDITED, NO_AUDIT, REFUTED, OVER = "audited", "not audited", "refuted", "over budget"
STATED_OTHERWISE, NO_PRIVACY = "another privacy model", "no privacy"
#: Of the papers' released code where it is run as it was published: over budget, and its class says so.
OVER_AS_PUBLISHED = "over budget as published"
KEPT = ("", AUDITED)
#: Where nothing is known of it.
NO_COSTS = dict(zip(COSTS, (np.nan, np.nan, "", ""), strict=True))
SUMMARY_COLUMNS = [
    *CELL,
    *("selection", "params", "metric", "mean", "std", "se", "n", "ratio", "rank", "best", "marked", "p_best_is_better"),
    *COSTS,
]
#: The methods of one comparison share everything but the method.
COMPARISON = ["experiment", "panel", "dataset", "mask", "epsilon", "x", "selection", "metric"]
#: Panel of the learners without privacy.
NON_PRIVATE_PANEL = "without privacy"


@dataclass(frozen=True)
class Summary:
    """Summary of an experiment: its table of means, the scores of chosen grid points, and reasons for empty cells."""

    #: Columns :data:`SUMMARY_COLUMNS`. ``rank`` is the average rank, ``p_best_is_better`` the raw one-sided p-value
    #: that the best method beats this one, ``marked`` whether the paper's rule marks it (HistOfTree's star or LPCT's
    #: bold, see :data:`lpbench.analysis.significance.RULES`) by the raw tests.
    table: pd.DataFrame
    chosen: pd.DataFrame  #: Scores of the chosen grid points, one row per replication.
    reasons: pd.DataFrame  #: Why cells are empty.
    marked_holm: pd.Series  #: The paper's mark after Holm's correction, aligned with ``table``.


def split_replications(chosen: pd.DataFrame, keys: list[str]) -> dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]]:
    """Values and replications of each group in the order of the replications."""
    if chosen.empty:
        return {}
    rows = chosen.sort_values("replication", kind="stable")
    group = rows.groupby(keys, dropna=False).ngroup().to_numpy()
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    names = rows[keys].iloc[order[begins]].itertuples(index=False, name=None)
    parts = (np.split(rows[column].to_numpy()[order], begins[1:]) for column in ("value", "replication"))
    return dict(zip(names, zip(*parts, strict=True), strict=True))


def summarize(
    scores: pd.DataFrame, settings: Settings | None = None, *, rule: str = "star", costs: pd.DataFrame | None = None
) -> Summary:
    """Summarize the scores of one experiment.

    Parameters
    ----------
    scores : DataFrame
        Columns of ``scores.parquet``, rows in any order: the result is the same to the last bit.
    settings : mapping, optional
        Stated settings, see :class:`lpbench.analysis.selection.Setting`.
    rule : {"star", "bold"}
        Which rule decides ``marked``: HistOfTree's star or LPCT's bold.
    costs : DataFrame, optional
        Columns :data:`CELL_KEYS` and :data:`COSTS`, one row per cell. Methods :func:`barred` names are not compared.

    Returns
    -------
    Summary
        Means, standard errors, ranks and marks of each cell, with the chosen grid points.

    Raises
    ------
    DataError
        See :func:`lpbench.analysis.scores.check_scores`.
    """
    return summary_of(select(check_scores(scores), settings), rule, costs)


def summary_of(selected: Selected, rule: str = "star", costs: pd.DataFrame | None = None) -> Summary:
    """Summarize chosen grid points, see :func:`summarize`.

    Parameters
    ----------
    selected : Selected
        Chosen grid points of :func:`lpbench.analysis.selection.select`.
    rule : {"star", "bold"}
        The rule that decides ``marked``.
    costs : DataFrame, optional
        Spent budgets, bits and seconds of each cell.

    Returns
    -------
    Summary
        As :func:`summarize` returns it.
    """
    table = selected.cells.reset_index(drop=True)
    if costs is None:
        table = table.assign(**NO_COSTS)
    else:
        table = table.merge(costs[[*CELL_KEYS, *COSTS]], on=CELL_KEYS, how="left").fillna(
            {"spent_model": "", "audit": ""}
        )
    table["se"] = table["std"] / np.sqrt(table["n"].where(table["n"] > 0))
    table["ratio"] = table["mean"] / baseline_means(table)
    table["rank"], table["best"], table["marked"], table["p_best_is_better"] = np.nan, False, False, np.nan
    marked_holm = pd.Series(False, index=table.index)
    _compare(table, marked_holm, selected, rule)
    return Summary(table[SUMMARY_COLUMNS], selected.chosen, selected.reasons, marked_holm)


def beats(chosen: pd.DataFrame) -> pd.DataFrame:
    """One-sided p-values over shared replications that ``method`` is better than ``than``, in each comparison."""
    parts = []
    for key, group in chosen.groupby(COMPARISON, dropna=False):
        wide = group.pivot(index="replication", columns="method", values="value").dropna()
        scores = wide.to_numpy() * (1 if LARGER_IS_BETTER[key[-1]] else -1)
        for k, method in enumerate(wide if len(wide) else ()):
            table = pd.DataFrame({"method": method, "than": wide.columns, "p": signed_ranks(scores[:, [k]] - scores)})
            parts.append(table[table["than"] != method].assign(**dict(zip(COMPARISON, key, strict=True))))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def distinct_selections(table: pd.DataFrame) -> list[str]:
    """Selections in alphabetical order; one that picks the same points as the oracle everywhere is not shown twice.

    Parameters
    ----------
    table : DataFrame
        A summary, with a row for each cell and selection.

    Returns
    -------
    list of str
        Names of the selections to show.
    """
    points = {s: group.drop(columns="selection").reset_index(drop=True) for s, group in table.groupby("selection")}
    return [s for s in sorted(points) if s == "oracle" or not points[s].equals(points.get("oracle"))]


def barred(table: pd.DataFrame) -> dict[str, str]:
    """Map each method without rank and star to the reason, such as over budget, refuted or not audited."""
    verdicts = table.loc[~table["audit"].isin(KEPT), ["method", "audit"]].drop_duplicates("method")
    return dict(verdicts.itertuples(index=False, name=None))


def stated_privacy(model: str, audit: str) -> str:
    """Return the privacy model of a method, marked as "stated" where no audit has confirmed it."""
    return f"{model} (stated)" if model and audit not in KEPT else model


def baseline_means(table: pd.DataFrame) -> pd.Series:
    """Oracle mean of the baseline, which reads neither mask nor budget, for each row; NaN where it was not run."""
    rows = table[(table["method"] == BASELINE) & (table["selection"] == "oracle") & table["mean"].notna()]
    narrow, wide = ["panel", "dataset", "mask", "epsilon", "x"], ["panel", "dataset", "x"]
    result = pd.Series(np.nan, index=table.index)
    for keys in (wide, narrow):
        means = rows.groupby(keys, dropna=False)["mean"].agg(["min", "max"]).reset_index()
        means = means[(means["max"] - means["min"]).round(LOSS_DIGITS) == 0].drop(columns="max")
        matched = table[keys].merge(means, on=keys, how="left")["min"].set_axis(table.index)
        result = matched.fillna(result)
    return result


def _compare(table: pd.DataFrame, marked_holm: pd.Series, selected: Selected, rule: str) -> None:
    """Fill rank, best, marked and p_best_is_better of the table in place, one comparison at a time.

    ``marked_holm`` is filled too; ``rule`` names the paper's rule of marking ("star" or "bold").
    """
    ranked = table[table["method"].map(is_ranked) & table["mean"].notna() & ~table["method"].isin(barred(table))]
    ranked = ranked.assign(group=ranked.groupby(COMPARISON, dropna=False).ngroup())
    competing = ranked.groupby("group")["method"].agg(competitors)
    competes = [m in competing[g] for g, m in zip(ranked["group"], ranked["method"], strict=True)]
    ranked = ranked[np.array(competes, dtype=bool)]
    chosen = selected.chosen.merge(ranked[[*CELL, "selection", "group"]], on=[*CELL, "selection"])
    scores = split_replications(chosen, ["group", "method"])
    filled = {name: table[name].to_numpy(copy=True) for name in ("rank", "best", "marked", "p_best_is_better")}
    holm = marked_holm.to_numpy(copy=True)
    method, metric, mean = (ranked[name].to_numpy() for name in ("method", "metric", "mean"))
    places, mean = table.index.get_indexer(ranked.index), np.round(mean, LOSS_DIGITS)
    for group, indices in ranked.groupby("group").indices.items():
        larger, at = LARGER_IS_BETTER[metric[indices[0]]], places[indices]
        filled["rank"][at] = ranks(mean[indices], larger_is_better=larger)
        filled["best"][at] = mean[indices] == (mean[indices].max() if larger else mean[indices].min())
        values, replications = zip(*(scores[group, m] for m in method[indices]), strict=True)
        if all(np.array_equal(replications[0], numbers) for numbers in replications[1:]):
            wide = np.stack(values).T
        else:
            wide = pd.DataFrame(dict(enumerate(map(pd.Series, values, replications)))).to_numpy()
        if wide.shape[0] > 1 and wide.shape[1] > 1:
            marks = RULES[rule](wide, larger_is_better=larger)
            filled["marked"][at], filled["p_best_is_better"][at] = marks.marked, marks.p_value
            holm[at] = marks.marked_holm
    for name, values in filled.items():
        table[name] = values
    marked_holm[:] = holm
