"""Unbiased readings of clipped reports whose interval was moved away from an end of the public range.

An interval that would leave the range is moved into it (:meth:`.rounds.Curator.question`), so that the label is
expected away from its middle, is never cut off at the end of the range, and the report is noisier than in the middle.
Here the label is taken for normal about the current prediction, and clipping and noise are reckoned from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from lpbench.estimators.tuning_free.level_reports import LevelReport

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
#: Least probability that a label is inside the interval: a smaller one would blow a report up without limit.
_LEAST_SLOPE = 0.2


@dataclass(frozen=True, eq=False)
class Placed:
    """What is expected of users' clipped labels, in units of the half-width and from the middle of the interval."""

    expected: np.ndarray  # (m,), predicted label
    clipped: np.ndarray  # mean of the clipped label
    slope: np.ndarray  # derivative of ``clipped`` by ``expected``
    noise: np.ndarray  # variance that rounding and randomisation add

    @classmethod
    def of(cls, report: LevelReport, expected: np.ndarray, deviation: np.ndarray, ends: np.ndarray) -> Placed:
        """Reckon with labels that are normal about the predicted ones, in units of the half-width.

        ``ends`` (2, m): whether the lower and the upper end of the interval are those of the range, beyond which no
        label lies.
        """
        below = np.where(ends[0], -np.inf, (-1.0 - expected) / deviation)
        above = np.where(ends[1], np.inf, (1.0 - expected) / deviation)
        slope = np.maximum(ndtr(above) - ndtr(below), _LEAST_SLOPE)
        clipped = expected + deviation * (_excess(-below) - _excess(above))
        labels = np.clip(expected[:, None] + deviation[:, None] * _NODES, -1.0, 1.0)
        return cls(expected, clipped, slope, report.noise_at(labels, _WEIGHTS))


def _excess(limit: np.ndarray) -> np.ndarray:
    """Mean of (z - limit)+ for z standard normal."""
    finite = np.where(np.isfinite(limit), limit, 0.0)
    density = np.exp(-0.5 * finite**2) / np.sqrt(2.0 * np.pi)
    mean = density - finite * ndtr(-finite)
    return np.where(np.isposinf(limit), 0.0, mean)
