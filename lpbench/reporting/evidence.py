"""Finished results as a decider sees them: summaries, curves with their replications, tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import read_csv, representatives
from lpbench.analysis.scores import CELL, canonical_params
from lpbench.errors import NotRunError
from lpbench.experiments.results import read_chosen
from lpbench.selectors import parse_selector

#: Variant of a method that stands for it in verdicts where several were run: the one that made the published curves.
PREFERRED_VARIANT = "published_code"


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes
    ----------
    panel, dataset, mask, method : str
        As in the summary.
    epsilon : float
        NaN where the budget is the horizontal axis.
    x, mean, se : ndarray of shape (k,)
    values : ndarray of shape (R, k) or None
        Scores of the chosen grid points, one row a replication; None without ``scores.parquet``.
    """

    panel: str
    dataset: str
    mask: str
    method: str
    epsilon: float
    x: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    values: np.ndarray | None

    @property
    def base(self) -> str:
        """Bare method name."""
        return parse_selector(self.method)[0]

    def parameter(self, name: str, default=None):
        """A parameter of the method's, mask's or data set's selector."""
        for selector in (self.method, self.mask, self.dataset):
            params = parse_selector(selector)[1] if selector else {}
            if name in params:
                return params[name]
        return default

    @property
    def samples(self) -> np.ndarray:
        """``values``, or :class:`NotRunError` without them."""
        if self.values is None:
            raise NotRunError("scores.parquet is not there, and the verdict needs scores by replication")
        return self.values

    def at(self, x: float) -> int:
        """Index of a place on the axis."""
        found = np.flatnonzero(np.isclose(self.x, x))
        if found.size != 1:
            raise NotRunError(f"{self.method} has no point at x = {x:g}")
        return int(found[0])

    def between(self, low: float, high: float) -> Line:
        """The part of the curve with ``low <= x <= high``."""
        keep = (self.x >= low) & (self.x <= high)
        values = None if self.values is None else self.values[:, keep]
        return replace(self, x=self.x[keep], mean=self.mean[keep], se=self.se[keep], values=values)


class Results:
    """Summaries and scores in a results folder.

    Parameters
    ----------
    folder : Path
        Holds ``<experiment>/summary.csv`` and, for paired tests, ``<experiment>/scores.parquet``.
    """

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self._artefacts: dict[str, _Artefact] = {}

    def artefact(self, name: str) -> _Artefact:
        """An experiment's results; raises :class:`NotRunError` if there are none."""
        if name not in self._artefacts:
            self._artefacts[name] = _Artefact(self.folder / name, name)
        artefact = self._artefacts[name]
        if artefact.summary["mean"].notna().sum() == 0:
            raise NotRunError(f"{name} has no result")
        return artefact

    def summary(self, name: str, selection: str = "oracle") -> pd.DataFrame:
        """Summary rows of one selection, with the column ``base`` (bare method name)."""
        table = self.artefact(name).summary
        return table[table["selection"] == selection]

    def lines(self, name: str, *bases: str, panel: str | None = None) -> list[Line]:
        """Curves of an experiment, those of the named methods (default: all), one variant a method.

        Raises
        ------
        NotRunError
            The experiment, or a named method, is not there.
        """
        found = self.artefact(name).lines
        if panel is not None:
            found = tuple(line for line in found if line.panel == panel)
        for base in bases:
            if not any(line.base == base for line in found):
                raise NotRunError(f"{name} has no curve of {base}")
        return [line for line in found if not bases or line.base in bases]

    def line(self, name: str, base: str, *, panel: str | None = None, epsilon: float | None = None) -> Line:
        """The one curve of a method (at a budget)."""
        found = self.lines(name, base, panel=panel)
        if epsilon is not None:
            found = [line for line in found if np.isclose(line.epsilon, epsilon)]
        if len(found) != 1:
            raise NotRunError(f"{name} has {len(found)} curves of {base}, expected one")
        return found[0]

    def values(self, name: str, epsilon: float, mask: str, methods: tuple[str, ...]) -> pd.DataFrame:
        """Means of a table: rows data sets, columns the named methods; data sets without any result left out."""
        rows = self.summary(name)
        rows = rows[np.isclose(rows["epsilon"], epsilon) & (rows["mask"].map(_bare) == mask if mask else True)]
        rows = rows[rows["method"].isin(representatives(rows["method"]).values())]
        wide = rows.pivot(index="dataset", columns="base", values="mean")
        absent = [m for m in methods if m not in wide.columns]
        if absent:
            raise NotRunError(f"{name} has no column {absent[0]}")
        return wide[list(methods)].dropna(how="all")


class _Artefact:
    """Files of one experiment, read on first use."""

    def __init__(self, folder: Path, name: str):
        self.folder, self.name = folder, name

    @cached_property
    def summary(self) -> pd.DataFrame:
        path = self.folder / "summary.csv"
        if not path.is_file():
            raise NotRunError(f"{self.name} was not run")
        table = read_csv(path)
        return table.assign(base=[_bare(m) for m in table["method"]])

    @cached_property
    def chosen(self) -> pd.DataFrame | None:
        """Scores of the oracle's grid points."""
        rows = self.summary[self.summary["selection"] == "oracle"]
        path = self.folder / "scores.parquet"
        if not path.is_file():
            return None
        scores = read_chosen(self.folder)
        if scores is not None:
            scores = scores[scores["selection"] == "oracle"].drop(columns="selection")
            return scores.merge(rows[[*CELL, "params"]], on=[*CELL, "params"])
        scores = pd.read_parquet(path, columns=[*CELL, "params", "replication", "value", "status"])
        scores = scores[scores["status"] == "ok"]
        text = ["experiment", "panel", "dataset", "mask", "method"]
        scores = scores.astype(dict.fromkeys(text, object)).assign(params=_clean(scores["params"]))
        return scores.merge(rows[[*CELL, "params"]], on=[*CELL, "params"])

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        rows = self.summary
        rows = rows[(rows["selection"] == "oracle") & rows["x"].notna() & rows["mean"].notna()]
        axis_is_epsilon = len(rows) > 0 and bool((rows["x"] == rows["epsilon"]).all())
        rows = rows[rows["method"].map(_preferred(rows["method"]))]
        keys = ["panel", "dataset", "mask", "method", *([] if axis_is_epsilon else ["epsilon"])]
        chosen = {} if self.chosen is None else dict(iter(self.chosen.groupby(keys)))
        found = []
        for key, part in rows.groupby(keys):
            part = part.sort_values("x")
            values = None
            if key in chosen:
                values = chosen[key].pivot(index="replication", columns="x", values="value")[part["x"]].to_numpy()
            panel, dataset, mask, method, *budget = key
            x, mean, se = (part[column].to_numpy() for column in ("x", "mean", "se"))
            epsilon = float(budget[0]) if budget else math.nan
            found.append(Line(panel, dataset, mask, method, epsilon, x, mean, se, values))
        return tuple(found)


def _clean(params: pd.Series) -> pd.Series:
    clean = cache(canonical_params)
    return params.map({p: clean(p) for p in params.unique()}).astype(object)


def _bare(selector: str) -> str:
    return parse_selector(selector)[0] if selector else ""


def _preferred(methods: pd.Series) -> dict[str, bool]:
    """Tell which selectors stand for their method: one variant each, other parameters are told apart."""

    def order(selector: str) -> int:
        variant = parse_selector(selector)[1].get("variant", "")
        return {PREFERRED_VARIANT: 0, "": 1, "text": 2}.get(variant, 3)

    groups: dict[tuple, list[str]] = {}
    for selector in sorted(set(methods)):
        base, params = parse_selector(selector)
        params.pop("variant", None)
        groups.setdefault((base, str(sorted(params.items()))), []).append(selector)
    kept = {min(group, key=lambda s: (order(s), s)) for group in groups.values()}
    return {selector: selector in kept for selector in set(methods)}
