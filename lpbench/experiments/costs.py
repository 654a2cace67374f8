"""What a block costs, by its estimator and size: the order of execution and the progress bar go by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lpbench.experiments.plan import Block

#: Estimator -> microseconds for a replication, a number read (table size x replications) and a fit, as they were
#: measured in a full run on two cores. What a store holds corrects them for the machine.
COSTS: Mapping[str, tuple[float, float, float]] = {
    "AdHistOfTree": (0, 0.31, 320),
    "CDPMean": (3100, 0.083, 120),
    "CDPVote": (2600, 0.077, 840),
    "CT": (36000, 0.048, 0),
    "CalibratedScore": (0, 58, 0),
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
    "LabelCDPMean": (4000, 0.071, 85),
    "LabelCDPVote": (1300, 0.077, 970),
    "LabelDT": (0, 0.79, 3000),
    "LabelLDPKNN": (0, 0.21, 1100),
    "LabelLDPVote": (1200, 0.062, 1400),
    "PGLM": (0, 0.4, 0),
    "PHIST": (21000, 0.12, 1100),
    "PSGD": (0, 0.36, 3900),
    "ParDT": (0, 2.7, 250),
    "PrivateMajority": (0, 0.68, 0),
    "PrivateMean": (28000, 0.032, 340),
    "PublicForest": (0, 30, 0),
    "ResidualGP": (0, 29, 140000),
}
#: Of estimators that are not listed: the middle of those that are.
_OTHER = (1500.0, 0.1, 250.0)


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
    """

    estimator: str
    replications: int
    numbers: int
    fits: int

    @classmethod
    def of(cls, block: Block) -> Size:
        """Size of a planned block."""
        name = block.estimator.rpartition(".")[2]
        return cls(name, block.replications, block.replications * block.table_size, block.fits)

    @property
    def seconds(self) -> float:
        """Seconds by the listed costs."""
        replication, number, fit = COSTS.get(self.estimator, _OTHER)
        return 1e-6 * (replication * self.replications + number * self.numbers + fit * self.fits)


def expected_seconds(block: Block) -> float:
    """Seconds that a block takes in one worker by the listed costs."""
    return Size.of(block).seconds
