"""Double logarithmic axes and the slopes that are drawn on them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lpbench.analysis.exponents import reference_line
from lpbench.reporting.figures import style


def draw_slope(
    ax: style.Axes, x: np.ndarray, y: np.ndarray, exponent: float, *, label: str = "", color=style.GREY
) -> None:
    """Draw a dashed line of slope ``-exponent`` through the middle of a curve on double logarithmic axes."""
    ends, line = reference_line(x, y, exponent)
    ax.plot(ends, line, linestyle="--", linewidth=1.0, color=color, label=label or None, zorder=1)


def finish(
    ax: style.Axes,
    title: str,
    xlabel: str = "sample size N",
    loc: Literal["best", "upper right", "lower left"] = "best",
    legend: str | None = None,
) -> None:
    """Set logarithmic scales, names and the legend (with a heading that says what its numbers are)."""
    ax.set_xscale("log", base=2)
    style.log_scale(ax, "y")
    ax.set_xlabel(xlabel)
    ax.set_ylabel("excess risk")
    ax.set_title(title, loc="left")
    ax.legend(loc=loc, fontsize=7, title=legend, title_fontsize=7)
