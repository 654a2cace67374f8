"""``lpbench export``: figures and tables of an experiment for your own paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lpbench.cli import options
from lpbench.errors import ConfigurationError
from lpbench.experiments import catalog
from lpbench.experiments.config import SELECTIONS

if TYPE_CHECKING:
    from lpbench.analysis import Summary
    from lpbench.experiments.experiment import Experiment
    from lpbench.experiments.method import Method


@click.command(epilog="Next: \\includegraphics{export/NAME/....pdf}, \\input{export/NAME/....tex}")
@click.argument("experiment", type=options.NameOf("experiment"))
@click.option("--width", default="column", metavar="W", help="column, text, or inches.  [default: column]")
@options.choice("--selection", (*SELECTIONS, "fair"), "oracle")
@click.option("--ranks", is_flag=True, help="Add rank sums to the tables.")
@click.option("--folder", type=options.FOLDER_TYPE, default="export", metavar="DIR", help="[default: export]")
@options.results(exists=True)
def command(experiment: str, width: str, selection: str, ranks: bool, folder: Path, results: Path) -> int:
    """Write an experiment's figures as PDF and PNG, its tables as LaTeX.

    EXPERIMENT is a name such as own/first, or what `lpbench rank` wrote.
    """
    from lpbench.cli.new_method import shown
    from lpbench.experiments.method import Method
    from lpbench.experiments.plan import by_name, registered_methods
    from lpbench.experiments.results import Results
    from lpbench.reporting.artifact import summarize_experiment

    inches = _inches(width)
    artifact = Results(results).artifact(experiment)
    if not artifact.is_finished:
        catalog.experiment(experiment)
    if not artifact.is_finished or not (artifact.has_scores or artifact.full):
        raise ConfigurationError(
            f"experiment {experiment} has no scores in {results}; run it: lpbench reproduce {experiment}"
        )
    run = artifact.experiment
    if run.kind not in ("table", "figure"):
        raise ConfigurationError(f"experiment {experiment} is a {run.kind}; tables and figures of scores are exported")
    cards = {name: Method(**card) for name, card in artifact.record.get("methods", {}).items()}  # of lpbench rank
    methods = by_name(registered_methods(m for m in run.methods if m not in cards)) | cards
    summary = artifact.full or summarize_experiment(run, artifact.scores(), methods)
    target = folder / experiment
    for path in export(run, summary, methods, target, width=inches, selection=selection, ranks=ranks):
        print(f"wrote {shown(path)}")
    return 0


def _inches(width: str) -> float:
    """Inches of a figure's width given by name or number; ConfigurationError outside of 1 to 20."""
    from lpbench.reporting.figures.style import WIDTHS

    try:
        inches = WIDTHS[width] if width in WIDTHS else float(width)
    except ValueError:
        inches = 0.0
    if not 1 <= inches <= 20:
        raise ConfigurationError(f"--width {width} must be {', '.join(WIDTHS)}, or inches from 1 to 20")
    return inches


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
    """Write PDF and PNG of its figures, and LaTeX of its tables; ``width`` is in inches."""
    from lpbench.disk import write_text
    from lpbench.reporting.figures import style
    from lpbench.reporting.figures.budgets import draw_budgets
    from lpbench.reporting.figures.comparisons import parts
    from lpbench.reporting.figures.lines import draw_lines
    from lpbench.reporting.figures.ranks import BUDGETS_SUFFIX, RANKS_SUFFIX, draw_ranks
    from lpbench.reporting.paper import mark_words, paper_of
    from lpbench.reporting.tables.grid import build
    from lpbench.reporting.tables.latex import to_latex

    table = summary.table[(summary.table["selection"] == selection) & summary.table["mean"].notna()]
    if table.empty:
        selections = ", ".join(sorted(set(summary.table["selection"])))
        raise ConfigurationError(f"{experiment.name} has no result with selection={selection}; it has {selections}")
    folder.mkdir(parents=True, exist_ok=True)
    paper = paper_of(experiment.name)
    leaf = experiment.name.rpartition("/")[2]
    leaf = leaf if selection == "oracle" else f"{leaf}_{selection}"
    with style.printed(width):
        if experiment.kind == "figure":
            written = draw_lines(experiment, paper, summary.table, methods, folder, leaf, selection)
        else:
            comparisons = parts(summary, selection)
            written = draw_budgets(comparisons, folder, leaf + BUDGETS_SUFFIX, selection, methods)
            written += draw_ranks(comparisons, folder, leaf + RANKS_SUFFIX, selection, experiment, paper, methods)
    if experiment.kind != "figure":
        grids = build(experiment.name, paper, summary, methods, selection)
        text = to_latex(
            experiment.title,
            f"tab:{leaf}",
            grids,
            selection=selection,
            marks=mark_words(experiment.name, paper),
            replications=experiment.replications,
            ranks=ranks,
        )
        write_text(text, folder / f"{leaf}.tex")
        written.append(folder / f"{leaf}.tex")
    return written
