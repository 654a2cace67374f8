"""Tables of slopes and figures of the label-DP experiments."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lpbench.analysis import write_csv
from lpbench.analysis.curves import Curve
from lpbench.experiments.experiment import Experiment
from lpbench.papers.label_dp.rates import (
    MODEL_NAMES,
    allowed,
    at_one_budget,
    excess,
    exponent,
    is_constant,
    largest,
    rate_table,
    row_of,
    theory,
)
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures import style
from lpbench.reporting.figures.curves import NON_PRIVATE_EPSILON
from lpbench.reporting.figures.style import draw_slope, finish

PANELS = {
    "classification": "(a) classification",
    "regression": "(b) regression, labels bounded",
    "heavy_tail_4": "(c) regression, moment p = 4",
}
MOMENTS = (2, 4, 16)
#: Heading of the legends of slopes in n.
FITTED = "fitted exponent at the largest n (theory, dashed)"
#: Budgets at which a curve's slope in epsilon is fitted, and how often epsilon enters the effective sample: under label
#: LDP it is N (eps^2 ∧ 1), under central privacy the term of eps N dominates at small budgets only.
BUDGET_RANGES = {"label_ldp": (0.0, 1.0, 2), "ldp": (1.0, 8.0, 2), "label_cdp": (0.0, 0.1, 1), "cdp": (0.0, 0.25, 1)}


def write_rates(experiment: Experiment, folder: Path, seed: int) -> None:
    """Write ``rates.csv``, the table of slopes and the figures of Table I."""
    lines = Evidence(folder.parents[1]).curves(experiment.name)
    table = rate_table(lines)
    write_csv(table, folder / "rates.csv")
    with style.look(mathematics=True):
        _draw_tasks(lines, at_one_budget(table), folder)
        _draw_collapse(lines, folder)


def _draw_tasks(lines: Sequence[Curve], table: pd.DataFrame, folder: Path) -> None:
    """Draw Table 1 in four panels, three learning tasks and heavy tails by the moment p, and save it as "table1".

    Of ``lines`` those are drawn whose panel, method and epsilon are in ``table``, the others serve as baselines of the
    excess.
    """
    listed = {*table[["panel", "method", "epsilon"]].itertuples(index=False, name=None)}
    figure, axes = style.pyplot().subplots(2, 2, figsize=(11, 8.4))
    for ax, (panel, text) in zip(axes.flat, PANELS.items(), strict=False):
        drawn = [line for line in lines if line.panel == panel and _is_drawn(line, listed)]
        for k, line in enumerate(sorted(drawn, key=_row)):
            _draw_fit(ax, k, line, lines)
        finish(ax, text, loc="lower left" if panel == "classification" else "upper right", legend=FITTED)
        # Room for the legend, above the curves or below.
        low, high = ax.get_ylim()
        ax.set_ylim(*((low / 2, high) if panel == "classification" else (low, 4 * high)))
    curves = {(c.panel, c.base): c for c in lines if (c.panel, c.method, c.epsilon) in listed and not is_constant(c)}
    for k, (p, base) in enumerate(product(MOMENTS, ("label_ldp_knn", "knn_mean"))):
        _draw_fit(axes.flat[3], k, curves[f"heavy_tail_{p}", base], lines, f"p = {p}, ")
    finish(axes.flat[3], "(d) heavy tails: label LDP against no privacy", loc="upper right", legend=FITTED)
    # Room for the legend above the curves.
    axes.flat[3].set_ylim(top=3.0)
    style.save(figure, folder, "table1")


def _row(line: Curve) -> tuple[int, str]:
    """Sort key of a curve in the order of the paper's table: position of its privacy model, then method."""
    return list(MODEL_NAMES).index(row_of(line.base)[1]), line.method


def _is_drawn(line: Curve, listed: Set[tuple[str, str, float]]) -> bool:
    if is_constant(line) or line.parameter("constants", "paper") != "paper":
        return False
    # Of the two non-private references the cubes' is drawn: that of three of the four private models.
    return line.base != "knn_mean" and (line.panel, line.method, line.epsilon) in listed


def _draw_fit(ax: style.Axes, k: int, line: Curve, lines: Sequence[Curve], prefix: str = "") -> None:
    """Draw a curve as the panel's k-th (its color and marker), named with model, ε, and exponent at the largest n.

    ``lines`` has all curves, among which the one is found that its excess is measured from; ``prefix`` begins the name.
    """
    _, model, rate = theory(line)
    budget = "" if np.isinf(line.epsilon) else f", ε = {line.epsilon:g}"
    title, expected = f"{prefix}{MODEL_NAMES[model]}{budget}", allowed(rate, excess(line, lines))
    _draw_curve(ax, k, line, largest(line), title, *expected)


def _draw_curve(ax: style.Axes, k: int, line: Curve, segment: Curve, title: str, *expected: float) -> None:
    """Draw the k-th curve with the exponent fitted to a part of it, ``segment``, and the theory's slope there.

    ``expected`` are the exponents that the theory allows: one, or the ends of a range.
    """
    fitted, color = exponent(segment), style.COLORS[k]
    theory = "–".join(dict.fromkeys(f"{e:.2f}" for e in expected))
    label = f"{title}: {fitted.estimate:.2f} ± {(fitted.high - fitted.low) / 2:.2f} ({theory})"
    ax.fill_between(line.x, line.mean - 2 * line.se, line.mean + 2 * line.se, color=color, alpha=0.15, linewidth=0)
    ax.plot(line.x, line.mean, color=color, marker=style.MARKERS[k], label=label)
    draw_slope(ax, segment.x, segment.mean, expected[-1], color=color)


def _draw_collapse(lines: Sequence[Curve], folder: Path) -> None:
    """Draw label LDP's risk for epsilon <= 1 against N, and against N eps^2, on which the curves should fall together.

    The figure is saved as "collapse" in ``folder``.
    """
    figure, axes = style.pyplot().subplots(1, 4, figsize=(14, 3.6))
    for pair, panel in zip(axes.reshape(2, 2), ("classification", "regression"), strict=True):
        curves = [c for c in lines if c.panel == panel and row_of(c.base)[1] == "label_ldp" and c.epsilon <= 1]
        for ax, power, name in zip(pair, (0, 2), ("sample size N", "effective sample N ε²"), strict=True):
            colors = style.budget_colors([line.epsilon for line in curves], NON_PRIVATE_EPSILON)
            for k, line in enumerate(sorted(curves, key=lambda line: line.epsilon)):
                look = {"color": colors[line.epsilon], "marker": style.MARKERS[k], "label": f"ε = {line.epsilon:g}"}
                ax.errorbar(line.x * line.epsilon**power, line.mean, 2 * line.se, **look)
            finish(ax, panel, name)
    style.save(figure, folder, "collapse")


def write_budget_rates(experiment: Experiment, folder: Path, seed: int) -> None:
    """Write ``rates.csv`` and the figure of the risk against the budget."""
    lines = Evidence(folder.parents[1]).curves(experiment.name)
    rows = []
    with style.look(mathematics=True):
        figure, axes = style.pyplot().subplots(1, len(PANELS), figsize=(14, 4.6))
        for ax, (panel, text) in zip(axes, PANELS.items(), strict=True):
            drawn = [line for line in lines if line.panel == panel]
            for k, line in enumerate(sorted(drawn, key=_row)):
                rows.append(_budget_rate(line))
                low, high, expected = (rows[-1][name] for name in ("epsilon_low", "epsilon_high", "expected"))
                tight = " (tight constants)" if line.parameter("constants") == "tight" else ""
                _draw_curve(ax, k, line, line.between(low, high), f"{rows[-1]['model']}{tight}", expected)
            finish(ax, text, "privacy budget ε", "upper right", "fitted exponent of ε (theory, dashed)")
            # Room for the legend above the curves.
            ax.set_ylim(top=ax.get_ylim()[1] * 4)
        style.save(figure, folder, "budget")
    write_csv(pd.DataFrame(rows), folder / "rates.csv")


def _budget_rate(line: Curve) -> dict[str, Any]:
    """Return a row of a table: exponent of epsilon fitted where the privacy term should dominate, beside the theorem's.

    Keys: panel, model, method, the ends of the budgets used, ``expected``, ``slope`` and the ends of its 95 % interval.
    """
    _, model, rate = theory(line)
    low, high, power = BUDGET_RANGES[model]
    segment = line.between(low, high)
    fitted = exponent(segment)
    keys = {"panel": line.panel, "model": MODEL_NAMES[model], "method": line.method}
    budgets = {"epsilon_low": segment.x[0], "epsilon_high": segment.x[-1], "expected": power * rate.privacy}
    return keys | budgets | {"slope": fitted.estimate, "slope_low": fitted.low, "slope_high": fitted.high}
