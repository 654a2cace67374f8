"""Bands of ratios stay above zero, however wide the interval over few data sets is."""

import math

import numpy as np

from lpbench.analysis.curves import Curve
from lpbench.reporting.figures import style
from lpbench.reporting.figures.lines import BAND, RATIO, _panel


def test_the_band_of_a_ratio_is_symmetric_for_logarithms():
    mean, half = np.array([4.0, 1.5]), np.array([2.0, 0.1])
    curve = Curve("mean", "mean", "", "constant", math.nan, np.array([1.0, 2.0]), mean, mean * half / BAND)
    _, ax = style.pyplot().subplots()
    _panel(ax, [curve], [], "epsilon", RATIO, lambda _: {"color": "k"})
    ends = ax.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([ends.min(), ends.max()], [4 * np.exp(-2), 4 * np.exp(2)])
