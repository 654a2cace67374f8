"""Box plots of the replications behind a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Path2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D

from lpbench.reporting.figures import style
from lpbench.reporting.figures.comparisons import Part, printed, slug

#: Fewer replications are no distribution.
LEAST = 5
#: Positive scores whose logarithms spread over more than this are drawn on a logarithmic axis.
LOG_FROM = 1.5
#: Inches, so that the title of a single panel is not cut off.
LEAST_WIDTH = 6.5
_COLUMNS = 5


def draw_boxes(parts: Sequence[Part], folder: Path, name: str) -> list[Path]:
    """Draw a file a part: a panel a data set, a box a method."""
    written = []
    for part in parts:
        if part.samples and max(len(v) for v in part.samples.values()) >= LEAST:
            end = f"_{slug(part.title)}" if len(parts) > 1 else ""
            written += _draw(part, folder, name + end)
    return written


def _draw(part: Part, folder: Path, name: str) -> list[Path]:
    columns = min(_COLUMNS, len(part.datasets))
    rows = -(-len(part.datasets) // columns)
    k = len(part.columns)
    size = max(2.0 + 1.75 * columns, LEAST_WIDTH), rows * (0.75 + 0.17 * k) + 0.4
    with style.look():
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
        for ax in axes.flat[len(part.datasets) :]:
            ax.set_axis_off()
        for d, (ax, (label, _)) in enumerate(zip(axes.flat, part.datasets, strict=False)):
            scale = 100.0 if part.metric == "accuracy" else 1.0
            _panel(ax, {c: scale * part.samples[d, c] for c in range(k) if (d, c) in part.samples}, part)
            ax.set_title(label, loc="left", fontsize=8.5)
            names = [printed(c) for c in part.columns]
            ax.set_yticks(np.arange(k), names if d % columns == 0 else [""] * k, fontsize=7.5)
        count = max(len(v) for v in part.samples.values())
        metric = {"mse": "mean squared error", "accuracy": "accuracy (%)"}.get(part.metric, part.metric)
        title = f"{metric} of {count} replications: quartiles, median, and the whole range"
        figure.suptitle(", ".join(filter(None, [part.title, title])), fontsize=9, x=0.02, ha="left")
        return style.save(figure, folder, name, formats=("svg",))


def _panel(ax: Axes, samples: dict[int, np.ndarray], part: Part) -> None:
    """Boxes, medians and whiskers as three artists: a path each would take ten times the space."""
    ax.set_ylim(len(part.columns) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize=7)
    ax.tick_params(axis="y", length=0)
    if not samples:
        return
    values = np.concatenate(list(samples.values()))
    ends = {c: np.quantile(v, [0, 0.25, 0.5, 0.75, 1]) for c, v in samples.items()}
    whiskers = [[(q[0], c), (q[1], c), (np.nan, c), (q[3], c), (q[4], c), (np.nan, c)] for c, q in ends.items()]
    ax.plot(*np.concatenate(whiskers).T, color=style.GREY, linewidth=1.0)
    boxes = [Affine2D([[q[3] - q[1], 0, q[1]], [0, 0.62, c - 0.31], [0, 0, 1]]) for c, q in ends.items()]
    path = Path2D.make_compound_path(
        *(Path2D(Rectangle((0, 0), 1, 1).get_path().vertices).transformed(b) for b in boxes)
    )
    ax.add_patch(PathPatch(path, facecolor=style.COLOURS[5], edgecolor="none"))
    medians = [[(q[2], c - 0.31), (q[2], c + 0.31), (np.nan, c)] for c, q in ends.items()]
    ax.plot(*np.concatenate(medians).T, color="black", linewidth=1.6, solid_capstyle="butt")
    ax.autoscale(axis="x")
    ax.xaxis.set_major_locator(MaxNLocator(4))
    if part.metric in ("mse", "seconds") and values.min() > 0 and np.ptp(np.log(values)) > LOG_FROM:
        style.log_scale(ax, "x")
