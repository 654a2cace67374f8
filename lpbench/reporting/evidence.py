"""Finished results as a decider of claims sees them: summaries, curves with their replications, tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis import representatives
from lpbench.analysis.curves import Curve, curves
from lpbench.analysis.variants import one_variant_each
from lpbench.errors import NotRunError
from lpbench.experiments.results import Results
from lpbench.selectors import parse_selector


class Evidence:
    """What a results folder says of the claims; everything is the best grid point with hindsight, as in the papers.

    Parameters
    ----------
    folder : Path
        Holds ``<experiment>/summary.csv`` and, for paired tests, the chosen replications.
    """

    def __init__(self, folder: Path):
        self.results = Results(folder)
        #: Experiments that were asked for, in order; whoever wants to know which a verdict rests on clears it before.
        self.consulted: dict[str, None] = {}
        self._curves: dict[str, tuple[Curve, ...]] = {}

    def summary(self, name: str) -> pd.DataFrame:
        """Summary rows of an experiment, with the column ``base`` (bare method name).

        Raises
        ------
        NotRunError
            The experiment was not run, or no cell of it has a number.
        """
        self.consulted[name] = None
        rows = self.results.artefact(name).rows()
        return rows.assign(base=rows["method"].map(_bare))

    def curves(self, name: str, *bases: str, panel: str | None = None) -> list[Curve]:
        """Curves of an experiment, those of the named methods (default: all), one variant a method.

        Raises
        ------
        NotRunError
            The experiment, or a named method, is not there.
        """
        found = [curve for curve in self._all(name) if panel is None or curve.panel == panel]
        for base in bases:
            if not any(curve.base == base for curve in found):
                raise NotRunError(f"{name} has no curve of {base}")
        return [curve for curve in found if not bases or curve.base in bases]

    def curve(self, name: str, base: str, *, panel: str | None = None, epsilon: float | None = None) -> Curve:
        """The one curve of a method (at a budget)."""
        found = self.curves(name, base, panel=panel)
        if epsilon is not None:
            found = [curve for curve in found if np.isclose(curve.epsilon, epsilon)]
        if len(found) != 1:
            raise NotRunError(f"{name} has {len(found)} curves of {base}, expected one")
        return found[0]

    def _all(self, name: str) -> tuple[Curve, ...]:
        self.consulted[name] = None
        if name not in self._curves:
            rows = self.summary(name)
            rows = rows[rows["method"].isin(one_variant_each(rows["method"]))]
            self._curves[name] = tuple(curves(rows, self.results.artefact(name).chosen))
        return self._curves[name]

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

    def deviations(self) -> list[str]:
        """Consulted experiments that were not run as they are registered: ``name (key: registered → run; ...)``."""
        found = {name: self.results.artefact(name).deviations for name in self.consulted}
        return [f"{name} ({'; '.join(changes)})" for name, changes in found.items() if changes]


def _bare(selector: str) -> str:
    return parse_selector(selector)[0] if selector else ""
