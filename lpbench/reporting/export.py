"""Figures and tables of one experiment for a user's own paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lpbench.analysis import Summary, write_csv
from lpbench.analysis.pairwise import pairwise
from lpbench.errors import ConfigurationError
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.files import write_text
from lpbench.reporting.artefact import PAIRWISE
from lpbench.reporting.figures import style
from lpbench.reporting.figures.budgets import draw_budgets
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.lines import draw_lines
from lpbench.reporting.figures.ranks import draw_ranks
from lpbench.reporting.figures.standard import BUDGETS, RANKS
from lpbench.reporting.paper import mark_words
from lpbench.reporting.tables.grid import build
from lpbench.reporting.tables.latex import to_latex


def export(
    experiment: Experiment,
    summary: Summary,
    methods: Mapping[str, Method],
    folder: Path,
    *,
    width: float,
    selection: str = "oracle",
    ranks: bool = False,
) -> list[Path]:
    """Write PDF and PNG of its figures, LaTeX of its tables, and ``pairwise.csv``; ``width`` is in inches."""
    shown = summary.table[(summary.table["selection"] == selection) & summary.table["mean"].notna()]
    if shown.empty:
        known = ", ".join(sorted(set(summary.table["selection"])))
        raise ConfigurationError(f"{experiment.name} has no result with selection={selection}; it has {known}")
    folder.mkdir(parents=True, exist_ok=True)
    leaf = experiment.name.rpartition("/")[2]
    leaf = leaf if selection == "oracle" else f"{leaf}_{selection}"
    with style.printed(width):
        if experiment.kind == "figure":
            written = draw_lines(experiment, summary.table, methods, folder, leaf, selection)
        else:
            found = parts(experiment, summary, methods, selection)
            written = draw_budgets(found, folder, leaf + BUDGETS, selection)
            written += draw_ranks(found, folder, leaf + RANKS, selection)
    if experiment.kind != "figure":
        grids = build(experiment.name, summary, methods, selection)
        text = to_latex(
            experiment.title, f"tab:{leaf}", grids, selection=selection, marks=mark_words(experiment.name),
            replications=experiment.replications, ranks=ranks,
        )  # fmt: skip
        write_text(text, folder / f"{leaf}.tex")
        written.append(folder / f"{leaf}.tex")
    write_csv(pairwise(summary), folder / PAIRWISE)
    return [*written, folder / PAIRWISE]
