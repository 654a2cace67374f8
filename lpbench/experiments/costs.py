"""Work of a block by its estimator and size: deterministic, in seconds of one core of the machine that was measured.

It decides what is left out (``work_limit``) and in which order blocks run; the progress bar goes by it. Nothing here is
measured while blocks run, so that every machine leaves out the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Estimator -> microseconds for a replication, a number read (table size x replications) and a fit, as they were
#: measured in a full run on two cores. What a store holds corrects them for the machine.
COSTS: Mapping[str, tuple[float, float, float]] = {
    "AdHistOfTree": (0, 0.31, 320),
    "CDPMean": (3100, 0.083, 120),
    "CDPVote": (2600, 0.077, 840),
    "CT": (36000, 0.048, 0),
    "CalibratedScore": (160000, 0.08, 7000),
    "CubeMean": (1600, 0.046, 0),
    "CubeVote": (3100, 0.043, 0),
    "DT": (0, 1, 310),
    "Hist": (9400, 0, 31),
    "HistOfTree": (1100, 0.23, 320),
    "KNNMean": (1600, 0.069, 0),
    "KRR": (0, 12, 110),
    "LDPMean": (1300, 0.049, 1400),
    "LDPVote": (1900, 0.052, 1500),
    "LPCT": (2600, 0.041, 0.7),
    "LPCTPrune": (7400, 0.018, 130),
    "LPDTRegressor": (0, 0.1, 8000),
    "LabelCDPMean": (4000, 0.071, 85),
    "LabelCDPVote": (1300, 0.077, 970),
    "LabelDT": (0, 0.79, 3000),
    "LabelLDPKNN": (0, 0.21, 1100),
    "LabelLDPVote": (1200, 0.062, 1400),
    "PGLM": (0, 0.4, 0),
    "PHIST": (21000, 0.12, 1100),
    "PSGD": (0, 0.36, 3900),
    "ParDT": (0, 2.7, 250),
    "PrivateLabelsClassifier": (0, 0.1, 17000),
    "PrivateLabelsRegressor": (0, 0.1, 16000),
    "PrivateMajority": (0, 0.012, 440),
    "PrivateMean": (410, 0.0062, 260),
    "PrivateSelectionClassifier": (0, 0.2, 50000),
    "PrivateSelectionRegressor": (0, 10, 80000),
    "PublicForest": (140000, 0.11, 1200),
    "PublicForestRegressor": (110000, 1, 0),
    "PublicResidualGP": (60000, 12, 20000),
    "PublicTreeClassifier": (0, 0.1, 8000),
    "ResidualGP": (0, 18, 60000),
    "ResidualScore": (150000, 26, 60000),
}
#: Of estimators that are not listed: the middle of those that are.
_OTHER = (1500.0, 0.1, 250.0)


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
    """

    estimator: str
    replications: int
    numbers: int
    fits: int
    weights: float = 0

    @property
    def seconds(self) -> float:
        """Seconds by the listed costs."""
        replication, number, fit = COSTS.get(self.estimator, _OTHER)
        listed = replication * self.replications + number * self.numbers + fit * self.fits
        return 1e-6 * (listed + _WEIGHT * self.weights)


def hidden_units(params: Mapping[str, Any], grid: Mapping[str, Sequence[Any]], n_features: int) -> int:
    """Hidden units of a network with ``hidden_ratio`` of them per feature, added up over the grid points."""
    ratios = grid.get("hidden_ratio", [params.get("hidden_ratio", 0)])
    others = math.prod(len(values) for name, values in grid.items() if name != "hidden_ratio")
    return others * sum(max(1, math.floor(ratio * n_features)) for ratio in ratios if ratio)
