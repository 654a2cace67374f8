"""Summary, comparison, tables and figures of one experiment, written to its folder."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lpbench.analysis import Setting, Summary, distinct_selections, summarize, write_csv
from lpbench.analysis.standings import optimism
from lpbench.analysis.summary import COSTS
from lpbench.disk import write_text
from lpbench.errors import unknown_name
from lpbench.experiments.config import ROOT_SEED
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.experiments.summaries import keep_summary
from lpbench.experiments.timing import COMPARED_SECONDS, SECONDS_FILE, SECONDS_TABLE, is_measured
from lpbench.members import bare_name
from lpbench.reporting.comparison import compare
from lpbench.reporting.figures.lines import draw_lines
from lpbench.reporting.figures.ranks import draw_standard
from lpbench.reporting.paper import Paper, mark_words, paper_of, papers, trial_experiments
from lpbench.reporting.printed_names import card_of
from lpbench.reporting.tables.grid import build
from lpbench.reporting.tables.latex import to_latex
from lpbench.reporting.tables.layouts import marked

#: What the best grid points would be without the test rows that chose them; it needs the scores of the whole grid.
OPTIMISM = "optimism.csv"


def write_artifact(
    experiment: Experiment,
    scores: pd.DataFrame,
    methods: Mapping[str, Method],
    folder: Path,
    seed: int = ROOT_SEED,
    costs: pd.DataFrame | None = None,
    paper: Paper | None = None,
) -> Summary:
    """Summarize the scores of one experiment, store the summary, and write its tables and figures."""
    paper = paper or paper_of(experiment.name)
    summary = summarize_experiment(experiment, scores, methods, paper, costs)
    keep_summary(summary, folder)
    if experiment.kind == "table":
        write_csv(optimism(scores), Path(folder) / OPTIMISM)
    render_artifact(experiment, paper, summary, methods, folder, seed)
    return summary


def render_artifact(
    experiment: Experiment,
    paper: Paper,
    summary: Summary,
    methods: Mapping[str, Method],
    folder: Path,
    seed: int = ROOT_SEED,
    *,
    paged: bool = False,
) -> None:
    """Write summary, comparison (of seconds where they are measured), tables, figures; ``paged``: what pages show."""
    folder, name = Path(folder), experiment.name
    # pictures and tables that an earlier version wrote and this one does not; what was measured needs a run
    for path in [p for p in folder.glob("*") if p.suffix in (".svg", ".png", ".md", ".tex", ".csv")]:
        if not is_measured(path) and path.name != OPTIMISM:
            path.unlink()
    measured = experiment.kind == "timing"
    files = (SECONDS_FILE, COMPARED_SECONDS) if measured else ("summary.csv", "comparison.csv")
    unknown = (summary.table["audit"] == "").all()  # of committed scores
    write_csv(summary.table.drop(columns=COSTS) if unknown else summary.table, folder / files[0])
    write_csv(compare(name, paper, summary), folder / files[1])
    leaf = name.rpartition("/")[2]
    output, cards = paper.output_of(name), marked(methods, summary.table)
    for selection in [] if output.in_place else distinct_selections(summary.table):
        stem = leaf if selection == "oracle" else f"{leaf}_{selection}"
        if experiment.kind != "figure" and not paged:
            path = folder / (SECONDS_TABLE if measured else f"{stem}.tex")
            text = to_latex(
                experiment.title or name,
                f"tab:{path.stem}",
                build(name, paper, summary, methods, selection),
                selection=selection,
                marks=mark_words(name, paper),
                replications=experiment.replications,
                ranks=True,
                published=True,
            )
            write_text(text, path)
        if experiment.kind == "figure" and selection == "oracle":
            draw_lines(experiment, paper, summary.table, cards, folder, stem, selection)
        if experiment.kind == "table" and selection == "oracle" and name not in trial_experiments():
            draw_standard(experiment, paper, summary, cards, folder, stem, selection, ranked=paged)
    if output.write:
        output.write(experiment, folder, seed)


def write_drawing(experiment: Experiment, folder: Path, seed: int, paper: Paper | None = None) -> None:
    """Draw the picture of an experiment of kind ``drawing``, or the drawn panel of a figure, as its paper does."""
    draw = (paper or paper_of(experiment.name)).output_of(experiment.name).write
    if draw is None:
        drawings = [name for p in papers() for name, output in p.outputs.items() if output.write]
        raise unknown_name("drawing", experiment.name, drawings)
    draw(experiment, folder, seed)


def summarize_experiment(
    experiment: Experiment,
    scores: pd.DataFrame,
    methods: Mapping[str, Method],
    paper: Paper | None = None,
    costs: pd.DataFrame | None = None,
) -> Summary:
    """Summarize scores with the paper's rule for marks and the methods' stated settings."""
    rule = (paper or paper_of(experiment.name)).rule
    if experiment.kind == "timing":
        return summarize(seconds_as_scores(scores), rule=rule, costs=costs)
    return summarize(scores, stated_settings(experiment, scores, methods), rule=rule, costs=costs)


def stated_settings(
    experiment: Experiment, scores: pd.DataFrame, methods: Mapping[str, Method]
) -> dict[tuple[str, str, str], Setting]:
    """Collect the tuning-free settings of the methods, and whether each is a point of the grid searched here."""
    settings = {}
    keys = scores[["panel", "mask", "method"]].drop_duplicates().astype(str)
    for panel, mask, method in keys.itertuples(index=False):
        card = card_of(method, methods)
        if card is None or card.tuning_free is None:
            continue
        point, grid = card.tuning_free, _grid_of(experiment, card, panel, mask, method)
        on_grid = set(point) == set(grid) and all(v in grid[k] or "all" in grid[k] for k, v in point.items())
        settings[panel, mask, method] = Setting(json.dumps(point), on_grid, card.selection)
    return settings


def _grid_of(experiment: Experiment, card: Method, panel: str, mask: str, method: str) -> dict[str, list]:
    """Return the grid, parameter to values, that was searched for a method (``card``; ``method`` in the panel).

    The card's grid for the mask is changed by the experiment's group of that panel.
    """
    grid = card.grid_for(bare_name(mask))
    for group in experiment.groups:
        if group.panel == panel and method in group.method:
            grid = grid | {k: v for k, v in group.grid.items() if k in grid}
    return {k: list(v) for k, v in grid.items()}


def seconds_as_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Turn measured seconds into scores: the mean over grid points of the seconds of one fit, a replication a row."""
    text = ["experiment", "panel", "dataset", "mask", "method"]
    scores = scores.astype(dict.fromkeys([*text, "status", "reason"], str))
    ran = scores[(scores["status"] == "ok") & scores["seconds"].notna()]
    keys = [*text, "epsilon", "x", "replication"]
    mean = ran.groupby(keys, dropna=False)["seconds"].mean().rename("value").reset_index()
    mean = mean.assign(params="{}", metric="seconds", status="ok", reason="", seconds=mean["value"])
    empty = scores[scores["replication"] < 0]
    return pd.concat([mean, empty], ignore_index=True)[list(scores.columns)] if len(empty) else mean[scores.columns]
