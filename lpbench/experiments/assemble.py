"""From stored blocks to the tidy scores of an experiment."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from lpbench.experiments.fingerprint import canonical_json
from lpbench.experiments.plan import Entry
from lpbench.experiments.store import Store

COLUMNS = [
    "experiment",
    "panel",
    "dataset",
    "mask",
    "method",
    "epsilon",
    "x",
    "params",
    "replication",
    "metric",
    "value",
    "status",
    "reason",
    "seconds",
]
_CATEGORIES = ["experiment", "panel", "dataset", "mask", "method", "params", "metric", "status", "reason"]


def assemble(entries: Iterable[Entry], store: Store) -> pd.DataFrame:
    """Collect the rows of the given entries, in plan order.

    An entry without data gives one row a budget with status ``skipped`` and the way to get the data; an entry whose
    block failed or ran over its time gives one row a budget with that status and the reason. Such rows have
    ``replication`` -1 and no value.
    """
    frames = [_entry_frame(entry, store) for entry in entries]
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    scores = pd.concat(frames, ignore_index=True)[COLUMNS]
    return scores.astype(dict.fromkeys(_CATEGORIES, "category"))


def _entry_frame(entry: Entry, store: Store) -> pd.DataFrame:
    if entry.block is None:
        frame = _placeholder(entry, "skipped", f"data not at hand: {entry.missing}")
    elif store.has(entry.block.key):
        table, _ = store.read(entry.block.key)
        frame = _broadcast(table.to_pandas(), entry)
    else:
        failure = store.read_failure(entry.block.key) or {"status": "failed", "reason": "not run"}
        frame = _placeholder(entry, failure["status"], failure["reason"])
    for column in ("experiment", "panel", "dataset", "mask", "method"):
        frame[column] = getattr(entry, column)
    frame["x"] = _x(frame, entry)
    return frame


def _broadcast(frame: pd.DataFrame, entry: Entry) -> pd.DataFrame:
    """Show a method that ignores the budget, stored once, at every budget; of others those of the entry."""
    frame = frame.astype(dict.fromkeys(("params", "metric", "status", "reason"), str))
    if entry.block is None or entry.block.budgets == entry.epsilons:
        return frame
    if entry.block.budgets == (math.inf,):
        return pd.concat([frame.assign(epsilon=e) for e in entry.epsilons], ignore_index=True)
    return frame[frame["epsilon"].isin(entry.epsilons)].reset_index(drop=True)


def _placeholder(entry: Entry, status: str, reason: str) -> pd.DataFrame:
    rows = len(entry.epsilons)
    return pd.DataFrame(
        {
            "epsilon": np.asarray(entry.epsilons, dtype=float),
            "params": canonical_json({}),
            "replication": np.full(rows, -1, dtype=np.int32),
            "metric": "",
            "value": np.nan,
            "status": status,
            "reason": reason,
            "seconds": np.nan,
        }
    )


def _x(frame: pd.DataFrame, entry: Entry) -> pd.Series | float:
    if entry.x_axis is None:
        return math.nan
    if entry.x_axis == "epsilon":
        return frame["epsilon"]
    kind, _, parameter = entry.x_axis.partition(".")
    if kind != "method":
        return float(entry.x_value)
    known = {text: json.loads(text).get(parameter, math.nan) for text in frame["params"].unique()}
    return frame["params"].map(known).astype(float)
