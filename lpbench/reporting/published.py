"""The papers' printed numbers under our names, each with what is known to be wrong with it.

Printed values are never corrected: an erratum is a note beside the cell (``results/published/notes.csv``). Names are
translated by ``results/published/names.csv``.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from lpbench.papers.published_files import names, read

#: Columns of a table of published cells. ``dataset`` and ``mask`` are empty where they do not tell cells apart.
COLUMNS = ["panel", "dataset", "mask", "method", "epsilon", "x", "published", "starred", "note"]
#: Number and budget of H's tables.
HISTOFTREE_TABLES = {"histoftree/table1": (1, 2.0), "histoftree/table2": (2, 1.0), "histoftree/table3": (3, 4.0)}
#: L's figures whose values were read off the drawing, and what their horizontal axis is.
LPCT_FIGURES = {"lpct/figure4a": "figure4a", "lpct/figure5a": "figure5a", "lpct/figure7c": "figure7c"}


def published_cells(experiment: str) -> pd.DataFrame:
    """Return the published cells of one of our experiments, in the order of the paper.

    Parameters
    ----------
    experiment : str
        Name such as ``histoftree/table1``.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; empty for an experiment without published numbers. ``published`` is NaN where the
        paper prints ``-``. ``starred`` is the paper's star.
    """
    return _cells(experiment).copy()


@cache
def _cells(experiment: str) -> pd.DataFrame:
    if experiment in HISTOFTREE_TABLES:
        cells = _histoftree(HISTOFTREE_TABLES[experiment][0])
    elif experiment in LPCT_FIGURES:
        cells = _lpct_figure(LPCT_FIGURES[experiment])
    elif experiment in ("lpct/table1", "lpct/table2", "lpct/table3"):
        cells = {"1": _lpct_table1, "2": _lpct_table2, "3": _lpct_table3}[experiment[-1]]()
    else:
        return pd.DataFrame(columns=COLUMNS)
    return cells.assign(note=_notes(experiment, cells))[COLUMNS]


def _histoftree(table: int) -> pd.DataFrame:
    rows = read("histoftree_tables.csv")
    rows = rows[rows["table"] == str(table)]
    methods, datasets = names("method", "H"), names("dataset", "H")
    return pd.DataFrame(
        {
            "panel": "",
            "dataset": [datasets[d, ""] for d in rows["dataset"]],
            "mask": rows["paradigm"].tolist(),
            "method": [methods[key] for key in zip(rows["method"], rows["rule"], strict=True)],
            "epsilon": rows["epsilon"].astype(float).tolist(),
            "x": np.nan,
            "published": rows["mse_ratio"].astype(float).tolist(),
            "starred": (rows["significant"] == "true").tolist(),
        }
    )


def _lpct_cells(rows: pd.DataFrame, values: list[float], epsilon, starred) -> pd.DataFrame:
    methods, datasets = names("method", "L"), names("dataset", "L")
    return pd.DataFrame(
        {
            "panel": "",
            "dataset": [datasets[d, ""] for d in rows["dataset"]],
            "mask": "",
            "method": [methods[key] for key in zip(rows["method"], rows["rule"], strict=True)],
            "epsilon": epsilon,
            "x": np.nan,
            "published": values,
            "starred": starred,
        }
    )


def _lpct_table2() -> pd.DataFrame:
    rows = read("lpct_table2.csv")
    values = [float(v or "nan") for v in rows["accuracy"]]
    return _lpct_cells(rows, values, rows["epsilon"].astype(float).tolist(), (rows["best"] == "true").tolist())


def _lpct_table3() -> pd.DataFrame:
    """Seconds as multiples of CT-W on the same data set: seconds of two machines are not comparable."""
    rows = read("lpct_table3.csv")
    seconds = pd.Series([float(v or "nan") for v in rows["seconds"]], index=rows.index)
    reference = seconds[rows["method"] == "CT-W"].set_axis(rows.loc[rows["method"] == "CT-W", "dataset"])
    ratio = seconds / reference.loc[rows["dataset"]].to_numpy()
    return _lpct_cells(rows, ratio.tolist(), 2.0, False)


def _lpct_table1() -> pd.DataFrame:
    """Facts of the data sets: the panel says which."""
    rows = read("lpct_table1.csv")
    datasets = names("dataset", "L")
    parts = [
        pd.DataFrame(
            {
                "panel": fact,
                "dataset": [datasets[d, ""] for d in rows["dataset"]],
                "mask": "",
                "method": "",
                "epsilon": np.nan,
                "x": np.nan,
                "published": rows[fact].astype(float).tolist(),
                "starred": False,
            }
        )
        for fact in ("n_private", "n_public", "n_features")
    ]
    return pd.concat(parts, ignore_index=True)


def _lpct_figure(figure: str) -> pd.DataFrame:
    """Points of a figure; a series is ``METHOD`` or ``METHOD eps=E``, x is epsilon in the first case."""
    rows = read("lpct_figures.csv")
    rows = rows[rows["figure"] == figure]
    series = names("series", "L")
    method, _, epsilon = zip(*(s.partition(" eps=") for s in rows["series"]), strict=True)
    x = rows["x"].astype(float).tolist()
    return pd.DataFrame(
        {
            "panel": "",
            "dataset": "",
            "mask": "",
            "method": [series[m, ""] for m in method],
            "epsilon": [float(e) if e else place for e, place in zip(epsilon, x, strict=True)],
            "x": x,
            "published": rows["accuracy"].astype(float).tolist(),
            "starred": False,
        }
    )


def _notes(experiment: str, cells: pd.DataFrame) -> list[str]:
    """Errata of each cell: the rows of ``notes.csv`` whose filled-in keys all agree with it."""
    notes = read("notes.csv")
    found: list[list[str]] = [[] for _ in range(len(cells))]
    for row in notes[notes["experiment"] == experiment].itertuples():
        same = np.ones(len(cells), dtype=bool)
        for key in ("dataset", "mask", "method"):
            if getattr(row, key):
                same &= (cells[key] == getattr(row, key)).to_numpy()
        if row.epsilon:
            same &= (cells["epsilon"] == float(row.epsilon)).to_numpy()
        for k in np.flatnonzero(same):
            found[k].append(row.note)
    return ["; ".join(texts) for texts in found]


def published_rank_sums(experiment: str) -> pd.DataFrame:
    """Printed rank sums: columns mask, method, epsilon, rank_sum, wins (NaN where the paper has no such row)."""
    if experiment in HISTOFTREE_TABLES:
        rows, paper = read("histoftree_ranksums.csv"), "H"
        rows = rows[rows["table"] == str(HISTOFTREE_TABLES[experiment][0])]
    elif experiment == "lpct/table2":
        rows, paper = read("lpct_ranksums.csv"), "L"
    else:
        return pd.DataFrame(columns=["mask", "method", "epsilon", "rank_sum", "wins"])
    methods = names("method", paper)
    return pd.DataFrame(
        {
            "mask": rows["paradigm"].tolist() if paper == "H" else "",
            "method": [methods[key] for key in zip(rows["method"], rows["rule"], strict=True)],
            "epsilon": rows["epsilon"].astype(float).tolist(),
            "rank_sum": rows["rank_sum"].astype(float).tolist(),
            "wins": rows["wins"].astype(float).tolist() if paper == "L" else np.nan,
        }
    )


def wide_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Published cells as data sets x methods, columns in the order of the paper."""
    order = list(dict.fromkeys(cells["method"]))
    return cells.pivot(index="dataset", columns="method", values="published")[order]
