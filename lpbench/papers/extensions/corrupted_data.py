"""Each method's loss over that of the constant, over data sets on which there is little to learn."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lpbench.analysis.standings import NONE, geometric_mean, view
from lpbench.analysis.summary import CONSTANTS
from lpbench.experiments.method import Method
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import dataset_title, method_title
from lpbench.selectors import parse_selector

#: A method is never worse than the constant by more than noise: bounds of the geometric mean, and of any data set.
MOST_ON_AVERAGE, MOST = 1.02, 1.10


def corrupted_table(rows: pd.DataFrame, cards: Mapping[str, Method]) -> PlainTable | None:
    """A row a kind of labels, budget and method: geometric mean of the ratio of losses, and the worst set."""
    rows = view(rows[(rows["privacy"] != NONE) & ~rows["method"].isin(CONSTANTS)], "tuning_free")
    rows = rows.dropna(subset=["over_constant"])
    if rows.empty:
        return None
    labels = [parse_selector(name)[1].get("labels", "recorded") for name in rows["dataset"]]
    found = []
    for (kind, epsilon, method), part in rows.assign(labels=labels).groupby(["labels", "epsilon", "method"]):
        worst, largest = dataset_title(part.loc[part["over_constant"].idxmax(), "dataset"]), part["over_constant"].max()
        mean = geometric_mean(part["over_constant"]).estimate
        found.append((str(kind), f"{epsilon:g}", method_title(str(method), cards), mean, float(largest), worst))
    found.sort(key=lambda row: (row[0], float(row[1]), row[3]))
    heads = ("labels", "ε", "method", "geometric mean", "largest", "data set")
    cells = tuple((*place, f"{mean:.3f}", f"{most:.3f}", worst) for *place, mean, most, worst in found)
    return PlainTable("Loss over that of the best private constant", heads, cells, _conclusion(found))


def _conclusion(rows: list[tuple[str, str, str, float, float, str]]) -> str:
    """Which methods are never worse than the constant by more than noise, and where the others are."""
    worse: dict[str, list[str]] = {}
    for labels, epsilon, title, mean, largest, worst in rows:
        if mean > MOST_ON_AVERAGE or largest > MOST:
            worse.setdefault(title, []).append(f"{labels} at ε = {epsilon} ({mean:.3f}, {largest:.3f} on {worst})")
    kept = [title for title in dict.fromkeys(row[2] for row in rows) if title not in worse]
    said = [f"At most {MOST_ON_AVERAGE} in the geometric mean and {MOST:.2f} on any data set everywhere: "
            f"{'; '.join(kept) or 'no method'}."]  # fmt: skip
    return " ".join([*said, *(f"{title} is worse with labels {'; '.join(where)}." for title, where in worse.items())])
