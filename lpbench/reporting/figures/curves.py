"""Curves of a figure with their printed names, and those read off the paper's drawing."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from lpbench.analysis.curves import Curve, curves
from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.members import bare_name
from lpbench.reporting.figures import style
from lpbench.reporting.paper import Paper, papers
from lpbench.reporting.printed_names import dataset_title, mask_title, method_title
from lpbench.reporting.published import published_cells

#: Budgets from here on are drawn apart and called non-private (1024 in HistOfTree's figures, 1000 in LPCT's).
NON_PRIVATE_EPSILON = 512.0


def axis_of(experiment: Experiment, panel: str) -> str:
    """Horizontal axis of a panel: ``epsilon``, ``dataset.<param>``, ``mask.<param>`` or ``method.<param>``."""
    for group in experiment.groups:
        if group.panel == panel and group.x:
            return group.x
    return "epsilon"


def labeled_curves(
    experiment: Experiment, table: pd.DataFrame, cards: Mapping[str, Method], selection: str = "oracle"
) -> list[Curve]:
    """Return the curves of an experiment with printed names, in a fixed order."""
    labeled = curves(table, selection=selection)
    named = []
    for curve in labeled:
        # the variant has no part of it; mask and data set have where a panel has several
        many = {
            key: len({getattr(c, key) for c in labeled if c.panel == curve.panel}) > 1 for key in ("dataset", "mask")
        }
        mask, dataset = many["mask"] * mask_title(curve.mask), many["dataset"] * dataset_title(curve.dataset)
        title = method_title(curve.method, cards, variant=False)
        named.append(replace(curve, label=", ".join(filter(None, [title, mask, dataset]))))
    return named


def published_curves(name: str, paper: Paper, ours: list[Curve]) -> list[Curve]:
    """Curves read off the paper's drawing, each named like ours of the same method, data set and budget."""
    cells = published_cells(name, paper)
    cells = cells[cells["x"].notna()].assign(selection="oracle", mean=cells["published"], se=0.0)
    return [replace(c, label=_same(c, ours)) for c in curves(cells)]


def _same(curve: Curve, ours: list[Curve]) -> str:
    """Label of the one of ``ours`` that stands for a published curve, else the published method's bare name.

    The method as it is comes before its variants.
    """
    candidates = [c for c in ours if (c.panel, c.base) == (curve.panel, curve.base)]
    candidates = [c for c in candidates if not curve.dataset or bare_name(c.dataset) == curve.dataset]
    return min(candidates, key=lambda c: (c.method != curve.method, c.method)).label if candidates else curve.base


def looks_of(bases: Iterable[str]) -> dict[str, dict[str, str]]:
    """Colors and markers of the methods of one figure, a user's own the first to choose among unused ones."""
    user_names = catalog.own_names("method")
    bases = list(dict.fromkeys(bases))
    looks = style.method_looks(
        {base: place_of(base) for base in sorted(bases, key=lambda base: base not in user_names)}
    )
    return {base: looks[base] for base in bases}


def place_of(base: str) -> int | None:
    """Position of a method in its paper's list, which decides color and marker; None for a method of no paper."""
    places = (p.methods.index(base) for p in papers() if p.claims and base in p.methods)
    return next(places, None)
