"""Heat map of how far reproduced cells are from the published ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from lpbench.analysis import Summary
from lpbench.experiments.method import Method
from lpbench.reporting.comparison import compare
from lpbench.reporting.figures import style
from lpbench.reporting.tables.grid import build
from lpbench.reporting.tables.layouts import Layout

#: Blue where ours is below the published value, orange where above: no information in red against green.
SHADES = LinearSegmentedColormap.from_list("difference", [style.COLOURS[0], "white", style.COLOURS[1]])
#: Shade of the strongest colour: a factor of two for errors and seconds, ten points of accuracy.
FACTOR, POINTS = math.log(2), 0.1


def draw_differences(name: str, summary: Summary, cards: Mapping[str, Method], folder: Path, file: str) -> list[Path]:
    """Draw reproduced minus published, a panel a table; nothing without published cells."""
    comparison = compare(name, summary).dropna(subset=["published", "reproduced"])
    layouts = [g.layout for g in build(name, summary, cards, "oracle")]
    found = [(layout, values) for layout in layouts if (values := _matrix(layout, comparison)) is not None]
    if not found:
        return []
    accuracy = (summary.table["metric"] == "accuracy").any()
    rows = [len(values) for _, values in found]
    width = 2.6 + 0.62 * max(values.shape[1] for _, values in found)
    with style.look():
        figure, axes = plt.subplots(len(found), 1, squeeze=False, height_ratios=rows,
                                    figsize=(width, 0.24 * sum(rows) + 1.7 * len(found) + 0.5))  # fmt: skip
        for ax, (layout, values) in zip(axes[:, 0], found, strict=True):
            _panel(ax, layout, values, accuracy)
        unit = "in points of accuracy (0.01)" if accuracy else "in per cent of the published value"
        figure.suptitle(f"Reproduced minus published, {unit}; orange above, blue below", fontsize=9, x=0.02, ha="left")
        return style.save(figure, folder, file, formats=("svg",))


def _matrix(layout: Layout, comparison: pd.DataFrame) -> np.ndarray | None:
    """Published and reproduced values, shape (data sets, columns with a published counterpart, 2)."""
    cells = {(r.panel, r.dataset, r.mask, r.method, r.epsilon): (r.published, r.reproduced)
             for r in comparison.itertuples()}  # fmt: skip
    columns = [c for c in layout.columns if c.paper_method]
    keys = [[(layout.panel, d, c.mask, c.method, layout.epsilon) for c in columns] for _, d in layout.datasets]
    values = np.array([[cells.get(k, (math.nan, math.nan)) for k in line] for line in keys], dtype=float)
    return None if values.size == 0 or np.isnan(values).all() else values


def _panel(ax: Axes, layout: Layout, values: np.ndarray, accuracy: bool) -> None:
    published, reproduced = values[..., 0], values[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        shade = (reproduced - published) / POINTS if accuracy else np.log(reproduced / published) / FACTOR
        number = 100 * (reproduced - published) if accuracy else 100 * (reproduced / published - 1)
    ax.imshow(shade, cmap=SHADES, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    for (row, column), value in np.ndenumerate(number):
        if not math.isnan(value):
            text = f"{value:+.1f}" if accuracy else f"{value:+.0f}" if abs(value) < 1000 else f"×{value / 100 + 1:.0f}"
            ink = "black" if abs(shade[row, column]) < 0.75 else "white"
            ax.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)
    columns = [c for c in layout.columns if c.paper_method]
    names = [f"{c.group}\n{c.label}" if c.group else c.label for c in columns]
    ax.set_xticks(np.arange(len(columns)), names, rotation=40, ha="right", fontsize=7)
    ax.set_yticks(np.arange(len(layout.datasets)), [label for label, _ in layout.datasets], fontsize=7.5)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.set_title(layout.caption, loc="left", fontsize=9)
