"""The picture of all published numbers: one dot each, ours over print."""

import math
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from lpbench.analysis.alternatives import BUDGET, CANNOT_TELL, EQUIVALENT, METHOD, NOT_COMPARABLE
from lpbench.analysis.numbers import NOT_ALONE
from lpbench.reporting.figures import style

#: What a dot says: its colour and words.
KINDS = {
    "identifies": ("#0a50b0", "identify their method"),
    "alike": ("#6f9bd8", NOT_ALONE),
    "open": ("#8a6d00", "cannot tell"),
    "different": ("#a3241c", "different"),
    "apart": (style.GREY, "not comparable"),
}
#: Places on the axis, ours over print, of ratios of errors and of accuracies; beyond the last a dot stands at the end.
PLACES = {"ratio": (0.5, 0.7, 0.85, 1, 1.2, 1.4, 2), "": (1 / 1.1, 0.95, 1, 1.05, 1.1)}
#: Dots between the middle of an axis and its end, and points from one dot to the next.
HALF, STEP = 92, 2.4


def draw_numbers(judged: pd.DataFrame, folder: Path) -> list[Path]:
    """Draw ``numbers.svg`` from the judged rows of the table of numbers, whose column ``line`` names their lines."""
    if judged.empty:
        return []
    of, told = judged["class"], judged["identifies"].isin([METHOD, BUDGET])
    cases = [(of == EQUIVALENT) & told, of == EQUIVALENT, of == CANNOT_TELL, of == NOT_COMPARABLE]
    rows = judged.assign(kind=np.select(cases, ["identifies", "alike", "open", "apart"], "different"))
    units = dict(iter(rows.groupby("unit", sort=False)))
    for unit, part in units.items():
        end = math.log(PLACES.get(unit, PLACES[""])[-1])
        across = (HALF * np.log(part["ours"] / part["published"]) / end).clip(-HALF, HALF).round()
        up = part.groupby(["line", across]).cumcount()
        base = (up.groupby(part["line"], sort=False).max() + 4).cumsum()
        units[unit] = part.assign(across=across, down=part["line"].map(base) - up)
    heights = [part["down"].max() + 2 for part in units.values()]
    with style.look(), style.pyplot().rc_context({"path.simplify": False}):
        size = 7.9, STEP / 72 * sum(heights) + 0.4 + 0.3 * len(units)
        figure, axes = style.pyplot().subplots(len(units), figsize=size, squeeze=False, height_ratios=heights)
        for ax, (unit, part), height in zip(axes.flat, units.items(), heights, strict=True):
            places = PLACES.get(unit, PLACES[""])
            for kind, mine in part.groupby("kind"):
                # a line without length and with round ends is a dot, in fewer bytes than a marker
                x, y = (np.ravel([[v, v, np.nan] for v in mine[k]]) for k in ("across", "down"))
                ax.plot(x, y, color=KINDS[kind][0], linewidth=STEP, solid_capstyle="round")
            lines = part.groupby("line", sort=False)["down"].max()
            ax.set_yticks(lines, lines.index, va="bottom")
            ax.set_xticks([HALF * math.log(v) / math.log(places[-1]) for v in places], [f"× {v:.3g}" for v in places])
            ax.set(xlim=(-HALF - 1, HALF + 1), ylim=(height, 0))
            ax.tick_params(length=0)
            ax.grid(axis="y", visible=False)
            ax.spines[:].set_visible(False)
        line = partial(style.pyplot().Line2D, [], [], marker="o", linestyle="")
        count = rows["kind"].value_counts()
        handles = [line(color=c, label=f"{count.get(kind, 0):,} {words}") for kind, (c, words) in KINDS.items()]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(KINDS), frameon=False)
        return style.save(figure, folder, "numbers")
