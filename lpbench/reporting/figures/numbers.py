"""The picture of all published numbers: one dot each, ours over print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, EQUIVALENT, METHOD, NOT_COMPARABLE
from lpbench.analysis.numbers import NOT_ALONE
from lpbench.reporting.figures import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of a dot: its color (safe for color-blind readers), marker and words.
KINDS = {
    "identifies": ("#00513b", "D", "identify their method"),
    "alike": (style.COLORS[2], "o", NOT_ALONE),
    "open": (style.COLORS[4], "s", "cannot tell"),
    "different": (style.COLORS[1], "X", "different"),
    "apart": (style.GRAY, "|", "not comparable"),
}
#: Titles of the axes of ratios of errors and of accuracies.
TITLES = {"ratio": "our error / printed error", "": "our accuracy / printed accuracy"}
#: Places on the axis, ours over print, of ratios of errors and of accuracies; beyond the last a dot stands at the end.
TICKS = {"ratio": (0.5, 0.7, 0.85, 1, 1.2, 1.4, 2), "": (1 / 1.1, 0.95, 1, 1.05, 1.1)}
#: Dots between the middle of an axis and its end, and points from one dot to the next.
HALF, STEP = 92, 2.8
#: Dots of a stack at an end, beyond which their number is written above it.
COUNTED = 5


def draw_numbers(judged: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw ``numbers.svg`` from the judged rows of the table of numbers, whose column ``line`` names their lines."""
    if judged.empty:
        return []
    of, identifies = judged["class"], judged["identifies"].isin([METHOD, BUDGET])
    cases = [(of == EQUIVALENT) & identifies, of == EQUIVALENT, of == CANNOT_TELL, of == NOT_COMPARABLE]
    rows = judged.assign(kind=np.select(cases, ["identifies", "alike", "open", "apart"], "different"))
    units = dict(iter(rows.groupby("unit", sort=False)))
    for unit, numbers in units.items():
        end = math.log(TICKS.get(unit, TICKS[""])[-1])
        across = (HALF * np.log(numbers["ours"] / numbers["published"]) / end).clip(-HALF, HALF).round()
        up = numbers.groupby(["line", across]).cumcount()
        base = (up.groupby(numbers["line"], sort=False).max() + 4).cumsum()
        units[unit] = numbers.assign(across=across, down=numbers["line"].map(base) - up)
    heights = [numbers["down"].max() + 4 for numbers in units.values()]
    with style.look(), style.pyplot().rc_context({"path.simplify": False}):
        size = 7.9, STEP / 72 * sum(heights) + 0.6 + 0.3 * len(units)
        figure, axes = style.pyplot().subplots(len(units), figsize=size, squeeze=False, height_ratios=heights)
        for ax, (unit, numbers), height in zip(axes.flat, units.items(), heights, strict=True):
            places = TICKS.get(unit, TICKS[""])
            for kind, dots in numbers.groupby("kind"):
                color, marker, _ = KINDS[kind]
                ax.plot(dots["across"], dots["down"], color=color, marker=marker, markersize=STEP, linestyle="")
            _draw_bands(ax, numbers, places[-1])
            _count_ends(ax, numbers)
            lines = numbers.groupby("line", sort=False)["down"].max()
            ax.set_yticks(lines, lines.index, va="bottom")
            ax.set_xticks([HALF * math.log(v) / math.log(places[-1]) for v in places], [f"× {v:.3g}" for v in places])
            ax.set(xlim=(-HALF - 4, HALF + 4), ylim=(height, 0), xlabel=TITLES.get(unit, TITLES[""]))
            ax.tick_params(length=0)
            ax.grid(axis="y", visible=False)
            ax.spines[:].set_visible(False)
        count = rows["kind"].value_counts()
        handles = [
            style.pyplot().Line2D([], [], color=c, marker=m, linestyle="", label=f"{count.get(kind, 0):,} {words}")
            for kind, (c, m, words) in KINDS.items()
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False)
        return style.save(figure, folder, "numbers")


def _draw_bands(ax: Axes, numbers: pd.DataFrame, end: float) -> None:
    """Shade the margin of equivalence behind each line of dots, the widest where its numbers have several.

    The axis is the log-ratio of ours and print; ``end`` is the factor at its ends.
    """
    for _, line in numbers.groupby("line"):
        relative = line["tolerance"] / (1 if line["unit"].iloc[0] == "ratio" else line["published"].abs())
        half = HALF * math.log1p(float(relative.max())) / math.log(end)
        rows = line["down"].min() - 1, line["down"].max() + 1
        ax.fill_betweenx(rows, -half, half, color=style.GRAY, alpha=0.15, linewidth=0)


def _count_ends(ax: Axes, numbers: pd.DataFrame) -> None:
    """Write above a stack at an end of the axis how many numbers lie there or beyond."""
    for (_, across), stack in numbers[numbers["across"].abs() == HALF].groupby(["line", "across"]):
        if len(stack) > COUNTED:
            ax.text(across, stack["down"].min() - 1, str(len(stack)), ha="center", va="bottom", fontsize=7)
