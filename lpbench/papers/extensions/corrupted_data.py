"""``attack.csv``: each method's error over that of the constant, over data sets on which there is little to learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import Summary, write_csv
from lpbench.analysis.summary import CONSTANTS
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.printed_names import dataset_title, method_title
from lpbench.selectors import parse_selector

FILE = "attack.csv"
#: A method is never worse than the constant by more than noise: bounds of the geometric mean, and of any data set.
MOST_ON_AVERAGE, MOST = 1.02, 1.10


def write_corrupted(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Write one row a kind of labels, budget and method: geometric mean of the ratio of errors, and the worst set.

    Errors are mean squared errors, or one minus accuracies, averaged over replications before they are divided.
    Nothing is written without scores of a constant.
    """
    table = summary.table
    rows = table[(table["selection"] == "tuning_free") & table["mean"].notna()]
    risk = np.where(rows["metric"] == "accuracy", 1.0 - rows["mean"], rows["mean"])
    errors = rows.assign(error=risk).pivot(index=["epsilon", "dataset"], columns="method", values="error")
    constant = next((name for name in CONSTANTS if name in errors), None)
    if constant is None:
        return []
    found = []
    for method in (name for name in errors if name != constant):
        ratios = (errors[method] / errors[constant]).dropna()
        kinds = [parse_selector(name)[1].get("labels", "recorded") for name in ratios.index.get_level_values("dataset")]
        for (labels, epsilon), of_budget in ratios.groupby([kinds, ratios.index.get_level_values("epsilon")]):
            worst = str(of_budget.idxmax()[1])
            found.append(
                {
                    "labels": labels, "epsilon": epsilon, "method": method, "title": method_title(method, cards),
                    "datasets": of_budget.size, "geometric_mean": float(np.exp(np.log(of_budget).mean())),
                    "largest": float(of_budget.max()), "worst": worst,
                }
            )  # fmt: skip
    path = Path(folder) / FILE
    write_csv(pd.DataFrame(found), path)
    return [path]


def read_corrupted(folder: Path) -> PlainTable | None:
    """The same as a table of a page; None without a run."""
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    rows = pd.read_csv(path).sort_values(["labels", "epsilon", "geometric_mean"])
    heads = ("labels", "ε", "method", "geometric mean", "largest", "data set")
    cells = tuple(
        (r.labels, f"{r.epsilon:g}", r.title, f"{r.geometric_mean:.3f}", f"{r.largest:.3f}", dataset_title(r.worst))
        for r in rows.itertuples()
    )
    return PlainTable(
        "Error over that of the constant (PrivateMean or PrivateMajority)", heads, cells, _conclusion(rows)
    )


def _conclusion(rows: pd.DataFrame) -> str:
    """Which methods are never worse than the constant by more than noise, and where the others are."""
    worse = rows[(rows["geometric_mean"] > MOST_ON_AVERAGE) | (rows["largest"] > MOST)]
    kept = [title for title in dict.fromkeys(rows["title"]) if title not in set(worse["title"])]
    said = [f"At most {MOST_ON_AVERAGE} in the geometric mean and {MOST:.2f} on any data set everywhere: "
            f"{'; '.join(kept) or 'no method'}."]  # fmt: skip
    for title, part in worse.groupby("title", sort=False):
        where = [
            f"{r.labels} at ε = {r.epsilon:g} ({r.geometric_mean:.3f}, {r.largest:.3f} on {dataset_title(r.worst)})"
            for r in part.itertuples()
        ]
        said.append(f"{title} is worse with labels {'; '.join(where)}.")
    return " ".join(said)
