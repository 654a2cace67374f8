"""Standard plots of a table experiment: ranks, and scores against the budget."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lpbench.analysis import Summary
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures.budgets import ACROSS, draw_budgets
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.ranks import draw_ranks

#: Ends of the names of the plots, in the order in which a page shows them.
RANKS, BUDGETS = "_ranks", "_budgets"


def draw_standard(
    experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path, stem: str, selection: str
) -> list[Path]:
    """Draw ``<stem>_ranks.svg`` and ``_budgets``; many methods on many data sets are left to the explorer."""
    found = parts(experiment, summary, cards, selection)
    written = draw_ranks(found, folder, stem + RANKS, selection)
    sets = {dataset for part in found for dataset in part.datasets}
    methods = {column.method for part in found for column in part.columns}
    if min(len(sets), len(methods)) <= ACROSS:
        written += draw_budgets(found, folder, stem + BUDGETS, selection)
    return written
