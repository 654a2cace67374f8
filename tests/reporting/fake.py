"""Seeded score tables shaped like those of a real run, made from an experiment's YAML and a formula for the mean."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np
import pandas as pd
import yaml

from lpbench.analysis.scores import SCORE_COLUMNS
from lpbench.paths import CONF
from lpbench.selectors import parse_selector


def experiment(name: str, **changes) -> dict:
    """Read an experiment's YAML."""
    return yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text(encoding="utf-8")) | changes


def scores_of(
    experiment: Mapping,
    mean: Callable[[dict], float],
    *,
    replications: int = 12,
    noise: float = 0.02,
    metric: str = "mse",
    points: tuple[dict, ...] = ({"depth": 1}, {"depth": 2}),
) -> pd.DataFrame:
    """Make scores for every entry of an experiment.

    Parameters
    ----------
    experiment : mapping
    mean : callable
        Maps a dictionary (dataset, mask, method, epsilon, x, point) to the mean score.
    noise : float
        Standard deviation, relative to the mean, of the part that methods share in a replication; each method adds a
        tenth of it of its own, the same at every budget and place, as common random numbers do.
    points : tuple of dict
        Grid points of every method; for an axis ``method.<param>`` the group's grid is used instead.
    """
    frames = []
    for group in experiment["groups"]:
        axis = group.get("x")
        kind, _, parameter = (axis or "").partition(".")
        values = group["values"] if kind in ("dataset", "mask") else [None]
        grid = points if kind != "method" else [{parameter: v} for v in group["grid"][parameter]]
        for dataset, mask, method, value, epsilon, point in itertools.product(
            group["dataset"], group.get("mask", ["all_private"]), group["method"], values, group["epsilon"], grid
        ):
            x = {"epsilon": epsilon, "method": point.get(parameter)}.get(axis if axis == "epsilon" else kind, value)
            key = {"dataset": dataset, "mask": mask, "method": method, "epsilon": float(epsilon), "x": x}
            center = mean(key | {"point": point})
            shared = np.random.default_rng(crc32(dataset.encode())).normal(size=replications)
            own = np.random.default_rng(crc32(f"{dataset} {method}".encode())).normal(size=replications)
            frames.append(
                pd.DataFrame(
                    {
                        **key,
                        "x": np.nan if x is None else float(x),
                        "experiment": experiment["name"],
                        "panel": group.get("panel", ""),
                        "params": json.dumps(point, sort_keys=True, separators=(",", ":")),
                        "replication": np.arange(replications),
                        "metric": metric,
                        "value": center * (1 + noise * shared + 0.1 * noise * own),
                        "status": "ok",
                        "reason": "",
                        "seconds": 0.01,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)[SCORE_COLUMNS]


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
    """Name of a selector."""
    return parse_selector(selector)[0]


CARDS = {
    "histoftree_max_edge": {"title": "HistOfTree (max-edge)", "tuning_free": '{"depth":2}', "task": "regression"},
    "histoftree_cart": {"title": "HistOfTree (CART)", "tuning_free": '{"depth":2}', "task": "regression"},
    "adhistoftree_max_edge": {"title": "AdHistOfTree (max-edge)", "tuning_free": None, "task": "regression"},
    "adhistoftree_cart": {"title": "AdHistOfTree (CART)", "tuning_free": None, "task": "regression"},
    "par_dt": {"title": "ParDT", "tuning_free": None, "task": "regression"},
    "label_dt": {"title": "LabelDT", "tuning_free": None, "task": "regression"},
    "dt": {"title": "DT", "tuning_free": None, "task": "regression"},
    "hist": {"title": "Hist", "tuning_free": None, "task": "regression"},
    "krr": {"title": "KRR", "tuning_free": None, "task": "regression"},
    "lpct_max_edge": {"title": "LPCT", "tuning_free": None, "task": "classification"},
    "lpct_p": {"title": "LPCT-P", "tuning_free": None, "task": "classification"},
    "lpct_q": {"title": "LPCT-Q", "tuning_free": None, "task": "classification"},
    "lpct_random": {"title": "LPCT-R", "tuning_free": None, "task": "classification"},
    "lpct_prune_max_edge": {"title": "LPCT-prune", "tuning_free": None, "task": "classification"},
}
