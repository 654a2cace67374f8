"""Extra figures with theoretical slopes: the label-DP experiments, and the simulations of H and L against n."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from lpbench.analysis.exponents import public_data_exponents, semi_feature_exponent
from lpbench.datasets import eta_p
from lpbench.datasets.label_dp import design
from lpbench.papers.label_dp.figures import write_budget_rates, write_rates
from lpbench.reporting.cards import get
from lpbench.reporting.evidence import Line, Results
from lpbench.reporting.figures import style
from lpbench.reporting.figures.loglog import draw_slope, finish

#: Variance of the label noise of H's simulation, which no method can remove.
SINE_NOISE = 1.0
#: Methods at the ends of H's scale: all of its five features are private, or none.
_EXTREMES = {"hist": ("Hist", 5), "label_dt": ("LabelDT", 0)}
_LEGEND = "method: exponent of the theory"


def draw_semi_feature_rates(experiment: Mapping, folder: Path) -> None:
    """Draw H figure 2(b) again as excess over the noise, with the slopes of H Theorem 4.2 (alpha = 1, d = 5).

    Full LDP (Hist) is s* = d, label LDP (LabelDT) is s* = 0.
    """
    lines = Results(folder.parents[1]).lines(get(experiment, "name"))
    with style.look():
        figure, ax = plt.subplots(figsize=(6.4, 4.6))
        for k, line in enumerate(lines):
            title, protected = _EXTREMES.get(line.base, ("HistOfTree", line.parameter("n_protected")))
            exponent = semi_feature_exponent(1.0, 5, protected)
            _draw_excess(ax, k, line, line.mean - SINE_NOISE, exponent, f"{title}, s* = {protected}")
        text = "excess over the label noise, slopes of Theorem 4.2 dashed"
        finish(ax, text, "sample size n", loc="lower left", legend=_LEGEND)
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
        text = "excess over the Bayes risk, slope of Theorem 3 in n_P dashed"
        finish(ax, text, "private sample size n_P", legend=_LEGEND)
        style.save(figure, folder, "figure5a_rates")


def _draw_excess(ax: Axes, k: int, line: Line, excess: np.ndarray, exponent: float, label: str) -> None:
    if (excess <= 0).any():
        return
    color = style.COLOURS[k % len(style.COLOURS)]
    ax.plot(line.x, excess, color=color, marker=style.MARKERS[k % len(style.MARKERS)], label=f"{label}: {exponent:.2f}")
    draw_slope(ax, line.x, excess, exponent, color=color)


#: Experiment -> what is written besides the plain curves, or in their place.
RATE_FIGURES = {
    "label_dp/table1": write_rates,
    "label_dp/budget": write_budget_rates,
    "histoftree/figure2b": draw_semi_feature_rates,
    "lpct/figure5a": draw_public_data_rates,
}
#: Experiments whose own figure takes the place of the plain curves.
REPLACES = frozenset({"label_dp/table1", "label_dp/budget"})
