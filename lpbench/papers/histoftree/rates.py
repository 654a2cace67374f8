"""HistOfTree's simulation against the sample size, with the slopes of its theorem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt

from lpbench.analysis import Summary
from lpbench.analysis.exponents import semi_feature_exponent
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures import style
from lpbench.reporting.figures.loglog import EXPONENTS, draw_excess, finish

#: Variance of the label noise of the simulation, which no method can remove.
SINE_NOISE = 1.0
#: Methods at the ends of the scale: all of the five features are private, or none.
_EXTREMES = {"hist": ("Hist", 5), "label_dt": ("LabelDT", 0)}


def draw_semi_feature_rates(
    experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path
) -> None:
    """Draw figure 2(b) again as excess over the noise, with the slopes of Theorem 4.2 (alpha = 1, d = 5).

    Full LDP (Hist) is s* = d, label LDP (LabelDT) is s* = 0.
    """
    lines = Evidence(folder.parents[1]).curves(experiment.name)
    with style.look():
        figure, ax = plt.subplots(figsize=(6.4, 4.6))
        for k, line in enumerate(lines):
            title, protected = _EXTREMES.get(line.base, ("HistOfTree", line.parameter("n_protected")))
            exponent = semi_feature_exponent(1.0, 5, protected)
            draw_excess(ax, k, line.x, line.mean - SINE_NOISE, exponent, f"{title}, s* = {protected}")
        text = "excess over the label noise, slopes of Theorem 4.2 dashed"
        finish(ax, text, "sample size n", loc="lower left", legend=EXPONENTS)
        style.save(figure, folder, "figure2b_rates")
