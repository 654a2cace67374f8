"""HistOfTree's figure 1: the mask as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lpbench.datasets import make_problem
from lpbench.experiments.experiment import Experiment
from lpbench.members import member
from lpbench.reporting.figures import style
from lpbench.reporting.printed_names import mask_name

_CAPTIONS = {"a": "aligned", "b": "personalised, concentrated", "c": "personalised, spread"}


def draw_masks(experiment: Experiment, folder: Path, seed: int) -> list[Path]:
    """Draw one mask a panel: users are rows, features columns, colored where protected."""
    from matplotlib.patches import Patch

    settings = experiment.settings
    data = member(settings["dataset"])
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(1, len(settings["masks"]), figsize=(2.6 * len(settings["masks"]), 3.9))
        for ax, (panel, selector) in zip(axes, sorted(settings["masks"].items()), strict=True):
            drawn = member(selector)
            mask = make_problem(data.name, data.params, drawn.name, drawn.params, 0, seed).mask
            _draw_mask(ax, mask, settings["n_selected"])
            ax.set_title(f"({panel}) {_CAPTIONS.get(panel, '')}\n{mask_name(selector)}", loc="left", fontsize=8.5)
        axes[0].set_ylabel("user i")
        handles = [
            Patch(facecolor=style.PRIVATE, label="protected"),
            Patch(facecolor=style.PUBLIC, edgecolor=style.GRAY, label="public"),
            Patch(facecolor="none", edgecolor=style.SELECTED, linewidth=2.5, label="cut by the grid"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
        return style.save(figure, folder, "figure1")


def _draw_mask(ax: style.Axes, mask: np.ndarray | None, n_selected: int) -> None:
    """Draw a mask, bool (users, features), as colored cells with the first ``n_selected`` columns framed."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Path2D
    from matplotlib.transforms import Affine2D

    mask = np.asarray(mask)
    n, d = mask.shape
    ax.set(xlim=(0, d), ylim=(0, n))
    for value, color in ((False, style.PUBLIC), (True, style.PRIVATE)):
        boxes = [
            Affine2D([[0.95, 0, k + 0.025], [0, 0.92, i + 0.04], [0, 0, 1]]) for i, k in np.argwhere(mask == value)
        ]
        if boxes:
            # one path for all cells: a path each would take ten times the space
            cells = Path2D.make_compound_path(*(Path2D.unit_rectangle().transformed(box) for box in boxes))
            ax.add_patch(PathPatch(cells, facecolor=color, linewidth=0))
    ax.add_patch(
        style.pyplot().Rectangle(
            (0.04, 0.1), n_selected - 0.08, n - 0.2, fill=False, edgecolor=style.SELECTED, linewidth=2.8
        )
    )
    ax.set_xticks(np.arange(d) + 0.5, [f"$X^{k + 1}$" for k in range(d)])
    ax.set_yticks([0.5, n - 0.5], ["1", str(n)])
    ax.invert_yaxis()
    ax.grid(False)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
