"""LPCT's tables and figures: published cells, rank sums and layouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from lpbench.papers.published_files import names, printed_rows, read, with_notes
from lpbench.reporting.paper import TableLayout

#: Columns of tables 2 and 3.
COLUMNS = (
    *("ct_w", "lpct_max_edge", "lpct_cart", "lpct_prune_max_edge", "lpct_prune_cart", "ct_q"),
    *("phist", "lpdt", "pglm", "psgd_linear", "psgd_neural"),
)


def sizes() -> pd.DataFrame:
    """Published sizes of the data sets (table 1): the panel says which."""
    rows = read("lpct_table1.csv")
    datasets = names("dataset", "L")
    parts = [
        pd.DataFrame(
            {
                "panel": size,
                "dataset": [datasets[d, ""] for d in rows["dataset"]],
                "mask": "",
                "method": "",
                "epsilon": np.nan,
                "x": np.nan,
                "published": rows[size].astype(float).tolist(),
                "starred": False,
            }
        )
        for size in ("n_private", "n_public", "n_features")
    ]
    return with_notes("lpct/table1", pd.concat(parts, ignore_index=True))


def accuracies() -> pd.DataFrame:
    """Published cells of table 2."""
    rows = read("lpct_table2.csv")
    values = [float(v or "nan") for v in rows["accuracy"]]
    table = _cells(rows, values, rows["epsilon"].astype(float).tolist(), (rows["best"] == "true").tolist())
    return with_notes("lpct/table2", table)


def seconds() -> pd.DataFrame:
    """Published cells of table 3, as multiples of CT-W on the same data set: two machines are not comparable."""
    rows = read("lpct_table3.csv")
    values = pd.Series([float(v or "nan") for v in rows["seconds"]], index=rows.index)
    reference = values[rows["method"] == "CT-W"].set_axis(rows.loc[rows["method"] == "CT-W", "dataset"])
    ratio = values / reference.loc[rows["dataset"]].to_numpy()
    return with_notes("lpct/table3", _cells(rows, ratio.tolist(), 2.0, False))


def _cells(
    rows: pd.DataFrame, values: list[float], epsilon: float | list[float], starred: bool | list[bool]
) -> pd.DataFrame:
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


def points(figure: str) -> pd.DataFrame:
    """Points read off a figure; a series is ``METHOD`` or ``METHOD eps=E``, x is epsilon in the first case."""
    rows = read("lpct_figures.csv")
    rows = rows[rows["figure"] == figure]
    series = names("series", "L")
    method, _, epsilon = zip(*(s.partition(" eps=") for s in rows["series"]), strict=True)
    x = rows["x"].astype(float).tolist()
    table = pd.DataFrame(
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
    return with_notes(f"lpct/{figure}", table)


def rank_sums() -> pd.DataFrame:
    """Printed rank sums of table 2."""
    rows = read("lpct_ranksums.csv")
    methods = names("method", "L")
    return pd.DataFrame(
        {
            "mask": "",
            "method": [methods[key] for key in zip(rows["method"], rows["rule"], strict=True)],
            "epsilon": rows["epsilon"].astype(float).tolist(),
            "rank_sum": rows["rank_sum"].astype(float).tolist(),
            "wins": rows["wins"].astype(float).tolist(),
        }
    )


PUBLISHED: dict[str, Callable[[], pd.DataFrame]] = {
    "lpct/table1": sizes,
    "lpct/table2": accuracies,
    "lpct/table3": seconds,
    **{f"lpct/{figure}": partial(points, figure) for figure in ("figure4a", "figure5a", "figure7c")},
}
LAYOUTS = {
    "lpct/table2": TableLayout(
        columns={"": COLUMNS},
        rows=printed_rows("L"),
        epsilons=(0.5, 2.0, 8.0),
        caption="Epsilon = {epsilon:g}, accuracy in units of 0.1",
        style="tenths",
    ),
    "lpct/table3": TableLayout(
        columns={"": COLUMNS},
        rows=printed_rows("L"),
        epsilons=(2.0,),
        caption="Seconds for one fit as multiples of CT-W in the same run",
        value="seconds",
    ),
}
