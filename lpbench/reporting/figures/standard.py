"""Standard plots of a table experiment: ranks, scores against the budget, replications, distance from print."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lpbench.analysis import Summary
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures.boxes import draw_boxes
from lpbench.reporting.figures.budgets import draw_budgets
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.differences import draw_differences
from lpbench.reporting.figures.ranks import draw_ranks

#: Ends of the names of the plots, in the order in which a page shows them.
RANKS, BUDGETS, BOXES, DIFFERENCES = "_ranks", "_budgets", "_boxes", "_differences"


def draw_standard(
    experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path, stem: str, selection: str
) -> list[Path]:
    """Draw the plots of one experiment's tables and return their files.

    Parameters
    ----------
    experiment : Experiment
    summary : Summary
    cards : mapping
        Method selector -> printed name.
    folder, stem : Path, str
        Files are called ``<stem>_ranks.svg``, ``_budgets``, ``_boxes…`` and ``_differences``.
    selection : {"oracle", "tuning_free", "private"}
        Replications and the distance from the paper are drawn for ``oracle`` only.
    """
    found = parts(experiment, summary, cards, selection)
    written = draw_ranks(found, folder, stem + RANKS, selection)
    written += draw_budgets(found, folder, stem + BUDGETS, selection)
    if selection == "oracle":
        written += draw_boxes(found, folder, stem + BOXES)
        written += draw_differences(experiment.name, summary, cards, folder, stem + DIFFERENCES)
    return written
