"""Risk curves on double logarithmic axes with the slopes that the theorems predict beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lpbench.analysis import write_csv, write_text
from lpbench.analysis.exponents import (
    public_data_exponents,
    reference_line,
    semi_feature_exponent,
)
from lpbench.datasets import eta_p
from lpbench.datasets.label_dp import design
from lpbench.reporting import style
from lpbench.reporting.cards import get
from lpbench.reporting.claims.evidence import Line, Results
from lpbench.reporting.label_dp_rates import (
    LARGEST,
    MODEL_NAMES,
    ROWS,
    MeasuredRate,
    is_constant,
    measure,
    rate_markdown,
    rate_table,
)

#: Budgets that are drawn of each row of Z Table I (all of them are in the table): label and full LDP, then both CDP.
LOCAL_DRAWN = {"label_ldp": 1.0, "ldp": 8.0}
CENTRAL_DRAWN = {"classification": 0.24, "regression": 0.04}
PANELS = {
    "classification": "(a) classification",
    "regression": "(b) regression, labels bounded",
    "heavy_tail_4": "(c) regression, moment p = 4",
}
MOMENTS = (2, 4, 16)
#: Variance of the label noise of H's simulation, which no method can remove.
SINE_NOISE = 1.0


def write_rates(experiment: Mapping, folder: Path) -> None:
    """Write ``rates.csv``, the table of slopes and the figures of Z Table I.

    Parameters
    ----------
    experiment : mapping or record
        ``label_dp/table1``.
    folder : Path
        ``<results>/label_dp/table1``, with ``summary.csv`` and ``scores.parquet``.
    """
    name, title = get(experiment, "name"), get(experiment, "title")
    lines = Results(folder.parents[1]).lines(name)
    table = rate_table(lines)
    write_csv(table, folder / "rates.csv")
    write_text(rate_markdown(table, title, get(experiment, "notes", [])), folder / "table1.md")
    with style.look():
        _draw_tasks(lines, title, folder)
        _draw_collapse(lines, folder)


def draw_slope(ax: Axes, x: np.ndarray, y: np.ndarray, exponent: float, *, label: str = "", color=style.GREY) -> None:
    """Draw a dashed line of slope ``-exponent`` through the middle of a curve on double logarithmic axes."""
    ends, line = reference_line(x, y, exponent)
    ax.plot(ends, line, linestyle="--", linewidth=1.0, color=color, label=label or None, zorder=1)


def _draw_tasks(lines: Sequence[Line], title: str, folder: Path) -> None:
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4))
    for ax, (panel, text) in zip(axes.flat, PANELS.items(), strict=False):
        drawn = [line for line in lines if line.panel == panel and _is_drawn(line)]
        for k, line in enumerate(sorted(drawn, key=lambda line: list(MODEL_NAMES).index(ROWS[line.base][1]))):
            _draw_curve(ax, measure(line, lines), style.COLOURS[k], style.MARKERS[k])
        _finish(ax, text, loc="lower left" if panel == "classification" else "upper right")
    curves = {(line.panel, line.base, line.epsilon): line for line in lines if not is_constant(line)}
    wanted = [(p, *key) for p in MOMENTS for key in (("label_ldp_knn", 2.0), ("knn_mean", np.inf))]
    for k, (p, base, epsilon) in enumerate(wanted):
        found = measure(curves[f"heavy_tail_{p}", base, epsilon], lines)
        _draw_curve(axes.flat[3], found, style.COLOURS[k], style.MARKERS[k], prefix=f"p = {p}, ")
    _finish(axes.flat[3], "(d) heavy tails: label LDP against no privacy", loc="upper right")
    # Room for the legend above the curves.
    axes.flat[3].set_ylim(top=3.0)
    figure.suptitle(title, fontsize=10, x=0.02, ha="left")
    style.save(figure, folder, "table1")


def _is_drawn(line: Line) -> bool:
    task, model = ROWS[line.base]
    if is_constant(line) or line.parameter("constants", "paper") != "paper":
        return False
    if model == "none":
        # Of the two non-private references the cubes' is drawn: that of three of the four private models.
        return line.base != "knn_mean"
    return bool(np.isclose(line.epsilon, LOCAL_DRAWN.get(model, CENTRAL_DRAWN[task])))


def _draw_curve(ax: Axes, found: MeasuredRate, color: str, marker: str, prefix: str = "") -> None:
    line, local = found.line, found.local
    budget = "" if np.isinf(line.epsilon) else f", ε = {line.epsilon:g}"
    expected = "–".join(dict.fromkeys((f"{found.low:.2f}", f"{found.high:.2f}")))
    fitted = f"{local.estimate:.2f} ± {(local.high - local.low) / 2:.2f}"
    label = f"{prefix}{MODEL_NAMES[found.model]}{budget}: {fitted} ({expected})"
    ax.fill_between(line.x, line.mean - 2 * line.se, line.mean + 2 * line.se, color=color, alpha=0.15, linewidth=0)
    ax.plot(line.x, line.mean, color=color, marker=marker, label=label)
    draw_slope(ax, line.x[-LARGEST:], line.mean[-LARGEST:], found.high, color=color)


def _finish(ax: Axes, title: str, xlabel: str = "sample size N", loc: str = "best") -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel(xlabel)
    ax.set_ylabel("excess risk")
    ax.set_title(title, loc="left")
    legend = "fitted exponent at the largest n (theory, dashed)" if loc != "best" else None
    ax.legend(fontsize=7, title=legend, title_fontsize=7, loc=loc)


def _draw_collapse(lines: Sequence[Line], folder: Path) -> None:
    """Label LDP for epsilon <= 1 against N, and against the effective sample N eps^2."""
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.6))
    for pair, panel in zip(axes.reshape(2, 2), ("classification", "regression"), strict=True):
        found = [c for c in lines if c.panel == panel and ROWS[c.base][1] == "label_ldp" and c.epsilon <= 1]
        for ax, power, name in zip(pair, (0, 2), ("sample size N", "effective sample N ε²"), strict=True):
            for k, line in enumerate(sorted(found, key=lambda line: line.epsilon)):
                look = {"color": style.COLOURS[k], "marker": style.MARKERS[k], "label": f"ε = {line.epsilon:g}"}
                ax.errorbar(line.x * line.epsilon**power, line.mean, 2 * line.se, **look)
            _finish(ax, panel, name)
    figure.suptitle("Label LDP: the budget rescales the sample", fontsize=10, x=0.02, ha="left")
    style.save(figure, folder, "collapse")


def draw_semi_feature_rates(experiment: Mapping, folder: Path) -> None:
    """Draw H figure 2(b) again as excess over the noise, with the slopes of H Theorem 4.2 (alpha = 1, d = 5).

    Full LDP (Hist) is s* = d, label LDP (LabelDT) is s* = 0.
    """
    lines = Results(folder.parents[1]).lines(get(experiment, "name"))
    with style.look():
        figure, ax = plt.subplots(figsize=(6.4, 4.6))
        for k, line in enumerate(lines):
            protected = {"hist": 5, "label_dt": 0}.get(line.base, line.parameter("n_private"))
            exponent = semi_feature_exponent(1.0, 5, protected)
            _draw_excess(ax, k, line, line.mean - SINE_NOISE, exponent, f"s* = {protected} ({line.base})")
        _finish(ax, "excess over the label noise, slopes of Theorem 4.2 dashed", "sample size n")
        style.save(figure, folder, "figure2b_rates")


def draw_public_data_rates(experiment: Mapping, folder: Path) -> None:
    """Draw L figure 5(a) again as excess over the Bayes risk, with the slope of L Theorem 3 in n_P.

    The simulated eta_P is a tenth power root of a Lipschitz function: alpha = 1/10 and margin exponent 10.
    """
    eta = eta_p(design(2**16, 2))
    bayes = float(np.maximum(eta, 1 - eta).mean())
    lines = [c for c in Results(folder.parents[1]).lines(get(experiment, "name")) if c.base == "lpct_max_edge"]
    exponent, _ = public_data_exponents(0.1, 2, 10.0, 0.5)
    with style.look():
        figure, ax = plt.subplots(figsize=(6.4, 4.6))
        for k, line in enumerate(lines):
            _draw_excess(ax, k, line, bayes - line.mean, exponent, f"ε = {line.epsilon:g}")
        _finish(ax, "excess over the Bayes risk, slope of Theorem 3 in n_P dashed", "private sample size n_P")
        style.save(figure, folder, "figure5a_rates")


def _draw_excess(ax: Axes, k: int, line: Line, excess: np.ndarray, exponent: float, label: str) -> None:
    if (excess <= 0).any():
        return
    color = style.COLOURS[k % len(style.COLOURS)]
    ax.plot(line.x, excess, color=color, marker=style.MARKERS[k % len(style.MARKERS)], label=f"{label}: {exponent:.2f}")
    draw_slope(ax, line.x, excess, exponent, color=color)


#: Experiment -> what is written besides, or in place of (``REPLACES``), the plain curves.
RATE_FIGURES = {
    "label_dp/table1": write_rates,
    "histoftree/figure2b": draw_semi_feature_rates,
    "lpct/figure5a": draw_public_data_rates,
}
#: Experiments whose own figure takes the place of the plain curves.
REPLACES = frozenset({"label_dp/table1"})
