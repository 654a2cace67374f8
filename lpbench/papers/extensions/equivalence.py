"""How many private samples each method needs to do as well as the first one: sizes, and their figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.isotonic import IsotonicRegression

from lpbench.analysis import Summary
from lpbench.analysis.curves import Curve
from lpbench.analysis.scores import costs
from lpbench.analysis.significance import DIGITS
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.figures import style
from lpbench.reporting.figures.curves import axis_of, labelled_curves
from lpbench.selectors import parse_selector

#: Axes that count private samples.
SIZES = ("dataset.n", "dataset.n_private")
#: Fewer sizes are no learning curve.
LEAST = 4
FILE = "_equivalence"


def draw_equivalence(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> list[Path]:
    """Draw a panel for each panel and budget in which the first method and another one were run at several sizes.

    Nothing is drawn if no panel counts private samples, or no other method gets as far as the first one.
    """
    table, stem = summary.table, experiment.name.rpartition("/")[2]
    first = parse_selector(experiment.groups[0].method[0])[0]
    panels: dict[tuple[str, float], list[Curve]] = {}
    for curve in labelled_curves(experiment, table, cards):
        if axis_of(experiment, curve.panel) in SIZES and len(curve.x) >= LEAST:
            panels.setdefault((curve.panel, curve.epsilon), []).append(curve)
    metric = table.loc[table["metric"] != "", "metric"].iloc[0]
    shown = {key: needed for key, found in panels.items() if (needed := _needed(found, first, metric))}
    if not shown:
        return []
    with style.look():
        figure, axes = style.pyplot().subplots(1, len(shown), figsize=(4.4 * len(shown), 3.9), squeeze=False)
        for ax, ((panel, epsilon), found) in zip(axes[0], shown.items(), strict=True):
            _panel(ax, found)
            budget = "" if math.isnan(epsilon) else f"ε = {epsilon:g}"
            ax.set_title(", ".join(filter(None, [panel and f"({panel})", budget])), loc="left")
        axes[0][0].set_ylabel("private samples needed for the same score")
        style.heading(figure, "Sample-size equivalence (learning curves made monotone; ▲: not within the sizes run)")
        return style.save(figure, folder, stem + FILE)


def _needed(found: Sequence[Curve], first: str, metric: str) -> list[tuple[Curve, np.ndarray]]:
    """The reference and the others with the samples that each needs; empty where none gets there within its sizes."""
    reference = next((c for c in found if c.base == first), None)
    if reference is None:
        return []
    others = [c for c in found if c is not reference and np.array_equal(c.x, reference.x)]
    sizes = [equivalent_sizes(c.x, costs(reference.mean, metric), costs(c.mean, metric)) for c in others]
    if not any(np.isfinite(size).any() for size in sizes):
        return []
    return [(reference, reference.x), *zip(others, sizes, strict=True)]


def _panel(ax: style.Axes, found: Sequence[tuple[Curve, np.ndarray]]) -> None:
    (reference, sizes), *others = found
    ceiling = sizes.max() * 1.35
    ax.plot(sizes, sizes, color=style.GREY, linestyle="--", linewidth=1, label="as many")
    for k, (curve, needed) in enumerate(others):
        colour, marker = style.COLOURS[k % len(style.COLOURS)], style.MARKERS[k % len(style.MARKERS)]
        known, beyond = np.isfinite(needed), np.isinf(needed)
        ax.plot(curve.x[known], needed[known], label=curve.label, color=colour, marker=marker)
        # side by side where several methods do not get there
        ax.plot(curve.x[beyond] * 1.04**k, np.full(beyond.sum(), ceiling), linestyle="", marker="^", color=colour)
    ax.set_xlabel(f"private samples of {reference.label}")
    style.log_scale(ax, "x")
    style.log_scale(ax, "y")
    ax.legend(fontsize=7)


def equivalent_sizes(sizes: np.ndarray, reference: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sample sizes at which ``other`` reaches the mean costs of ``reference``, both at increasing ``sizes``.

    Both learning curves are first made monotone (isotonic regression: more data does not hurt), then the other one is
    read backwards, with the logarithm of the size interpolated linearly between the sizes that were run.

    inf where the other method does not get there with the largest size that was run; NaN where it is there with the
    smallest already, so that all one knows is that it needs fewer.
    """
    place = np.log(np.asarray(sizes, dtype=float))
    # rounded, so that the order of a floating-point sum does not decide what was reached
    target, curve = (
        IsotonicRegression().fit_transform(place, np.round(-np.asarray(s, dtype=float), DIGITS))
        for s in (reference, other)
    )
    levels, first = np.unique(curve, return_index=True)
    found = np.exp(np.interp(target, levels, place[first]))
    found[target > levels[-1]] = np.inf
    found[target < levels[0]] = np.nan
    return found
