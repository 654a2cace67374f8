"""Feature-free baselines, and oracle versus tuning-free scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import ALPHA
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.analysis.significance import LOSS_DIGITS
from lpbench.analysis.standings import NONE, view
from lpbench.experiments.method import Method
from lpbench.members import BASELINE, CONSTANTS, REFERENCES, bare_name
from lpbench.reporting.paper import Paper
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.published import published_cells

#: The constants that sentences name, of errors and of accuracies: the better of two would be an oracle.
NAMED_CONSTANTS = ("private_mean", "private_majority")
#: Change of the constant's error under which wins are counted again.
MOVED = 0.05

#: (data set, budget) -> row of the best private constant, a prediction that looks at no feature and depends on no mask.
Constants = Mapping[tuple[str, float], Any]


def best_constants(table: pd.DataFrame) -> Constants:
    """Best private constant by (data set, budget): mean score, and loss over the non-private tree's (NaN: none)."""
    table, keys = table.sort_values("replications", kind="stable"), ["dataset", "epsilon"]
    names = table["method"].map(bare_name)
    trees = table[(names == BASELINE) & table["selection"].str.contains("oracle")]
    trees = trees[[*keys, "over_constant", "over_constant_se"]]
    constants = table[names.isin(NAMED_CONSTANTS)]
    constants, trees = (rows.drop_duplicates(keys, keep="last") for rows in (constants, trees))
    constants = constants.merge(trees, on=keys, how="left", suffixes=("", "_of_tree"))
    ratio = constants["over_constant"] / constants["over_constant_of_tree"]
    constants = constants.assign(
        mean=constants["loss"].mask(constants["metric"].map(LARGER_IS_BETTER).astype(bool), 1 - constants["loss"]),
        ratio=ratio,
        ratio_se=constants["over_constant_se_of_tree"] * ratio**2 / constants["over_constant"],
    )
    return {(row.dataset, row.epsilon): row for row in constants.itertuples()}


def published_wins(name: str, paper: Paper, constants: Constants) -> list[dict]:
    """Count published cells that are no better than our constant, for each mask and budget of a table.

    A win is the best published value of a data set among the methods that compete; the paper's marks are its stars
    or bold numbers. Published errors are relative to the paper's non-private tree, the constant's to ours.
    """
    layout = paper.tables.get(name)
    if layout is None or layout.value == "seconds":
        return []
    cells = published_cells(name, paper)
    left_out = cells["method"].isin([*REFERENCES, *paper.uncounted]) | cells["dataset"].isin(paper.uncounted)
    cells = cells[~left_out].dropna(subset=["published"])
    beside = map(constants.get, zip(cells["dataset"], cells["epsilon"], strict=True))
    cells = cells.assign(constant=pd.Series(beside, cells.index, object)).dropna(subset=["constant"])
    is_ratio = layout.value == "ratio"
    constant = np.array([c.ratio if is_ratio else c.loss for c in cells["constant"]], dtype=float)
    falls = [LARGER_IS_BETTER[c.metric] and not is_ratio for c in cells["constant"]]
    cells["loss"] = np.where(falls, 1 - cells["published"], cells["published"])
    for end, factor in (("below", 1.0), ("least", 1 + MOVED), ("most", 1 - MOVED)):
        cells[end] = (cells["loss"] - factor * constant).round(LOSS_DIGITS) >= 0
    rows = []
    for (mask, epsilon), group in cells.groupby(["mask", "epsilon"]):
        wins = group[group["loss"] == group.groupby("dataset")["loss"].transform("min")]
        proposed = wins[wins["method"].str.startswith(paper.proposed)]
        rows.append(
            {"artifact": name, "mask": mask, "epsilon": epsilon, "datasets": group["dataset"].nunique()}
            | _count("wins", wins.groupby("dataset")["below"].max())
            | {f"wins_{end}": int(wins.groupby("dataset")[end].max().sum()) for end in ("least", "most")}
            | _count("proposed", proposed.groupby("dataset")["below"].max())
            | _count("marks", group.loc[group["starred"], "below"])
            | _count("cells", group["below"])
            | {"by_set": {d: (len(b), int(b.sum())) for d, b in group.groupby("dataset")["below"]}}
        )
    return rows


def _count(what: str, below: pd.Series) -> dict[str, int]:
    return {what: len(below), f"{what}_below": int(below.sum())}


def by_selection(rows: pd.DataFrame, cards: Mapping[str, Method]) -> list[dict]:
    """Compare each method of an experiment with the constant, by oracle and by tuning-free selection.

    ``oracle``, ``tuning_free`` count the data sets on which it beats the constant, ``_significant`` those of them where
    it does by the one-sided Wilcoxon test over the common replications; ``cost`` is the median over data sets of the
    loss without oracle selection over that with it.
    """
    keys = ["panel", "mask", "epsilon", "method"]
    rows = rows[(rows["privacy"] != NONE) & ~rows["method"].isin(CONSTANTS) & rows["over_constant"].notna()]
    views = (view(rows, selection) for selection in ("oracle", "tuning_free"))
    joined = pd.merge(*views, on=[*keys, "dataset"], suffixes=("_oracle", "_tuning_free"))
    joined["cost"] = joined["loss_tuning_free"] / joined["loss_oracle"]
    how = {"dataset": "size", "cost": "median"}
    for selection in ("oracle", "tuning_free"):
        joined[selection] = joined[f"over_constant_{selection}"].round(LOSS_DIGITS) < 1
        joined[f"{selection}_significant"] = joined[selection] & (joined[f"p_constant_{selection}"] < ALPHA)
        how |= {selection: "sum", f"{selection}_significant": "sum"}
    counts = joined.groupby(keys, sort=False).agg(how).rename(columns={"dataset": "datasets"}).reset_index()
    return counts.assign(title=[method_title(m, cards) for m in counts["method"]]).to_dict("records")
