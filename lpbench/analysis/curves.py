"""Curves of a figure: mean scores against the swept quantity, with the replications behind them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from lpbench.analysis.instances import CellScores
from lpbench.analysis.statistics import significant
from lpbench.errors import NotRunError
from lpbench.members import member


@dataclass(frozen=True)
class Curve:
    """Means of one method over the values of one axis, in one panel, with standard errors and replications.

    ``x``, ``mean`` and ``se`` are (k,), ``values`` (replications, k), ``step`` (k,) the rounding of printed means;
    ``epsilon`` is NaN where the axis is the budget. Selectors are empty for curves read off a paper.
    """

    panel: str
    dataset: str
    mask: str
    method: str
    epsilon: float  # of the whole curve; NaN where the budget is the horizontal axis
    x: np.ndarray  # shape (k,), as mean and se
    mean: np.ndarray
    se: np.ndarray  # NaN from one replication
    values: np.ndarray | None = None  # shape (R, k), scores of the chosen grid points; None where not at hand
    label: str = ""  # printed name in a figure, without budget and variant
    experiment: str = ""  # needed by cells()
    step: np.ndarray | None = None  # distance between neighboring printed values; None for scores of a run

    def cells(self, places: Sequence[int] | np.ndarray | slice = slice(None)) -> CellScores:
        """Scores by replication of some points of the curve (default: all), for the statistics of claims."""
        budgets = self.x if math.isnan(self.epsilon) else np.full(self.x.shape, self.epsilon)
        keys = tuple(
            (self.experiment, self.panel, self.dataset, self.mask, self.method, float(epsilon), float(x))
            for epsilon, x in zip(budgets, self.x, strict=True)
        )
        if self.step is None:
            return CellScores(keys, significant(self.samples), np.zeros(self.x.shape))[places]
        return CellScores(keys, self.samples, self.step)[places]

    @property
    def base(self) -> str:
        """Name of the method without parameters."""
        return member(self.method).name

    @property
    def variant(self) -> str:
        """Named preset of the method, if any."""
        return member(self.method).variant

    def parameter(self, name: str, default: Any = None) -> Any:
        """A parameter of the method's, mask's or data set's selector."""
        for selector in (self.method, self.mask, self.dataset):
            if name in (params := member(selector).params):
                return params[name]
        return default

    @property
    def samples(self) -> np.ndarray:
        """Return the scores by replication, shape (R, k); NotRunError where only means are known."""
        if self.values is None:
            raise NotRunError("scores.parquet is not there, and the verdict needs scores by replication")
        return self.values

    def at(self, x: float) -> int:
        """Return the index of the point at x; NotRunError if the curve has none."""
        indices = np.flatnonzero(np.isclose(self.x, x))
        if indices.size != 1:
            raise NotRunError(f"{self.method} has no point at x = {x:g}")
        return int(indices[0])

    @property
    def decay(self) -> np.ndarray:
        """Weights of the points' log means in the curve's exponent, its log-log slope with the sign changed."""
        return -slope_weights(np.log(self.x))

    def between(self, low: float, high: float) -> Self:
        """Return the part of the curve with x from ``low`` to ``high``, both included."""
        keep = (self.x >= low) & (self.x <= high)
        values = None if self.values is None else self.values[:, keep]
        step = None if self.step is None else self.step[keep]
        return replace(self, x=self.x[keep], mean=self.mean[keep], se=self.se[keep], values=values, step=step)


def slope_weights(x: np.ndarray) -> np.ndarray:
    """Weights of the least-squares slope against ``x``."""
    centered = np.asarray(x, dtype=float) - np.mean(x)
    return centered / (centered @ centered)


def curves(table: pd.DataFrame, chosen: pd.DataFrame | None = None, selection: str = "oracle") -> list[Curve]:
    """Collect the curves of a summary table, in a fixed order: panel, data set, mask, method, budget.

    In a panel where every place is its budget the budget is the horizontal axis. ``chosen`` has the scores of the
    chosen grid points, one row per replication.
    """
    rows = table[(table["selection"] == selection) & table["x"].notna() & table["mean"].notna()]
    if chosen is not None:
        chosen = chosen[chosen["selection"] == selection]
    collected = []
    for panel, of_panel in rows.groupby("panel"):
        on_axis = bool((of_panel["x"] == of_panel["epsilon"]).all())
        keys = ["panel", "dataset", "mask", "method", *([] if on_axis else ["epsilon"])]
        samples = {} if chosen is None else dict(iter(chosen[chosen["panel"] == panel].groupby(keys)))
        for key, points in of_panel.groupby(keys):
            _, dataset, mask, method, *budget = key
            points = points.sort_values("x")
            values = None
            if key in samples:
                wide = samples[key].pivot(index="replication", columns="x", values="value")
                values = wide.reindex(columns=points["x"]).to_numpy()
            x, mean, se = (points[column].to_numpy() for column in ("x", "mean", "se"))
            epsilon = math.nan if on_axis else float(budget[0])
            collected.append(Curve(str(panel), dataset, mask, method, epsilon, x, mean, se, values))
    return collected
