"""Curves and tables that checks of claims read, of finished results and of the same cells in print."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import representatives
from lpbench.analysis.curves import Curve, curves
from lpbench.analysis.instances import CellScores
from lpbench.analysis.statistics import significant
from lpbench.analysis.variants import one_variant_each
from lpbench.errors import NotRunError
from lpbench.experiments.results import Results
from lpbench.members import bare_name
from lpbench.reporting.paper import Paper, paper_of
from lpbench.reporting.published import published_cells


@dataclass(frozen=True)
class CellTable:
    """Cells of a table, data sets x methods, row by row; missing ones are NaN.

    ``cells`` has one column of scores by replication for each cell, in that order.
    """

    datasets: tuple[str, ...]  # rows; columns are ``methods``
    methods: tuple[str, ...]
    cells: CellScores

    def columns(self, *methods: str) -> CellScores:
        """Scores of some methods' columns, row by row: data set by data set, methods in the given order."""
        width = len(self.methods)
        places = [k * width + self.methods.index(m) for k in range(len(self.datasets)) for m in methods]
        return self.cells[places]

    def cell(self, dataset: str, method: str) -> CellScores:
        """Return the scores of one data set and method."""
        return self.cells[[self.datasets.index(dataset) * len(self.methods) + self.methods.index(method)]]


class Evidence:
    """Our scores as claims read them from a results folder: curves and tables of the best grid points.

    ``variants`` names the variant that stands for a method; other selections are read on request.
    """

    source = "ours"

    def __init__(self, results: Results | Path, variants: Collection[str] = (), paper: Paper | None = None):
        self.results = results if isinstance(results, Results) else Results(results)
        self.variants, self.paper = variants, paper  # None: whichever an experiment is of
        #: Experiments that were asked for, in order; whoever wants to know which a check rests on clears it before.
        self.consulted: dict[str, None] = {}
        # each is read once
        self._curves, self._tables = cache(self._read_curves), cache(self._read_table)

    def summary(self, name: str, selection: str = "oracle") -> pd.DataFrame:
        """Return the summary rows of an experiment under one selection, and note that it was consulted."""
        self.consulted[name] = None
        return self.results.artifact(name).rows(selection)

    def curves(self, name: str, *bases: str, panel: str | None = None) -> list[Curve]:
        """Curves of an experiment, those of the named methods (default: all), one variant a method."""
        self.consulted[name] = None
        selected = [curve for curve in self._curves(name) if panel is None or curve.panel == panel]
        for base in bases:
            if not any(curve.base == base for curve in selected):
                raise NotRunError(f"{name} has no curve of {base}")
        return [curve for curve in selected if not bases or curve.base in bases]

    def curve(self, name: str, base: str) -> Curve:
        """Return the only curve of a method in an experiment; NotRunError if there is none, or several."""
        curves = self.curves(name, base)
        if len(curves) != 1:
            raise NotRunError(f"{name} has {len(curves)} curves of {base}, expected one")
        return curves[0]

    def _read_curves(self, name: str) -> tuple[Curve, ...]:
        rows = self.summary(name)
        rows = rows[rows["method"].isin(one_variant_each(rows["method"], self.variants))]
        return tuple(replace(c, experiment=name) for c in curves(rows, self._chosen(name)))

    def _chosen(self, name: str) -> pd.DataFrame:
        """Scores by replication of an experiment's chosen grid points; NotRunError without any.

        Where seconds are replaced by a count, the count is the value.
        """
        chosen = self.results.artifact(name).chosen
        if chosen is None or chosen.empty:
            raise NotRunError(f"{name}: scores by replication are not there, and a verdict needs them")
        if count := (self.paper or paper_of(name)).output_of(name).counted:
            # seconds differ from run to run: what is counted does not
            cells = zip(chosen["dataset"], chosen["method"], strict=True)
            chosen = chosen.assign(value=[count(dataset, method) for dataset, method in cells])
        return chosen

    def table(
        self, name: str, epsilon: float, mask: str, methods: Sequence[str], selection: str = "oracle"
    ) -> CellTable:
        """Cells of a table at one budget, but of data sets without any; ``mask`` is a bare name, or empty."""
        self.consulted[name] = None
        return self._tables(name, epsilon, mask, tuple(methods), selection)

    def _read_table(self, name: str, epsilon: float, mask: str, methods: tuple[str, ...], selection: str) -> CellTable:
        """Read the cells of methods at one budget and mask (empty: any), for a way of selecting grid points.

        NotRunError names a method or a data set's scores that are missing.
        """
        rows = self.summary(name, selection)
        rows = rows[np.isclose(rows["epsilon"], epsilon) & (rows["mask"].map(bare_name) == mask if mask else True)]
        stands, methods_run = representatives(rows["method"], self.variants), set(rows["method"])
        stands |= {method: method for method in methods if method != bare_name(method) and method in methods_run}
        absent = [m for m in methods if m not in stands]
        if absent:
            raise NotRunError(f"{name} has no column {absent[0]}")
        rows = rows[rows["method"].isin([stands[m] for m in methods])]
        datasets = tuple(rows.dropna(subset=["mean"])["dataset"].drop_duplicates())
        if not datasets:
            raise NotRunError(f"{name} has no result at epsilon {epsilon:g}")
        chosen = self._chosen(name)
        chosen = chosen[(chosen["selection"] == selection) & np.isclose(chosen["epsilon"], epsilon)]
        wide = chosen.pivot_table(index="replication", columns=["dataset", "mask", "method"], values="value")
        ran = set(zip(*(rows.dropna(subset=["mean"])[k] for k in ("dataset", "method")), strict=True))
        masks = dict(zip(zip(rows["dataset"], rows["method"], strict=True), rows["mask"], strict=True))
        places = [(d, masks.get((d, stands[m]), ""), stands[m]) for d in datasets for m in methods]
        for dataset, mask, method in places:
            if (dataset, mask, method) not in wide and (dataset, method) in ran:
                raise NotRunError(f"{name}: the scores of {method} by replication are not at hand")
        samples = wide.reindex(columns=pd.MultiIndex.from_tuples(places)).to_numpy()
        keys = tuple((name, "", *cell, float(epsilon), np.nan) for cell in places)
        cells = CellScores(keys, significant(samples), np.zeros(len(keys)))
        return CellTable(datasets, methods, cells)

    def settings(self, table: CellTable, method: str) -> dict[str, dict[str, Any]]:
        """Grid point that is reported, by data set, of a method of a table; NotRunError if one is not at hand."""
        points = {}
        for dataset in table.datasets:
            experiment, _, _, mask, selector, epsilon, _ = table.cell(dataset, method).keys[0]
            chosen = self._chosen(experiment)
            is_of_cell = (
                chosen[["selection", "dataset", "mask", "method"]] == ["oracle", dataset, mask, selector]
            ).all(axis=1)
            rows = chosen[is_of_cell & np.isclose(chosen["epsilon"], epsilon)]
            params = json.loads(rows["params"].iloc[0]) if len(rows) else {}
            if not params:
                raise NotRunError(f"{experiment}: the setting of {method} on {dataset} is not at hand")
            points[dataset] = params
        return points

    def deviations(self) -> dict[str, list[str]]:
        """Consulted experiments run otherwise than registered, replications and seed aside, and how."""
        deviating = {}
        for name in self.consulted:
            changes = self.results.artifact(name).deviations
            if more := [c for c in changes if not c.startswith(("replications:", "seed:"))]:
                deviating[name] = more
        return deviating


class Published(Evidence):
    """The papers' printed numbers in the same form: means whose relative errors are those of our runs.

    A printed cell of which a run has no counterpart is left out; in a table it keeps its value, without error.
    """

    source = "published"

    def __init__(self, ours: Evidence):
        super().__init__(ours.results, ours.variants, ours.paper)
        self._ours = ours

    def _read_curves(self, name: str) -> tuple[Curve, ...]:
        printed = _Print(name, self.paper)
        printed_curves = [
            _printed_curve(curve, printed) for curve in self._ours._curves(name) if curve.values is not None
        ]
        return tuple(curve for curve in printed_curves if curve is not None)

    def _read_table(self, name: str, epsilon: float, mask: str, methods: tuple[str, ...], selection: str) -> CellTable:
        table = self._ours.table(name, epsilon, mask, methods, selection)
        return replace(table, cells=_printed(table.cells, _Print(name, self.paper)))


class _Print:
    """Printed values of one experiment, looked up by the keys of our cells."""

    def __init__(self, name: str, paper: Paper | None):
        cells = published_cells(name, paper)
        if cells.empty:
            raise NotRunError(f"the paper prints no number of {name}")
        self.rows: dict[tuple[str, float], list[dict]] = {}
        for row in cells.to_dict("records"):
            self.rows.setdefault((row["method"], _place(row["x"])), []).append(row)

    def find(self, key: tuple) -> tuple[float, float]:
        """Return the printed value of a key and its rounding step; (NaN, 0) where there is none.

        A method that reads no budget is printed once, under one of the budgets.
        """
        _, panel, dataset, mask, method, epsilon, x = key
        rows = self.rows.get((bare_name(method), _place(x)), [])
        for column, ours in (("panel", panel), ("dataset", bare_name(dataset)), ("mask", bare_name(mask))):
            rows = [row for row in rows if row[column] in ("", ours)]
        if len(rows) > 1:
            rows = [row for row in rows if np.isclose(row["epsilon"], epsilon)]
        return (rows[0]["published"], rows[0]["step"]) if len(rows) == 1 else (np.nan, 0.0)


def _place(x: float) -> float:
    return -1.0 if x != x else float(f"{x:.9g}")


def _printed(cells: CellScores, printed: _Print) -> CellScores:
    """Scores by replication whose mean is the printed value and whose relative deviations are those of our ``cells``.

    So a printed number gets the standard error of our run; NaN where nothing is printed.
    """
    mean, step = np.array([printed.find(key) for key in cells.keys]).T
    center = cells.samples.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.nan_to_num(cells.samples / center - 1, nan=0.0, posinf=0.0, neginf=0.0)
    return CellScores(cells.keys, mean * (1 + deviation), np.nan_to_num(step))


def _printed_curve(curve: Curve, printed: _Print) -> Curve | None:
    """Return the points of our curve that are printed, with the printed values as means; None if no point is."""
    cells = _printed(curve.cells(), printed)
    is_printed = ~np.isnan(cells.samples).all(axis=0)
    if not is_printed.any():
        return None
    printed_cells = cells[np.flatnonzero(is_printed)]
    mean = printed_cells.samples.mean(axis=0)
    return replace(
        curve,
        x=curve.x[is_printed],
        mean=mean,
        se=curve.se[is_printed],
        values=printed_cells.samples,
        step=printed_cells.step,
    )
