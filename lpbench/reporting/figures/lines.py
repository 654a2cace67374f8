"""Line figures from summaries: mean with error band against the swept quantity, published curves underneath."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis.curves import Curve
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.members import member
from lpbench.reporting.figures import style
from lpbench.reporting.figures.curves import NON_PRIVATE_EPSILON, axis_of, labeled_curves, looks_of, published_curves
from lpbench.reporting.paper import Paper
from lpbench.reporting.printed_names import CHOSEN, SYMBOLS

#: Half-width of the bands in standard errors.
BAND = 2.0
#: Metric of ratios, whose bands are symmetric for logarithms.
RATIO = "loss × non-private"
#: Panels side by side before a new row starts.
_COLUMNS = 3
#: Look of a curve read off the paper's drawing: dotted, with hollow markers.
_UNDER: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "markerfacecolor": "white", "markeredgewidth": 0.9}
_AXIS_NAMES = {
    "epsilon": "privacy budget ε",
    "n": "sample size n",
    "n_private": "private sample size n_P",
    "n_public": "public sample size n_Q",
    "classes": "number of classes K",
    "gamma": "exponent γ",
    "depth": "depth p",
    "public_weight": "weight λ of the public data",
    "private_fraction": "fraction of the private data",
}
_METRIC_NAMES = {"mse": "mean squared error", "excess_risk": "excess risk", "accuracy": "accuracy (%)"}


def draw_lines(
    experiment: Experiment,
    paper: Paper,
    table: pd.DataFrame,
    cards: Mapping[str, Method],
    folder: Path,
    name: str,
    selection: str,
) -> list[Path]:
    """Draw all panels of an experiment side by side; nothing if no curve has two places."""
    default = paper.default_variant
    curves = [_bare(c, default) for c in labeled_curves(experiment, table, cards, selection)]
    if not any(len(c.x) > 1 for c in curves):
        return []
    metric = table.loc[table["metric"] != "", "metric"].iloc[0]
    looks, printed = _looks(curves), style.printed_width()
    under = published_curves(experiment.name, paper, curves) if selection == "oracle" and not printed else []
    places = sorted({c.panel for c in curves})
    panels = {p: (_panel_title(p, curves) if p else "", axis_of(experiment, p)) for p in places}
    text = CHOSEN[selection].capitalize() if selection != "oracle" else ""
    most = 1 if printed and printed <= style.WIDTHS["column"] else _COLUMNS
    with style.look():
        handles = _legend(curves, looks, bool(under), default)
    return draw_panels(curves, panels, metric, partial(_look, looks), handles, most, text, folder / name, under)


@style.look()
def draw_panels(
    curves: Sequence[Curve],
    panels: Mapping[str, tuple[str, str]],  # title and axis of each
    metric: str,
    look: Callable[[Curve], dict[str, Any]],
    handles: Sequence[Any],  # of the legend
    most: int,  # panels side by side
    text: str,
    path: Path,
    under: Sequence[Curve] = (),  # of print
) -> list[Path]:
    """Draw curves in panels, with one legend below all of them."""
    # accuracies are drawn in per cent, as tables and pages print them
    paper, scale = style.printed_width(), 100.0 if metric == "accuracy" else 1.0
    columns = min(len(panels), most)
    rows = -(-len(panels) // columns)
    # one panel is as wide as a small screen; the legend begins at the left, where such a screen shows it
    longest = max(len(str(h.get_label())) for h in handles)
    across = 2 if longest <= 34 else 1
    across = across if columns == 1 else across + 1
    width, lines = (5.2 if columns == 1 else 3.9 * columns), -(-len(handles) // across)
    size = width, 3.1 * rows + 0.19 * lines + 0.2
    if paper:
        across = max(1, min(len(handles), int(paper / (0.4 + 0.056 * longest))))
        size = paper, 0.75 * paper / columns * rows + 0.15 * -(-len(handles) // across) + 0.1
    figure, axes = style.pyplot().subplots(rows, columns, figsize=size, squeeze=False)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, (panel, (title, axis)) in zip(axes.flat, panels.items(), strict=False):
        ours, theirs = (
            [
                c if scale == 1 else replace(c, mean=scale * c.mean, se=scale * c.se)
                for c in of_source
                if c.panel == panel
            ]
            for of_source in (curves, under)
        )
        _panel(ax, ours, theirs, axis, metric, look)
        ax.set_title(textwrap.fill(title, int(10 * size[0] / columns)), loc="left")
    for ax in axes[:, 0]:
        ax.set_ylabel(_METRIC_NAMES.get(metric, metric))
    figure.legend(handles=handles, loc="outside lower left", ncols=across, frameon=False, handlelength=2.8)
    if text and not paper:
        style.heading(figure, text)
    return style.save(figure, path.parent, path.name)


def _bare(curve: Curve, default_variant: str) -> Curve:
    """The curve with its variant taken out of its name, if it is ``default_variant``, the paper's default."""
    is_default = curve.variant.replace("_", " ") == default_variant
    return replace(curve, method=member(curve.method).without("variant")) if is_default else curve


def _panel_title(panel: str, curves: Sequence[Curve]) -> str:
    """Title of a panel: "(a)" for a letter, else its words; with the budget where all curves in it share one."""
    title = f"({panel})" if len(panel) == 1 else panel.replace("_", " ")
    budgets = {c.epsilon for c in curves if c.panel == panel and not math.isnan(c.epsilon)}
    if len(budgets) != 1 or _budgets_vary(curves):
        return title
    [budget] = budgets
    return f"{title} ε = {budget:g}" + (" (non-private)" if budget >= NON_PRIVATE_EPSILON else "")


def _budgets_vary(curves: Sequence[Curve]) -> bool:
    """Return True if some panel has curves at several budgets; a single budget goes into the panel's title."""
    panels = {c.panel for c in curves}
    return any(len({c.epsilon for c in curves if c.panel == p and not math.isnan(c.epsilon)}) > 1 for p in panels)


def _looks(curves: Sequence[Curve]) -> dict[str, dict]:
    """Look of the curves by dimension: keys "color", "marker" and "line", each a mapping of value to look.

    Colors are by budget if budgets vary, else by kind (a curve's label), markers by kind, lines by variant.
    """
    kinds = list(dict.fromkeys(c.label for c in curves))
    variants = sorted({c.variant for c in curves}, key=lambda v: (v not in ("", "published_code"), v))
    color: dict[Any, str] = {v: style.COLORS[k % len(style.COLORS)] for k, v in enumerate(kinds)}
    # beyond the colors, the same color has another marker
    marker = {v: style.MARKERS[(k + k // len(style.COLORS)) % len(style.MARKERS)] for k, v in enumerate(kinds)}
    bases = {c.label: c.base for c in curves}
    base_looks = looks_of(bases.values())
    if len({tuple(look.values()) for look in base_looks.values()}) == len(kinds) == len(set(bases.values())):
        # one curve per method: each looks the same in all figures
        color, marker = ({label: base_looks[base][key] for label, base in bases.items()} for key in ("color", "marker"))
    if by_budget := _budgets_vary(curves):
        budgets = sorted({c.epsilon for c in curves if not math.isnan(c.epsilon)})
        color = style.budget_colors(budgets, NON_PRIVATE_EPSILON)
    line_of = variants if len(variants) > 1 or not by_budget else kinds
    lines = {v: style.LINES[k % len(style.LINES)] for k, v in enumerate(line_of)}
    return {"color": color, "marker": marker, "line": lines}


def _look(looks: Mapping, curve: Curve) -> dict[str, Any]:
    return {
        "color": looks["color"].get(curve.label, looks["color"].get(curve.epsilon, style.GRAY)),
        "marker": looks["marker"].get(curve.label, "x"),
        "linestyle": looks["line"].get(curve.variant, looks["line"].get(curve.label, "-")),
    }


def _panel(
    ax: style.Axes, curves: Sequence[Curve], under: Sequence[Curve], axis: str, metric: str, look: Callable
) -> None:
    """Draw the curves of one panel with bands of standard errors, and choose its axes.

    ``under`` are published curves, drawn behind without bands; ``look(curve)`` gives the line's color, marker and
    style.
    """
    places = np.unique(np.concatenate([c.x for c in curves]))
    position = _positions(axis, places)
    for curve in under:
        keep = np.isin(curve.x, places)
        x = np.array([position[v] for v in curve.x[keep]])
        ax.plot(x, curve.mean[keep], linewidth=1.1, zorder=4, **(look(curve) | _UNDER))
    for curve in curves:
        x = np.array([position[v] for v in curve.x])
        margin = BAND * np.nan_to_num(curve.se)
        band = (curve.mean - margin, curve.mean + margin)
        if metric == RATIO:  # symmetric for logarithms
            band = (curve.mean * np.exp(-margin / curve.mean), curve.mean * np.exp(margin / curve.mean))
        ax.fill_between(x, *band, color=look(curve)["color"], alpha=0.13, linewidth=0, zorder=2)
        ax.plot(x, curve.mean, zorder=3, **look(curve))
    _x_axis(ax, axis, places, position, metric)
    values, error = np.concatenate([c.mean for c in curves]), metric in ("mse", "seconds")
    # errors far apart are drawn on a logarithmic axis
    if metric == "excess_risk" or (error and values.min() > 0 and np.ptp(np.log(values)) > 1.5):
        style.log_scale(ax)


def _positions(axis: str, places: np.ndarray) -> dict[float, float]:
    """Return the place of each value of ``places`` on the axis: values as they are, but budgets by base-2 logarithm.

    A non-private budget is drawn a step and a half after the last.
    """
    if axis != "epsilon" or places.min() <= 0:
        return {v: v for v in places}
    private = places[places < NON_PRIVATE_EPSILON]
    last = np.log2(private.max()) if private.size else 0.0
    beyond = places[places >= NON_PRIVATE_EPSILON]
    return {v: float(np.log2(v)) for v in private} | {v: last + 1.5 + k for k, v in enumerate(beyond)}


def _x_axis(ax: style.Axes, axis: str, places: np.ndarray, position: Mapping, metric: str) -> None:
    """Label the x axis by the paper's symbol, its ticks by the parameter; a dotted line ends the private budgets.

    ``axis`` is the parameter's name; ``position`` maps each of ``places`` to where it is drawn.
    """
    name = axis.rpartition(".")[2]
    ax.set_xlabel(_AXIS_NAMES.get(name, SYMBOLS.get(name, name.replace("_", " "))))
    if axis == "epsilon":
        words = [f"{v:g}\nnon-private" if v >= NON_PRIVATE_EPSILON else f"{v:g}" for v in places]
        ax.set_xticks([position[v] for v in places], words)
        private, beyond = places[places < NON_PRIVATE_EPSILON], places[places >= NON_PRIVATE_EPSILON]
        if private.size and beyond.size:
            middle = (position[private.max()] + position[beyond.min()]) / 2
            ax.axvline(middle, color=style.GRAY, linestyle=":", linewidth=0.8)
        return
    if name in ("public_weight", "classes") or metric == "excess_risk":
        ax.set_xscale("log")
        if len(places) <= 8:
            ax.set_xticks(places)
        ax.xaxis.set_major_formatter(style.pyplot().FuncFormatter(lambda v, _: f"{v:g}"))
        ax.xaxis.set_minor_locator(style.pyplot().NullLocator())
        ax.xaxis.set_minor_formatter(style.pyplot().NullFormatter())
    elif all(float(v).is_integer() for v in places):
        ax.xaxis.set_major_locator(style.pyplot().MaxNLocator(integer=True, nbins=8))


def _legend(curves: Sequence[Curve], looks: Mapping, published: bool, default_variant: str) -> list[Any]:
    """Make legend entries for each dimension that varies (budget, kind, variant), not for their products.

    ``looks`` are those of :func:`_looks`; ``published`` adds an entry for curves read off a paper.
    """
    by_budget, several_variants = _budgets_vary(curves), len({c.variant for c in curves}) > 1
    handles, line = [], partial(style.pyplot().Line2D, [], [])
    for kind in dict.fromkeys(c.label for c in curves):
        fixed = {"linestyle": "-"} if several_variants else {}
        fixed |= {"color": style.COLORS[6]} if by_budget else {}
        handles.append(line(label=kind, **_look(looks, next(c for c in curves if c.label == kind)) | fixed))
    if by_budget:
        for budget in sorted({c.epsilon for c in curves}):
            text = f"ε = {budget:g}" + (" (non-private)" if budget >= NON_PRIVATE_EPSILON else "")
            text = "non-private" if math.isinf(budget) else text
            handles.append(line(color=looks["color"][budget], linewidth=4, label=text))
    if several_variants:
        for variant, style_of in looks["line"].items():
            text = variant.replace("_", " ") or default_variant
            handles.append(line(color=style.GRAY, linestyle=style_of, label=f"variant: {text}"))
    if published:
        handles.append(line(color=style.GRAY, marker="o", label="published (read off)", **_UNDER))
    handles.append(line(color=style.GRAY, linewidth=7, alpha=0.15, label=f"± {BAND:g} standard errors"))
    return handles
