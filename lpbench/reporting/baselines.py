"""Feature-free baselines, and oracle versus tuning-free scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from lpbench.analysis import ALPHA
from lpbench.analysis.scores import LARGER_IS_BETTER, costs
from lpbench.analysis.significance import DIGITS
from lpbench.analysis.standings import NONE, view
from lpbench.analysis.summary import BASELINE, CONSTANTS, REFERENCES
from lpbench.analysis.variants import bare_name
from lpbench.experiments.method import Method
from lpbench.reporting.paper import paper_of
from lpbench.reporting.printed_names import method_title
from lpbench.reporting.published import published_cells

#: Change of the constant's error under which wins are counted again.
MOVED = 0.05


@dataclass(frozen=True)
class Constant:
    """The best private constant of one data set and budget: a private prediction that uses no feature."""

    method: str
    metric: str
    mask: str
    loss: float
    se: float
    ratio: float  # its loss over that of the non-private tree on the same replications; NaN without one
    ratio_se: float
    n: int

    @property
    def mean(self) -> float:
        """The mean score."""
        return 1 - self.loss if LARGER_IS_BETTER[self.metric] else self.loss


#: (data set, budget) -> constant, which looks at no feature and depends on no mask.
Constants = Mapping[tuple[str, float], Constant]


def best_constants(table: pd.DataFrame) -> dict[tuple[str, float], Constant]:
    """The constants by which a table of standings divides losses, each from the experiment with most replications."""
    table = table.sort_values("replications", kind="stable")
    own = table["method"].map(bare_name)
    trees = table[(own == BASELINE) & table["selection"].str.contains("oracle")]
    trees = trees.drop_duplicates(["dataset", "epsilon"], keep="last").set_index(["dataset", "epsilon"])
    over = trees[["over_constant", "over_constant_se"]].to_dict("index")
    found = {}
    for row in table[own.isin(CONSTANTS) & (table["over_constant"].round(DIGITS) == 1)].to_dict("records"):
        place = (row["dataset"], row["epsilon"])
        tree = over.get(place, {"over_constant": math.nan, "over_constant_se": math.nan})
        ratio = 1 / tree["over_constant"]
        found[place] = Constant(
            row["method"], row["metric"], row["mask"], row["loss"], row["se"], ratio,
            tree["over_constant_se"] * ratio**2, int(row["replications"]),
        )  # fmt: skip
    return found


def published_wins(name: str, constants: Constants) -> list[dict]:
    """Count published cells that are no better than our constant, for each mask and budget of a table.

    A win is the best published value of a data set among the methods that compete; the paper's marks are its stars
    or bold numbers. Published errors are relative to the paper's non-private tree, the constant's to ours.
    """
    paper = paper_of(name)
    layout = paper.tables.get(name)
    if layout is None or layout.value == "seconds":
        return []
    cells = published_cells(name)
    left_out = cells["method"].isin([*REFERENCES, *paper.uncounted]) | cells["dataset"].isin(paper.uncounted)
    cells = cells[~left_out].dropna(subset=["published"])
    rows = []
    for (mask, epsilon), part in cells.groupby(["mask", "epsilon"]):
        found = {
            name: [_below(layout.value, r, constants, factor) for r in part.to_dict("records")]
            for name, factor in (("below", 1.0), ("least", 1 + MOVED), ("most", 1 - MOVED))
        }
        part = part.assign(**found).dropna(subset=["below"])
        known = None if part.empty else constants.get((part["dataset"].iloc[0], epsilon))
        if known is None:
            continue
        cost = costs(part["published"], known.metric)
        wins = part[cost == cost.groupby(part["dataset"]).transform("min")]
        proposed = wins[wins["method"].str.startswith(paper.proposed)]
        rows.append(
            {"artefact": name, "mask": mask, "epsilon": epsilon, "datasets": part["dataset"].nunique()}
            | _count("wins", wins.groupby("dataset")["below"].max())
            | {f"wins_{end}": int(wins.groupby("dataset")[end].max().sum()) for end in ("least", "most")}
            | _count("proposed", proposed.groupby("dataset")["below"].max())
            | _count("marks", part.loc[part["starred"], "below"])
            | _count("cells", part["below"])
            | {"by_set": {d: (len(b), int(b.sum())) for d, b in part.groupby("dataset")["below"]}}
        )
    return rows


def _count(what: str, below: pd.Series) -> dict[str, int]:
    return {what: len(below), f"{what}_below": int(below.astype(bool).sum())}


def _below(value: str, cell: Mapping, constants: Constants, factor: float = 1.0) -> bool | None:
    """Whether a published cell is no better than the constant with its error times a factor; None if unknown."""
    found = constants.get((cell["dataset"], cell["epsilon"]))
    if found is None:
        return None
    if value == "ratio":
        return bool(cell["published"] >= factor * found.ratio)
    loss = 1 - cell["published"] if LARGER_IS_BETTER[found.metric] else cell["published"]
    return bool(round(loss - factor * found.loss, DIGITS) >= 0)


def by_selection(rows: pd.DataFrame, cards: Mapping[str, Method]) -> list[dict]:
    """Compare each method of an experiment with the constant, by oracle and by tuning-free selection.

    ``oracle``, ``tuning_free`` count the data sets on which it beats the constant, ``_significant`` those of them where
    it does by the one-sided Wilcoxon test over the common replications; ``cost`` is the median over data sets of the
    loss without oracle selection over that with it.
    """
    keys = ["panel", "mask", "epsilon", "method"]
    rows = rows[(rows["privacy"] != NONE) & ~rows["method"].isin(CONSTANTS) & rows["over_constant"].notna()]
    both = view(rows, "oracle").merge(view(rows, "tuning_free"), on=[*keys, "dataset"], suffixes=("_oracle", "_free"))
    found = []
    for key, part in both.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True)) | {"title": method_title(key[3], cards), "datasets": len(part)}
        for selection, end in (("oracle", "oracle"), ("tuning_free", "free")):
            won = part[f"over_constant_{end}"].round(DIGITS) < 1
            clear = won & (part[f"p_constant_{end}"] < ALPHA)
            row |= {selection: int(won.sum()), f"{selection}_significant": int(clear.sum())}
        found.append(row | {"cost": float((part["loss_free"] / part["loss_oracle"]).median())})
    return found
