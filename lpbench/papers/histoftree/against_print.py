"""HistOfTree's tables as pictures: printed ratios against ours on logarithmic axes, one panel per data set."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from lpbench.experiments import catalog
from lpbench.experiments.experiment import Experiment
from lpbench.members import bare_name
from lpbench.papers.histoftree.interpretations import TOLERANCES
from lpbench.papers.histoftree.published import TABLE_METHODS
from lpbench.reporting.figures import style
from lpbench.reporting.printed_names import dataset_title, method_title

#: Panels beside one another, standard errors on either side of our ratio, and room beyond the farthest number.
_BESIDE, _ERRORS, _ROOM = 5, 2.0, 1.3
#: How a marker is filled under each kind of mask.
FILLS = {"aligned": "full", "personalized": "none"}


def round_numbers(low: float, high: float) -> list[float]:
    """Return at most four round numbers between two ends, evenly spread on a logarithmic axis."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [digit * 10.0**e for e in exponents for digit in ((1,) if high > 100 * low else (1, 1.5, 2, 3, 4, 5, 7))]
    found = [value for value in found if low <= value <= high]
    return found[:: -(-len(found) // 4)] if found else []


def draw_against_print(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Draw the text's rows of a folder's ``comparison.csv``: a marker a method, hollow where masks are personalized.

    Numbers on the line are the same in print and here; the band is the margin of equivalence.
    """
    rows = pd.read_csv(folder / "comparison.csv").dropna(subset=["published", "reproduced"])
    rows = rows[~rows["method"].str.contains(r"variant=(?!text)")]
    if rows.empty:
        return []
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    margin = 1.0 + TOLERANCES[experiment.name].within
    panels = dict(list(rows.groupby("dataset", sort=True)))
    methods = TABLE_METHODS["personalized"]
    looks = style.method_looks({method: place for place, method in enumerate(methods)})
    lines = -(-len(panels) // _BESIDE)
    with style.look():
        figure, axes = style.pyplot().subplots(lines, _BESIDE, figsize=(8.4, 1.85 * lines + 1.3), squeeze=False)
        for ax in axes.flat[len(panels) :]:
            ax.set_axis_off()
        for ax, (dataset, cells) in zip(axes.flat, panels.items(), strict=False):
            values = cells[["published", "reproduced"]]
            ends = [values.min().min() / _ROOM, values.max().max() * _ROOM]
            ax.fill_between(
                ends, [v / margin for v in ends], [v * margin for v in ends], color="black", alpha=0.1, lw=0
            )
            ax.plot(ends, ends, color="black", linewidth=0.8)
            for cell in cells.itertuples():
                ax.errorbar(
                    cell.published,
                    cell.reproduced,
                    yerr=_ERRORS * cell.se,
                    **looks[bare_name(cell.method)],
                    fillstyle=FILLS[cell.mask],
                    markersize=4,
                    elinewidth=0.7,
                    linestyle="",
                )
            ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(FixedLocator(round_numbers(*ends)))
                axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
                axis.set_minor_locator(NullLocator())
            ax.tick_params(labelsize=6.5)
            ax.set_title(dataset_title(dataset), loc="left", fontsize=8)
        bottom = axes.flat[(lines - 1) * _BESIDE : len(panels)]
        bottom[len(bottom) // 2].set_xlabel("printed loss / that of the non-private tree", fontsize=8)
        figure.supylabel("our loss / that of the non-private tree", fontsize=8)
        cards = catalog.methods()
        handles = [
            style.pyplot().Line2D(
                [], [], **looks[method], linestyle="", markersize=4, label=method_title(method, cards)
            )
            for method in methods
        ]
        figure.legend(handles=handles, loc="outside lower left", ncols=4, frameon=False, fontsize=7.5)
        style.heading(
            figure,
            f"Filled: aligned masks; hollow: personalized. Bars: ± {_ERRORS:g} standard errors over "
            f"{experiment.replications} replications. Band: the margin of {100 * (margin - 1):g} %.",
        )
        return style.save(figure, folder, f"{folder.name}_against_print")
