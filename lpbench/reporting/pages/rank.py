"""The page of ``lpbench rank``: one method among all others of an experiment, and where it wins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lpbench.analysis import Summary
from lpbench.analysis.scores import LARGER_IS_BETTER
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.files import write_text
from lpbench.reporting.figures.comparisons import parts
from lpbench.reporting.figures.ranks import draw_ranks
from lpbench.reporting.printed_names import CHOSEN, dataset_title, mask_name, method_title
from lpbench.reporting.render import render


def write_rank(
    experiment: Experiment, summary: Summary, method: Method, ranks: pd.DataFrame, places: pd.DataFrame,
    selection: str, cards: Mapping[str, Method], folder: Path,
) -> Path:  # fmt: skip
    """Write ``index.html`` and the diagram of critical differences, of all methods under one selection."""
    drawn = draw_ranks(parts(experiment, summary, cards, selection), folder, "ranks", selection)
    boards = [
        {"mask": mask_name(mask), "epsilon": epsilon, "rows": rows.to_dict("records")}
        for (mask, epsilon), rows in ranks.groupby(["mask", "epsilon"], sort=True)
    ]
    wide = [
        {"dataset": dataset_title(dataset), "mask": mask_name(mask),
         "cells": {r.epsilon: (r.rank, r.of, r.ratio, method_title(r.best, cards)) for r in rows.itertuples()}}
        for (mask, dataset), rows in places.groupby(["mask", "dataset"], sort=True)
    ]  # fmt: skip
    text = render(
        "rank.html.j2", title=experiment.title, here="index.html", pages=[("index.html", "Where it stands")],
        stored=False, method=method, boards=boards, wide=wide, budgets=sorted(set(places["epsilon"])),
        larger=LARGER_IS_BETTER[str(summary.table["metric"].iloc[0])], chosen=CHOSEN[selection],
        selection=selection, pictures=[path.name for path in drawn],
    )  # fmt: skip
    write_text(text, folder / "index.html")
    return folder / "index.html"
