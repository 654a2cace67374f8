"""Work of a block by its estimator and size: deterministic, in seconds of one core of the machine that was measured.

The estimator's class states what a replication, a number and a fit cost. Work decides what is left out (``work_limit``)
and in which order blocks run; the progress bar goes by it. Nothing here is measured while blocks run, so that every
machine leaves out the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lpbench.estimators.base import LocalEstimator

#: Microseconds of updating a hidden layer of one unit by one number read, of methods that send a user's gradient.
_WEIGHT = 6e-5


@dataclass(frozen=True)
class Size:
    """What the cost of a block depends on.

    Attributes
    ----------
    estimator : str
        Name of the class.
    replications : int
    numbers : int
        Read in all replications: rows x features x replications.
    fits : int
    weights : float
        Updates of hidden weights by all fits: rows x features x hidden units each.
    costs : (float, float, float)
        What the estimator's class states, see :class:`~lpbench.estimators.base.LocalEstimator`.
    """

    estimator: str
    replications: int
    numbers: int
    fits: int
    weights: float = 0
    costs: tuple[float, float, float] = LocalEstimator.costs

    @property
    def seconds(self) -> float:
        """Seconds by the listed costs."""
        replication, number, fit = self.costs
        listed = replication * self.replications + number * self.numbers + fit * self.fits
        return 1e-6 * (listed + _WEIGHT * self.weights)


def work_of_a_number(costs: tuple[float, float, float], units: int) -> float:
    """Work of reading one number and updating hidden units by it: what grows with the data, in listed microseconds."""
    return costs[1] + _WEIGHT * units


def hidden_units(params: Mapping[str, Any], grid: Mapping[str, Sequence[Any]], n_features: int) -> int:
    """Hidden units of a network with ``hidden_ratio`` of them per feature, added up over the grid points."""
    ratios = grid.get("hidden_ratio", [params.get("hidden_ratio", 0)])
    others = math.prod(len(values) for name, values in grid.items() if name != "hidden_ratio")
    return others * sum(max(1, math.floor(ratio * n_features)) for ratio in ratios if ratio)
