"""LPCT's simulation against the private sample size, with the slope of its theorem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from lpbench.analysis import Summary
from lpbench.analysis.exponents import public_data_exponents
from lpbench.datasets import eta_p
from lpbench.datasets.label_dp import design
from lpbench.experiments.experiment import Experiment
from lpbench.experiments.method import Method
from lpbench.reporting.evidence import Evidence
from lpbench.reporting.figures import style
from lpbench.reporting.figures.curves import NON_PRIVATE
from lpbench.reporting.figures.loglog import EXPONENTS, draw_excess, finish


def draw_public_data_rates(experiment: Experiment, summary: Summary, cards: Mapping[str, Method], folder: Path) -> None:
    """Draw figure 5(a) again as excess over the Bayes risk, with the slope of Theorem 3 in n_P.

    The simulated eta_P is a tenth power root of a Lipschitz function: alpha = 1/10 and margin exponent 10.
    """
    eta = eta_p(design(2**16, 2))
    bayes = float(np.maximum(eta, 1 - eta).mean())
    lines = [c for c in Evidence(folder.parents[1]).curves(experiment.name) if c.base == "lpct_max_edge"]
    exponent, _ = public_data_exponents(0.1, 2, 10.0, 0.5)
    with style.look():
        figure, ax = plt.subplots(figsize=(6.4, 4.6))
        colours = style.budget_colours([line.epsilon for line in lines], NON_PRIVATE)
        for k, line in enumerate(lines):
            colour = colours[line.epsilon]
            draw_excess(ax, k, line.x, bayes - line.mean, exponent, f"ε = {line.epsilon:g}", colour)
        text = "excess over the Bayes risk, slope of Theorem 3 in n_P dashed"
        finish(ax, text, "private sample size n_P", legend=EXPONENTS)
        style.save(figure, folder, "figure5a_rates")
