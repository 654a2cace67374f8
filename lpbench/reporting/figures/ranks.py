"""Critical-difference diagrams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lpbench.analysis.critical import LEAST_DATASETS, LEAST_METHODS, CriticalDifference, critical_difference
from lpbench.reporting.cards import CHOSEN
from lpbench.reporting.figures import style
from lpbench.reporting.figures.comparisons import Part, competing, is_constant, printed
from lpbench.selectors import parse_selector

#: Height of a line of names, and of a bar under the axis, in inches.
_LINE, _BAR = 0.19, 0.09
_WIDTH = 8.0


def draw_ranks(parts: Sequence[Part], folder: Path, name: str, selection: str) -> list[Path]:
    """Draw a diagram for each part with enough data sets and methods, one below the other."""
    shown = [(p, kept) for p in parts if (kept := competing(p)) and _is_enough(p, kept)]
    if not shown:
        return []
    found = [critical_difference(p.means[:, kept], larger_is_better=p.larger_is_better) for p, kept in shown]
    heights = [_height(f) for f in found]
    with style.look():
        # names beside the axis need a page's width, in a paper too
        width = _WIDTH if style.printed_width() is None else style.WIDTHS["text"]
        figure, axes = plt.subplots(
            len(shown), 1, figsize=(width, sum(heights) + 0.35), squeeze=False, height_ratios=heights
        )
        for ax, (part, kept), cd, height in zip(axes[:, 0], shown, found, heights, strict=True):
            names = [printed(part.columns[k]) for k in kept]
            constants = [is_constant(part.columns[k]) for k in kept]
            _diagram(ax, cd, names, constants, height)
            test = f"Friedman p {_p(cd.p_value)}, {cd.n_datasets} data sets"
            ax.set_title(", ".join(filter(None, [part.title, test])), loc="left", fontsize=9)
        text = f"Average ranks ({CHOSEN[selection]}); bars join what Nemenyi's test does not tell apart (level 0.05)"
        if style.printed_width() is None:
            figure.suptitle(text, fontsize=9, x=0.02, ha="left")
        return style.save(figure, folder, name, formats=("svg",))


def _is_enough(part: Part, kept: Sequence[int]) -> bool:
    """Enough methods, and enough data sets that are not variants of one another."""
    bases = {parse_selector(d)[0] for _, d in part.datasets}
    return len(kept) >= LEAST_METHODS and len(bases) == len(part.datasets) >= LEAST_DATASETS


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _height(cd: CriticalDifference) -> float:
    return 0.75 + _BAR * len(cd.groups) + _LINE * -(-len(cd.mean_ranks) // 2)


def _diagram(ax: Axes, cd: CriticalDifference, names: Sequence[str], constants: Sequence[bool], height: float) -> None:
    """Draw one diagram; vertical positions are inches below the axis, which runs from rank 1 (left, best) to k."""
    k = len(names)
    ax.set(xlim=(1 - 0.62 * (k - 1), k + 0.62 * (k - 1)), ylim=(height - 0.3, -0.32))
    ax.axis("off")
    ticks = np.arange(1, k + 1)
    ax.plot([1, k], [0, 0], color="black", linewidth=1.0)
    ax.vlines(ticks, 0, -0.06, color="black", linewidth=0.8)
    for tick in range(1, k + 1):
        ax.text(tick, -0.09, str(tick), ha="center", va="bottom", fontsize=8)
    ax.plot([1, 1 + cd.width], [-0.27, -0.27], color="black", linewidth=1.6)
    ax.text(1 + cd.width + 0.08, -0.27, f"critical difference {cd.width:.2f}", va="center", fontsize=7.5)
    for row, group in enumerate(cd.groups):
        ranks = cd.mean_ranks[list(group)]
        y = 0.09 + _BAR * row
        ax.plot([ranks.min() - 0.04, ranks.max() + 0.04], [y, y], color=style.COLOURS[1], linewidth=3.2,
                solid_capstyle="round")  # fmt: skip
    first = 0.18 + _BAR * len(cd.groups)
    order = np.argsort(cd.mean_ranks, kind="stable")
    half = -(-k // 2)
    for place, column in enumerate(order):
        left = place < half
        level = place if left else k - 1 - place
        y, rank = first + _LINE * level, float(cd.mean_ranks[column])
        end = 1 - 0.04 * (k - 1) if left else k + 0.04 * (k - 1)
        ax.plot([rank, rank, end], [0, y, y], color=style.GREY if constants[column] else "black", linewidth=0.8)
        text = f"{names[column]}  {rank:.2f}" if left else f"{rank:.2f}  {names[column]}"
        ax.text(end, y, f" {text} ", ha="right" if left else "left", va="center", fontsize=8)
