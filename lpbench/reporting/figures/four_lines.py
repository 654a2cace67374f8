"""Four lines at equal inputs: a constant, public data alone, private users, no privacy; one panel per held-out set."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.curves import Curve
from lpbench.analysis.gains import mean_logarithm
from lpbench.members import bare_name, member
from lpbench.reporting.figures import style
from lpbench.reporting.figures.lines import BAND, RATIO, draw_panels
from lpbench.reporting.printed_names import dataset_title

#: Lines from above to below, and their looks.
LOOKS: dict[str, dict[str, Any]] = {
    "constant": {"color": style.GRAY, "linestyle": ":", "marker": ""},
    "public only": {"color": "#8a5a00", "linestyle": "--", "marker": ""},
    "private": {"color": style.PRIVATE, "linestyle": "-", "marker": "o"},
    "non-private": {"color": "#000000", "linestyle": "-.", "marker": ""},
}
#: Panel of the geometric means over data sets.
MEAN = "mean"


def draw_four_lines(rows: pd.DataFrame, standings: pd.DataFrame, title: str, path: Path) -> list[Path]:
    """Draw a method's losses over the non-private ones, beside the constant's and those of public data alone.

    There is a panel for each held-out data set of ``rows``, and a last one for the geometric mean.
    """
    free = rows.dropna(subset=["over_free"])
    constants = standings[standings["method"].map(lambda name: member(name).is_constant)]
    constants = constants[constants["over_constant"] == 1].drop_duplicates(["dataset", "epsilon"])
    joined = free.merge(constants, on=["dataset", "epsilon"], suffixes=("", "_constant"))
    lines = {
        "constant": joined[["dataset", "epsilon", "over_free_constant", "over_free_se_constant"]],
        "public only": free[["dataset", "epsilon", "public_over_free", "public_over_free_se"]],
        "private": free[["dataset", "epsilon", "over_free", "over_free_se"]],
        "non-private": free[["dataset", "epsilon"]].assign(mean=1.0, se=0.0),
    }
    lines = {name: line.dropna().set_axis(["dataset", "epsilon", "mean", "se"], axis=1) for name, line in lines.items()}
    lines = {name: line for name, line in lines.items() if len(line)}
    curves = []
    for name, line in lines.items():
        panels = {str(dataset): line_of_set.set_index("epsilon") for dataset, line_of_set in line.groupby("dataset")}
        means = line.groupby("epsilon")["mean"].apply(lambda ratios: pd.Series(_mean_over_sets(ratios.to_numpy())))
        for panel, line_of_panel in {**panels, MEAN: means.unstack()}.items():
            x, mean, se = line_of_panel.index.to_numpy(), *(line_of_panel[k].to_numpy() for k in ("mean", "se"))
            curves.append(Curve(panel, panel, "", name, math.nan, x, mean, se, label=name))
    count = free["dataset"].nunique()
    titles = {d: (dataset_title(bare_name(d)), "epsilon") for d in sorted(free["dataset"].unique())}
    titles[MEAN] = f"geometric mean over {count} sets", "epsilon"
    text = f"{title}; bands: ± {BAND:g} standard errors over replications, for the mean 95 % over sets"
    handles = [style.pyplot().Line2D([], [], label=name, **LOOKS[name]) for name in lines]
    return draw_panels(curves, titles, RATIO, lambda curve: LOOKS[curve.label], handles, 4, text, path)


def _mean_over_sets(ratios: np.ndarray) -> dict[str, float]:
    """Return the geometric mean of ratios over data sets, and half of its 95 % interval over :data:`BAND`.

    Keys are ``mean`` and ``se``, as for a curve, whose band is drawn BAND errors wide.
    """
    logarithm, half = mean_logarithm(ratios)
    mean = float(np.exp(logarithm))
    return {"mean": mean, "se": mean * half / BAND}
