"""Label noise doubled: the scale is twice the right one, everything else is right."""

from dataclasses import dataclass

from lpbench.estimators.baselines.hist import Hist as RightHist
from lpbench.estimators.baselines.krr import KRR as RightKRR
from lpbench.estimators.baselines.trees import ParDT as RightParDT
from lpbench.estimators.histoftree.adhistoftree import AdHistOfTree as RightAdHistOfTree
from lpbench.estimators.histoftree.histoftree import HistOfTree as RightHistOfTree
from lpbench.papers.mutants.patches import WrongLabels


class DoubledLabelNoise(WrongLabels):
    """Mixin of mutants whose label reports have twice the noise of the stated budget: private, and too inaccurate."""

    times = 2.0


@dataclass(eq=False, repr=False)
class HistOfTree(DoubledLabelNoise, RightHistOfTree):
    """Mutant: HistOfTree on labels with twice the noise."""


@dataclass(eq=False, repr=False)
class AdHistOfTree(DoubledLabelNoise, RightAdHistOfTree):
    """Mutant: AdHistOfTree on labels with twice the noise."""


@dataclass(eq=False, repr=False)
class ParDT(DoubledLabelNoise, RightParDT):
    """Mutant: ParDT on labels with twice the noise."""


@dataclass(eq=False, repr=False)
class KRR(DoubledLabelNoise, RightKRR):
    """Mutant: KRR on labels with twice the noise."""


@dataclass(eq=False, repr=False)
class Hist(DoubledLabelNoise, RightHist):
    """Mutant: Hist whose label sums have twice the noise."""
