"""LPCT's tables and figures: published cells, rank sums, layouts, and the table of sizes beside ours."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import read_csv, write_csv
from lpbench.datasets import describe
from lpbench.experiments.experiment import Experiment
from lpbench.papers.published_files import names, printed_rows, rank_sums_of, read, steps, table_cells, with_notes
from lpbench.reporting.comparison import COMPARISON_COLUMNS
from lpbench.reporting.paper import TableLayout
from lpbench.reporting.plain_table import PlainTable
from lpbench.reporting.published import complete_cells

#: Columns of tables 2 and 3.
TABLE_METHODS = (
    *("ct_w", "lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "ct_q"),
    *("phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
)
#: Experiments whose curves are published.
FIGURES = tuple(
    f"lpct/figure{number}"
    for number in ("4a", "4b", "4c", "5a", "5b", "5c", "6a", "6b", "7a", "7b", "7c", "8", "9", "10")
)
#: Columns of table 1 -> what the description of a data set calls them.
FACTS = {"n_private": "n_train", "n_public": "n_public", "n_features": "n_features"}
#: Budgets of the panels with one budget, which is not the axis.
PANEL_BUDGETS = {"figure8b": 0.5, "figure8c": 8.0, "figure10a": 8.0, "figure10b": 1000.0}


def sizes() -> pd.DataFrame:
    """Published sizes of the data sets (table 1): the panel says which."""
    rows, datasets = read("lpct_table1.csv"), names("dataset", "L")
    cells = rows.melt("dataset", [*FACTS], "panel", "published").astype({"published": float})
    named = [datasets[d, ""] for d in cells["dataset"]]
    return with_notes("lpct/table1", cells.assign(dataset=named, mask="", method=""))


def accuracies() -> pd.DataFrame:
    """Published cells of Table 2: accuracies."""
    rows = read("lpct_table2.csv")
    table = table_cells(
        "L",
        rows,
        epsilon=rows["epsilon"].astype(float).tolist(),
        published=[float(v or "nan") for v in rows["accuracy"]],
        step=steps(rows["accuracy"]),
        starred=(rows["best"] == "true").tolist(),
    )
    return with_notes("lpct/table2", table)


def seconds() -> pd.DataFrame:
    """Published cells of table 3, as multiples of CT-W on the same data set: two machines are not comparable."""
    rows = read("lpct_table3.csv")
    values = pd.Series([float(v or "nan") for v in rows["seconds"]], index=rows.index)
    reference = values[rows["method"] == "CT-W"].set_axis(rows.loc[rows["method"] == "CT-W", "dataset"])
    divisor = reference.loc[rows["dataset"]].to_numpy()
    step = np.array(steps(rows["seconds"])) / divisor
    table = table_cells("L", rows, epsilon=2.0, published=(values / divisor).tolist(), step=step)
    return with_notes("lpct/table3", table)


def points(experiment: str) -> pd.DataFrame:
    """Points read off a figure's curves.

    A series is ``METHOD`` or ``METHOD eps=E``. Without a budget the axis is the budget, or the method does not read it
    (LPCT-Q) or has only one: then the panel's smallest stands for all.
    """
    rows = read("lpct_figures.csv")
    number, figures = experiment.removeprefix("lpct/"), set(rows["figure"])
    letters = sorted(figure.removeprefix(number) for figure in figures if figure[:-1] == number)
    panels = {"": number} if number in figures else {letter: number + letter for letter in letters}
    parts = [_panel(panel, rows[rows["figure"] == figure]) for panel, figure in panels.items()]
    return with_notes(experiment, pd.concat(parts, ignore_index=True))


def _panel(panel: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a figure panel's printed curves as rows of all published numbers, with our names of methods and data sets.

    ``rows`` are (figure, series, x, accuracy), read off. The budget is in a series' name, else the panel's, else x.
    """
    figure = rows["figure"].iloc[0]
    series, datasets = names("series", "L"), names("range", "L")
    method, _, budget = zip(*(s.partition(" eps=") for s in rows["series"]), strict=True)
    x = rows["x"].astype(float).tolist()
    given = [float(b) for b in budget if b]
    single = min(given) if given else PANEL_BUDGETS.get(figure)
    return pd.DataFrame(
        {
            "panel": panel,
            "dataset": [datasets.get((m, ""), "") for m in method],
            "mask": "",
            "method": [series[m, ""] for m in method],
            "epsilon": [float(b) if b else single or at for b, at in zip(budget, x, strict=True)],
            "x": x,
            "published": rows["accuracy"].astype(float).tolist(),
            "step": steps(rows["accuracy"]),
            "starred": False,
        }
    )


PUBLISHED: dict[str, Callable[[], pd.DataFrame]] = {
    "lpct/table1": sizes,
    "lpct/table2": accuracies,
    "lpct/table3": seconds,
    **{name: partial(points, name) for name in FIGURES},
}
RANK_SUMS = {"lpct/table2": lambda: rank_sums_of("L", read("lpct_ranksums.csv"))}
LAYOUTS = {
    "lpct/table2": TableLayout(
        columns={"": TABLE_METHODS},
        rows=printed_rows("L"),
        epsilons=(0.5, 2.0, 8.0),
        caption="Epsilon = {epsilon:g}, accuracy (%)",
        style="per_cent",
    ),
    "lpct/table3": TableLayout(
        columns={"": TABLE_METHODS},
        rows=printed_rows("L"),
        epsilons=(2.0,),
        caption="Seconds for one fit as multiples of CT-W in the same run",
        value="seconds",
    ),
}


def printed_cells(experiment: str) -> pd.DataFrame:
    """Published cells of one of the paper's experiments."""
    return complete_cells(PUBLISHED[experiment])


def write_facts(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Write ``comparison.csv`` from manifests, of data that are not at hand too; a row's panel says which fact."""
    name = experiment.name
    rows = complete_cells(sizes).copy()
    descriptions = {d: describe(d) for d in dict.fromkeys(rows["dataset"])}
    ours = [getattr(descriptions[d], FACTS[fact]) for d, fact in zip(rows["dataset"], rows["panel"], strict=True)]
    rows["reproduced"] = [np.nan if v is None else float(v) for v in ours]
    rows["experiment"], rows["se"] = name, np.nan
    rows["difference"] = rows["reproduced"] - rows["published"]
    rows["relative_difference"] = rows["difference"] / rows["published"]
    rows["note"] = [_note(row, descriptions[row["dataset"]].available) for row in rows.to_dict("records")]
    comparison = folder / "comparison.csv"
    write_csv(rows[COMPARISON_COLUMNS], comparison)
    return [comparison]


def _note(row: dict[str, Any], available: bool) -> str:
    # the errata of this table are about sizes
    erratum = row["note"] if row["panel"] != "n_features" else ""
    if np.isnan(row["reproduced"]):
        return "; ".join(filter(None, [erratum, "unknown until the data are at hand"]))
    return erratum or ("" if available else "promised by the manifest; the data are not at hand")


def _print(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0f}"


def read_sizes(folder: Path, *_: object) -> list[PlainTable]:
    """Lay out ``comparison.csv`` of the experiment's folder as in the paper; empty without the file."""
    path = folder / "comparison.csv"
    if not path.is_file():
        return []
    rows = read_csv(path)
    labels = {ours: published for (published, _), ours in names("dataset", "L").items()}
    entries = {(r.dataset, r.panel): f"{_print(r.published)} / {_print(r.reproduced)}" for r in rows.itertuples()}
    legend = "An entry is the published number / our number after preprocessing. n_P counts the 80 % for training."
    body = tuple((labels[d], *(entries[d, fact] for fact in FACTS)) for d in dict.fromkeys(rows["dataset"]))
    return [PlainTable(legend, ("data set", "n_P", "n_Q", "d"), body)]
