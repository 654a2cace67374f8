"""Seeded score tables shaped like those of a real run, made from an experiment's YAML and a formula for the mean."""

import itertools
import json
from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np
import pandas as pd
import yaml

from lpbench.analysis.scores import SCORE_COLUMNS
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.paths import CONF
from lpbench.selectors import parse_selector


def experiment(name: str, **changes) -> dict:
    return yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")) | changes


def typed(body: Mapping) -> Experiment:
    return Experiment.from_record(body)


def card(
    title: str, task: str, tuning_free: dict | None = None, grid: dict | None = None, privacy: str = "ldp"
) -> Method:
    return Method(title, title, task, "", grid=grid or {"depth": [1, 2]}, tuning_free=tuning_free, privacy=privacy)


def scores_of(
    experiment: Mapping,
    mean: Callable[[dict], float],
    *,
    replications: int = 12,
    noise: float = 0.02,
    metric: str = "mse",
    points: tuple[dict, ...] = ({"depth": 1}, {"depth": 2}),
) -> pd.DataFrame:
    """Make scores for every cell of an experiment, of which ``mean`` is given dataset, mask, method, epsilon, x, point.

    ``noise`` is the standard deviation, relative to the mean, of what methods share in a replication; each adds a tenth
    of it, the same at every budget and place, as common random numbers do. An axis ``method.<param>`` has the group's
    grid in the place of ``points``.
    """
    cells, values = [], []
    for group in experiment["groups"]:
        axis = group.get("x")
        kind, _, parameter = (axis or "").partition(".")
        places = group["values"] if kind in ("dataset", "mask") else [None]
        grid = points if kind != "method" else [{parameter: v} for v in group["grid"][parameter]]
        for dataset, mask, method, value, epsilon, point in itertools.product(
            group["dataset"], group.get("mask", ["all_private"]), group["method"], places, group["epsilon"], grid
        ):
            x = {"epsilon": epsilon, "method": point.get(parameter)}.get(axis if axis == "epsilon" else kind, value)
            key = {"dataset": dataset, "mask": mask, "method": method, "epsilon": float(epsilon), "x": x}
            center = mean(key | {"point": point})
            shared = np.random.default_rng(crc32(dataset.encode())).normal(size=replications)
            own = np.random.default_rng(crc32(f"{dataset} {method}".encode())).normal(size=replications)
            cells.append(
                {
                    **key,
                    "x": np.nan if x is None else float(x),
                    "experiment": experiment["name"],
                    "panel": group.get("panel", ""),
                    "params": json.dumps(point, sort_keys=True, separators=(",", ":")),
                    "metric": metric,
                    "status": "ok",
                    "reason": "",
                    "seconds": 0.01,
                }
            )
            values.append(center * (1 + noise * shared + 0.1 * noise * own))
    table = pd.DataFrame(cells).loc[np.repeat(np.arange(len(cells)), replications)].reset_index(drop=True)
    table["replication"], table["value"] = np.tile(np.arange(replications), len(cells)), np.concatenate(values)
    return table[SCORE_COLUMNS]


def placeholder(experiment: Mapping, dataset: str, method: str, epsilon, status: str, reason: str, mask="aligned"):
    """One row for a cell that did not run."""
    row = dict.fromkeys(SCORE_COLUMNS, np.nan) | {
        "experiment": experiment["name"],
        "panel": "",
        "dataset": dataset,
        "mask": mask,
        "method": method,
        "epsilon": float(epsilon),
        "params": "{}",
        "replication": -1,
        "metric": "",
        "status": status,
        "reason": reason,
    }
    return pd.DataFrame([row])[SCORE_COLUMNS]


def bare(selector: str) -> str:
    return parse_selector(selector)[0]


CARDS = {
    "histoftree_max_edge": card("HistOfTree (max-edge)", "regression", {"depth": 2}),
    "histoftree_cart": card("HistOfTree (CART)", "regression", {"depth": 2}),
    "adhistoftree_max_edge": card("AdHistOfTree (max-edge)", "regression"),
    "adhistoftree_cart": card("AdHistOfTree (CART)", "regression"),
    "par_dt": card("ParDT", "regression"),
    "label_dt": card("LabelDT", "regression"),
    "dt": card("DT", "regression"),
    "hist": card("Hist", "regression"),
    "krr": card("KRR", "regression"),
    "lpct_max_edge": card("LPCT", "classification"),
    "lpct_p": card("LPCT-P", "classification"),
    "lpct_q": card("LPCT-Q", "classification"),
    "lpct_random": card("LPCT-R", "classification"),
    "lpct_prune_max_edge": card("LPCT-prune", "classification"),
}
