"""From summary rows to curves with names: what tells them apart, and by which colour, line and marker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lpbench.reporting.cards import describe_params, get, mask_title, method_title
from lpbench.reporting.published import published_cells
from lpbench.selectors import format_selector, parse_selector

#: Budgets from here on are drawn apart and called non-private (H's 1024, L's 1000).
NON_PRIVATE = 512.0


@dataclass(frozen=True)
class Curve:
    """One curve of one panel.

    Attributes
    ----------
    panel : str
    kind : str
        What the curve is (method, mask, data set) in print: the part that is not the budget or the variant.
    variant : str
        Named preset of the method, if any.
    epsilon : float
        Budget of the whole curve; NaN where the budget is the horizontal axis.
    method : str
        Bare method name.
    x, mean, se : ndarray of shape (k,)
    published : bool
        Read off the paper's drawing.
    """

    panel: str
    kind: str
    variant: str
    epsilon: float
    method: str
    x: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    published: bool = False


def axis_of(experiment, panel: str) -> str:
    """Horizontal axis of a panel: ``epsilon``, ``dataset.<param>``, ``mask.<param>`` or ``method.<param>``."""
    for group in get(experiment, "groups", []):
        if get(group, "panel", "") == panel and get(group, "x"):
            return get(group, "x")
    return "epsilon"


def curves(experiment, table: pd.DataFrame, cards: Mapping, selection: str = "oracle") -> list[Curve]:
    """Return the curves of an experiment, in a fixed order.

    Parameters
    ----------
    experiment : mapping or record
    table : DataFrame
        Summary.
    cards : mapping
        Method selector -> printed name.
    selection : str
    """
    table = table[(table["selection"] == selection) & table["x"].notna() & table["mean"].notna()]
    found = []
    for panel, rows in table.groupby("panel"):
        axis = axis_of(experiment, panel)
        keys = ["dataset", "mask", "method"] + ([] if axis == "epsilon" else ["epsilon"])
        many = {key: rows[key].nunique() > 1 for key in ("dataset", "mask", "method")}
        for key, part in rows.groupby(keys, dropna=False):
            part = part.sort_values("x")
            name, params = parse_selector(key[2])
            variant = str(params.pop("variant", ""))
            found.append(
                Curve(
                    panel=panel,
                    kind=_kind(key[0], key[1], format_selector(name, params), many, cards),
                    variant=variant,
                    epsilon=math.nan if axis == "epsilon" else float(key[3]),
                    method=name,
                    x=part["x"].to_numpy(),
                    mean=part["mean"].to_numpy(),
                    se=part["se"].fillna(0).to_numpy(),
                )
            )
    return found


def _kind(dataset: str, mask: str, method: str, many: Mapping, cards: Mapping) -> str:
    parts = [method_title(method, cards)]
    if many["mask"] and mask_title(mask):
        parts.append(mask_title(mask))
    if many["dataset"]:
        name, params = parse_selector(dataset)
        parts.append(", ".join([name.replace("_", " "), *describe_params(params)]))
    return ", ".join(parts)


def published_curves(name: str, ours: list[Curve]) -> list[Curve]:
    """Curves read off the paper's drawing, each named like ours of the same method and budget."""
    cells = published_cells(name)
    cells = cells[cells["x"].notna()]
    epsilon_axis = bool((cells["x"] == cells["epsilon"]).all())
    keys = ["method"] if epsilon_axis else ["method", "epsilon"]
    kinds = {c.method: c.kind for c in ours}
    found = []
    for key, part in cells.groupby(keys):
        part = part.sort_values("x")
        found.append(
            Curve(
                panel="",
                kind=kinds.get(key[0], key[0]),
                variant="",
                epsilon=math.nan if epsilon_axis else float(key[1]),
                method=key[0],
                x=part["x"].to_numpy(),
                mean=part["published"].to_numpy(),
                se=np.zeros(len(part)),
                published=True,
            )
        )
    return found
